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
from opwright.files.plain_files import read_plain_file
from opwright.files.staging import staging_name
from opwright.files.writer import write_fault
from opwright.source.diagnostic import Fault
from opwright.source.terminal import tell
from opwright.torchgen.forwarding import MARK, PACKAGE, module_file, offered_modules
from opwright.workspace.user_files import UserFiles, exchange_files

_FRONT = "opwright_torchgen"
_PATH_FILE = f"{_FRONT}.pth"
_PATH_TEXT = f"import os, sys; sys.path.insert(0, os.path.join(sitedir, {_FRONT!r}))\n"


def _parser() -> Parser:
    parser = Parser("python -m opwright.torchgen.install", __doc__)
    add = parser.add_argument
    add("--target", metavar="DIR", help="the site-packages to write into (default: those of the running Python)")
    add("--in-front", action="store_true", help=f"come before the `{PACKAGE}` of an installed PyTorch")
    add("--remove", action="store_true", help="remove what this program wrote")
    return parser


def _is_own(path: str) -> bool:
    """Whether this program wrote what is at one of its three places. A link is somebody else's."""
    if path.endswith(_PATH_FILE):
        return _starts_with(path, _PATH_TEXT)
    folders = [path] if path.endswith(f"{os.sep}{PACKAGE}") else [path, os.path.join(path, PACKAGE)]
    return not any(map(os.path.islink, folders)) and _starts_with(os.path.join(folders[-1], "__init__.py"), MARK)


def _starts_with(path: str, text: str) -> bool:
    try:
        return read_plain_file(path).startswith(text.encode())
    except OSError:
        return False


def _parts_of_others(folder: str) -> Iterator[str]:
    """What others have in a folder of this program. Python writes folders of its own beside modules."""
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != "__pycache__"]
        for path in (os.path.join(parent, name) for name in (*folders, *names)):
            is_folder = os.path.isdir(path) and not os.path.islink(path)
            if not _starts_with(os.path.join(path, "__init__.py") if is_folder else path, MARK):
                yield path


def _files(*, in_front: bool) -> Iterator[tuple[str, str]]:
    """Paths of the files of the package below site-packages, with their texts."""
    home = _FRONT if in_front else ""
    for name, is_package in offered_modules().items():
        path = os.path.join(home, *name.split("."))
        yield os.path.join(path, "__init__.py") if is_package else f"{path}.py", module_file(name)
    if in_front:
        yield _PATH_FILE, _PATH_TEXT


def _replace(site: str, old: Sequence[str], files: Iterable[tuple[str, str]]) -> None:
    """Take away what is there and put files in place, or do neither. Raises Fault.

    The files are written beside first, and the next run removes what a killed one left there. What is new is in place
    before anything goes, so that a killed run leaves the old package, the new one, or both.
    """
    with UserFiles() as user_files:
        staging = os.path.join(site, staging_name())
        user_files.journal.add_staging(staging)
        # How to take back what was done: functions with their arguments.
        undo: list[tuple[Callable[[str, str], object], str, str]] = []

        def move(source: str, target: str) -> None:
            os.rename(source, target)
            undo.append((os.rename, target, source))

        try:
            os.makedirs(os.path.join(staging, "old"))
            new = os.path.join(staging, "new")
            for path, text in files:
                os.makedirs(os.path.dirname(os.path.join(new, path)), exist_ok=True)
                with open(os.path.join(new, path), "x", encoding="utf-8", newline="") as stream:
                    stream.write(text)
            gone = [(path, os.path.join(staging, "old", str(number))) for number, path in enumerate(old)]
            for name in sorted(os.listdir(new) if os.path.isdir(new) else []):
                source, target = os.path.join(new, name), os.path.join(site, name)
                if target in old:
                    aside = gone.pop([path for path, _ in gone].index(target))
                    if exchange_files(source, target):
                        undo.append((exchange_files, source, target))
                        continue
                    move(*aside)
                move(source, target)
            for source, target in gone:
                move(source, target)
        except BaseException as error:
            for function, source, target in reversed(undo):
                function(source, target)
            if isinstance(error, OSError):
                raise write_fault(error.filename or site, error) from None
            raise
        finally:
            shutil.rmtree(staging, ignore_errors=True)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status."""
    parser = _parser()
    arguments = parser.parse(argv)
    site = os.path.abspath(arguments.target or sysconfig.get_path("purelib"))
    package, front, path_file = places = [os.path.join(site, name) for name in (PACKAGE, _FRONT, _PATH_FILE)]
    if not os.path.isdir(site):
        parser.error(f"there is no folder `{site}`")
    installed = [path for path in places if _is_own(path)]
    for path in installed:
        for other in _parts_of_others(path):
            parser.error(f"this program did not write `{other}`, which would go with `{path}`: move it first")
    if arguments.remove:
        if installed:
            _run(parser, lambda: _replace(site, installed, ()))
        tell(*[f"removed {path}" for path in installed] or [f"nothing to remove in {site}"])
        return 0
    for path in (front, path_file) if arguments.in_front else (package,):
        if os.path.lexists(path) and path not in installed:
            parser.error(
                f"`{path}` belongs to an installed PyTorch; say --in-front to come before it"
                if path == package
                else f"`{path}` exists, and this program did not write it"
            )
    _run(parser, lambda: _replace(site, installed, _files(in_front=arguments.in_front)))
    tell(f"wrote {os.path.join(front, PACKAGE) if arguments.in_front else package}")
    return 0


def _run(parser: Parser, action: Callable[[], None]) -> None:
    try:
        action()
    except Fault as fault:
        parser.error(str(fault))


if __name__ == "__main__":
    leave(main)
