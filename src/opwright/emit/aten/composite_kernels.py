"""Kernels that call other operators: `CompositeViewCopyKernels.cpp`.

Opwright generates the kernels of three kinds of operators. The copying form of a view calls the view and clones its
result. A synthesized functional form clones its inputs and calls the form that writes to them. A synthesized out form
calls the functional form and copies its results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from opwright.convention import dispatcher, native
from opwright.cpp.binding import Expression
from opwright.cpp.translation import translate
from opwright.emit.aten.units import NO_SLOTS, file_emitter, include, own_name, with_own_headers
from opwright.emit.emitter import AnyEmitter, FragmentContext, Job, Slots
from opwright.model.dispatch_key import COMPOSITE_EXPLICIT_NON_FUNCTIONAL
from opwright.model.native_function import NativeFunction, NativeFunctionsGroup, ViewGroup

_CLONE: Final = "clone(/*memory_format=*/at::MemoryFormat::Contiguous)"

#: `view_copy` reshapes the tensor if a view is not possible without a copy.
_VIEW_COPY: Final = f"""\
at::Tensor view_copy_symint(const at::Tensor & self, at::SymIntArrayRef size) {{
  c10::SymDimVector shape = infer_size_dv(size, self.sym_numel());
  if (!at::detail::computeStride(self.sym_sizes(), self.sym_strides(), shape).has_value()) {{
    return self.reshape_symint(size);
  }} else {{
    auto output = at::_ops::view::call(self, size);
    return output.{_CLONE};
  }}
}}
"""


def has_view_copy_kernel(group: ViewGroup) -> bool:
    """Whether the kernel of a view's copying form is generated: there is such a form, and it is named after the view.

    For example, the copying form of `slice_inverse` is `slice_scatter`, whose kernel is written by hand.
    """
    return group.view_copy is not None and group.view_copy.name.base == f"{group.view.name.name}_copy"


def view_copy_kernel(group: ViewGroup) -> str | None:
    """Kernel of a view's copying form; None if it is written by hand. Raises Untranslatable."""
    view, copy = group.view, group.view_copy
    if copy is None or not has_view_copy_kernel(group):
        return None
    if copy.name.text == "view_copy" and copy.library.known_by_name:
        return _VIEW_COPY
    kernel = copy.kernels[COMPOSITE_EXPLICIT_NON_FUNCTIONAL]
    signature = native.symint_signature(copy) if kernel.symint else native.signature(copy)
    arguments = translate(signature.bindings, dispatcher.arguments(view.schema, style=view.style))
    if view.schema.returns[0].type.list_like is None:
        returned = f"  return output.{_CLONE};"
    else:
        returned = f"""\
  {signature.returns.text} out_clone;
  for (const auto i : c10::irange(output.size())) {{
    out_clone.push_back(output[i].{_CLONE});
  }}
  return out_clone;"""
    return f"""
{signature.definition(kernel.name)} {{
  auto output = {view.library.operators}::{view.name.unambiguous}::call({", ".join(arguments)});
  {returned}
}}
"""


def _symint_suffix(group: NativeFunctionsGroup) -> str:
    return "_symint" if group.out.schema.has_symint else ""


def functional_kernel(group: NativeFunctionsGroup) -> str | None:
    """Kernel of a synthesized functional form, which clones the arguments that the writing form writes to."""
    functional = group.functional
    if not functional.is_synthesized:
        return None
    written = next(
        function for function in (group.inplace, group.mutable) if function is not None and not function.is_synthesized
    )
    signature = dispatcher.signature(functional)
    values: list[Expression] = []
    clones = []
    for binding, argument in zip(signature.bindings, written.arguments.all, strict=False):
        name = binding.name
        if argument.is_write:
            name += "_clone"
            clones.append((name, f"auto {name} = clone_arg({binding.name});"))
        values.append(Expression(name, binding.role, binding.type))
    arguments = translate(tuple(values), dispatcher.arguments(written.schema, style=functional.style))
    assignment = "auto output = " if written.schema.returns else ""
    fresh = dispatcher.fresh_results(dispatcher.returned_arguments(written.schema), "output")
    results = fresh + [name for name, _ in clones]
    clone_statements = "\n".join([statement for _, statement in clones])
    return f"""
{signature.definition(functional.name.name + _symint_suffix(group))} {{
  {clone_statements}
  {assignment}{written.library.operators}::{written.name.unambiguous}::call({", ".join(arguments)});
  {dispatcher.return_statement(functional.schema.returns, results, functional.style)}
}}
"""


def out_kernel(group: NativeFunctionsGroup) -> str | None:
    """Kernel of a synthesized out form, which copies the results of the functional form."""
    out, functional = group.out, group.functional
    if not out.is_synthesized:
        return None
    schema = out.schema
    signature = dispatcher.signature(out)
    arguments = translate(signature.bindings, dispatcher.arguments(functional.schema, style=out.style))
    count = len(functional.schema.returns)
    output = own_name(out, "tmp_output")
    results = [output] if count == 1 else [f"std::get<{index}>({output})" for index in range(count)]
    copied = [
        f"  resize_out_helper({argument.name}, {result});\n  copy_arg({argument.name}, {result});"
        for argument, result in zip(schema.arguments.out, results, strict=False)
    ]
    # Out forms of PyTorch's do not write to other arguments.
    written = [
        argument.name for argument in out.arguments.non_out if argument.is_write and out.library.takes_any_schema
    ]
    copied += [f"  copy_arg({name}, {result});" for name, result in zip(written, results[len(copied) :], strict=False)]
    copies = "\n".join(copied)
    returned = dispatcher.returned_arguments(schema)
    values = [results[index] if name is None else name for index, name in enumerate(returned)]
    return f"""
{signature.definition(out.name.unambiguous + _symint_suffix(group))} {{
  auto {output} = {functional.library.operators}::{functional.name.unambiguous}::call({", ".join(arguments)});
  {copies}
  {dispatcher.return_statement(schema.returns, values, out.style)}
}}
"""


_KERNELS: Final[dict[str, Callable[[NativeFunctionsGroup], str | None]]] = {
    "GeneratedCompositeFunctional_Definitions": functional_kernel,
    "GeneratedCompositeOut_Definitions": out_kernel,
}
_VIEW_COPIES: Final = "CompositeViewCopyKernel_Definitions"


def _includes(*functions: NativeFunction | None) -> str:
    # The declarations in the native headers export the definitions in this file.
    endings = ("_ops", "_native")
    return "\n".join([include(function, ending) for function in functions if function for ending in endings])


def _units(job: Job) -> list[ViewGroup | NativeFunctionsGroup]:
    catalog = job.catalog
    return [
        *[group for group in catalog.view_groups if isinstance(group, ViewGroup)],
        *[group for group in catalog.groups if isinstance(group, NativeFunctionsGroup)],
    ]


def _fragment(unit: ViewGroup | NativeFunctionsGroup, context: FragmentContext) -> Slots:
    if isinstance(unit, ViewGroup):
        kernel = view_copy_kernel(unit)
        copies = NO_SLOTS if kernel is None else {_VIEW_COPIES: [kernel]}
        return with_own_headers([_includes(unit.view, unit.view_copy)], copies, context)
    written = [function for function in (unit.inplace, unit.mutable, unit.functional) if function is not None]
    kernels = {slot: [kernel] for slot, make in _KERNELS.items() if (kernel := make(unit)) is not None}
    includes = _includes(*[function for function in written if not function.is_synthesized])
    return with_own_headers([includes], kernels, context)


def emitters(job: Job) -> list[AnyEmitter]:
    """Emitter of `CompositeViewCopyKernels.cpp`."""
    slots = ("ops_headers", _VIEW_COPIES, *_KERNELS)
    name, path = "composite_view_copy_kernels_source", "CompositeViewCopyKernels.cpp"
    return [file_emitter(name, path, _units, _fragment, slots)]
