"""All emitters of the program, by family.

A new emitter is a module with `emitters(job)` and a row here. Its name, which `opwright where` shows, is unique. It is
made of lower-case words with underscores and ends in what the emitter writes: `operators_source`, `functions_header`,
`function_headers` for a header per operator.
"""

from __future__ import annotations

from importlib import import_module

# The table is read when a program starts, before it is known whether there is anything to do: no import for types.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Final

    from opwright.emit.emitter import AnyEmitter, Job, Slots

#: Family -> the modules below `opwright.emit` that make it.
FAMILIES: Final[dict[str, tuple[str, ...]]] = {
    "headers": (
        "aten.operators",
        "aten.functions",
        "aten.methods",
        "aten.redispatch",
        "aten.registration_declarations",
        "aten.names",
        "aten.vmap",
        "aten.native_headers",
        "aten.meta_headers",
        "aten.direct_headers",
        "aten.native_aot",
    ),
    "sources": (
        "aten.operators",
        "aten.functions",
        "aten.methods",
        "aten.names",
        "aten.schemas",
        "aten.backend_select",
        "aten.view_meta",
        "aten.functionalization",
        "aten.composite_kernels",
        "aten.c_shim",
        "aten.register.files",
        "aten.native_aot",
        "aten.ufunc",
    ),
    "declarations_yaml": ("aten.declarations",),
    # The longest work stands first, so that processes which share the work end together.
    "autograd": (
        "autograd.variable_type",
        "autograd.trace_type",
        "autograd.functions",
        "autograd.inplace_or_view",
        "autograd.variable_factories",
        "autograd.view_funcs",
    ),
    "python": ("python.torch_functions", "autograd.python_functions", "python.files", "python.return_types"),
    "annotated": ("python.annotated_arguments",),
    "view_meta": ("aten.view_meta",),
    "unboxing": ("aten.unboxing",),
}

#: What a run makes unless it is asked for more: boxed functions are for builds without the dispatcher only.
DEFAULT_FAMILIES: Final = tuple(family for family in FAMILIES if family != "unboxing")

#: Families that go with another for whoever asks for that one by name.
_COMPANIONS: Final = {"python": ("annotated", "view_meta")}


#: Family -> the names of the dialects that its runs load besides those of every run.
_DIALECTS: Final[dict[str, tuple[str, ...]]] = {
    "sources": ("shim_tables",),
    "autograd": ("derivatives",),
    "python": ("derivatives", "deprecated"),
}


def dialects_of(families: Iterable[str]) -> frozenset[str]:
    """The names of the dialects that a run of these families loads besides those of every run.

    >>> dialects_of(["headers", "autograd"])
    frozenset({'derivatives'})
    """
    return frozenset(dialect for family in families for dialect in _DIALECTS.get(family, ()))


def chosen_families(only: Iterable[str] | None) -> tuple[str, ...]:
    """The families that a user asks for, with those that go with them; without a choice the usual ones.

    >>> chosen_families(["python"])
    ('python', 'annotated', 'view_meta')
    """
    if not only:
        return DEFAULT_FAMILIES
    wanted = {family for name in only for family in (name, *_COMPANIONS.get(name, ()))}
    return tuple(family for family in FAMILIES if family in wanted)


#: Templates that are made by filling another: name -> that one, and the module below `opwright.emit` whose
#: `template_slots` fill it.
_MADE_TEMPLATES: Final = {
    "autograd/shards/VariableType.cpp": ("autograd/VariableType.cpp", "autograd.variable_type"),
}


def made_template(name: str, job: Job) -> tuple[str, Slots | None]:
    """PyTorch's template behind a name, and the slots that make the template of the name from it, if it is made."""
    if name not in _MADE_TEMPLATES:
        return name, None
    plain, module = _MADE_TEMPLATES[name]
    slots: Slots = import_module(f"opwright.emit.{module}").template_slots(job)
    return plain, slots


def import_emitters(families: Iterable[str]) -> None:
    """Import the modules of these families, as `emitters` does when it is their turn."""
    for family in families:
        for module in FAMILIES[family]:
            import_module(f"opwright.emit.{module}")


def emitters(job: Job, families: Iterable[str] = DEFAULT_FAMILIES) -> Iterator[AnyEmitter]:
    """The emitters of the given families, in the order of the table.

    Modules are imported when a family of theirs is asked for: a run that needs only headers starts faster.

    >>> from opwright.emit.emitter import Options
    >>> from opwright.release.rules import Rules
    >>> from opwright.release.version import parse_version
    >>> import opwright
    >>> job = opwright.Job(opwright.load(), Rules(parse_version("2.13.0")), Options())
    >>> [emitter.name for emitter in emitters(job, ["declarations_yaml"])]
    ['declarations_yaml']
    """
    for family in families:
        for module in FAMILIES[family]:
            for emitter in import_module(f"opwright.emit.{module}").emitters(job):
                if emitter.family == family:
                    yield emitter
