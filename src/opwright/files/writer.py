"""Writing files whole: a path holds the old contents or the new ones, never a part.

New contents are written in full to a temporary file in a staging folder beside the target, which is then renamed to
the target: at once if there was no file, and after all files of the run are complete if it replaces an old one. A run
that fails before that leaves every old file as it was, and a run that is killed leaves no half-written file. A file
whose contents are already right is not touched, and keeps its time stamp.

No command writes through a link that leads out of its folder into a file of the user, nor replaces what somebody wrote:
a generated file says in its first lines that it is generated, and one that does not, and that no earlier run is known
to have written, is a source.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterable, Mapping
from itertools import count
from types import TracebackType
from typing import Final

from opwright.files.plain_files import file_status, make_folders
from opwright.files.staging import Journal, remove_staging, staging_name
from opwright.source.codes import NO_SPACE, NOT_A_FILE, NOT_PERMITTED, SOURCE_IN_THE_WAY, WRITE_FAILED
from opwright.source.diagnostic import Fault
from opwright.source.lazy import lazy_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from opwright.files.plain_files import Status

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_READ = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)

_AT_ONCE = 64
"""How many new files are noted in a journal together, before they are put in place."""

_NOT_PERMITTED = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_NOT_A_FILE = frozenset({errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ELOOP})


class Writer:
    """Writes the files of one run. `write` makes new files and stages replacements; `commit` puts these in place.

    As a context manager it commits at the end of the block, and discards if the block raises:

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Writer() as writer:
    ...         changed = writer.write(f"{folder}/ops/add.h", b"#pragma once\\n")
    ...     with Writer() as writer:
    ...         again = writer.write(f"{folder}/ops/add.h", b"#pragma once\\n")
    >>> changed, again
    (True, False)

    The journal lets the next run find what a killed run leaves: staging folders, and files that were not there before.

    Missing folders are made. An existing file keeps its permissions. A target that is a symbolic link is replaced by a
    file; the file it points to stays as it is. Errors of the system become a Fault (E0605 to E0608).
    """

    __slots__ = ("_arriving", "_created", "_journal", "_name", "_numbers", "_pending", "_staging", "statuses")

    statuses: dict[str, Status]
    """The status of every file that was written. The status of a changed file is provisional until `final_statuses`."""

    def __init__(self, journal: Journal | None = None) -> None:
        self.statuses = {}
        self._arriving: list[tuple[str, str, Status]] = []
        self._created: list[str] = []
        self._numbers = count()
        self._pending: dict[str, str] = {}
        self._staging: dict[str, str] = {}
        self._journal = journal
        self._name = staging_name()

    def __enter__(self) -> Writer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.commit()
        else:
            self.discard()

    def write(self, target: str, data: bytes) -> bool:
        """Write a file, and tell whether its contents differed; new contents are in place once `commit` returns."""
        try:
            try:
                status = os.lstat(target)
            except FileNotFoundError:
                self.statuses[target] = self._create(target, data)
                return True
            is_link = stat.S_ISLNK(status.st_mode)
            if not is_link and not stat.S_ISREG(status.st_mode):
                raise Fault.at(NOT_A_FILE, f"cannot write `{target}`: it exists and is not a file")
            if not is_link and status.st_size == len(data) and _holds(target, data):
                # Two paths may lead to one file; the later one wins.
                self._pending.pop(target, None)
                self.statuses[target] = file_status(status)
                return False
            staged, self.statuses[target] = self._stage(target, data)
            self._pending[target] = staged
            if not is_link:
                with contextlib.suppress(PermissionError):
                    # Some file systems have no permissions to keep.
                    os.chmod(staged, stat.S_IMODE(status.st_mode))
            return True
        except OSError as error:
            raise write_fault(target, error) from None

    def commit(self) -> None:
        """Put every staged file in place.

        Raises Fault if one cannot be; those after it are then discarded, and their targets stay as they were.
        """
        target = ""
        try:
            self.arrive()
            # Replaced files may need the new ones, so from here on these stay whatever happens.
            self._created.clear()
            for target, staged in self._pending.items():
                os.replace(staged, target)
        except OSError as error:
            raise write_fault(target, error) from None
        finally:
            self.discard()

    def discard(self) -> None:
        """Remove what is not committed: staged contents, and files that were not there before."""
        for target in self._created:
            with contextlib.suppress(OSError):
                os.unlink(target)
        for folder in self._staging.values():
            remove_staging(folder)
        self._arriving.clear()
        self._created.clear()
        self._staging.clear()
        self._pending.clear()

    def _create(self, target: str, data: bytes) -> Status:
        """Make a file that was not there.

        It is renamed before the commit, because waiting would cost half as much again. With a journal several files are
        renamed together.
        """
        staged, status = self._stage(target, data)
        self._arriving.append((target, staged, status))
        if self._journal is None or len(self._arriving) == _AT_ONCE:
            self.arrive()
        return status

    def arrive(self) -> None:
        """Put new files that are complete in place, so that errors with them come before the commit. Raises Fault."""
        if self._journal is not None and self._arriving:
            self._journal.add_files((target, status) for target, _, status in self._arriving)
        for target, staged, _ in self._arriving:
            self._created.append(target)
            try:
                os.replace(staged, target)
            except OSError as error:
                raise write_fault(target, error) from None
        self._arriving.clear()

    def _stage(self, target: str, data: bytes) -> tuple[str, Status]:
        """Write contents to a temporary file; its path and status."""
        folder = target.rpartition("/")[0] or ("/" if target.startswith("/") else ".")
        staging = self._staging.get(folder)
        if staging is None:
            staging = self._staging_folder(folder)
        staged = f"{staging}/{next(self._numbers)}"
        handle = os.open(staged, _CREATE, 0o666)
        try:
            written = os.write(handle, data)
            while written < len(data):
                written += os.write(handle, data[written:])
            status = os.fstat(handle)
        finally:
            os.close(handle)
        return staged, (status.st_size, -status.st_mtime_ns, status.st_ino)

    def _staging_folder(self, folder: str) -> str:
        """A new folder for temporary files, on the same file system as the files that it is for."""
        staging = f"{folder}/{self._name}"
        if self._journal is not None:
            self._journal.add_staging(staging)
        # Noted first, so that an interrupt cannot leave a folder that nobody removes.
        self._staging[folder] = staging
        try:
            os.mkdir(staging)
        except FileNotFoundError:
            make_folders(folder)
            os.mkdir(staging)
        return staging


def write_file(target: str, data: bytes) -> bool:
    """Write one file whole, and tell whether its contents differed.

    Raises Fault (E0605 to E0608) as `Writer` does.
    """
    with Writer() as writer:
        return writer.write(target, data)


def final_statuses(statuses: Mapping[str, Status]) -> dict[str, Status]:
    """Final statuses for those that a writer gave; call it after the commit.

    A rename sets the time of change of a file. So before the commit the status of a changed file is provisional: its
    size, its time of modification as a negative number, and its inode.
    """
    final = dict(statuses)
    for path, (size, changed, inode) in statuses.items():
        if changed < 0:
            with contextlib.suppress(OSError):
                now = os.lstat(path)
                # A file that someone else changed since is not the one that was written.
                if (now.st_size, -now.st_mtime_ns, now.st_ino) == (size, changed, inode):
                    final[path] = file_status(now)
    return final


def make_folder(path: str) -> None:
    """Make a folder and its missing parents.

    Raises Fault (E0605 to E0608) as `Writer` does.
    """
    try:
        make_folders(path)
    except OSError as error:
        raise write_fault(path, error) from None


def file_holds(path: str, data: bytes) -> bool:
    """Whether a path is a file, not a link, that holds exactly these bytes."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode) and _holds(path, data)
    except OSError:
        return False


def _holds(target: str, data: bytes) -> bool:
    """Whether a file holds exactly these bytes. A file that may not be read counts as different."""
    try:
        handle = os.open(target, _READ)
    except PermissionError:
        return False
    try:
        return os.read(handle, len(data) + 1) == data
    finally:
        os.close(handle)


def write_fault(target: str, error: OSError, helps: Mapping[str, str] | None = None) -> Fault:
    """Fault for an error of the system (E0605 to E0608), with help that fits it: that for outputs, or another."""
    kinds = ((NOT_PERMITTED, _NOT_PERMITTED), (NO_SPACE, _NO_SPACE), (NOT_A_FILE, _NOT_A_FILE))
    code = next((code for code, numbers in kinds if error.errno in numbers), WRITE_FAILED)
    if helps is None:
        helps = {
            NOT_PERMITTED: "choose an output folder that you may write to",
            NO_SPACE: "make room on the disk, or choose an output folder on another one",
            NOT_A_FILE: "choose another output folder, or move away what is there",
        }
    return Fault.at(code, f"cannot write `{target}`: {error.strerror or error}", help=helps.get(code, ""))


def check_links(path: str, beside: Iterable[str] = ()) -> None:
    """Raises Fault (E0607) if a part of a path is a link that leads out of the folder that it is in.

    A link on the way to a folder `beside`, into which the user sends other files, may lead anywhere.
    """
    followed = tuple([os.path.join(os.path.abspath(folder), "") for folder in beside])
    part = ""
    for name in _parts(path):
        part = os.path.join(part, name)
        if os.path.islink(part) and not any(
            folder.startswith(os.path.join(os.path.abspath(part), "")) for folder in followed
        ):
            folder, target = os.path.realpath(os.path.dirname(part) or os.curdir), os.path.realpath(part)
            if not target.startswith(os.path.join(folder, "")):
                there = "" if part == path else f"cannot write `{path}`: "
                message = f"{there}`{part}` is a link to `{target}`, outside of its folder"
                raise Fault.at(NOT_A_FILE, message, help="name the file itself, or remove the link")


def _parts(path: str) -> list[str]:
    """The names in a path, the first with the root before it."""
    root, rest = os.path.splitdrive(path)
    first = root + os.sep if rest.startswith((os.sep, os.altsep or os.sep)) else root
    names = [name for name in rest.replace(os.altsep or os.sep, os.sep).split(os.sep) if name]
    return [first, *names] if first else names


#: What generated files say: Opwright's, and those made from PyTorch's templates. One may say that it is none.
MARK = lazy_pattern(r"(?i)(?<!not )(?<!n't )generated (?:file )?(?:by(?! hand)|from)\b")
#: How many bytes of a file may come before its mark.
HEAD: Final = 4096


def check_replaced(target: str, data: bytes, help: str) -> None:
    """Raises Fault (E1212) if generated bytes would replace a file with other contents that nothing says are generated.

    An empty file has nothing to lose, and one without contents of its own replaces nothing where builds put it.
    """
    try:
        if not stat.S_ISREG(os.stat(target).st_mode):
            return
        with open(target, "rb") as stream:
            head = stream.read(HEAD)
            if not head or MARK.search(head.decode(errors="replace")):
                return
            if head + stream.read(len(data) + 1) == data:
                return
    except OSError:
        # What is not there cannot be replaced, and writing tells why a file cannot be read.
        return
    message = f"`{target}` does not say that it is generated, and a generated file of this name would replace it"
    raise Fault.at(SOURCE_IN_THE_WAY, message, help=help)
