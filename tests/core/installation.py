"""A copy of the installed PyTorch whose generator is replaced by the core, or is its own."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

from opwright.release.local import installed_generator
from tests.core.__main__ import contents, write_folder
from tests.core.closure import Closure

_COMPILED: Final = shutil.ignore_patterns("__pycache__")


def write_site(site: Path, core: Closure | None) -> None:
    """Write a folder for `PYTHONPATH`: links to PyTorch, and the core in the place of its generator, or its generator.

    The inputs of the generator's folder stay: `packaged`, and the table of shims.
    """
    original = Path(installed_generator() or "")
    if core is None:
        shutil.copytree(original, site / "torchgen", ignore=_COMPILED)
    else:
        write_folder(contents(core), site)
        shutil.copy(original / "aoti" / "fallback_ops.py", site / "torchgen" / "aoti")
        ignored = shutil.ignore_patterns("*.py", "__pycache__")
        shutil.copytree(original / "packaged", site / "torchgen" / "packaged", ignore=ignored, dirs_exist_ok=True)
    for path in original.parent.iterdir():
        if path.name.startswith(("torch-", "functorch")) or path.name == "torch":
            (site / path.name).symlink_to(path)
