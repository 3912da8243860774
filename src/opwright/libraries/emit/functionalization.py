"""Functionalization of a part's operators that write to arguments, and of its views.

They do what PyTorch's do, with functions of the support header for what these spell out. They leave out what PyTorch's
do for its own operators and devices: an in-place operator of a library may have no kernel for meta tensors.

PyTorch itself functionalizes operators that do neither, and those that write to arguments and return none of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from opwright.convention import dispatcher, native
from opwright.convention.functionalization import has_many_outputs, inverse_declaration, reverse_arguments
from opwright.cpp.binding import Binding
from opwright.cpp.namespaces import enclose
from opwright.emit.aten import view_meta
from opwright.emit.aten.functionalization import registration
from opwright.emit.aten.functionalized_views import ViewKernel, view_kernel
from opwright.emit.aten.functionalized_writes import UnwrapPlan, WriteKernel, returned_values, write_kernel
from opwright.emit.aten.units import key_set_parameter
from opwright.emit.checks import functional_form
from opwright.emit.emitter import FragmentContext
from opwright.libraries.emit.parts import LibraryPart, Section, by_root, has_own_kernel
from opwright.model.native_function import NativeFunction, ViewGroup
from opwright.release.rules import Rules
from opwright.schema.function import SchemaKind

#: The namespace of the functions of the support header. An operator may have the name of one of them.
SUPPORT: Final = "::opwright::functionalization"


def write_definition(function: NativeFunction, functional: NativeFunction, rules: Rules) -> str:
    """Kernel of an operator that writes: it calls the functional form, and updates the arguments."""
    kernel = write_kernel(function, functional, rules)
    tensors = [argument for argument in function.arguments.all if argument.type.is_tensor_like]
    written = [f"{SUPPORT}::isFunctionalTensor({tensor.name})" for tensor in tensors if tensor.is_write]
    read = [f"{SUPPORT}::isFunctionalTensor({tensor.name})" for tensor in tensors if not tensor.is_write]
    unwrapped = "\n".join(_unwrap_statements(kernel.passed, f"{SUPPORT}::synced_value"))
    return f"""\
{kernel.signature.definition(native.name(function.schema), first=key_set_parameter(function))} {{
{unwrapped}
  if (!({" && ".join(written)})) {{
    {SUPPORT}::check_only_functional_tensors_are_written({" || ".join(read) or "false"});
{_plain_call(kernel)}
  }}
  auto {kernel.output} = [&]() {{
    at::AutoDispatchSkipFunctionalize guard;
    return {_operator(kernel.functional)}::call({", ".join(kernel.functional_arguments)});
  }}();
{_updates(kernel)}
}}
"""


def _operator(function: NativeFunction) -> str:
    return f"{function.library.operators}::{function.name.unambiguous}"


def _unwrap_statements(passed: Sequence[UnwrapPlan], unwrap: str) -> list[str]:
    """Statements that take the arguments out of functional tensors."""
    names = [plan.inner.text.removesuffix("_") for plan in passed if plan.unwrap]
    return [f"  auto {name}_ = {unwrap}({name});" for name in names]


def _plain_call(kernel: WriteKernel) -> str:
    """Statements that call the operator itself for tensors that are not functional."""
    function = kernel.function
    arguments = ", ".join([plan.inner.text for plan in kernel.passed])
    fresh = dispatcher.fresh_results(kernel.returned, kernel.output)
    values = returned_values(kernel.returned, fresh)
    result = f"auto {kernel.output} = " if fresh else ""
    returned = dispatcher.return_statement(function.schema.returns, values, function.style) or "return;"
    return f"""\
    at::AutoDispatchSkipFunctionalize guard;
    {result}{_operator(function)}::call({arguments});
    {returned}"""


def _updates(kernel: WriteKernel) -> str:
    """Statements that give arguments their new values, and return."""
    function = kernel.function
    lines = [f"  {SUPPORT}::update({name}, {result});" for name, result in kernel.written]
    fresh = [f"at::functionalization::impl::to_functional_tensor({result})" for result in kernel.fresh]
    values = returned_values(kernel.returned, fresh)
    returned = dispatcher.return_statement(function.schema.returns, values, function.style)
    return "\n".join([*lines, f"  {returned}"] if returned else lines)


def view_definition(function: NativeFunction, group: ViewGroup, rules: Rules) -> str:
    """Kernel of a view: it applies the view to the value of a functional tensor, and records it."""
    kernel = view_kernel(function, group, rules)
    inplace = "inplace_view" in function.tags
    finish = _changed_view if inplace else _new_view
    return f"""\
{kernel.head} {{
{chr(10).join(_unwrap_statements(kernel.passed, f"{SUPPORT}::value"))}
  if (!{SUPPORT}::isFunctionalTensor({kernel.tensor})) {{
    at::AutoDispatchSkipFunctionalize guard;
    return {kernel.called}::call({kernel.inner_arguments});
  }}
  const bool reapply_views = at::functionalization::impl::getFunctionalizationReapplyViewsTLS();
  const auto inverse_return_mode = {SUPPORT}::mode_of_inverses(reapply_views);
{kernel.symbolic}
{finish(kernel)}
}}
"""


def _new_view(kernel: ViewKernel) -> str:
    return f"""\
  auto view_meta = {kernel.recorded};
  auto {kernel.output} = [&]() {{
    at::AutoDispatchSkipFunctionalize guard;
    return reapply_views ? {kernel.called}::call({kernel.inner_arguments})
                         : {kernel.copy}::call({kernel.inner_arguments});
  }}();
  return {SUPPORT}::create_functional_tensor_with_view_meta({kernel.output}, {kernel.tensor}, view_meta);"""


def _changed_view(kernel: ViewKernel) -> str:
    return f"""\
  {SUPPORT}::mutate_view_meta({kernel.tensor}, {kernel.recorded});
  return {kernel.tensor};"""


_HEADER: Final = "opwright/functionalization.h"

_NAMES: Final = """\
using namespace at;
using namespace at::functionalization;"""


def section(part: LibraryPart, context: FragmentContext) -> Section:
    """Records of views with their inverses, the kernels under Functionalize, and their registration."""
    groups = [group for function in part.functions if (group := function.view_group) and group.view is function]
    views = [group for group in groups if not group.composite]
    kernels = [*_writing_kernels(part, context.rules), *_view_kernels(views, context.rules)]
    if not kernels:
        return Section()
    metas = [meta for group in views for meta in view_meta.view_metas(group, context)]
    index = view_meta.index_binding(context.rules)
    inverses = "\n".join([_inverse(group, index) for group in views])
    texts = [
        _NAMES,
        f"struct FunctionalInverses {{\n{inverses}\n}};" if inverses else "",
        *map(view_meta.declaration, metas),
        *[method for meta in metas for method in view_meta.implementation(meta)],
        "namespace {",
        *[text for _, text in kernels],
        "} // namespace",
    ]
    body = enclose(part.library.functionalization, "\n".join(filter(None, texts)))
    listed = "\n".join([f"  {registration(function)}" for function, _ in kernels])
    registered = f"TORCH_LIBRARY_IMPL({part.library.namespace}, Functionalize, m) {{\n{listed}\n}}"
    return Section((_HEADER,), f"{body}\n\n{enclose(part.library.api, registered)}\n")


def _writing_kernels(part: LibraryPart, rules: Rules) -> Iterator[tuple[NativeFunction, str]]:
    """Kernels of operators that write to arguments and have a functional form."""
    roots = by_root(part.functions)
    for function in part.functions:
        if function.kind is SchemaKind.functional or function.has_composite_implicit:
            continue
        if has_own_kernel(function, "Functionalize"):
            continue
        functional = functional_form(function, roots[function.root_name])
        if functional is not None:
            yield function, write_definition(function, functional, rules)


def _view_kernels(views: list[ViewGroup], rules: Rules) -> Iterator[tuple[NativeFunction, str]]:
    for group in views:
        for function in (group.view, group.view_inplace):
            if function is not None and not has_own_kernel(function, "Functionalize"):
                yield function, view_definition(function, group, rules)


def _inverse(group: ViewGroup, index: Binding) -> str:
    """Function that writes a changed view back into its base, as every strided view can be."""
    view = group.view
    arguments = reverse_arguments(view.schema, view.style, index)
    chosen = f"[{index.name}]" if has_many_outputs(view.schema) else ""
    passed = ", ".join(["base", *[argument.name for argument in arguments[4 if chosen else 3 :]]])
    declared = inverse_declaration(group, index).removesuffix(";")
    called = f"{view.library.operators}::{view.name.unambiguous}::call({passed}){chosen}"
    return f"  {declared} {{\n    return {SUPPORT}::write_back(base, mutated_view, {called});\n  }}"
