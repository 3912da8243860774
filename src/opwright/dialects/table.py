"""Table of dialects. Prefetch, loading and the list of diagnostic codes are derived from its rows."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from opwright.dialects.dialect import Dialect
from opwright.guests import guest_rows
from opwright.release.store import DOCSTRING_MODULES, STUB_TEMPLATES
from opwright.release.store import SHIM_TABLES as SHIM_TABLES_INPUT

# Prefetch begins when this module is imported, so it imports no model.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from opwright.model.catalog import Catalog
    from opwright.model.derivatives import Derivatives
    from opwright.model.more_inputs import DeprecatedSignature, Docstring, NativeAotKernel
    from opwright.model.selection import Selection
    from opwright.release.tables import ShimTables
    from opwright.source.text import SourceFile

TAGS: Final = Dialect(
    "tags",
    inputs=("native/tags.yaml",),
    fields=("tag",),
    loads_into=dict[str, str],
    is_always_loaded=True,
    is_required=True,
)
NATIVE_FUNCTIONS: Final[Dialect[Catalog]] = Dialect(
    "native_functions",
    inputs=("native/native_functions.yaml",),
    fields=("func",),
    loads_into="opwright.model.catalog:Catalog",
    is_always_loaded=True,
    is_required=True,
)
DERIVATIVES: Final[Dialect[Derivatives]] = Dialect(
    "derivatives",
    inputs=("autograd/derivatives.yaml",),
    loads_into="opwright.model.derivatives:Derivatives",
    is_required=True,
)
DEPRECATED: Final[Dialect[tuple[DeprecatedSignature, ...]]] = Dialect(
    "deprecated",
    inputs=("autograd/deprecated.yaml",),
    loads_into=tuple,
    is_required=True,
)
SELECTION: Final[Dialect[Selection]] = Dialect(
    "selection",
    fields=("include_all_operators", "include_all_non_op_selectives", "operators"),
    loads_into="opwright.model.selection:Selection",
)
NATIVE_AOT: Final[Dialect[tuple[NativeAotKernel, ...]]] = Dialect(
    "native_aot",
    inputs=("native_aot/*/aot.py",),
    loads_into=tuple,
    is_always_loaded=True,
)
SHIM_TABLES: Final[Dialect[ShimTables]] = Dialect(
    "shim_tables",
    inputs=(SHIM_TABLES_INPUT,),
    loads_into="opwright.release.tables:ShimTables",
    is_required=True,
)


#: What the stub files of torch are made from besides operators.
DOCSTRINGS: Final[Dialect[dict[str, Docstring]]] = Dialect("docstrings", members=DOCSTRING_MODULES, loads_into=dict)
TEMPLATES_OF_STUBS: Final[Dialect[dict[str, SourceFile]]] = Dialect(
    "stub_templates", members=STUB_TEMPLATES, loads_into=dict
)


_BUILT_IN: Final[tuple[Dialect[Any], ...]] = (
    TAGS,
    NATIVE_FUNCTIONS,
    DERIVATIVES,
    DEPRECATED,
    SELECTION,
    NATIVE_AOT,
    SHIM_TABLES,
    *[dialect for rows in guest_rows() for dialect in rows.DIALECTS],
)

#: All dialects, in the order in which a run loads them. A new one is a row here, and a package or a module.
DIALECTS: Final[list[Dialect[Any]]] = [*_BUILT_IN, DOCSTRINGS, TEMPLATES_OF_STUBS]


def more_dialects(names: Collection[str]) -> list[Dialect[Any]]:
    """Dialects of these names and of every run that are not built in; a run loads them into `Job.more_inputs`."""
    return [dialect for dialect in chosen_dialects(names) if dialect not in _BUILT_IN]


def dialect_named(name: str) -> Dialect[Any]:
    """Dialect of a name. Raises KeyError if there is none, as in a copy of the compiler without its guests.

    >>> dialect_named("library")
    <dialect library>
    """
    for dialect in DIALECTS:
        if dialect.name == name:
            return dialect
    raise KeyError(name)


def dialect_of(file: SourceFile) -> Dialect[Any] | None:
    """Dialect of a file, by its file name or its first field; None if no dialect recognises it.

    >>> from opwright.source.text import SourceFile
    >>> dialect_of(SourceFile("my_ops.yaml", "- func: twice(Tensor self) -> Tensor"))
    <dialect native_functions>
    """
    return next((dialect for dialect in DIALECTS if dialect.recognizes(file)), None)


def dialect_help(current: Dialect[Any] | None, file: SourceFile) -> str:
    """Help for a file without the shape of its dialect: another dialect that recognises it, if any.

    >>> from opwright.source.text import SourceFile
    >>> dialect_help(SELECTION, SourceFile("kept.yaml", "- func: twice(Tensor self) -> Tensor"))
    'the file looks like `native_functions.yaml`'
    """
    dialect = dialect_of(file)
    if dialect is None or dialect is current:
        return ""
    if not dialect.inputs:
        return f"the file looks like a {dialect.name}"
    return f"the file looks like `{dialect.inputs[0].rpartition('/')[2]}`"


def chosen_dialects(names: Collection[str]) -> list[Dialect[Any]]:
    """Dialects of these names and those that every run loads, in the order of the table."""
    return [dialect for dialect in DIALECTS if dialect.is_always_loaded or dialect.name in names]


def member_names(names: Collection[str]) -> list[str]:
    """The files besides the generator's inputs that loaders of these dialects read, by their paths in the wheel.

    >>> member_names(["docstrings"])
    ['torch/_torch_docs.py', 'torch/_tensor_docs.py']
    """
    return [name for dialect in DIALECTS if dialect.name in names for name in dialect.members]


def yaml_names(names: Collection[str] = ()) -> tuple[str, ...]:
    """The YAML inputs of a run that loads these dialects besides those of every run, in the order of loading.

    >>> yaml_names({"derivatives"})
    ('native/tags.yaml', 'native/native_functions.yaml', 'autograd/derivatives.yaml')
    """
    inputs = [name for dialect in chosen_dialects(names) for name in dialect.inputs]
    return tuple(name for name in inputs if name.endswith(".yaml") and "*" not in name)
