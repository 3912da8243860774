"""Source files: text from disk, decoded, with exact offsets."""

from __future__ import annotations

import os
import stat

from opwright.source.codes import FILE_MISSING, FILE_NOT_UTF8, FILE_TOO_LARGE, FILE_UNREADABLE
from opwright.source.diagnostic import Fault
from opwright.source.limits import FILE_BYTES
from opwright.source.span import SourceText

_READ_AT_ONCE = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class SourceFile(SourceText):
    """A file's text with the path that the user knows.

    >>> SourceFile("ops.yaml", "- func: f() -> ()").path
    'ops.yaml'
    """

    __slots__ = ()

    @classmethod
    def read(cls, path: str | os.PathLike[str], limit: int = FILE_BYTES) -> SourceFile:
        """Read the file at a path as UTF-8. A byte order mark is dropped; line breaks stay unchanged.

        Raises Fault if there is no such file (E0001), or if it cannot be read (E0002), is not UTF-8 (E0003) or too
        large (E0004).
        """
        name = os.fspath(path)
        try:
            with open(name, "rb") as stream:
                data = stream.read(limit + 1)
        except (FileNotFoundError, NotADirectoryError):
            raise Fault.at(FILE_MISSING, f"no such file: `{name}`") from None
        except IsADirectoryError:
            raise Fault.at(FILE_UNREADABLE, f"`{name}` is a folder, not a file") from None
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise Fault.at(FILE_UNREADABLE, f"cannot read `{name}`: {reason}") from None
        return cls.decode(name, data, limit)

    @classmethod
    def read_plain(cls, path: str) -> SourceFile:
        """Read a file that another file names, or that is in a folder: only the user may name a pipe or a device.

        Raises the same Faults as `read`.
        """
        try:
            handle = os.open(path, _READ_AT_ONCE)
        except (OSError, ValueError):
            return cls.read(path)
        data = None
        try:
            if stat.S_ISREG(os.fstat(handle).st_mode):
                with open(handle, "rb", closefd=False) as stream:
                    data = stream.read(FILE_BYTES + 1)
        except OSError as error:
            raise Fault.at(FILE_UNREADABLE, f"cannot read `{path}`: {error.strerror or error}") from None
        finally:
            os.close(handle)
        if data is None:
            raise Fault.at(FILE_UNREADABLE, f"`{path}` is not a file that can be read at once")
        return cls.decode(path, data)

    @classmethod
    def decode(cls, path: str, data: bytes, limit: int = FILE_BYTES) -> SourceFile:
        """Decode the bytes of a file from an archive or the network.

        Raises Fault if the bytes are not UTF-8 (E0003, at the first wrong byte) or too many (E0004).

        >>> SourceFile.decode("ops.yaml", b"\\xef\\xbb\\xbftags").text
        'tags'
        """
        if len(data) > limit:
            start = cls(path, "").span(0)
            raise Fault.at(FILE_TOO_LARGE, f"`{path}` has more than {limit:,} bytes", start, help="split the file")
        skipped = len(_BYTE_ORDER_MARK) if data.startswith(_BYTE_ORDER_MARK) else 0
        try:
            return cls(path, data[skipped:].decode("utf-8"), prefix_bytes=skipped)
        except UnicodeDecodeError as error:
            # Show the line with a replacement character at the fault; offsets before it are exact.
            before = len(data[skipped : skipped + error.start].decode("utf-8"))
            shown = cls(path, data[skipped:].decode("utf-8", "replace"), prefix_bytes=skipped)
            offset = skipped + error.start
            raise Fault.at(
                FILE_NOT_UTF8,
                f"the file is not UTF-8: byte 0x{data[offset]:02x} at offset {offset}",
                shown.span(before, before + 1),
                label="not UTF-8",
                help="save the file as UTF-8",
            ) from None


def read_own_text(package: str, path: str) -> str:
    """Text of a file of Opwright's own, by its path in the folder of a package; that may be in a zip file.

    >>> read_own_text("opwright.release", "data/operators.txt").startswith("#")
    True
    """
    from pkgutil import get_data

    data = get_data(package, path)
    assert data is not None, "packages are loaded from files"
    return data.decode("utf-8")
