"""Parts of functionalization's kernels: the names of `torchgen.gen_functionalization_type`."""

from __future__ import annotations

from collections.abc import Iterable

from opwright.convention import dispatcher, native, shared_types
from opwright.emit.aten.functionalized_writes import UnwrapPlan, join_lines, returned_values, unwrap_plan
from opwright.emit.aten.view_meta import PYTHON_FILE, PYTHON_SLOT, python_bindings
from opwright.emit.emitter import FragmentContext, Options
from opwright.torchgen.api.types.signatures import DispatcherSignature
from opwright.torchgen.interface.cpp_types import Binding, current_style
from opwright.torchgen.interface.faults import Invalid
from opwright.torchgen.interface.functions import NativeFunction, model_function
from opwright.torchgen.interface.generator import parse_native_yaml
from opwright.torchgen.interface.installed import installed_rules
from opwright.torchgen.interface.schema import FunctionSchema, Return, model_return, model_schema
from opwright.torchgen.selective_build.selector import SelectiveBuilder
from opwright.torchgen.utils import FileManager


def gen_functionalization_view_meta_classes(
    native_functions_path: str, tags_path: str, selector: SelectiveBuilder, install_dir: str, template_dir: str
) -> None:
    """Write the file that offers the classes of views to Python; a selective build has no classes."""
    functions = map(model_function, parse_native_yaml(native_functions_path, tags_path).native_functions)
    groups = dict.fromkeys([function.view_group for function in functions])
    context = FragmentContext(Options(), installed_rules(), selector.selection)
    lines = [line for group in groups if group is not None for line in python_bindings(group, context)]
    FileManager(install_dir, template_dir, dry_run=False).write(PYTHON_FILE, lambda: {PYTHON_SLOT: lines})


def wrapper_name(func: FunctionSchema) -> str:
    """Name of the kernel of an overload."""
    return native.name(model_schema(func))


def modifies_arguments(f: NativeFunction) -> bool:
    """Whether a function writes to an argument."""
    return f.func.is_mutable


def _plans(sig: DispatcherSignature) -> list[UnwrapPlan]:
    bindings = dispatcher.arguments(model_schema(sig.func), symint=sig.symint, style=current_style())
    return list(map(unwrap_plan, bindings))


def _renamed(sig: DispatcherSignature, names: Iterable[str]) -> list[Binding]:
    """Parameters of a signature under other names, without defaults."""
    return [
        binding if binding.name == name else binding.with_name(name)
        for binding, name in zip(sig.arguments(), names, strict=True)
    ]


def unwrap_tensor_args(sig: DispatcherSignature, *, is_view_op: bool) -> tuple[str, list[Binding]]:
    """Statements that take tensors out of their wrappers, and the values that kernels pass on then.

    Tensors are synchronized first, unless the operator is a view.
    """
    plans = _plans(sig)
    statements = [plan.unwrap if is_view_op else plan.unwrap_synced for plan in plans]
    return join_lines(statements, 6), _renamed(sig, [plan.inner.text for plan in plans])


def convert_to_meta_tensors(sig: DispatcherSignature) -> tuple[str, list[Binding]]:
    """Statements that make a meta tensor of each tensor, and the values that kernels pass on then."""
    plans = _plans(sig)
    return join_lines([plan.to_meta for plan in plans], 8), _renamed(sig, [plan.meta.text for plan in plans])


def maybe_create_output(f: NativeFunction, var_name: str) -> str:
    """Beginning of a statement that declares a variable for the result; empty if there is no result."""
    returns = model_schema(f.func).returns
    return f"{shared_types.returns_type(returns, current_style()).value.text} {var_name} = " if returns else ""


def get_mutable_redispatch_return_names(f: NativeFunction, inner_return_var: str) -> tuple[list[str], list[str]]:
    """Arguments that a function returns, and the expressions of its new results in a variable."""
    returned = dispatcher.returned_arguments(model_schema(f.func))
    return [name for name in returned if name is not None], dispatcher.fresh_results(returned, inner_return_var)


def return_str(rets: tuple[Return, ...], names: list[str]) -> str:
    """Statement that returns values. Raises AssertionError if there are more or fewer than returns."""
    if len(rets) != len(names):
        raise Invalid(f"there are {len(rets)} returns and {len(names)} values: {', '.join(names)}")
    return dispatcher.return_statement(tuple(map(model_return, rets)), names, current_style())


def return_from_mutable_noop_redispatch(f: NativeFunction, inner_return_var: str) -> str:
    """Statement that returns the arguments that a function returns, and its new results from a variable."""
    returned = dispatcher.returned_arguments(model_schema(f.func))
    values = returned_values(returned, dispatcher.fresh_results(returned, inner_return_var))
    return return_str(f.func.returns, values)
