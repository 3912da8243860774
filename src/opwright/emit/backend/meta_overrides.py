"""Shape functions of a backend that replace PyTorch's for the Meta key, in every process that loads the backend.

Only functional overloads are replaced.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from opwright.convention import native
from opwright.emit.aten.backend import Backend, KernelUnit, KernelWrapper, WrapperKind
from opwright.emit.aten.register.helpers import create_out_function
from opwright.emit.aten.register.structured_kernels import OutputClass, print_class, structured_body, structured_parent
from opwright.emit.aten.units import kernel_argument
from opwright.emit.backend.section_file import SectionFile
from opwright.emit.emitter import FragmentContext
from opwright.emit.registrations import Registration
from opwright.model.dispatch_key import META, Allocation
from opwright.model.native_function import NativeFunction, NativeFunctionsGroup
from opwright.schema.function import SchemaKind

__all__ = ["meta_definitions", "meta_helpers", "meta_registrations"]

#: The C++ namespace of the wrappers, in which outputs are meta tensors whatever allocates those of the device.
_NAMESPACE: Final = "define_meta"
_META_ALLOCATION: Final = Allocation("at::empty{}", options="options.device(at::kMeta)")


def meta_registrations(file: SectionFile) -> Iterator[Registration]:
    """The registrations of the backend's shape functions."""
    for group in _groups(file):
        function = group.functional
        kernel = kernel_argument(f"{_NAMESPACE}::{_wrapper(function).name}", function.library)
        yield Registration(function.namespace, META.name, function.name.text, kernel, breaks_line=False)


def meta_helpers(file: SectionFile) -> list[str]:
    """The function that allocates meta tensors, if a wrapper needs it."""
    return [_enclose(create_out_function(_META_ALLOCATION))] if any(_groups(file)) else []


def meta_definitions(unit: KernelUnit, wrapping: Backend, context: FragmentContext) -> list[str]:
    """The wrapper of the backend's shape function, with the class of its outputs, if the entry asks for it."""
    if not isinstance(unit, NativeFunctionsGroup) or not wrapping.entry_options(unit.out).register_meta:
        return []
    wrapper = _wrapper(unit.functional)
    output = _output_class(unit, wrapping, context)
    head = wrapper.signature.definition(wrapper.name)
    body = structured_body(wrapper, output, unit, META, context)
    return [_enclose(f"{print_class(output)}\n{head} {{\n{body}\n}}")]


def _groups(file: SectionFile) -> Iterator[NativeFunctionsGroup]:
    for entry in file.section.entries:
        if entry.options.register_meta and entry.function.group is not None:
            yield entry.function.group


def _wrapper(function: NativeFunction) -> KernelWrapper:
    signature = native.signature(function)
    return KernelWrapper(function, WrapperKind.structured, f"wrapper_Meta_define_{signature.name}", signature)


def _output_class(group: NativeFunctionsGroup, wrapping: Backend, context: FragmentContext) -> OutputClass:
    return OutputClass(
        name=f"structured_{wrapping.kernels[group.out].name}_define_meta",
        parent=structured_parent(group, wrapping),
        kind=SchemaKind.functional,
        outputs=len(group.functional.schema.returns),
        inherits=group.out.structured_inherits is not None,
        guard="",
        moves_guard=False,
        names=context.rules.set_output_takes_names,
    )


def _enclose(text: str) -> str:
    return f"namespace {_NAMESPACE} {{\n{text.strip()}\n}} // namespace {_NAMESPACE}"
