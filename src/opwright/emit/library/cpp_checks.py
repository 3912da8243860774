"""Checks of entries whose generated C++ would not compile."""

from __future__ import annotations

from typing import Final

from opwright.convention import dispatcher
from opwright.convention.shared_types import NoCppType
from opwright.dialects.names import CPP_WORDS
from opwright.dialects.nearest import schema_span
from opwright.emit.emitter import Job
from opwright.emit.library.stable_checks import word_span
from opwright.model.native_function import NativeFunction, NativeFunctionsGroup, TypeStyle
from opwright.schema.function import SchemaKind, required_argument
from opwright.source.codes import ARGUMENT_NAME, NO_CONVERSION, STRUCTURED_CONST_REF, UNCLEAR_WRITE
from opwright.source.diagnostic import Diagnostics

__all__ = ["check_cpp"]

#: What generated functions of the native C++ interface call parameters, variables and types of their own.
_OWN_NAMES: Final = frozenset(("T", "dispatchKeySet", "ks", "op", "tmp_output"))


def check_cpp(job: Job, sink: Diagnostics) -> None:
    """Report entries whose generated C++ would not compile, at the argument or the field that is the cause."""
    for library in job.libraries:
        for function in library.catalog.functions:
            if function.is_synthesized:
                continue
            _check_names(function, library.is_stable, sink)
            if not library.is_stable:
                _check_const_refs(function, sink)
                _check_types(function, sink)


def _check_names(function: NativeFunction, is_stable: bool, sink: Diagnostics) -> None:
    for argument in function.arguments.all:
        fault = ""
        if argument.name in CPP_WORDS:
            fault = "is a C++ keyword"
        elif argument.name in _OWN_NAMES and not is_stable:
            fault = "is a name that generated functions use themselves"
        elif argument.name == "out" and not argument.is_write and _has_made_out(function):
            fault = "is that of the tensor of the synthesized out overload"
        if fault:
            message = f"argument name `{argument.name}` {fault}"
            sink.error(ARGUMENT_NAME, message, word_span(function, argument.text), help="rename the argument")


def _has_made_out(function: NativeFunction) -> bool:
    """Whether an out overload is synthesized from a function."""
    group = function.group
    return isinstance(group, NativeFunctionsGroup) and group.out.is_synthesized


def _check_const_refs(function: NativeFunction, sink: Diagnostics) -> None:
    if not function.style & TypeStyle.CONST_REF_MUTABLES:
        return
    field = "use_const_ref_for_mutable_tensors"
    if function.kind is SchemaKind.inplace and function.in_structured_group:
        message = f"the structured kernel of `{function.name}` cannot write to a constant reference"
        sink.error(STRUCTURED_CONST_REF, message, word_span(function, field), help=f"remove `{field}`")
    for argument in function.arguments.all:
        if argument.is_write and argument.type.text == "Tensor?":
            message = f"`{function.name}` writes to the optional tensor `{argument.name}`"
            help = f"write `{required_argument(argument)}`"
            sink.error(UNCLEAR_WRITE, message, word_span(function, argument.text), help=help)


def _check_types(function: NativeFunction, sink: Diagnostics) -> None:
    try:
        dispatcher.signature(function)
    except NoCppType as type:
        message = f"C++ has no type for the values of type `{type}` in the lists of `{function.name}`"
        sink.error(NO_CONVERSION, message, schema_span(function), help="choose another type, such as `int`")
