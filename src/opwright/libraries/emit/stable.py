"""Files of libraries with the stable C++ interface: one binary serves a release of PyTorch and all later ones.

PyTorch's stable API registers schemas and kernels. `checks` reports what it cannot express; shapes for tracing
are registered in Python (`libraries/emit/python/fakes.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Final

from opwright.cpp.namespaces import blocks, enclose, qualified_name
from opwright.cpp.signature import Signature
from opwright.cpp.text import guard, include_line, joined_conditions, string_literal
from opwright.emit.emitter import AnyEmitter, Emitter, FilePerUnit, FragmentContext, Job, Slots, per_job
from opwright.libraries import stable_convention as stable
from opwright.libraries.emit.build_namespace import cpp_text, module_text
from opwright.libraries.emit.implementations import (
    IMPLEMENTATIONS_HEADER,
    STABLE_CALL_HEADER,
    calls_python,
    stable_definitions,
    stable_text,
    takes_over,
    taking_over,
)
from opwright.libraries.emit.kernels import (
    AS_DECLARED,
    LAUNCH_HEADER,
    has_guard,
    has_launch_checks,
    kernel_assertions,
    launch_check,
    stream_comment,
)
from opwright.libraries.emit.overlap import STABLE_OVERLAP_HEADER, checks_overlap, is_checked_under, overlap_check
from opwright.libraries.emit.parts import made_for_two
from opwright.libraries.emit.python.overloads import calls_another_form
from opwright.libraries.emit.requirements import (
    STABLE_REQUIREMENTS_HEADER,
    check_function,
    copied_arguments,
    has_checks,
    stable_check_call,
    stable_written_checks,
)
from opwright.libraries.entry_fields import library_fields, requirements_of
from opwright.libraries.kernels import condition_of, python_function, written_kernels
from opwright.libraries.operator_library import BUILD_NAMESPACE, RunLibraries
from opwright.model.dispatch_key import COMPOSITE_IMPLICIT, LIBRARY_KEYS, DispatchKey
from opwright.model.library import Library
from opwright.model.native_function import DeviceCheck, Kernel, NativeFunction
from opwright.schema.function import FunctionSchema
from opwright.schema.types import Type
from opwright.source.records import NamedTuple

#: What finds the device of a call.
_DEVICES_HEADER: Final = "opwright/stable_devices.h"

#: What registers such kernels.
SIGNATURE_HEADER: Final = "opwright/stable_signature.h"


def declared_registration(kernel: str, schema: FunctionSchema) -> str:
    """What `m.impl` takes for a kernel.

    >>> from opwright.schema import parse_schema
    >>> declared_registration("::acme::f", parse_schema("f(Scalar a, float b) -> int"))
    '&::opwright::declared_kernel<&::acme::f, ::opwright::results<int64_t>, ::opwright::as_declared, double>::boxed'
    """
    types = [f"&{kernel}", _results(schema), *[_argument(argument.type) for argument in schema.arguments.all]]
    return f"&::opwright::declared_kernel<{', '.join(types)}>::boxed"


def declared_check(kernel: str, schema: FunctionSchema, operator: str, name: str) -> str:
    """Comparison of a kernel with the schema of its operator."""
    arguments = [(argument.name, _argument(argument.type)) for argument in schema.arguments.all]
    results = _results(schema), _shown_results(schema)
    return kernel_assertions(kernel, name, operator, arguments, results, "::opwright")


def _argument(type: Type) -> str:
    stable_type = stable.argument_type(type)
    return AS_DECLARED if stable_type is None else stable_type.text


def _result_types(schema: FunctionSchema) -> list[str]:
    types = [stable.return_type(result.type) for result in schema.returns]
    return [AS_DECLARED if type is None else type.text for type in types]


def _results(schema: FunctionSchema) -> str:
    return f"::opwright::results<{', '.join(_result_types(schema))}>"


def _shown_results(schema: FunctionSchema) -> str:
    types = _result_types(schema)
    return types[0] if len(types) == 1 else f"std::tuple<{', '.join(types)}>" if types else "void"


#: The key of kernels that `vmap` runs on batched tensors; PyTorch adds composite ones of its own operators alone.
_BATCHED: Final = "FuncTorchBatchedDecomposition"

#: What registers kernels for operators of others, the names that it reads, and the function by which Python answers.
_IMPLEMENTED_HEADER: Final = "opwright/stable_implemented.h"
_CHECK: Final = """\
struct opwright_library {{
  static constexpr const char* name = {name};
}};
extern "C" C10_EXPORT void {symbol}(::opwright::SchemaCheck check) {{
  ::opwright::schema_check.store(check);
}}"""

#: What converts the values of a call.
_CONVERSION: Final = "torch::stable::detail"


class StableLibrary(NamedTuple):
    """A library with the stable interface. `oldest_release` is the first release that its binary serves."""

    library: Library
    oldest_release: tuple[int, int]
    includes: tuple[str, ...]
    functions: tuple[NativeFunction, ...]
    has_own_signatures: bool = False

    @property
    def path(self) -> str:
        """Folder of the library's files."""
        return self.library.headers

    def kernels(self) -> list[tuple[NativeFunction, Kernel]]:
        """Kernels that are registered, each with its overload."""
        return [
            (function, kernel)
            for function in self.functions
            if not function.manual_kernel_registration and not calls_another_form(function)
            for kernel in function.kernels.values()
            if not python_function(kernel)
        ]

    def functions_with_rules(self) -> list[NativeFunction]:
        """Functions that have batching rules of the author's."""
        return [function for function in self.functions if library_fields(function).batch_rule]

    def written_kernels(self) -> list[tuple[NativeFunction, Kernel]]:
        """Kernels that the author writes, each with its overload."""
        return [
            (function, written_kernel)
            for function, kernel in self.kernels()
            for written_kernel in written_kernels(kernel)
        ]


@per_job
def stable_libraries(job: Job) -> Sequence[StableLibrary]:
    """The libraries of a run whose code for PyTorch uses the stable interface."""
    return [
        StableLibrary(
            library.library,
            library.oldest_release,
            library.includes,
            library.catalog.functions,
            library.has_own_signatures,
        )
        for library in job.of(RunLibraries).libraries
        if library.is_stable
    ]


def _with_own_kernels(job: Job) -> Sequence[StableLibrary]:
    """Those whose kernels get tensors of PyTorch."""
    views = {library.library for library in job.of(RunLibraries).libraries if library.takes_views}
    return [unit for unit in stable_libraries(job) if unit.library not in views]


def _kernels_header(unit: StableLibrary, context: FragmentContext) -> Slots:
    namespaces: dict[str, dict[str, None]] = {}
    for function, kernel in () if unit.includes else unit.written_kernels():
        declared = f"{stable.signature(function).declaration(kernel.name)};"
        namespaces.setdefault(kernel.namespace, {})[guard(_condition(function, kernel), declared)] = None
    for function in () if unit.includes else unit.functions_with_rules():
        namespace, _, name = library_fields(function).batch_rule.rpartition("::")
        declared = guard(library_fields(function).condition, f"{stable.rule_signature(function).declaration(name)};")
        namespaces.setdefault(namespace, {})[declared] = None
    return {
        "namespace": unit.library.namespace,
        "release": "{}.{}".format(*unit.oldest_release),
        "number": stable.target_version(unit.oldest_release),
        "header": f"{unit.path}/kernels.h",
        "kernels": stream_comment(unit.functions, "aoti_torch_get_current_cuda_stream", "STD_CUDA_KERNEL_LAUNCH_CHECK")
        + blocks(namespaces),
    }


def _condition(function: NativeFunction, kernel: Kernel) -> str:
    return joined_conditions((library_fields(function).condition, condition_of(kernel)))


def _guarded_lines(lines: Iterable[tuple[str, str]]) -> str:
    """Lines, each with its condition; those that follow each other with the same one share their `#if`."""
    return "".join(
        f"{guard(condition, ''.join([line for _, line in same]))}\n"
        if condition
        else "".join([line for _, line in same])
        for condition, same in groupby(lines, key=itemgetter(0))
    )


def check_symbol(library: Library) -> str:
    """Name of the function of the shared object that takes the check of schemas.

    >>> check_symbol(Library("acme", "acme::npu", "acme/npu", "ACME_API"))
    'opwright_check_schemas_acme_npu'
    """
    return f"opwright_check_schemas_{library.api.replace('::', '_')}"


def schema_registrations(unit: StableLibrary) -> str:
    """Registration of the schemas, with their tags if the oldest release can have any.

    Python defines overloads that call other ones, with kernels in Python. What others define is numbered instead.
    """
    if not unit.library.defines_operators:
        return enclose(
            unit.library.api, _CHECK.format(name=string_literal(unit.library.api), symbol=check_symbol(unit.library))
        )
    statements = []
    for function in unit.functions:
        if calls_another_form(function):
            continue
        tags = ", ".join([f"torch::headeronly::Tag::{tag}" for tag in stable.registered_tags(function)])
        with_tags = f", {{{tags}}}" if tags and unit.oldest_release >= stable.TAGS_SINCE else ""
        statement = f"  m.def({string_literal(function.schema.written_text)}{with_tags});\n"
        statements.append((library_fields(function).condition, statement))
    for function in unit.functions_with_rules():
        statement = f"  m.def({string_literal(str(stable.rule_schema(function)))});\n"
        statements.append((library_fields(function).condition, statement))
    return f"STABLE_TORCH_LIBRARY_FRAGMENT({unit.library.namespace}, m) {{\n{_guarded_lines(statements)}}}"


def _first_statements(unit: StableLibrary, function: NativeFunction, key: DispatchKey) -> list[str]:
    """Checks of the arguments of calls of a kernel, and of its launches. Those with own signatures have none."""
    if unit.has_own_signatures or not is_checked_under(key):
        return []
    more = "" if key.is_dense else ", /*is_dense=*/false"
    checks = [overlap_check(function, more)] if checks_overlap(function) else []
    check = stable_check_call(function, is_composite=key.is_composite)
    checks += [check] if check else []
    launches = [launch_check(function)] if has_launch_checks(key) else []
    return [*launches, *(_device_statements(function) if has_guard(key) else []), *checks]


def _device_statements(function: NativeFunction) -> list[str]:
    """Statements that find the device of the tensors, and make it current; none for calls without tensors.

    Where the entry says what is required of the tensors, that includes their devices.
    """
    is_checked = function.device_check is DeviceCheck.ExactSame and not has_checks(function)
    names = [argument.name for argument in function.arguments.all if argument.type.is_tensor_like]
    if not names or not (is_checked or function.device_guard):
        return []
    operator = string_literal(f"{function.namespace}::{function.name}")
    head = f"::opwright::CallDevice call_device({operator}, /*is_checked=*/{'true' if is_checked else 'false'});"
    guard = ["const auto device_guard = call_device.guard();"] if function.device_guard else []
    return [head, *[f'call_device.add("{name}", {name});' for name in names], *guard]


def _has_device_statements(unit: StableLibrary) -> bool:
    return not unit.has_own_signatures and any(
        has_guard(kernel.key) and is_checked_under(kernel.key) and _device_statements(function)
        for function, kernel in unit.kernels()
    )


def _is_checked(unit: StableLibrary, function: NativeFunction, key: DispatchKey) -> bool:
    """Whether a function checks or changes arguments before a kernel gets them."""
    is_changed = bool(copied_arguments(function)) and not unit.has_own_signatures and is_checked_under(key)
    return is_changed or bool(_first_statements(unit, function, key))


def _checked_kernels(unit: StableLibrary) -> str:
    """Functions that check the arguments of calls, and call their kernels; empty if none do."""
    texts = []
    for function, kernel in unit.kernels():
        if takes_over(kernel):
            first = _first_statements(unit, function, kernel.key)
            definition = taking_over(function, kernel, _checked_name(function, kernel), first)
            texts.append(guard(_condition(function, kernel), definition))
        elif _is_checked(unit, function, kernel.key):
            signature = stable.signature(function)
            copied = copied_arguments(function)
            passed = ", ".join([copied.get(binding.name, binding.name) for binding in signature.bindings])
            statements = "".join([f"  {text}\n" for text in _first_statements(unit, function, kernel.key)])
            definition = (
                f"{signature.definition(_checked_name(function, kernel))} {{\n{statements}"
                f"  return {qualified_name(kernel.namespace, kernel.name)}({passed});\n}}"
            )
            texts.append(guard(_condition(function, kernel), definition))
    if not texts:
        return ""
    required = [
        check_function(function, written=stable_written_checks(function))
        for function in unit.functions
        if stable_check_call(function)
    ]
    requirements = enclose(f"{unit.library.api}::opwright_checks", "\n".join(required)) + "\n\n" if required else ""
    checked = enclose(f"{unit.library.api}::checked", "\n".join(["namespace {", *texts, "} // namespace"]))
    return f"{requirements}{checked}\n"


def _checked_name(function: NativeFunction, kernel: Kernel) -> str:
    return f"{function.name.unambiguous}_{kernel.key}"


def _registered(unit: StableLibrary, function: NativeFunction, kernel: Kernel, key: str) -> str:
    """What is registered for a key: the kernel of an operator of others compares schemas first."""
    boxed = _checked_or_own(unit, function, kernel, key)
    if unit.library.defines_operators:
        return boxed
    library = f"::{unit.library.api}::opwright_library"
    return f"&::opwright::Implementation<{boxed}, {unit.functions.index(function)}, {library}>::boxed"


def _checked_or_own(unit: StableLibrary, function: NativeFunction, kernel: Kernel, key: str) -> str:
    """The kernel, or a function that checks arguments first. Batched tensors have no memory of their own."""
    if takes_over(kernel):
        return f"&::{unit.library.api}::checked::{_checked_name(function, kernel)}"
    if key != _BATCHED and _is_checked(unit, function, kernel.key):
        return f"TORCH_BOX(&::{unit.library.api}::checked::{_checked_name(function, kernel)})"
    return _boxed(unit, function.schema, kernel)


def _registrations(unit: StableLibrary) -> list[str]:
    """Registration of the kernels of each dispatch key."""
    texts = []
    for key in LIBRARY_KEYS.values():
        # Below `vmap` too, the operators that a composite kernel calls have what it lacks.
        for name in (key.name, *([_BATCHED] if key is COMPOSITE_IMPLICIT else [])):
            statements = [
                (
                    _condition(function, kernel),
                    f'  m.impl("{function.name.text}", {_registered(unit, function, kernel, name)});\n',
                )
                for function, kernel in unit.kernels()
                if kernel.key is key
            ]
            statements += _rules(unit) if key is COMPOSITE_IMPLICIT else []
            if not statements:
                continue
            head = f"STABLE_TORCH_LIBRARY_IMPL({unit.library.namespace}, {name}, m)"
            texts.append(f"{head} {{\n{_guarded_lines(statements)}}}")
    return texts


def _boxed(unit: StableLibrary, schema: FunctionSchema, kernel: Kernel) -> str:
    """What is registered for a kernel: all that follow from their schemas have types that `TORCH_BOX` reads."""
    name = qualified_name(kernel.namespace, kernel.name)
    return declared_registration(name, schema) if unit.has_own_signatures else f"TORCH_BOX(&{name})"


def _rules(unit: StableLibrary) -> list[tuple[str, str]]:
    """Statements that register batching rules, which are composite: each level of `torch.func` runs them."""
    return [
        (
            library_fields(function).condition,
            f'  m.impl("{stable.rule_schema(function).name}", TORCH_BOX(&::{library_fields(function).batch_rule}));\n',
        )
        for function in unit.functions_with_rules()
    ]


def _operators_header(unit: StableLibrary, context: FragmentContext) -> Slots:
    texts: dict[str, str] = {}
    for function in unit.functions:
        signature = stable.caller_signature(function)
        if signature is not None:
            # C++ cannot tell operators apart whose parameters have the same types there.
            key = f"{signature.name}({signature.parameter_types})"
            texts.setdefault(key, guard(library_fields(function).condition, _call(function, signature)))
    return {
        "namespace": unit.library.namespace,
        "functions": enclose(unit.library.api, "\n\n".join(texts.values())),
    }


def _call(function: NativeFunction, signature: Signature) -> str:
    """The C++ function that calls an operator through the dispatcher."""
    items = [f"{_CONVERSION}::from({argument.name})" for argument in function.arguments.all]
    returns = function.schema.returns
    types = [type.text for result in returns if (type := stable.return_type(result.type)) is not None]
    read = [f"{_CONVERSION}::to<{type}>(_stack[{index}])" for index, type in enumerate(types)]
    lines = [
        f"// {function.namespace}::{function.schema}",
        f"inline {signature.declaration()} {{",
        f"  ::std::array<StableIValue, {max(len(items), len(read), 1)}> _stack{{{', '.join(items)}}};",
        f'  TORCH_ERROR_CODE_CHECK(torch_call_dispatcher("{function.namespace}::{function.name.name}", '
        f'"{function.name.overload}", _stack.data(), TORCH_ABI_VERSION));',
    ]
    if read:
        results = ", ".join(read)
        lines.append(f"  return {results if len(read) == 1 else f'{{{results}}}'};")
    return "\n".join([*lines, "}"])


@made_for_two
def _source(unit: StableLibrary, context: FragmentContext) -> Slots:
    chosen = stable_text(unit.library, unit.functions)
    texts = [chosen, stable_definitions(unit.library, unit.functions), _checked_kernels(unit)]
    headers = [*unit.includes, *([IMPLEMENTATIONS_HEADER] if chosen else [])]
    headers += [STABLE_OVERLAP_HEADER] if any(map(checks_overlap, unit.functions)) else []
    headers += [STABLE_REQUIREMENTS_HEADER] if any(requirements_of(function) for function in unit.functions) else []
    headers += [_DEVICES_HEADER] if _has_device_statements(unit) else []
    is_launched = any(has_launch_checks(kernel.key) for _, kernel in unit.kernels())
    headers += [] if unit.library.defines_operators else [_IMPLEMENTED_HEADER]
    headers += [LAUNCH_HEADER] if is_launched and not unit.has_own_signatures else []
    headers += [STABLE_CALL_HEADER] if calls_python(unit.functions) else []
    headers += [SIGNATURE_HEADER] if unit.has_own_signatures else []
    return {
        "namespace": unit.library.namespace,
        "kernels_header": f"{unit.path}/kernels.h",
        "includes": list(map(include_line, headers)),
        "checks": _checks(unit),
        "schemas": [*[cpp_text(text) for text in texts if text], schema_registrations(unit)],
        "registrations": [*map(cpp_text, _registrations(unit)), *module_text(unit.library.namespace)],
    }


def _checks(unit: StableLibrary) -> list[str]:
    """Comparison of the author's functions with their schemas, where a header of the author's declares them."""
    if not unit.includes:
        return []
    checks = []
    for function, kernel in unit.written_kernels():
        name, operator = qualified_name(kernel.namespace, kernel.name), f"{function.namespace}::{function.name}"
        if unit.has_own_signatures:
            text = declared_check(name, function.schema, operator, f"{function.name.unambiguous}_{kernel.key.lower}")
        else:
            text = _check("kernel", name, stable.signature(function).type, operator)
        checks.append(guard(_condition(function, kernel), text))
    for function in unit.functions_with_rules():
        name, operator = f"::{library_fields(function).batch_rule}", f"{function.namespace}::{function.name}"
        text = _check("batching rule", name, stable.rule_signature(function).type, operator)
        checks.append(guard(library_fields(function).condition, text))
    return checks


def _check(role: str, name: str, type: str, operator: str) -> str:
    return (
        f"static_assert(std::is_same_v<decltype({name}), {type}>,\n"
        f'    "the {role} `{name[2:]}` of `{operator}` must be `{type}`");'
    )


def emitters(job: Job) -> list[AnyEmitter]:
    """Emitters of the headers, for callers and with the kernels' declarations, and of the source."""
    return [
        Emitter(
            name="stable_library_operators_headers",
            family="library",
            template="library/stable_ops.h",
            folder="include",
            # A namespace that the build gives is for kernels that Python calls.
            units=lambda job: [unit for unit in stable_libraries(job) if unit.library.namespace != BUILD_NAMESPACE],
            fragment=_operators_header,
            layout=FilePerUnit(lambda unit: f"{unit.path}/ops.h"),
        ),
        Emitter(
            name="stable_library_kernels_headers",
            family="library",
            template="library/stable_kernels.h",
            folder="include",
            units=_with_own_kernels,
            fragment=_kernels_header,
            layout=FilePerUnit(lambda unit: f"{unit.path}/kernels.h"),
        ),
        Emitter(
            name="stable_library_sources",
            family="library",
            template="library/stable_register.cpp",
            folder="source",
            units=_with_own_kernels,
            fragment=_source,
            layout=FilePerUnit(lambda unit: f"{unit.path}/register_0.cpp"),
        ),
    ]
