"""`RegisterSchema.cpp`: the schemas and tags of all overloads, declared to the dispatcher."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from opwright.cpp.text import string_literal
from opwright.emit.aten.units import NO_SLOTS
from opwright.emit.emitter import AnyEmitter, Emitter, FragmentContext, Job, OneFile, Slots
from opwright.model.native_function import NativeFunction

NamespaceOverloads = tuple[str, Sequence[NativeFunction]]

#: The namespaces whose library other code defines, so that this file only adds a fragment to it.
_OPENED_ELSEWHERE: Final = ("quantized", "quantized_decomposed")


def namespaces(job: Job) -> list[NamespaceOverloads]:
    """The namespaces with the overloads whose schemas are registered."""
    namespaces: dict[str, list[NativeFunction]] = {}
    everything = job.options.force_schema_registration
    for function in job.catalog.functions:
        chosen = namespaces.setdefault(function.namespace, [])
        if everything or job.selection.selects(function):
            chosen.append(function)
    return list(namespaces.items())


def registrations(functions: Sequence[NativeFunction]) -> list[str]:
    """The statements that declare the overloads of one library.

    A set of tags becomes a vector where it first occurs, which the overloads that follow share.
    """
    vectors: dict[frozenset[str], str] = {}
    texts = []
    for function in functions:
        tags = function.tags
        vector = vectors.get(tags) if tags else "{}"
        before = ""
        if vector is None:
            vector = vectors[tags] = f"tags_{len(vectors)}"
            members = ", ".join([f"at::Tag::{tag}" for tag in sorted(tags)])
            before = f"const std::vector<at::Tag> {vector} = {{{members}}};\n"
        texts.append(f"{before}m.def({string_literal(str(function.schema))}, {vector});\n")
    return texts


def _library(namespace: NamespaceOverloads, context: FragmentContext) -> Slots:
    if context.options.skip_dispatcher_registration:
        return NO_SLOTS
    return library_slots(*namespace)


def library_slots(name: str, functions: Sequence[NativeFunction]) -> Slots:
    """The slots with the schemas of the overloads of one namespace."""
    body = registrations(functions)
    if name == "aten":
        return {"aten_schema_registrations": body}
    macro = "TORCH_LIBRARY_FRAGMENT" if name in _OPENED_ELSEWHERE else "TORCH_LIBRARY"
    statements = "\t".join(body)
    return {
        "schema_registrations": [
            f"""\
{macro}({name}, m) {{
  {statements}
}};"""
        ]
    }


def file_slots(job: Job) -> Slots:
    """The slots of the file itself: a blank line precedes the libraries of namespaces other than `aten`."""
    return {"aten_schema_registrations": (), "schema_registrations": ("\n",)}


def emitters(job: Job) -> list[AnyEmitter]:
    """The emitter of the file."""
    return [
        Emitter(
            name="register_schema_source",
            family="sources",
            template="RegisterSchema.cpp",
            units=namespaces,
            fragment=_library,
            layout=OneFile("RegisterSchema.cpp"),
            file_slots=file_slots,
        )
    ]
