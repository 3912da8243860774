"""Write a package `torchgen` that forwards to Opwright into an environment, so that programs import it unchanged.

The package has one small file for each module. If PyTorch's own package is there, say --in-front: then the new one
comes before it when Python starts, and no file of PyTorch changes."""

from __future__ import annotations

import os
import shutil
import sysconfig
from collections.abc import Sequence

from opwright.cli.arguments import Parser
from opwright.cli.streams import leave
from opwright.files.writer import write_file
from opwright.source.diagnostic import Fault
from opwright.source.terminal import tell
from opwright.torchgen.forwarding import MARK, PACKAGE, module_file, offered_modules

_FRONT = "opwright_torchgen"
_PATH_FILE = f"{_FRONT}.pth"


def _parser() -> Parser:
    parser = Parser("python -m opwright.torchgen.install", __doc__)
    add = parser.add_argument
    add("--target", metavar="DIR", help="the site-packages to write into (default: those of the running Python)")
    add("--in-front", action="store_true", help=f"come before the `{PACKAGE}` of an installed PyTorch")
    add("--remove", action="store_true", help="remove what this program wrote")
    return parser


def _is_own(folder: str) -> bool:
    """Whether this program wrote the package in a folder."""
    try:
        with open(os.path.join(folder, "__init__.py"), encoding="utf-8") as file:
            return file.readline().rstrip("\n") == MARK
    except (OSError, UnicodeDecodeError):
        return False


def _remove(site: str) -> list[str]:
    """Remove what is there, and give its paths."""
    front = os.path.join(site, _FRONT)
    removed = [path for path in (os.path.join(site, PACKAGE), os.path.join(front, PACKAGE)) if _is_own(path)]
    for path in removed:
        shutil.rmtree(path)
    if os.path.join(front, PACKAGE) in removed:
        os.remove(os.path.join(site, _PATH_FILE))
        os.rmdir(front)
    return removed


def _write(site: str, *, in_front: bool) -> str:
    """Write the package, and give its path."""
    home = os.path.join(site, _FRONT) if in_front else site
    for name, is_package in offered_modules().items():
        path = os.path.join(home, *name.split("."))
        write_file(os.path.join(path, "__init__.py") if is_package else f"{path}.py", module_file(name).encode())
    if in_front:
        line = f"import os, sys; sys.path.insert(0, os.path.join(sitedir, {_FRONT!r}))\n"
        write_file(os.path.join(site, _PATH_FILE), line.encode())
    return os.path.join(home, PACKAGE)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status."""
    parser = _parser()
    arguments = parser.parse(argv)
    site = os.path.abspath(arguments.target or sysconfig.get_path("purelib"))
    package = os.path.join(site, PACKAGE)
    if not os.path.isdir(site):
        parser.error(f"there is no folder `{site}`")
    if arguments.remove:
        removed = _remove(site)
        tell(*[f"removed {path}" for path in removed] or [f"nothing to remove in {site}"])
        return 0
    if os.path.exists(package) and not _is_own(package) and not arguments.in_front:
        parser.error(f"`{package}` belongs to an installed PyTorch; say --in-front to come before it")
    try:
        _remove(site)
        tell(f"wrote {_write(site, in_front=arguments.in_front)}")
    except Fault as fault:
        parser.error(str(fault))
    return 0


if __name__ == "__main__":
    leave(main)
