"""Merges selections with PyTorch's selector library, as the reference's side of jobs; its scripts are in no wheel.

The paths of the selections are the arguments. Where the library writes sets in the order of the hash seed, they are
sorted.
"""

from __future__ import annotations

import sys
from functools import reduce
from pathlib import Path

import yaml
from torchgen.selective_build.selector import SelectiveBuilder, combine_selective_builders


def main() -> None:
    """Write the merged selection."""
    builders = [SelectiveBuilder.from_yaml_path(path) for path in sys.argv[1:]]
    data = reduce(combine_selective_builders, builders).to_dict()
    if len(builders) > 1:
        for fields in data["operators"].values():
            if "debug_info" in fields:
                fields["debug_info"] = sorted(fields["debug_info"])
    Path("selected_operators.yaml").write_text(yaml.safe_dump(data, default_flow_style=False), encoding="utf-8")


if __name__ == "__main__":
    main()
