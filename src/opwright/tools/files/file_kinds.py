"""Of which dialect a file is, what it belongs to, and which files of a folder are of one."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from opwright.backends.rows import BACKEND
from opwright.dialects.dialect import Dialect
from opwright.dialects.table import NATIVE_AOT, NATIVE_FUNCTIONS, SHIM_TABLES, TAGS, dialect_of
from opwright.libraries.rows import LIBRARY
from opwright.source.diagnostic import Fault
from opwright.source.text import SourceFile
from opwright.workspace.project_files import files_below

_TOP_LEVEL: Final = re.compile(r"(?m)^[\"']?(\w+)[\"']?[ \t]*:")
#: What only library files have, a list of entries with schemas: the operators of a selection are a mapping.
_OPERATOR_LIST: Final = re.compile(r"(?m)^[\"']?operators[\"']?[ \t]*:(?:\s|#.*)*-[ \t]")
_SCHEMA: Final = re.compile(r"(?m)^[ \t-]*[\"']?func[\"']?[ \t]*:")
#: The head of a library file or a backend file names the file with its derivatives.
_NAMES_DERIVATIVES: Final = re.compile(r"(?m)^[\"']?derivatives[\"']?[ \t]*:[ \t]*(\S.*)")
#: How many folders above its own the top of a tree may be.
_LEVELS: Final = 6
_SUFFIXES: Final = (".yaml", ".yml")


def kind_of(file: SourceFile) -> Dialect[Any] | None:
    """Dialect of a file: by its name, by what its head has, or by its first field; None if none recognises it.

    >>> kind_of(SourceFile("acme.yaml", "cpp_namespace: acme\\nbackend: PrivateUse1\\n"))
    <dialect backend>
    >>> kind_of(SourceFile("acme.yaml", "abi: stable\\noperators:\\n- func: f(Tensor x) -> Tensor\\n"))
    <dialect library>
    """
    names = {*_TOP_LEVEL.findall(file.text)}
    for field, dialect in (("backend", BACKEND), ("namespace", LIBRARY)):
        if field in names:
            return dialect
    if _OPERATOR_LIST.search(file.text) is not None and _SCHEMA.search(file.text) is not None:
        return LIBRARY
    return dialect_of(file)


def tree_around(path: str, dialect: Dialect[Any]) -> str | None:
    """The ATen folder of the source tree or package that a file of PyTorch belongs to; None if it is in none."""
    folder = os.path.dirname(path) or os.curdir
    name = os.path.basename(path)
    if not any(pattern.rpartition("/")[2] == name for pattern in dialect.inputs):
        return None
    if dialect in (NATIVE_AOT, SHIM_TABLES):
        return _tree_above(folder)
    if dialect in (TAGS, NATIVE_FUNCTIONS):
        aten = os.path.normpath(os.path.join(folder, os.pardir))
        is_native = os.path.basename(os.path.abspath(folder)) == "native"
        has_both = all(os.path.isfile(os.path.join(folder, other)) for other in ("tags.yaml", "native_functions.yaml"))
        return aten if is_native and has_both else None
    for steps in ((os.pardir, "ATen"), (os.pardir, os.pardir, "aten", "src", "ATen")):
        aten = os.path.normpath(os.path.join(folder, *steps))
        if os.path.isfile(os.path.join(aten, *NATIVE_FUNCTIONS.inputs[0].split("/"))):
            return aten
    return None


def _tree_above(folder: str) -> str | None:
    """The ATen folder of the source tree or of the folder of packages that a folder is in; None if it is in none."""
    native = NATIVE_FUNCTIONS.inputs[0].split("/")
    above = folder
    for _ in range(_LEVELS):
        for steps in (("aten", "src", "ATen"), ("torchgen", "packaged", "ATen")):
            aten = os.path.normpath(os.path.join(above, *steps))
            if os.path.isfile(os.path.join(aten, *native)):
                return aten
        above = os.path.join(above, os.pardir)
    return None


def expand_folders(paths: Iterable[str]) -> Iterator[str]:
    """Paths, each folder replaced by the YAML files below it whose kind is known.

    Hidden folders are left out, and links to what is outside of the folder.
    """
    for path in paths:
        if os.path.isdir(path):
            real = os.path.join(os.path.realpath(path), "")
            for below in files_below(path, _SUFFIXES):
                leads_out = os.path.islink(below) and not os.path.realpath(below).startswith(real)
                if not leads_out and _is_known(os.path.normpath(below)):
                    yield os.path.normpath(below)
        else:
            yield path


def _is_known(path: str) -> bool:
    try:
        return os.path.isfile(path) and kind_of(SourceFile.read_plain(path)) is not None
    except Fault:
        return False


def owners_of(file: SourceFile, others: Iterable[str] = ()) -> list[str]:
    """Library files and backend files, among other files and beside a file with derivatives, that name it."""
    folder, name = os.path.split(file.path)
    owners = []
    beside = [os.path.join(folder, sibling) for sibling in sorted(os.listdir(folder or os.curdir))]
    paths = {os.path.abspath(path): path for path in (*others, *beside) if path.endswith(_SUFFIXES)}
    for absolute, path in paths.items():
        if absolute != os.path.abspath(file.path) and _is_known(path):
            match = _NAMES_DERIVATIVES.search(SourceFile.read_plain(path).text)
            owners += [path] if match is not None and name in match[1] else []
    return owners
