"""Records are what the dataclasses of PyTorch's generator are, whether they were loaded or made field by field."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import re
from collections.abc import Iterable
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

from opwright.torchgen.forwarding import offered_modules
from tests.torchgen_interface.conftest import Loaded, Side
from tests.torchgen_interface.equality import difference, outcome
from tests.torchgen_interface.expressions import expressions, value
from tests.torchgen_interface.test_model import ARGUMENTS, FUNCTION, SCHEMA, compare
from tests.torchgen_interface.test_wrappers import backend_index, generator


@pytest.mark.parametrize("module", dict.fromkeys(module for module, _ in expressions()))
def test_expressions_have_the_same_values(reference: Side, own: Side, module: str) -> None:
    """Small ones and wrong ones, of which no release has an example; exceptions may be more special ones."""
    for expression in [expression for name, expression in expressions() if name == module]:
        expected, actual = value(reference, module, expression), value(own, module, expression)
        if isinstance(expected, type) and issubclass(expected, Exception):
            assert isinstance(actual, type), expression
            assert issubclass(actual, expected), expression
        else:
            assert not difference(expected, actual, expression)


#: Functions that also take what programs for other releases give, or the words of a command.
OWN_PARAMETERS = {
    "gen_declaration_and_definition", "gen_static_dispatch_backend_call_signature", "main", "unpacked_name",
    "write_sharded",
}  # fmt: skip


#: Modules that the installed PyTorch lacks, and one that would import it as a whole.
OF_OTHER_RELEASES = re.compile("executorch|native_aot|gen_mobile_upgraders")


def functions_of(module: ModuleType, names: Iterable[str]) -> dict[str, Any]:
    """The functions, the constructors and the methods of PyTorch's generator under some names of a module."""
    functions: dict[str, Any] = {}
    for name in names:
        value = getattr(module, name, None)
        if "torchgen" not in getattr(value, "__module__", "") or name.startswith("_"):
            continue
        if inspect.isfunction(value) or (inspect.isclass(value) and not issubclass(value, enum.Enum | Exception)):
            functions[name] = value
        if inspect.isclass(value):
            methods = inspect.getmembers(value, inspect.isfunction)
            functions.update((f"{name}.{key}", method) for key, method in methods if key[0] != "_" or key == "__call__")
    return functions


def parameters(function: Any) -> list[tuple[str, str, object]]:
    """The name, the kind and the default of each parameter."""
    listed = inspect.signature(function).parameters.values()
    return [(each.name, each.kind.name, str(getattr(each.default, "__name__", each.default))) for each in listed]


@pytest.mark.parametrize("module", [name for name in offered_modules() if not OF_OTHER_RELEASES.search(name)])
def test_parameters_are_equal(module: str) -> None:
    """All functions, methods and constructors that both sides have take the same parameters, with the same defaults."""
    theirs = import_module(module)
    functions = functions_of(import_module(f"opwright.{module}"), dir(theirs))
    for name, function in functions_of(theirs, dir(theirs)).items():
        if name in functions and name.rpartition(".")[2] not in OWN_PARAMETERS:
            assert parameters(functions[name]) == parameters(function), name


def rebuilt(value: Any) -> Any:
    """The same value, of which each record is made from its fields alone, as programs make records."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [field.name for field in dataclasses.fields(value)]
        return type(value)(**{name: rebuilt(getattr(value, name)) for name in fields})
    if isinstance(value, dict):
        return {rebuilt(key): rebuilt(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(rebuilt, value))
    return value


def chosen(functions: list[Any]) -> list[Any]:
    """Some functions: those with rare fields, and one of thirty of the others."""
    rare = ("precomputed", "ufunc_inner_loop", "structured_inherits", "category_override", "autogen", "python_module")
    by_fields: dict[tuple[bool, ...], list[Any]] = {}
    for function in functions:
        by_fields.setdefault(tuple(bool(getattr(function, name)) for name in rare), []).append(function)
    return [*functions[::30], *[function for listed in by_fields.values() for function in listed[:3]]]


def test_functions_may_be_made_of_their_fields(own: Side) -> None:
    """They equal those that were loaded, and have the same properties, kernels and signatures."""
    types = own.module("api.types")
    for function in chosen(own.parsed.native_functions):
        made = rebuilt(function)
        assert (made, hash(made)) == (function, hash(function))
        assert repr(made) == repr(function)
        compare(function, made, FUNCTION)
        compare(function.func, made.func, SCHEMA)
        compare(function.func.arguments, made.func.arguments, ARGUMENTS)
        texts = []
        for subject in (function, made):
            group = types.CppSignatureGroup.from_native_function(subject, method=False)
            texts.append([signature.defn() for signature in group.signatures()])
            index = backend_index(own, subject, "all", out_is_primary=True, guard=True)
            texts[-1] += generator(own, index, "ANONYMOUS_DEFINITION")(subject)
            texts[-1].append(str(outcome(own.module("api.unboxing").convert_arguments, subject)))
        assert texts[0] == texts[1]


def test_groups_may_be_made_of_their_fields(own: Side) -> None:
    """So do groups and groups of views."""
    gen = own.module("gen")
    functions = own.parsed.native_functions
    index = own.parsed.backend_indices[own.module("model").DispatchKey["CPU"]]
    groups = [group for group in gen.get_grouped_native_functions(functions) if hasattr(group, "functional")]
    special = [group for group in groups if group.out.precomputed or group.out.ufunc_inner_loop]
    for group in (*groups[::20], *special):
        made = rebuilt(group)
        assert (made, hash(made)) == (group, hash(group))
        for target in ("ANONYMOUS_DEFINITION", "NAMESPACED_DECLARATION", "REGISTRATION"):
            printer = generator(own, index, target, class_method_name="Acme")
            assert printer(made) == printer(group)
        assert gen.compute_meta_function_declaration(made) == gen.compute_meta_function_declaration(group)
        declared = own.module("dest").compute_native_function_declaration
        assert declared(made, index) == declared(group, index)
    views = [group for group in gen.get_grouped_by_view_native_functions(functions) if hasattr(group, "view")]
    for view in views[::5]:
        made = rebuilt(view)
        assert (made, hash(made), made.composite) == (view, hash(view), view.composite)
        assert own.module("api.types").ViewInverseSignature(made).decl() == (
            own.module("api.types").ViewInverseSignature(view).decl()
        )


def test_derivatives_may_be_made_of_their_fields(own: Side, loaded: tuple[Loaded, Loaded]) -> None:
    """They print the same kernels and nodes."""
    module = own.module("packaged.autograd.gen_autograd_functions")
    emit = own.module("packaged.autograd.gen_variable_type").emit_body
    with_info = [function for function in loaded[1].functions if function.info]
    for function in with_info[::20]:
        made = rebuilt(function)
        assert made == function
        assert emit(made, "Default") == emit(function, "Default")
        for key, info in function.info.items():
            if info.has_derivatives:
                for template in ("FUNCTION_DECLARATION", "FUNCTION_DEFINITION"):
                    texts = [module.process_function(i, getattr(module, template)) for i in (made.info[key], info)]
                    assert texts[0] == texts[1]
