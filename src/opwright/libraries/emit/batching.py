"""Batching rules of a part's operators: plumbing between vmap and the author's functions."""

from __future__ import annotations

from collections.abc import Iterator

from opwright.convention import dispatcher
from opwright.cpp.namespaces import enclose
from opwright.emit.aten.vmap import Plumbing, plumbing, plumbing_kind
from opwright.emit.emitter import FragmentContext
from opwright.libraries.emit.parts import LibraryPart, Section
from opwright.libraries.entry_fields import library_fields
from opwright.model.native_function import NativeFunction
from opwright.schema.function import Return

_BATCH_DIMENSION = "::std::optional<int64_t>"


def section(part: LibraryPart, context: FragmentContext) -> Section:
    """Plumbing of the operators with rules, and its registration."""
    functions = [function for function in part.functions if library_fields(function).batch_rule]
    if not functions:
        return Section()
    library = part.library
    texts = []
    registered = []
    for function in functions:
        rule = f"&{library_fields(function).batch_rule}"
        kind = plumbing_kind(function)
        if kind is None:
            pointer = f"static_cast<{library.operators}::{function.name.unambiguous}::ptr_schema>({rule})"
        else:
            texts.append(plumbing(function, kind))
            name = f"{function.name.unambiguous}_generated_plumbing"
            pointer = f"&{library.api}::batching::{name}<decltype({rule}), {rule}>"
        registered.append(f'  m.impl("{function.name.text}", {pointer});')
    body = "\n".join(["namespace {", "using namespace at;", "using namespace at::functorch;", *texts, "} // namespace"])
    statements = [f"TORCH_LIBRARY_IMPL({library.namespace}, FuncTorchBatched, m) {{", *registered, "}"]
    text = "\n".join([enclose(f"{library.api}::batching", body), "", *statements])
    return Section(("opwright/batching.h",), f"{text}\n")


def rule_declarations(part: LibraryPart) -> Iterator[tuple[str, str]]:
    """Namespace and the declaration of each rule."""
    for function in part.functions:
        namespace, _, name = library_fields(function).batch_rule.rpartition("::")
        if name:
            yield namespace, f"{part.library.export} {_declaration(function, name)};"


def _declaration(function: NativeFunction, name: str) -> str:
    """A rule takes the index of the batch dimension after each tensor, and returns one after each result.

    Where there is no plumbing, it has the type of the operator.
    """
    signature = dispatcher.signature(function)
    kind = plumbing_kind(function)
    if kind is None:
        return signature.definition(name)
    parameters = []
    for argument, binding in zip(function.arguments.all, signature.bindings, strict=True):
        parameters.append(binding.definition)
        if argument.type.text in ("Tensor", "Tensor?"):
            parameters.append(f"{_BATCH_DIMENSION} {binding.name}_bdim")
    returns = _returns(function.schema.returns) if kind is Plumbing.WRAPS else "void"
    return f"{returns} {name}({', '.join(parameters)})"


def _returns(returns: tuple[Return, ...]) -> str:
    types = []
    for result in returns:
        tensor = "at::Tensor" if result.type.text == "Tensor" else "::std::vector<at::Tensor>"
        types += [tensor, _BATCH_DIMENSION]
    return f"::std::tuple<{', '.join(types)}>"
