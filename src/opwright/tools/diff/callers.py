"""Whether calls from Python and from C++ still work, and whether kernels registered elsewhere still fit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from opwright.convention import dispatcher, public_api
from opwright.convention.python.bound import is_bound
from opwright.cpp.binding import Binding
from opwright.cpp.c_types import CType
from opwright.cpp.signature import Signature
from opwright.model.native_function import NativeFunction
from opwright.schema.function import Argument
from opwright.tools.diff.schema_rules import accepts, default_text, list_size, same_default, type_text

#: C++ type of parameters with plain integers -> the types that it is converted from without a cast.
_CONVERTED_FROM: Final = {
    "at::Scalar": ("int64_t", "double", "bool"),
    "at::OptionalIntArrayRef": ("at::IntArrayRef",),
}


def python_faults(new: NativeFunction, old: NativeFunction) -> Iterator[str]:
    """Why Python code that calls the old operator fails, or gets something else, with the new one."""
    if is_bound(old) and not is_bound(new):
        yield "the Python binding is gone"
    if (old.python_module or "") != (new.python_module or ""):
        yield f"the Python module is `{new.python_module or 'torch'}` instead of `{old.python_module or 'torch'}`"
    yield from _variant_faults(new, old)
    before, after = old.arguments, new.arguments
    by_name = {argument.name: argument for argument in after.all}
    names = {argument.name for argument in before.all}
    for place, argument in enumerate(before.positional):
        same_place = after.positional[place] if place < len(after.positional) else None
        if same_place is not None and same_place.name == argument.name:
            yield from _python_argument_faults(argument, same_place)
        elif argument.name not in by_name:
            if same_place is not None and same_place.name not in names and same_place.type is argument.type:
                names.add(same_place.name)
                yield f"argument `{argument.name}` is replaced by `{same_place.name}`"
            else:
                yield f"argument `{argument.name}` is gone"
        elif by_name[argument.name] in after.positional:
            yield f"argument `{argument.name}` has another place"
        else:
            yield f"argument `{argument.name}` is passed by name only"
    for argument in (*before.keyword_only, *before.out):
        if argument.name not in by_name:
            yield f"argument `{argument.name}` is gone"
        else:
            yield from _python_argument_faults(argument, by_name[argument.name])
    for argument in after.all:
        if argument.name not in names and argument.default is None:
            yield f"new argument `{argument.name}` has no default"
    yield from _result_faults(new, old)


def _python_argument_faults(before: Argument, after: Argument) -> Iterator[str]:
    if not accepts(after.type, before.type) or list_size(after.type) != list_size(before.type):
        yield type_text(before, after)
    if before.default is not None and not same_default(before, after):
        yield default_text(before, after)
    if before.is_write != after.is_write:
        yield f"argument `{before.name}` is {'no longer' if before.is_write else 'now'} written"


def _result_faults(new: NativeFunction, old: NativeFunction) -> Iterator[str]:
    before, after = old.schema.returns, new.schema.returns
    if len(before) != len(after):
        yield f"{len(after)} returns instead of {len(before)}"
        return
    for index, (first, second) in enumerate(zip(before, after, strict=True)):
        if first.name is not None and first.name != second.name:
            named = "nothing" if second.name is None else f"`{second.name}`"
            yield f"return {index} is named {named} instead of `{first.name}`"
        if not accepts(first.type, second.type):
            yield f"return {index} is `{second.type}` instead of `{first.type}`"


def _variant_faults(new: NativeFunction, old: NativeFunction) -> Iterator[str]:
    if old.function and not new.function:
        yield "the function is gone, only the method is left"
    if old.method and not new.method:
        yield "the method is gone, only the function is left"


def cpp_faults(new: NativeFunction, old: NativeFunction) -> Iterator[str]:
    """Why C++ code that calls the old operator through PyTorch's API does not compile, or gets something else."""
    yield from _variant_faults(new, old)
    if new.function and old.function:
        yield from _call_faults(
            public_api.function_signatures(new).friendly, public_api.function_signatures(old).friendly
        )
    elif new.method and old.method:
        yield from _call_faults(public_api.method_signatures(new).friendly, public_api.method_signatures(old).friendly)


def _call_faults(new: Signature, old: Signature) -> Iterator[str]:
    if new.returns is not old.returns:
        yield f"it returns `{new.returns.text}` instead of `{old.returns.text}` in C++"
    for before, after in zip(old.bindings, new.bindings, strict=False):
        if not _converts(after.type, before.type):
            yield f"parameter `{before.name}` is `{after.type.text}` instead of `{before.type.text}` in C++"
        elif before.name != after.name and any(after.name == other.name for other in old.bindings):
            yield f"argument `{after.name}` has another place"
        elif before.default is not None and after.default is None:
            yield f"argument `{before.name}` has no default"
        else:
            yield from _default_faults(before, after)
    left = {binding.name for binding in new.bindings}
    for gone in old.bindings[len(new.bindings) :]:
        if gone.name not in left:
            yield f"argument `{gone.name}` is gone"
    for added in new.bindings[len(old.bindings) :]:
        if added.default is None:
            yield f"new argument `{added.name}` has no default"


def _default_faults(before: Binding, after: Binding) -> Iterator[str]:
    first, second = before.argument, after.argument
    if before.default is None or not isinstance(first, Argument) or not isinstance(second, Argument):
        return
    if first.name == second.name and second.default is not None and not same_default(first, second):
        yield default_text(first, second)


def _converts(new: CType, old: CType) -> bool:
    """Whether a value of the old type can be passed for the new one."""
    if new.kind == "mut_ref" and old.kind != "mut_ref":
        return False
    wanted, given = new.value, old.value
    if wanted is given:
        return True
    if wanted.kind == "optional":
        return _converts(wanted.elem, given.elem if given.kind == "optional" else given)
    return given.text in _CONVERTED_FROM.get(wanted.text, ())


def kernel_faults(new: NativeFunction, old: NativeFunction) -> Iterator[str]:
    """Why kernels for the old operator, registered by a backend, do not fit the new one."""
    before, after = dispatcher.concrete_signature(old), dispatcher.concrete_signature(new)
    if before.type == after.type and old.schema.has_symint:
        before, after = dispatcher.signature(old), dispatcher.signature(new)
    if before.type == after.type:
        return
    if before.returns is not after.returns:
        yield f"kernels return `{after.returns.text}` instead of `{before.returns.text}`"
    if [parameter.type for parameter in before.bindings] != [parameter.type for parameter in after.bindings]:
        yield from _parameter_faults(after, before)


def _parameter_faults(new: Signature, old: Signature) -> Iterator[str]:
    before = {parameter.name: parameter for parameter in old.bindings}
    after = {parameter.name: parameter for parameter in new.bindings}
    common = [name for name in before if name in after]
    if len(common) < min(len(before), len(after)) or common != [name for name in after if name in before]:
        yield f"kernels take `({new.parameter_types})` instead of `({old.parameter_types})`"
        return
    for name, parameter in after.items():
        if name not in before:
            yield f"kernels get the parameter `{parameter.definition}`"
        elif parameter.type is not before[name].type:
            yield f"parameter `{name}` of kernels is `{parameter.type.text}` instead of `{before[name].type.text}`"
    for name, parameter in before.items():
        if name not in after:
            yield f"kernels no longer get the parameter `{parameter.definition}`"
