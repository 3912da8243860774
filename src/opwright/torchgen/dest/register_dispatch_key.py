"""Wrappers of kernels and their registrations: the names of `torchgen.dest.register_dispatch_key`."""

from __future__ import annotations

import dataclasses
from textwrap import dedent, indent
from typing import TYPE_CHECKING, Any, Final

from opwright.backends.derived_wrappers import copies_results
from opwright.backends.file_backend import FileBackend
from opwright.emit.aten.backend import Backend, KernelUnit, WrapperKind
from opwright.emit.aten.dispatch_key_headers import function_declarations, key_macro
from opwright.emit.aten.native_aot import NATIVE_AOT_KERNELS
from opwright.emit.aten.register import devices, helpers, structured_kernels
from opwright.emit.aten.register.registration import (
    dispatch_key_definitions,
    registration,
    wrapper_definition,
    wrapper_of,
)
from opwright.emit.aten.register.structured_kernels import OutputClass
from opwright.emit.emitter import FragmentContext, Job, Options
from opwright.model.catalog import Catalog
from opwright.model.dispatch_key import Allocation
from opwright.model.native_function import NativeFunction as ModelFunction
from opwright.schema.function import SchemaKind as ModelKind
from opwright.source.diagnostic import Fault
from opwright.torchgen.api.types.signatures import DispatcherSignature, NativeSignature
from opwright.torchgen.interface.faults import Invalid
from opwright.torchgen.interface.functions import (
    BackendIndex,
    NativeFunction,
    NativeFunctionsGroup,
    model_function,
    model_group,
    model_kernel,
)
from opwright.torchgen.interface.installed import installed_rules
from opwright.torchgen.interface.keys import DeviceCheckType, SchemaKind, model_key
from opwright.torchgen.interface.records import Record, record
from opwright.torchgen.interface.schema import Argument, model_argument
from opwright.torchgen.utils import Target

if TYPE_CHECKING:
    from opwright.torchgen.selective_build.selector import SelectiveBuilder


#: The columns of members of classes.
_MEMBER: Final = " " * 4


def model_backend(
    index: BackendIndex,
    unit: NativeFunction | NativeFunctionsGroup,
    *,
    symint: bool = True,
    class_name: str | None = None,
) -> Backend:
    """Opwright's backend with the kernels of a function or of a group."""
    key = model_key(index.dispatch_key)
    pairs = [(function, index.get_kernel(f)) for f, function in unit_members(unit)]
    return FileBackend(
        key,
        {function: model_kernel(kernel, key) for function, kernel in pairs if kernel is not None},
        out_is_primary=index.use_out_as_primary,
        external=index.external,
        device_guard=index.device_guard,
        symint=symint,
        class_name=class_name,
        # Programs give dispatch keys other names.
        shown_name=str(index.dispatch_key),
        generates=True,
    )


def model_unit(unit: NativeFunction | NativeFunctionsGroup) -> KernelUnit:
    """Opwright's function or group of a record."""
    return model_function(unit) if isinstance(unit, NativeFunction) else model_group(unit)


def unit_members(unit: NativeFunction | NativeFunctionsGroup) -> list[tuple[NativeFunction, ModelFunction]]:
    """Overloads of a unit, and what Opwright has for each."""
    if isinstance(unit, NativeFunction):
        return [(unit, model_function(unit))]
    return list(zip(unit.functions(), model_group(unit).functions(), strict=True))


def _model_member(f: NativeFunction, unit: NativeFunction | NativeFunctionsGroup) -> ModelFunction:
    """What Opwright has for an overload of a unit."""
    return dict(unit_members(unit))[f]


@record("backend_index target selector rocm symint class_method_name skip_dispatcher_op_registration")
class RegisterDispatchKey(Record):
    """Prints one of the texts about the wrappers of a dispatch key, which the target chooses.

    It is the definitions of wrappers, their registrations, or the declarations or definitions of the functions that
    call them without the dispatcher.
    """

    target: Target
    backend_index: BackendIndex
    class_method_name: str | None
    selector: SelectiveBuilder
    skip_dispatcher_op_registration: bool
    symint: bool
    rocm: bool

    def __call__(self, f: NativeFunctionsGroup | NativeFunction) -> list[str]:
        """Text for each overload that has a wrapper."""
        if isinstance(f, NativeFunctionsGroup):
            if f.structured and WrapperKind.structured in self._kinds(f).values():
                return self.gen_structured(f)
            texts = [self.gen_unstructured(member, f) for member in f.functions()]
        else:
            texts = [self.gen_unstructured(f)]
        return [text for text in texts if text is not None]

    def gen_structured(self, g: NativeFunctionsGroup) -> list[str]:
        """Text for each overload of a structured group."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(RegisterDispatchKey)}
        structured = StructuredRegisterDispatchKey(**fields, g=g)
        return [text for member in g.functions() if (text := structured.gen_one(member)) is not None]

    def gen_unstructured(self, f: NativeFunction, g: NativeFunctionsGroup | None = None) -> str | None:
        """Text for an overload, which may be a member of a group; None if it has no wrapper."""
        return self._text(f, g)

    def gen_out_inplace_wrapper(self, f: NativeFunction, g: NativeFunctionsGroup | None) -> str | None:
        """Wrapper of an overload that copies the result of the functional one; None without a group.

        Raises AssertionError for an overload that has nothing to copy to.
        """
        if g is None:
            return None
        if not copies_results(_model_member(f, g)):
            raise Invalid(f"`{f.func.name}` has no argument to which a result can be copied")
        return self._definition(f, g, WrapperKind.functional)

    @staticmethod
    def gen_device_check(type: DeviceCheckType, args: list[Argument], method_name: str) -> str:
        """Check that all tensors among arguments are on one device."""
        if type is DeviceCheckType.NoCheck:
            return f"{devices.NO_CHECK}\n"
        tensors = [argument for argument in map(model_argument, args) if argument.type.is_tensor_like]
        return devices.check_of(tensors, method_name)

    def wrapper_kernel_sig(self, f: NativeFunction) -> NativeSignature | DispatcherSignature:
        """Signature of the wrapper of an overload."""
        name = self._backend(f).display_name
        prefix = f"wrapper_{name}_{f.func.name.overload_name}_"
        return DispatcherSignature.from_schema(f.func, prefix=prefix, symint=self.symint)

    def _backend(self, unit: NativeFunction | NativeFunctionsGroup) -> Backend:
        return model_backend(self.backend_index, unit, symint=self.symint, class_name=self.class_method_name)

    def _kinds(self, unit: NativeFunction | NativeFunctionsGroup) -> dict[NativeFunction, WrapperKind | None]:
        """Kind of the wrapper of each overload of a unit. Raises AssertionError for what cannot be wrapped."""
        try:
            kinds = dict(self._backend(unit).wrapped_overloads(model_unit(unit)))
        except Fault as fault:
            raise Invalid(str(fault)) from None
        return {f: kinds.get(function) for f, function in unit_members(unit)}

    def _text(self, f: NativeFunction, g: NativeFunctionsGroup | None) -> str | None:
        """Text of the target for an overload; None if it has no wrapper.

        Raises AssertionError for another target.
        """
        unit = f if g is None else g
        kind = self._kinds(unit)[f]
        if kind is None:
            return None
        if self.target is Target.ANONYMOUS_DEFINITION:
            return self._definition(f, unit, kind)
        backend, function = self._backend(unit), _model_member(f, unit)
        wrapper = wrapper_of(function, kind, backend)
        if self.target is Target.NAMESPACED_DEFINITION:
            return dispatch_key_definitions(wrapper, backend)
        if self.target is Target.NAMESPACED_DECLARATION:
            macro = key_macro(backend.key, installed_rules(), function.library)
            return function_declarations(function, macro, symint=self.symint)
        if self.target is not Target.REGISTRATION:
            raise Invalid(f"wrappers have no text for {self.target}")
        is_chosen = not self.skip_dispatcher_op_registration and self.selector.is_native_function_selected(f)
        return registration(wrapper) if is_chosen else None

    def _definition(self, f: NativeFunction, unit: NativeFunction | NativeFunctionsGroup, kind: WrapperKind) -> str:
        backend = self._backend(unit)
        try:
            wrapper = wrapper_of(_model_member(f, unit), kind, backend)
            return wrapper_definition(wrapper, model_unit(unit), backend, self._context())
        except Fault as fault:
            raise Invalid(str(fault)) from None

    def _context(self) -> FragmentContext:
        options = Options(rocm=self.rocm)
        return Job(Catalog((), (), (), (), {}), installed_rules(), options).context((NATIVE_AOT_KERNELS,))


@record()
class StructuredRegisterDispatchKey(RegisterDispatchKey):
    """Prints the same for the overloads of one structured group."""

    g: NativeFunctionsGroup

    def gen_one(self, f: NativeFunction) -> str | None:
        """Text for an overload of the group; None if it has no wrapper."""
        return self._text(f, self.g)

    def _definition(self, f: NativeFunction, unit: NativeFunction | NativeFunctionsGroup, kind: WrapperKind) -> str:
        if kind is not WrapperKind.structured:
            return super()._definition(f, unit, kind)
        backend = self._backend(self.g)
        wrapper = wrapper_of(_model_member(f, self.g), kind, backend)

        def print_output(output: OutputClass) -> str:
            names = {"class_name": output.name, "parent_class": output.parent}
            return self.gen_class(f, f.func.kind(), **names, generate_super=output.inherits)

        return structured_kernels.definition(wrapper, model_group(self.g), backend, self._context(), print_output)

    def gen_class(
        self, f: NativeFunction, k: SchemaKind, *, class_name: str, parent_class: str, generate_super: bool
    ) -> str:
        """Class that provides the outputs of an overload."""
        count = len(f.func.returns)
        constructor = self.gen_class_ctor(k, class_name, count)
        setters = self.gen_class_set_output_functions(k, parent_class, generate_super)
        output = self._output(k, name=class_name, parent=parent_class, outputs=count)
        return structured_kernels.class_with(
            output, indent(f"{constructor}\n", _MEMBER) if constructor else "", indent(setters, _MEMBER)
        )

    def gen_class_ctor(self, k: SchemaKind, class_name: str, returns: int) -> str:
        """Constructor of the class; nothing if there is nothing to construct from."""
        return structured_kernels.constructor(self._output(k, name=class_name, outputs=returns)).strip()

    def gen_class_set_output_functions(self, k: SchemaKind, parent_class: str, generate_super: bool) -> str:
        """Methods that the shape function calls with the sizes and options of an output."""
        bodies = [f"{indent(self.gen_class_set_output_body(k, replaces), 2 * _MEMBER)}\n" for replaces in (True, False)]
        output = self._output(k, parent=parent_class, inherits=generate_super)
        return dedent(structured_kernels.setters(output, *bodies))

    def gen_class_set_output_body(self, k: SchemaKind, maybe_create_proxy: bool) -> str:
        """Statements that provide an output, of which a proxy may take the place."""
        return dedent(structured_kernels.provision(self._output(k), replaces=maybe_create_proxy)).rstrip()

    def _output(self, k: SchemaKind, **fields: Any) -> OutputClass:  # noqa: ANN401
        """Class of an overload of a kind, with these fields."""
        group = model_group(self.g)
        output = structured_kernels.output_class(group.functional, group, self._backend(self.g), self._context())
        return output._replace(kind=ModelKind[k.name], **fields)


def gen_registration_headers(backend_index: BackendIndex, per_operator_headers: bool, rocm: bool) -> list[str]:
    """Includes that wrappers of a dispatch key need."""
    return helpers.registration_headers(
        _empty_backend(backend_index), per_operator_headers=per_operator_headers, rocm=rocm, rules=installed_rules()
    )


def gen_registration_helpers(backend_index: BackendIndex) -> list[str]:
    """Functions that allocate and check outputs of structured kernels."""
    return helpers.registration_helpers(_allocating_backend(backend_index), installed_rules())


def gen_empty_impl_names(backend_index: BackendIndex) -> tuple[str | None, str | None]:
    """Functions that allocate outputs without and with strides; None for a key that cannot allocate."""
    allocation = _empty_backend(backend_index).allocation
    return (None, None) if allocation is None else (allocation.function.format(""), allocation.strided)


def _allocating_backend(index: BackendIndex) -> Backend:
    """Backend without kernels, whose outputs the functions of `gen_empty_impl_names` allocate."""
    backend = _empty_backend(index)
    empty, strided = gen_empty_impl_names(index)
    if empty is None or strided is None or backend.allocation is not None:
        return backend
    return Backend(backend.key, {}, generates=True, default_allocation=Allocation(empty, strided_function=strided))


def _empty_backend(index: BackendIndex) -> Backend:
    return Backend(model_key(index.dispatch_key), {}, generates=True)
