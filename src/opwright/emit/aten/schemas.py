"""`RegisterSchema.cpp`: the schemas and tags of all overloads, declared to the dispatcher."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from opwright.cpp.text import string_literal
from opwright.emit.aten.units import NO_SLOTS
from opwright.emit.emitter import AnyEmitter, DeclaredRead, Emitter, FragmentContext, Job, OneFile, Slots, per_job
from opwright.model.library import PYTORCH
from opwright.model.native_function import NativeFunction
from opwright.source.records import NamedTuple

NamespaceOverloads = tuple[str, Sequence[NativeFunction]]

#: The namespaces whose library other code defines, so that this file only adds a fragment to it.
_OPENED_ELSEWHERE: Final = ("quantized", "quantized_decomposed")


def namespaces(job: Job) -> dict[str, list[NativeFunction]]:
    """Overloads whose schemas are registered, by their namespaces."""
    namespaces: dict[str, list[NativeFunction]] = {}
    everything = job.options.force_schema_registration
    for function in job.catalog.functions:
        chosen = namespaces.setdefault(function.namespace, [])
        if everything or job.selection.selects(function):
            chosen.append(function)
    return namespaces


class _TagVector(NamedTuple):
    """Vector of a set of tags: its name, and the overload before which it is defined."""

    name: str
    first: NativeFunction


def _tag_vectors(functions: Iterable[NativeFunction]) -> dict[frozenset[str], _TagVector]:
    """Vectors of the tags of overloads: a set of tags has one, where it first occurs."""
    vectors: dict[frozenset[str], _TagVector] = {}
    for function in functions:
        if function.tags and function.tags not in vectors:
            vectors[function.tags] = _TagVector(f"tags_{len(vectors)}", function)
    return vectors


def schema_text(function: NativeFunction) -> str:
    """The schema as an expression."""
    return string_literal(function.schema.written_text)


def _registration(
    function: NativeFunction,
    vectors: Mapping[frozenset[str], _TagVector],
    schema: Callable[[NativeFunction], str] = schema_text,
) -> str:
    """Statement that declares an overload, after the vector of its tags if no overload before has them."""
    definition, name = "", "{}"
    if function.tags:
        name, first = vectors[function.tags]
        if first is function:
            members = ", ".join([f"at::Tag::{tag}" for tag in sorted(function.tags)])
            definition = f"const std::vector<at::Tag> {name} = {{{members}}};\n"
    return f"{definition}m.def({schema(function)}, {name});\n"


def registrations(
    functions: Sequence[NativeFunction], schema: Callable[[NativeFunction], str] = schema_text
) -> list[str]:
    """Statements that declare the overloads of one library, with expressions for their schemas."""
    vectors = _tag_vectors(functions)
    return [_registration(function, vectors, schema) for function in functions]


@per_job
def _own_tag_vectors(job: Job) -> Mapping[frozenset[str], _TagVector]:
    return _tag_vectors(namespaces(job).get(PYTORCH.namespace, ()))


_TAG_VECTORS: Final[DeclaredRead[Mapping[frozenset[str], _TagVector]]] = DeclaredRead(
    "tag_vectors",
    _own_tag_vectors,
    lambda vectors: tuple([(tuple(sorted(tags)), vector.first.name.text) for tags, vector in vectors.items()]),
    lambda job: [vector.first for vector in _own_tag_vectors(job).values()],
)


def _units(job: Job) -> list[NativeFunction | NamespaceOverloads]:
    """Overloads of PyTorch's namespace one by one, and those of each other namespace together."""
    units: list[NativeFunction | NamespaceOverloads] = []
    for namespace, functions in namespaces(job).items():
        units += functions if namespace == PYTORCH.namespace else [(namespace, functions)]
    return units


def _fragment(unit: NativeFunction | NamespaceOverloads, context: FragmentContext) -> Slots:
    if context.options.skip_dispatcher_registration:
        return NO_SLOTS
    if isinstance(unit, NativeFunction):
        return {"aten_schema_registrations": (_registration(unit, context.read(_TAG_VECTORS)),)}
    return library_slots(*unit)


def library_slots(name: str, functions: Sequence[NativeFunction]) -> Slots:
    """Slots with the schemas of the overloads of one namespace."""
    if name == PYTORCH.namespace:
        return {"aten_schema_registrations": registrations(functions)}
    return {"schema_registrations": [library(name, functions)]}


def library(name: str, functions: Sequence[NativeFunction]) -> str:
    """Library of one namespace, with the schemas of its overloads."""
    macro = "TORCH_LIBRARY_FRAGMENT" if name in _OPENED_ELSEWHERE else "TORCH_LIBRARY"
    statements = "\t".join(registrations(functions))
    return f"""\
{macro}({name}, m) {{
  {statements}
}};"""


def file_slots(job: Job) -> Slots:
    """Slots of the file itself: a blank line precedes the libraries of namespaces other than `aten`."""
    return {"aten_schema_registrations": (), "schema_registrations": ("\n",)}


def emitters(job: Job) -> list[AnyEmitter]:
    """Emitter of the file."""
    return [
        Emitter(
            name="register_schema_source",
            family="sources",
            template="RegisterSchema.cpp",
            units=_units,
            fragment=_fragment,
            reads=(_TAG_VECTORS,),
            layout=OneFile("RegisterSchema.cpp"),
            file_slots=file_slots,
        )
    ]
