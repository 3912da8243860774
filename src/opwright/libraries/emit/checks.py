"""Checks of operator libraries: what generated code needs, the names of arguments, and kernels that headers declare."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from opwright.convention import dispatcher
from opwright.convention.dispatcher import returned_arguments
from opwright.convention.shared_types import NoCppType
from opwright.dialects.names import CPP_WORDS
from opwright.dialects.nearest import schema_span, word_span
from opwright.emit.aten.backend import kernel_signature
from opwright.emit.autograd.kernels import counted_arguments, has_kernel, view_base
from opwright.emit.autograd.variable_type import boxed_kernel
from opwright.emit.checks import CHECK_HEADER, CheckedKernel, checks_text, named_kernels
from opwright.emit.emitter import FragmentContext, Job
from opwright.libraries import stable_convention as stable
from opwright.libraries.emit.autocast import autocast_policies
from opwright.libraries.emit.boxed_calls import has_constructor, has_kernels
from opwright.libraries.emit.c_shims import library_shims, shim_refusal
from opwright.libraries.emit.generated_kernels import has_generated_kernel
from opwright.libraries.emit.meta_kernels import has_meta_kernel
from opwright.libraries.emit.parts import LibraryPart, Section
from opwright.libraries.emit.passing_checks import check_alias_sets, check_passing
from opwright.libraries.emit.python.autocasts import PYTHON_POLICIES
from opwright.libraries.emit.python.batch_rules import rule_refusal
from opwright.libraries.emit.python.fakes import has_fake
from opwright.libraries.emit.python.references import is_served
from opwright.libraries.entry_fields import library_fields, outputs_of
from opwright.libraries.kernels import condition_of, implementations_of, is_checked, python_function, written_kernels
from opwright.libraries.library_codes import (
    ARGUMENT_NAME,
    NO_CONVERSION,
    NO_SHAPES,
    SAME_SYMBOL,
    STABLE_FIELD,
    STABLE_RELEASE,
    STABLE_TYPE,
    STRUCTURED_CONST_REF,
)
from opwright.libraries.operator_library import RunLibraries
from opwright.model.derivatives import DifferentiableFunction
from opwright.model.dispatch_key import META
from opwright.model.native_function import Kernel, NativeFunction, NativeFunctionsGroup, TypeStyle, ViewGroup
from opwright.release.rules import Rules
from opwright.schema.function import SchemaKind, required_argument
from opwright.schema.types import TENSOR, DispatcherType
from opwright.source.codes import NO_C_FORM, UNCLEAR_WRITE
from opwright.source.diagnostic import Diagnostics, Label
from opwright.source.records import NamedTuple


def author_kernels(part: LibraryPart) -> Iterator[tuple[NativeFunction, Kernel]]:
    """Kernels that the author writes as functions, each with its overload."""
    for function in part.functions:
        if function.manual_kernel_registration or has_generated_kernel(function):
            continue
        for chosen in function.kernels.values():
            for kernel in written_kernels(chosen):
                if not kernel.structured:
                    yield function, kernel


def checked_kernels(part: LibraryPart) -> Mapping[tuple[NativeFunction, Kernel], str]:
    """Object that stands for each kernel; empty if generated code declares the kernels."""
    if not part.includes or part.has_own_signatures:
        return {}
    names = {kernel: name for name, (kernel, _) in _objects(part).items()}
    return {
        (function, kernel): f"{part.library.api}::kernels::{names[_kernel_type(function, kernel)]}"
        for function, kernel in author_kernels(part)
    }


def _kernel_type(function: NativeFunction, kernel: Kernel) -> CheckedKernel:
    return CheckedKernel(kernel.namespace, kernel.name, kernel_signature(function, kernel).type, condition_of(kernel))


def _objects(part: LibraryPart) -> dict[str, tuple[CheckedKernel, str]]:
    """Kernels by the names of their objects, each with the class of the first operator that uses it."""
    return named_kernels(
        (_kernel_type(function, kernel), f"{part.library.operators}::{function.name.unambiguous}")
        for function, kernel in author_kernels(part)
    )


def section(part: LibraryPart, context: FragmentContext) -> Section:
    """An object for each kernel."""
    objects = _objects(part) if part.includes and not part.has_own_signatures else {}
    return Section((CHECK_HEADER,), checks_text(objects, part.library.api)) if objects else Section()


class _Code(NamedTuple):
    """Generated code, and the names of its variables, parameters and members."""

    title: str
    names: frozenset[str]


def _code(title: str, names: str) -> _Code:
    return _Code(title, frozenset(names.split()))


_RULE: Final = _code("the batching rule", "cur_level guard results")
_STRUCTURED: Final = _code("structured kernels", "op precompute")
_DEVICES: Final = _code("kernels of devices", "common_device device_guard")
_AUTOGRAD: Final = _code("the autograd kernel", "_tmp grad_fn guard original_self")
_NODE: Final = _code(
    "the autograd node", "apply apply_with_saved args compiled_args grads name release_variables saved"
)
_WRITE: Final = _code("functionalization", "guard")
_VIEW: Final = _code("views", "base guard i inverse_return_mode mutated_view name output reapply_views view_meta")
_COPY: Final = _code("the synthesized functional overload", "output")


def check_names(derivative: DifferentiableFunction, rules: Rules, *, is_stable: bool, sink: Diagnostics) -> None:
    """Report arguments whose names C++ does not allow, or that generated code gives something else."""
    function = derivative.function
    taken = {} if is_stable else {name: code for code in _codes(derivative, rules) for name in code.names}
    words = frozenset[str]().union(*[info.words for info in derivative.infos.values()])
    arguments = {argument.name: argument for argument in function.arguments.all}
    for name, argument in arguments.items():
        fault = ""
        tensor = arguments.get(name.removesuffix("_"))
        if name in CPP_WORDS:
            fault = "is a C++ keyword"
        elif name == "out" and not argument.is_write and _has_made_out(function):
            fault = "is that of the tensor of the synthesized out overload"
        elif name == "grad" and "grad" in words and not is_stable:
            fault = "is that of the gradient of the result in formulas"
        elif name in taken and (taken[name] is not _NODE or name in words):
            fault = f"has another meaning in the generated code of {taken[name].title}"
        elif taken and tensor is not None and tensor is not argument and tensor.type.is_tensor_like:
            fault = f"is that of the unwrapped `{tensor.name}` in generated code"
        if fault:
            at = word_span(function, argument.text)
            sink.error(ARGUMENT_NAME, f"argument name `{name}` {fault}", at, help="rename the argument")


def _codes(derivative: DifferentiableFunction, rules: Rules) -> Iterator[_Code]:
    """What is generated for an overload."""
    function, group = derivative.function, derivative.function.group
    if library_fields(function).batch_rule:
        yield _RULE
    if function.in_structured_group:
        yield _STRUCTURED
    if any(key.device is not None and key.device.has_guard for key in function.kernels):
        yield _DEVICES
    if derivative.infos:
        yield _NODE
    if has_kernel(derivative) and (has_view_kernel(function, rules) or not boxed_kernel(derivative, rules)):
        yield _AUTOGRAD
    if function.has_composite_implicit:
        return
    if isinstance(function.view_group, ViewGroup) and not function.view_group.composite:
        yield _VIEW
    if isinstance(group, NativeFunctionsGroup) and group.functional.is_synthesized:
        yield _COPY
    if function.kind is not SchemaKind.functional:
        yield _WRITE


def _has_made_out(function: NativeFunction) -> bool:
    """Whether an out overload is synthesized from a function."""
    group = function.group
    return isinstance(group, NativeFunctionsGroup) and group.out.is_synthesized


class _Feature(NamedTuple):
    """Something that needs the native interface: where an entry asks for it, what it is, why, and what serves."""

    word: str
    what: str
    reason: str = ""
    help: str = ""


def check_stable(job: Job, sink: Diagnostics) -> None:
    """Report what the operators of libraries with the stable interface cannot have."""
    for library in job.of(RunLibraries).libraries:
        if library.is_stable:
            for function in library.catalog.functions:
                _check_function(function, library.oldest_release, sink)
                if not library.has_own_signatures:
                    _check_stable_types(function, sink)


def _check_function(function: NativeFunction, oldest: tuple[int, int], sink: Diagnostics) -> None:
    if library_fields(function).returned_from is not None:
        return
    if function.is_synthesized:
        return
    for feature in _features(function):
        _report_field(function, feature, sink)
    for key in function.kernels:
        # The stable API has no names for the dtypes of quantized tensors, and raises an error when asked for one.
        if key.name.startswith("Quantized"):
            message = f"`abi: stable` has no quantized kernels: one for `{key.name}` cannot read its tensors"
            help = "write `abi: native`, or take the integers as a tensor of their own"
            sink.error(STABLE_FIELD, message, word_span(function, key.name), help=help)
    _check_release(function, oldest, sink)


def _check_stable_types(function: NativeFunction, sink: Diagnostics) -> None:
    """Report types that declarations of kernels cannot have; kernels with signatures of their own need none."""
    if function.is_synthesized:
        return
    for argument in function.arguments.all:
        if stable.argument_type(argument.type) is None:
            message = f"the stable C++ API has no type for `{argument.type}`"
            sink.error(STABLE_TYPE, message, word_span(function, str(argument)), help=_type_help(argument.type.text))
    for result in function.schema.returns:
        if stable.return_type(result.type) is None:
            message = f"the stable C++ API has no type for a result `{result.type}`"
            sink.error(STABLE_TYPE, message, word_span(function, "func"), help=_type_help(result.type.text))


#: What to take in place of a type that no release up to 2.15 has, by the words of the type.
_TYPE_HELP: Final = {
    "Scalar": ("float", "int"),
    "complex": ("Tensor",),
    "SymBool": ("bool",),
    "Dimname": ("int", "str"),
    "QScheme": ("int", "str"),
    "Storage": ("Tensor",),
}


def _type_help(type: str) -> str:
    """What to take in place of a type: the same one with other words in it."""
    for word, others in _TYPE_HELP.items():
        if word in type:
            return "write " + " or ".join([f"`{type.replace(word, other)}`" for other in others])
    return "take the current stream in the kernel" if "Stream" in type else ""


def _features(function: NativeFunction) -> Iterator[_Feature]:
    fields = library_fields(function)
    if function.structured or function.structured_delegate is not None:
        word = "structured_delegate" if function.structured_delegate is not None else "structured"
        yield _Feature(word, "the structured kernel of")
    if any(
        choice.python and not python_function(kernel)
        for kernel in function.kernels.values()
        for choice in implementations_of(kernel)
    ):
        refusal = stable.call_refusal(function)
        if refusal:
            if any(is_checked(kernel) for kernel in function.kernels.values()):
                yield _Feature("python", "a Python kernel behind the checks of", refusal, "remove what it requires")
                return
            help = "let the Python function be the only kernel of its key, and call operators with C++ kernels from it"
            yield _Feature("python", "a Python kernel beside others of", refusal, help)
    if not PYTHON_POLICIES.keys() >= {row.policy for row in autocast_policies(function) if row.policy}:
        yield _Feature("autocast", "the autocast policy of")
    if fields.alias_analysis:
        yield _Feature("alias_analysis", "the alias analysis of")
    if fields.batch_rule and rule_refusal(function):
        yield _Feature("batch_rule", "the batching rule of", rule_refusal(function))
    if function.is_view and not function.has_composite_implicit and function.library.defines_operators:
        yield _Feature("func", "the view")


def _report_field(function: NativeFunction, feature: _Feature, sink: Diagnostics) -> None:
    reason = f", which {feature.reason}," if feature.reason else ""
    message = f"{feature.what} `{function.name}`{reason} needs `abi: native`"
    sink.error(STABLE_FIELD, message, word_span(function, feature.word), help=feature.help)


def _check_release(function: NativeFunction, oldest: tuple[int, int], sink: Diagnostics) -> None:
    """Report what came after the oldest release that the library serves."""
    for need in stable.needs(function):
        if oldest < need.since:
            lack = "cannot register tags through" if need.what == "tags" else f"has no {need.what} in"
            message = f"PyTorch {oldest[0]}.{oldest[1]} {lack} the stable C++ API"
            help = f'write `torch: ">={need.since[0]}.{need.since[1]}"` in the head'
            sink.error(STABLE_RELEASE, message, word_span(function, need.word), help=help)


def check_cpp(job: Job, sink: Diagnostics) -> None:
    """Report entries whose generated C++ would not compile, at the argument or the field that is the cause."""
    for library in job.of(RunLibraries).libraries:
        differentiable = library.differentiable_functions()
        for function in library.catalog.functions:
            if not library.is_stable:
                _check_const_refs(function, sink)
            if function.is_synthesized:
                continue
            check_names(differentiable[function], job.rules, is_stable=library.is_stable, sink=sink)
            if library.is_stable:
                check_alias_sets(function, False, sink)
            else:
                _check_types(function, sink)
        # Kernels for operators of others are called by PyTorch, and call the author's.
        if not library.is_stable and library.owner is None:
            check_passing(library, sink)


def _check_const_refs(function: NativeFunction, sink: Diagnostics) -> None:
    if not function.style & TypeStyle.CONST_REF_MUTABLES:
        return
    field = "use_const_ref_for_mutable_tensors"
    if function.kind is SchemaKind.inplace and function.in_structured_group:
        message = f"the structured kernel of `{function.name}` cannot write to a constant reference"
        sink.error(STRUCTURED_CONST_REF, message, word_span(function, field), help=f"remove `{field}`")
    returns = function.schema.returns
    first = [argument.type for argument in function.arguments.all[:1]]
    if len(returns) == 1 and returns[0].is_write and first != [TENSOR]:
        message = "PyTorch's dispatcher can return a constant reference only if the first argument is a tensor"
        sink.error(NO_CONVERSION, message, word_span(function, field), help=f"remove `{field}`")
    if len(returns) > 1 and any(result.is_write for result in returns):
        message = (
            f"PyTorch's dispatcher cannot return the constant references of `{function.name}` beside other results"
        )
        sink.error(NO_CONVERSION, message, word_span(function, field), help=f"remove `{field}`")
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
    for argument in function.arguments.all:
        is_taken = "Scalar[" not in argument.type.text and has_constructor(argument.type)
        if function.in_structured_group and not is_taken:
            message = f"structured kernels cannot take `{argument.type} {argument.name}`"
            listed = "float[]" if "Scalar" in argument.type.text else "int[]"
            help = f"take `{listed}`, or write a kernel for each overload"
            sink.error(NO_CONVERSION, message, word_span(function, argument.text), help=help)
        if not has_kernels(argument.type):
            message = f"no kernel in C++ can take `{argument.type}`, which PyTorch's dispatcher holds"
            value = argument.type.innermost
            serves = "Any" if isinstance(value, DispatcherType) else f"{value}[]"
            help = f"take `{serves}`, or define the operator in Python with `torch.library`"
            sink.error(NO_CONVERSION, message, word_span(function, argument.text), help=help)


def check_c_shims(job: Job, sink: Diagnostics) -> None:
    """Report shims of the same name, and note operators that can have no shim because of a type."""
    owners: dict[str, NativeFunction] = {}
    for shims in library_shims(job):
        for function in shims.functions:
            for device in shims.devices:
                symbol = f"aoti_torch_{device}_{function.name.name}"
                owner = owners.setdefault(symbol, function)
                if owner.library is not function.library:
                    names = f"`{owner.namespace}::{owner.name}` and `{function.namespace}::{function.name}`"
                    message = f"{names} both export `{symbol}`"
                    also = (Label(schema_span(owner), "the first one", False),)
                    help = "rename one of the operators, or remove `c_shims` from one of the libraries"
                    sink.error(SAME_SYMBOL, message, schema_span(function), also=also, help=help)
    for library in job.of(RunLibraries).libraries:
        for function in library.catalog.functions if library.c_shims else ():
            reason = shim_refusal(function)
            if reason and not function.is_synthesized:
                sink.note(NO_C_FORM, f"no C shim for `{function.name}`: {reason}", schema_span(function))


def check_shapes(job: Job, sink: Diagnostics) -> None:
    """Warn about operators whose results have no shapes while PyTorch traces."""
    for library in job.of(RunLibraries).libraries:
        lacks_shapes = _lacks_fake if library.is_stable else _lacks_shapes
        for function in library.catalog.functions if library.owner is None else ():
            if _is_left_out(function):
                message = f"compiled programs leave out calls of `{function.name}`, which returns and writes nothing"
                help = "mark an argument that it writes to, such as `Tensor(a!) out`, or return a result"
                sink.warning(NO_SHAPES, message, schema_span(function), help=help)
            # A kernel for autograd calls operators that have shapes.
            elif lacks_shapes(function) and not function.ends_in_autograd:
                message = f"tracing fails at `{function.name}`: nothing says which sizes and dtypes its results have"
                names = returned_arguments(function.schema)
                new = [result for result, name in zip(function.schema.returns, names, strict=True) if name is None]
                is_declared = new and all(result.type is TENSOR for result in new)
                help = "declare `outputs`, or name a kernel for `Meta`" if is_declared else "name a kernel for `Meta`"
                sink.warning(NO_SHAPES, message, schema_span(function), help=help)


def _is_left_out(function: NativeFunction) -> bool:
    """Whether nothing that `torch.compile` knows depends on calls of an operator, so that it removes them."""
    schema = function.schema
    return not schema.returns and not schema.arguments.writes and not function.has_composite_implicit


def _lacks_fake(function: NativeFunction) -> bool:
    return not (has_fake(function) or is_served(function) or function.has_composite_kernel or META in function.kernels)


def _lacks_shapes(function: NativeFunction) -> bool:
    if function.is_synthesized or function.in_structured_group or function.has_composite_kernel:
        return False
    if META in function.kernels or has_meta_kernel(function) or outputs_of(function) or is_served(function):
        return False
    # PyTorch knows what such operators return.
    if "out" in function.tags or (function.arguments.writes and not function.schema.returns):
        return False
    types = [argument.type for argument in function.arguments.all]
    types += [result.type for result in function.schema.returns]
    return any(type.is_tensor_like for type in types)


def has_view_kernel(function: NativeFunction, rules: Rules) -> bool:
    """Whether a function with autograd kernels has one here: it writes to arguments that it counts, or gives a view."""
    return view_base(function, rules) is not None or bool(counted_arguments(function))
