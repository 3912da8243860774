"""Call of the operator below autograd, and the checks around it that builds for debugging make."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final

from opwright.convention import public_api, shared_types
from opwright.cpp import c_types
from opwright.emit.autograd.kernels import (
    changes_arguments,
    counted_arguments,
    declared_results,
    kernel_name,
    key_set,
    view_base,
)
from opwright.emit.autograd.wrapper_forward import any_tangent
from opwright.emit.autograd.wrappers import Forward, Wrapper
from opwright.emit.emitter import FragmentContext
from opwright.model.native_function import NativeFunction
from opwright.release.operator_names.autograd import (
    REPLACES_TENSORS,
    SHARED_RESULTS,
    SHARED_STORAGES,
    STORAGE_OF_BASE,
    VIEWS,
)
from opwright.release.rules import Rules
from opwright.schema.function import Argument
from opwright.schema.types import ListType, Type
from opwright.source.records import NamedTuple


class Unpacked(NamedTuple):
    """A parameter of the wrapper as it is passed on: unpacked tensors have a variable of their own."""

    name: str
    kind: str
    """What debug builds check of it: `tensor`, `list`, `optional_list`, or nothing."""


class UnpackedArguments(NamedTuple):
    """All parameters of a wrapper as they are passed on, and the statements that unpack them."""

    parameters: tuple[Unpacked, ...]
    statements: Sequence[str]


def _kind(type: Type) -> str:
    if not type.is_tensor_like:
        return ""
    if isinstance(type, ListType):
        return "optional_list" if type.text == "Tensor?[]" else "list"
    # Optional tensors, and optional lists of tensors, are not checked.
    return "tensor" if type.text == "Tensor" else ""


@cache
def unpack(argument: Argument, position: int) -> tuple[Unpacked, str]:
    """A parameter as it is passed on, and the statement that unpacks it (empty where nothing needs to be)."""
    name, statement = argument.name, ""
    if argument.type.is_tensor_like and not argument.type.is_nullable:
        name = unpacked_name(name)
        reference = "" if argument.type.list_like is not None else "&"
        statement = f'auto{reference} {name} = unpack({argument.name}, "{argument.name}", {position});'
    return Unpacked(name, _kind(argument.type)), statement


def unpacked_name(name: str) -> str:
    """Variable of an unpacked tensor.

    >>> unpacked_name("self")
    'self_'
    """
    return f"{name}_"


def unpack_all(function: NativeFunction) -> UnpackedArguments:
    """Parameters of a function's wrapper, unpacked."""
    passed = [unpack(argument, position) for position, argument in enumerate(function.arguments.all)]
    return UnpackedArguments(tuple([unpacked for unpacked, _ in passed]), [text for _, text in passed if text])


#: The indentation of statements in a wrapper.
INDENT: Final = "  "


def indent(text: str, indent: str = INDENT) -> str:
    """Statements one level deeper; blank lines stay empty, since text without blanks at line ends renders quickest."""
    deeper = indent + text.replace("\n", f"\n{indent}")
    return deeper.replace(f"{indent}\n", "\n") if "\n\n" in text else deeper


def call_text(wrapper: Wrapper, parameters: tuple[Unpacked, ...], context: FragmentContext) -> str:
    """Statements, indented, that call the operator.

    In debug builds of PyTorch they also check that its kernel left tensors as they were.
    """
    call = indent(_call(wrapper, parameters, context.rules))
    function = wrapper.function
    if not function.library.in_libtorch:
        # The kernels are not PyTorch's, and the checks would take most of the time to compile the wrapper.
        return call
    if public_api.name(function.schema) in REPLACES_TENSORS.in_release(context.rules):
        return call
    before, after = _checks(parameters, context.rules.storage_saved_flags_reserved)
    if not before:
        return call
    if results := _result_checks(function, context):
        more = indent("\n".join(results))
        after = f"{after}\n{more}"
    return f"  #ifndef NDEBUG\n{before}\n  #endif\n{call}\n  #ifndef NDEBUG\n{after}\n  #endif"


@cache
def _checks(parameters: tuple[Unpacked, ...], reserves: bool) -> tuple[str, str]:
    """Statements, indented, before and after the call that check parameters; many operators have the same ones."""
    checked = [parameter for parameter in parameters if parameter.kind]
    if not checked:
        return "", ""
    before = "\n".join([text for parameter in checked for text in _record_statements(parameter, reserves)])
    after = "\n".join([text for parameter in checked for text in _compare_statements(parameter)])
    return indent(before), indent(after)


def _call(wrapper: Wrapper, parameters: tuple[Unpacked, ...], rules: Rules) -> str:
    function = wrapper.function
    schema = function.schema
    writes = changes_arguments(function)
    # Views and writes have kernels under ADInplaceOrView, which the guard must not skip.
    is_tracked = writes or view_base(function, rules) or counted_arguments(function)
    scope = "AutoDispatchBelowAutograd" if is_tracked else "AutoDispatchBelowADInplaceOrView"
    passed = ", ".join(
        [f"{key_set(function)} & c10::after_autograd_keyset", *[parameter.name for parameter in parameters]]
    )
    library = function.library
    if library.in_libtorch:
        name = public_api.name(schema, faithful=True, symint=schema.has_symint)
        call = f"{library.redispatch}::{name}({passed})"
    else:
        # What the header for callers declares at any rate.
        call = f"{library.operators}::{function.name.unambiguous}::redispatch({passed})"
    if writes or not schema.returns:
        return f"{{\n  at::{scope} guard;\n  {call};\n}}"
    moved = "std::move(_tmp)" if any(result.type.is_tensor_like for result in schema.returns) else "_tmp"
    assigned = f"{declared_results(function)} = {moved};"
    if wrapper.forward is not Forward.DECOMPOSED:
        return f"auto _tmp = ([&]() {{\n  at::{scope} guard;\n  return {call};\n}})();\n{assigned}"
    return f"""\
auto _tmp = ([&]() {{
  if ({any_tangent(wrapper)}) {{
    static c10::OperatorName full_name("{library.namespace}::{public_api.name(schema)}", "{function.name.overload}");
    static ::std::optional<c10::OperatorHandle> opt_op = c10::Dispatcher::singleton().findSchema(full_name);
    return impl::{_decomposition_call(function)};
  }} else {{
    at::{scope} guard;
    return {call};
  }}
}})();
{assigned}"""


def _decomposition_call(function: NativeFunction) -> str:
    returns = [shared_types.return_type(result, function.style).text for result in function.schema.returns]
    returned = returns[0] if len(returns) == 1 else f"std::tuple<{', '.join(returns)}>"
    names = ", ".join([argument.name for argument in function.arguments.all])
    name = public_api.name(function.schema)
    return f'run_jit_decomposition_with_args_for_jvp<{returned}>("{name}", *opt_op, {key_set(function)}, {names})'


def _record_statements(unpacked: Unpacked, reserves: bool) -> tuple[str, str]:
    name = unpacked.name
    if unpacked.kind == "tensor":
        return (
            f"auto {name}_storage_saved =\n"
            f"  {name}.has_storage() ? ::std::optional<Storage>({name}.storage()) : ::std::nullopt;",
            f"c10::intrusive_ptr<TensorImpl> {name}_impl_saved;\n"
            f"if ({name}.defined()) {name}_impl_saved = {name}.getIntrusivePtr();",
        )
    saved = f"std::vector<::std::optional<Storage>> {name}_storage_saved"
    if reserves:
        saved, add = f"{saved};\n{name}_storage_saved.reserve({name}.size());", "emplace_back"
    else:
        saved, add = f"{saved}({name}.size());", "push_back"
    impls = (
        f"std::vector<c10::intrusive_ptr<TensorImpl>> {name}_impl_saved({name}.size());\n"
        f"for (size_t i=0; i<{name}.size(); i++)"
    )
    if unpacked.kind == "list":
        item, has, storage = "const Tensor& tensor", "tensor.has_storage()", "tensor.storage()"
        impls = f"{impls}\n  if ({name}[i].defined()) {name}_impl_saved[i] = {name}[i].getIntrusivePtr();"
    else:
        item, storage = "const ::std::optional<Tensor>& tensor", "tensor->storage()"
        has = "tensor.has_value() && tensor->has_storage()"
        impls = (
            f"{impls} {{\n  ::std::optional<Tensor> t = {name}[i];\n"
            f"  if (t.has_value() && t->defined()) {name}_impl_saved[i] = t->getIntrusivePtr();\n}}"
        )
    return (
        f"{saved}\nfor ({item} : {name})\n  {name}_storage_saved.{add}(\n"
        f"    {has} ? ::std::optional<Storage>({storage}) : ::std::nullopt);",
        impls,
    )


def _same_storage(name: str, other: str) -> str:
    return (
        f"if ({name}_storage_saved.has_value() &&\n"
        "    !at::impl::dispatch_mode_enabled() &&\n"
        f"    !at::impl::tensor_has_dispatch({name}) &&\n"
        f"    !at::impl::tensor_has_dispatch({other}))\n"
        f"  TORCH_INTERNAL_ASSERT({name}_storage_saved.value().is_alias_of({other}.storage()));"
    )


def _compare_statements(unpacked: Unpacked) -> tuple[str, str]:
    name = unpacked.name
    if unpacked.kind == "tensor":
        no_dispatch = f"!at::impl::dispatch_mode_enabled() && !at::impl::tensor_has_dispatch({name})"
        return (
            _same_storage(name, name),
            f"if ({name}_impl_saved && {no_dispatch})\n"
            f"  TORCH_INTERNAL_ASSERT({name}_impl_saved == {name}.getIntrusivePtr());",
        )
    loop = f"for (size_t i=0; i<{name}.size() && !at::impl::dispatch_mode_enabled(); i++) {{\n"
    no_dispatch = f"!at::impl::tensorlist_has_dispatch({name})"
    alias = f"TORCH_INTERNAL_ASSERT({name}_storage_saved[i].value().is_alias_of("
    if unpacked.kind == "list":
        storage = f"{alias}{name}[i].storage()));"
        impl = f" && {no_dispatch})\n    TORCH_INTERNAL_ASSERT({name}_impl_saved[i] == {name}[i].getIntrusivePtr());"
    else:
        item = f"static_cast<::std::optional<Tensor>>({name}[i])"
        storage = f"{alias}\n        {item}->storage()));"
        impl = f")\n    TORCH_INTERNAL_ASSERT(\n      {name}_impl_saved[i] == {item}->getIntrusivePtr());"
    return (
        f"{loop}  if ({name}_storage_saved[i].has_value() && {no_dispatch})\n    {storage}\n}}",
        f"{loop}  if ({name}_impl_saved[i]{impl}\n}}",
    )


def _result_checks(function: NativeFunction, context: FragmentContext) -> list[str]:
    """Statements that make sure that results are fresh, or share the storage of the base that they are views of."""
    if changes_arguments(function):
        return []
    name, root, rules = kernel_name(function), function.root_name, context.rules
    base = VIEWS.in_release(rules).get(root) or STORAGE_OF_BASE.in_release(rules).get(root)
    is_fresh = "{0}.use_count() <= 1"
    if rules.tensor_use_count_asked_of_tensor:
        is_fresh = "{0}.use_count() == expected_fresh_use_count({0})"
    checks: list[str] = []
    for result_name, result in zip(public_api.return_names(function), function.schema.returns, strict=True):
        if shared_types.return_type(result, function.style).value is not c_types.TENSOR:
            continue
        no_dispatch = f"!at::impl::dispatch_mode_enabled() && !at::impl::tensor_has_dispatch({result_name})"
        if base is not None:
            checks.append(_same_storage(f"{base}_", result_name))
        elif name not in SHARED_STORAGES.in_release(rules):
            checks.append(
                f"if ({result_name}.has_storage() && {no_dispatch}) {{\n"
                f'  TORCH_INTERNAL_ASSERT({result_name}.storage().use_count() == 1, "function: {name}");\n}}'
            )
        if name not in SHARED_RESULTS.in_release(rules):
            fresh = is_fresh.format(result_name)
            checks.append(f'if ({no_dispatch})\n  TORCH_INTERNAL_ASSERT({fresh}, "function: {name}");')
    return checks
