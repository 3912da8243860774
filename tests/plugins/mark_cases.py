"""Updates the files that tests of plug-ins compare with: reports of faults, and the snapshot of the public API."""

from __future__ import annotations

import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from tests.engine.project import Project
from tests.plugins import api_snapshot
from tests.plugins.fault_cases import load_cases


def main() -> int:
    """Run the program."""
    spec = find_spec("torchgen")
    assert spec is not None
    assert spec.origin is not None
    inputs = Path(spec.origin).parent / "packaged" / "ATen"
    for case in load_cases():
        with tempfile.TemporaryDirectory() as folder:
            report = case.run(Project(Path(folder).resolve(), inputs))
        case.path.write_text(case._replace(report=report).text, encoding="utf-8")
    api_snapshot.PATH.write_text(api_snapshot.snapshot(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
