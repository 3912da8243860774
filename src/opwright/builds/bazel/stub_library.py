"""Writes a stub of a shared library for the linker: `stub_library.py LIBRARY STUB`.

The stub is an ELF file with the name of the library and the symbols that it defines, and nothing else, so it is a few
megabytes where the library may have hundreds. Nothing can load it.
"""

from __future__ import annotations

import mmap
import os
import struct
import sys
from typing import Final, NamedTuple

_HEADER: Final = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION: Final = struct.Struct("<IIQQQQIIQQ")
_SYMBOL: Final = struct.Struct("<IBBHQQ")
_DYNAMIC: Final = struct.Struct("<qQ")

#: Kinds of sections, flags of sections, and tags of the dynamic section, as ELF has them.
_PROGBITS, _STRTAB, _DYNAMIC_SECTION, _NOBITS, _DYNSYM = 1, 3, 6, 8, 11
_WRITE, _ALLOC, _EXECINSTR = 1, 2, 4
_NULL, _DT_STRTAB, _DT_SYMTAB, _DT_STRSZ, _DT_SYMENT, _DT_SONAME = 0, 5, 6, 10, 11, 14


class StubSection(NamedTuple):
    """A section of the stub."""

    name: str
    kind: int
    flags: int
    data: bytes
    link: int = 0
    info: int = 0
    entry: int = 0


class DefinedSymbols(NamedTuple):
    """What the linker reads of a library: its header, the symbols that it defines, their names, and its own name."""

    header: tuple[int, ...]
    symbols: bytes
    names: bytes
    name: int


def read_library(content: bytes | mmap.mmap) -> DefinedSymbols:
    """Read a shared library. Raises ValueError for a file that is none of 64 bits, little end first."""
    if content[:6] != b"\x7fELF\x02\x01":
        raise ValueError("it is no ELF file of 64 bits with the little end first")
    header = _HEADER.unpack_from(content)
    offset, count = header[6], header[12]
    sections = [_SECTION.unpack_from(content, offset + number * _SECTION.size) for number in range(count)]

    def read(kind: int) -> tuple[tuple[int, ...], bytes]:
        section = next(section for section in sections if section[1] == kind)
        return section, content[section[4] : section[4] + section[5]]

    dynsym, symbols = read(_DYNSYM)
    strings = sections[dynsym[6]]
    names = content[strings[4] : strings[4] + strings[5]]
    soname = next(value for tag, value in _DYNAMIC.iter_unpack(read(_DYNAMIC_SECTION)[1]) if tag == _DT_SONAME)
    return DefinedSymbols(header, symbols, names, soname)


def stub_of(library: DefinedSymbols) -> bytes:
    """Bytes of the stub."""
    names = bytearray(b"\0")

    def add_name(start: int) -> int:
        place = len(names)
        names.extend(library.names[start : library.names.index(b"\0", start) + 1])
        return place

    symbols = bytearray(_SYMBOL.size)
    for name, info, other, section, value, size in _SYMBOL.iter_unpack(library.symbols):
        # Global and weak symbols that the library defines; all of them are in the one section of the stub.
        if section and info >> 4:
            symbols += _SYMBOL.pack(add_name(name), info, other, 1, value, size)
    dynamic = {_DT_SONAME: add_name(library.name), _DT_STRSZ: len(names), _DT_SYMENT: _SYMBOL.size}
    entries = b"".join(_DYNAMIC.pack(*pair) for pair in [*dynamic.items(), (_NULL, 0)])
    sections = [
        StubSection(".text", _NOBITS, _ALLOC | _EXECINSTR | _WRITE, b""),
        StubSection(".dynsym", _DYNSYM, _ALLOC, bytes(symbols), link=3, info=1, entry=_SYMBOL.size),
        StubSection(".dynstr", _STRTAB, _ALLOC, bytes(names)),
        StubSection(".dynamic", _DYNAMIC_SECTION, _ALLOC | _WRITE, entries, link=3, entry=_DYNAMIC.size),
    ]
    return _file(library.header, sections)


def _file(header: tuple[int, ...], sections: list[StubSection]) -> bytes:
    """An ELF file with sections and no segments."""
    texts = b"\0".join([b"", *[section.name.encode() for section in sections], b".shstrtab", b""])
    rows = [bytes(_SECTION.size)]
    body = bytearray()
    for section in [*sections, StubSection(".shstrtab", _STRTAB, 0, texts)]:
        place = texts.index(b"\0" + section.name.encode() + b"\0") + 1
        start = _HEADER.size + len(body)
        kind, flags, data, link, info, entry = section[1:]
        rows.append(_SECTION.pack(place, kind, flags, start, start, len(data), link, info, 8, entry))
        body += data + bytes(-len(data) % 8)
    where = _HEADER.size + len(body)
    ident, kind, machine, version, _, _, _, flags = header[:8]
    sizes = (_HEADER.size, 0, 0, _SECTION.size, len(rows), len(rows) - 1)
    return _HEADER.pack(ident, kind, machine, version, 0, 0, where, flags, *sizes) + body + b"".join(rows)


def main(path: str, stub: str) -> None:
    """Write the stub of a library; exit with a sentence if there cannot be one."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        try:
            data = stub_of(read_library(content))
        except ValueError as error:
            sys.exit(f"{path!a}: {error!s}")
    os.makedirs(os.path.dirname(stub), exist_ok=True)
    with open(stub, "wb") as output:
        output.write(data)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
