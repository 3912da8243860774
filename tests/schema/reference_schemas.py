"""Program for the reference's interpreter: kind and signatures of the schemas in a JSON file, as JSON.

usage: reference_schemas.py SCHEMAS.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from torchgen.model import FunctionSchema


def main() -> None:
    """Print one record per schema."""
    schemas = []
    for text in json.loads(Path(sys.argv[1]).read_text()):
        schema = FunctionSchema.parse(text)
        schemas.append(
            {
                "kind": schema.kind().name,
                "plain": str(schema.signature()),
                "without defaults": str(schema.signature(strip_default=True)),
                "of the view": str(schema.signature(strip_view_copy_name=True)),
                "with return names": str(schema.signature(keep_return_names=True)),
            }
        )
    print(json.dumps(schemas))


if __name__ == "__main__":
    main()
