"""Write a package `torchgen` that forwards to Opwright into an environment, so that programs import it unchanged.

The package has one small file for each module. If PyTorch's package is there, say --in-front: then the new one
comes before it when Python starts, and no file of PyTorch changes."""

from __future__ import annotations

import os
import shutil
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Sequence

from opwright.cli.arguments import Parser
from opwright.cli.streams import leave
from opwright.files.staging import staging_name
from opwright.files.user_files import UserFiles
from opwright.files.writer import write_fault
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


def _own_places(site: str) -> list[str]:
    """What this program wrote, as far as it is there. A link is somebody else's."""
    front = os.path.join(site, _FRONT)
    packages = [os.path.join(site, PACKAGE), os.path.join(front, PACKAGE)]
    places = [path for path in packages if not os.path.islink(path) and not os.path.islink(front) and _is_own(path)]
    if packages[1] in places:
        # Python writes a folder of its own beside modules.
        places[-1:] = [front] if set(os.listdir(front)) <= {PACKAGE, "__pycache__"} else places[-1:]
        places += [path for path in (os.path.join(site, _PATH_FILE),) if os.path.isfile(path)]
    return places


def _files(*, in_front: bool) -> Iterator[tuple[str, str]]:
    """Paths of the files of the package below site-packages, with their texts."""
    home = _FRONT if in_front else ""
    for name, is_package in offered_modules().items():
        path = os.path.join(home, *name.split("."))
        yield os.path.join(path, "__init__.py") if is_package else f"{path}.py", module_file(name)
    if in_front:
        yield _PATH_FILE, f"import os, sys; sys.path.insert(0, os.path.join(sitedir, {_FRONT!r}))\n"


def _replace(site: str, old: Sequence[str], files: Iterable[tuple[str, str]]) -> None:
    """Take away what is there and put files in place, or do neither. Raises Fault.

    The files are written beside first, and the next run removes what a killed one left there.
    """
    with UserFiles() as user_files:
        staging = os.path.join(site, staging_name())
        user_files.journal.add_staging(staging)
        moved: list[tuple[str, str]] = []
        try:
            os.makedirs(os.path.join(staging, "old"))
            new = os.path.join(staging, "new")
            for path, text in files:
                os.makedirs(os.path.dirname(os.path.join(new, path)), exist_ok=True)
                with open(os.path.join(new, path), "x", encoding="utf-8", newline="") as stream:
                    stream.write(text)
            pairs = [(path, os.path.join(staging, "old", str(number))) for number, path in enumerate(old)]
            pairs += [(os.path.join(new, name), os.path.join(site, name)) for name in sorted(_entries(new))]
            for source, target in pairs:
                os.rename(source, target)
                moved.append((source, target))
        except BaseException as error:
            for source, target in reversed(moved):
                os.rename(target, source)
            if isinstance(error, OSError):
                raise write_fault(error.filename or site, error) from None
            raise
        finally:
            shutil.rmtree(staging, ignore_errors=True)


def _entries(folder: str) -> list[str]:
    return os.listdir(folder) if os.path.isdir(folder) else []


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status."""
    parser = _parser()
    arguments = parser.parse(argv)
    site = os.path.abspath(arguments.target or sysconfig.get_path("purelib"))
    package = os.path.join(site, PACKAGE)
    if not os.path.isdir(site):
        parser.error(f"there is no folder `{site}`")
    installed = _own_places(site)
    if arguments.remove:
        removed = [path for path in installed if not path.endswith(_PATH_FILE)]
        if installed:
            _run(parser, lambda: _replace(site, installed, ()))
        tell(*[f"removed {path}" for path in removed] or [f"nothing to remove in {site}"])
        return 0
    if os.path.lexists(package) and package not in installed and not arguments.in_front:
        parser.error(f"`{package}` belongs to an installed PyTorch; say --in-front to come before it")
    _run(parser, lambda: _replace(site, installed, _files(in_front=arguments.in_front)))
    tell(f"wrote {os.path.join(site, _FRONT, PACKAGE) if arguments.in_front else package}")
    return 0


def _run(parser: Parser, action: Callable[[], None]) -> None:
    try:
        action()
    except Fault as fault:
        parser.error(str(fault))


if __name__ == "__main__":
    leave(main)
