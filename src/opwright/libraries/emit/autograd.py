"""Autograd for the operators of a part: nodes of the backward graph, kernels that record them, and views."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from opwright.cpp.namespaces import enclose
from opwright.emit.autograd import inplace_or_view, variable_type, view_funcs
from opwright.emit.autograd.functions import declaration, definition
from opwright.emit.autograd.kernels import changes_arguments, has_kernel, registration, view_base
from opwright.emit.autograd.nodes import GraphNode
from opwright.emit.emitter import FragmentContext
from opwright.libraries.emit.parts import LibraryPart, PartDerivatives, Section, has_own_kernel
from opwright.model.derivatives import DEFAULT_KEY, DifferentiableFunction
from opwright.model.library import Library
from opwright.release.rules import Rules

#: What every file with kernels of autograd includes.
_SUPPORT: Final = "opwright/autograd.h"

#: The names that the code uses, which no operator of the library hides.
_NAMES: Final = "OPWRIGHT_AUTOGRAD_NAMES;"

#: An operator of C++ in a formula. The header that declares those of tensors takes long to compile.
_CPP_OPERATOR: Final = re.compile(r"[*/%&|^!~<>]|\+|-(?!>)|==")
_TEMPLATE_OR_REFERENCE: Final = re.compile(r"->|<[\w:, ]*>|\b(?:auto|Tensor|TensorList)&")


def section(part: LibraryPart, context: FragmentContext) -> Section:
    """Nodes, the kernels under Autograd and under ADInplaceOrView, and their registrations."""
    derivatives = part.derivatives
    candidates = [function for function in derivatives.functions if has_kernel(function)]
    differentiable = [function for function in candidates if not has_own_kernel(function.function, "Autograd")]
    # Kernels for autograd alone call operators that are tracked themselves.
    tracked = [
        function
        for function in candidates
        if not has_own_kernel(function.function, "ADInplaceOrView") and not function.function.ends_in_autograd
    ]
    texts = [
        _nodes(derivatives, context),
        _view_functions(tracked, context.rules),
        _autograd_kernels(part.library, differentiable, context),
        _inplace_or_view_kernels(part.library, tracked, context.rules),
    ]
    text = "\n\n".join([text for text in texts if text])
    if not text:
        return Section()
    return Section(_includes(derivatives), enclose(part.library.graph, f"{_NAMES}\n\n{text}") + "\n")


def _includes(derivatives: PartDerivatives) -> tuple[str, ...]:
    """Support header, what the formulas need of PyTorch, and the author's headers."""
    formulas = [derivative.formula for info in derivatives.infos for derivative in info.derivatives]
    formulas += [derivative.formula for info in derivatives.infos for derivative in info.forward_derivatives]
    operators = ("ATen/TensorOperators.h",) if any(map(_uses_operators, formulas)) else ()
    called = dict.fromkeys([f"ATen/ops/{name.removesuffix('_symint')}.h" for name in derivatives.called])
    return (_SUPPORT, *operators, *called, *derivatives.includes)


def _uses_operators(formula: str) -> bool:
    """Whether a formula uses operators of C++, such as `*`.

    >>> _uses_operators("acme::scale(grad, -1)"), _uses_operators("std::get<0>(f(grad, self->sizes()))")
    (True, False)
    """
    return _CPP_OPERATOR.search(_TEMPLATE_OR_REFERENCE.sub("", formula)) is not None


def _nodes(derivatives: PartDerivatives, context: FragmentContext) -> str:
    """Classes of the nodes, with their functions."""
    rules = context.rules
    nodes = [GraphNode(info, rules) for info in derivatives.infos if info.has_derivatives]
    return "\n".join([*[declaration(node, rules) for node in nodes], *[definition(node, rules) for node in nodes]])


def _view_functions(differentiable: Sequence[DifferentiableFunction], rules: Rules) -> str:
    """Classes that regenerate views from a base."""
    views = [
        view_funcs.view_func(item.function)
        for item in differentiable
        if view_base(item.function, rules) is not None and not changes_arguments(item.function)
    ]
    return "".join([*map(view_funcs.declaration, views), *map(view_funcs.definition, views)])


def _autograd_kernels(
    library: Library, differentiable: Sequence[DifferentiableFunction], context: FragmentContext
) -> str:
    """Kernels that record gradients, and their registrations under each key that has derivatives."""
    slots = [variable_type.kernel_slots(function, context) for function in differentiable]
    keys = dict.fromkeys([DEFAULT_KEY, *[key for function in differentiable for key in function.infos]])

    def texts(slot: str) -> str:
        return "\n".join(["\n".join(of_function[slot]) for of_function in slots if slot in of_function])

    definitions = "\n".join(filter(None, [texts(variable_type.definitions_slot(key)) for key in keys]))
    registrations = {key: text for key in keys if (text := texts(variable_type.registrations_slot(key)))}
    parts = [enclose("VariableType", f"namespace {{\n{definitions}\n}} // namespace")] if definitions else []
    for key, statements in registrations.items():
        parts.append(_registration(library, "Autograd" if key == DEFAULT_KEY else key, statements))
    return "\n\n".join(parts)


def _inplace_or_view_kernels(library: Library, differentiable: Sequence[DifferentiableFunction], rules: Rules) -> str:
    """Kernels that count versions and mark views."""
    texts = [(function.function, inplace_or_view.kernel(function, rules)) for function in differentiable]
    kernels = [(function, text) for function, text in texts if text is not None]
    if not kernels:
        return ""
    definitions = "\n".join([text for _, text in kernels])
    statements = "".join([registration(function, "ADInplaceOrView") for function, _ in kernels])
    namespace = enclose("ADInplaceOrView", f"namespace {{\n{definitions}\n}} // namespace")
    return f"{namespace}\n\n{_registration(library, 'ADInplaceOrView', statements)}"


def _registration(library: Library, key: str, statements: str) -> str:
    return f"TORCH_LIBRARY_IMPL({library.namespace}, {key}, m) {{\n{statements}}}"
