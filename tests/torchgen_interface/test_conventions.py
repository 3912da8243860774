"""`opwright.torchgen.api` gives what `torchgen.api` gives, for every function of the installed release."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.torchgen_interface.conftest import Side
from tests.torchgen_interface.equality import difference, outcome


def inside(side: Side, function: Any) -> Any:
    """The block in which the choices of a function hold."""
    return side.module("local").parametrize(
        use_const_ref_for_mutable_tensors=function.use_const_ref_for_mutable_tensors,
        use_ilistref_for_tensor_lists=function.part_of_structured_group,
    )


def compare(reference: Side, own: Side, facts: Callable[[Side, Any], Iterator[Any]]) -> None:
    """Fail if a fact of a function differs."""
    rows = zip(reference.parsed.native_functions, own.parsed.native_functions, strict=True)
    for function, same in rows:
        values = []
        for side, subject in ((reference, function), (own, same)):
            with inside(side, subject):
                values.append(list(facts(side, subject)))
        assert not difference(values[0], values[1], str(function.func))


def cpp_facts(side: Side, function: Any) -> Iterator[Any]:
    """What `api.cpp` says of a function."""
    cpp, schema = side.module("api.cpp"), function.func
    yield cpp.name(schema)
    yield cpp.name(schema, faithful_name_for_out_overloads=True, symint_overload=True)
    yield list(cpp.return_names(function, fallback_name="fresh"))
    yield outcome(cpp.returns_type, schema.returns)
    for result in schema.returns:
        yield outcome(cpp.return_type, result, symint=True)
        yield outcome(cpp.returntype_type, result.type, mutable=result.is_write)
    for part in schema.arguments.all:
        for faithful in (True, False):
            choices = {"cpp_no_default_args": function.cpp_no_default_args, "faithful": faithful}
            options = schema.arguments.tensor_options is not None
            yield outcome(cpp.argument, part, method=faithful, symint=True, has_tensor_options=options, **choices)
    for argument in schema.arguments.flat_all:
        for symint in (True, False):
            yield outcome(cpp.argument_type, argument, binds="x", symint=symint)
            yield outcome(cpp.valuetype_type, argument.type, binds=argument.name, symint=symint)
            if argument.default is not None:
                yield outcome(cpp.default_expr, argument.default, argument.type, symint=symint)


def dispatcher_and_native_facts(side: Side, function: Any) -> Iterator[Any]:
    """What `api.dispatcher` and `api.native` say of a function."""
    dispatcher, native, schema = side.module("api.dispatcher"), side.module("api.native"), function.func
    yield dispatcher.name(schema)
    yield native.name(schema)
    yield dispatcher.jit_arguments(schema)
    for symint in (True, False):
        yield outcome(dispatcher.arguments, schema, symint=symint)
        yield outcome(native.arguments, schema, symint=symint)
        yield outcome(dispatcher.returns_type, schema.returns, symint=symint)
        yield outcome(native.returns_type, schema.returns, symint=symint)
    for part in schema.arguments.all:
        yield outcome(native.argument, part, is_out=function.func.is_out_fn(), symint=True)
    for argument in schema.arguments.flat_all:
        yield outcome(dispatcher.argument, argument, remove_non_owning_ref_types=True)
        yield outcome(native.argument_type, argument, binds=argument.name, symint=True)


def signature_facts(side: Side, function: Any) -> Iterator[Any]:
    """What the signatures of a function say."""
    types = side.module("api.types")
    groups = [types.CppSignatureGroup.from_native_function(function, method=method) for method in (True, False)]
    manual = types.CppSignatureGroup.from_native_function(function, method=False, fallback_binding=True)
    for group in (*groups, manual):
        yield group.most_faithful_signature().name()
        yield [signature.name() for signature in group.signatures(symint=False)]
        for signature in group.signatures():
            yield list(signature.arguments())
            yield signature.decl(prefix="p_", is_redispatching_fn=True, suppress_symint_suffix=True)
            yield [signature.decl(), signature.defn(name="other"), signature.ptr_type(), signature.type()]
    for symint in (True, False):
        signature = types.DispatcherSignature.from_schema(function.func, prefix="d_", symint=symint)
        yield [signature.decl(), signature.decl("x"), signature.defn(), signature.defn("x", is_redispatching_fn=True)]
        yield [signature.ptr_type(), signature.type(), signature.name(), signature.exprs(), signature.returns_type()]
        yield signature.arguments()
        kernel = types.NativeSignature(function.func, prefix="n_", symint=symint)
        yield [kernel.decl(), kernel.defn("x"), kernel.ptr_type(), kernel.name(), kernel.returns_type()]
        yield outcome(kernel.dispatcher_exprs)


def translation_facts(side: Side, function: Any) -> Iterator[Any]:
    """Translations between the signatures of a function."""
    types, translate = side.module("api.types"), side.module("api.translate").translate
    dispatcher = types.DispatcherSignature.from_schema(function.func)
    for method in (True, False):
        for signature in types.CppSignatureGroup.from_native_function(function, method=method).signatures():
            yield outcome(translate, signature.arguments(), dispatcher.arguments(), method=method)
            yield outcome(translate, dispatcher.arguments(), signature.arguments())
    native = types.NativeSignature(function.func, symint=False)
    goals = [binding.nctype for binding in native.arguments()]
    yield outcome(translate, dispatcher.exprs(), goals, allow_expensive_conversions=True)


@pytest.mark.parametrize("facts", [cpp_facts, dispatcher_and_native_facts, signature_facts, translation_facts])
def test_conventions_are_equal(reference: Side, own: Side, facts: Callable[[Side, Any], Iterator[Any]]) -> None:
    """Names, types, parameters, signatures and translations are equal."""
    compare(reference, own, facts)


def test_structured_kernels_are_equal(reference: Side, own: Side) -> None:
    """So are the parameters of structured kernels."""
    tables = []
    for side in (reference, own):
        structured, types, model = side.module("api.structured"), side.module("api.types"), side.module("model")
        rows = []
        for group in side.module("gen").get_grouped_native_functions(side.parsed.native_functions):
            if not isinstance(group, model.NativeFunctionsGroup) or not group.structured:
                continue
            with inside(side, group.out):
                rows += [structured.impl_arguments(group), structured.meta_arguments(group)]
                rows += [structured.out_arguments(group), side.module("api.meta").name(group)]
                index = side.parsed.backend_indices[model.DispatchKey.CPU]
                rows.append(types.StructuredImplSignature(group, "kernel").defn())
                rows.append(types.kernel_signature(group.out, index).decl())
                rows += [structured.argument(part) for part in group.functional.func.arguments.flat_all]
        tables.append(rows)
    assert not difference(tables[0], tables[1])


def test_views_are_equal(reference: Side, own: Side) -> None:
    """So are the names and parameters of functions that replay views."""
    tables = []
    for side in (reference, own):
        views, types, model = side.module("api.functionalization"), side.module("api.types"), side.module("model")
        rows: list[Any] = []
        for group in side.module("gen").get_grouped_by_view_native_functions(side.parsed.native_functions):
            if not isinstance(group, model.NativeFunctionsViewGroup) or group.composite:
                continue
            schema = group.view.func
            with inside(side, group.view):
                rows += [views.classname(schema), views.classname(schema, with_namespace=True)]
                rows += [
                    outcome(views.name, group, is_reverse=reverse, include_namespace=namespace, reapply_views=reapply)
                    for reverse in (True, False)
                    for namespace in (True, False)
                    for reapply in (True, False, None)
                ]
                rows += [views.returns_type(schema), views.is_multi_output(schema)]
                for function in (views.base_ctor_arguments, views.extra_ctor_arguments, views.attributes):
                    rows.append([binding.decl() for binding in function(schema)])
                rows.append([binding.decl() for binding in views.attributes(schema, owning=False)])
                for reverse in (True, False):
                    rows.append([binding.decl() for binding in views.op_arguments(schema, reverse)])
                rows.append(types.ViewInverseSignature(group).decl())
        tables.append(rows)
    assert not difference(tables[0], tables[1])


def test_types_are_equal(reference: Side, own: Side) -> None:
    """The names of C++ types mean the same; Opwright also has those of older releases."""
    modules = [side.module("api.types") for side in (reference, own)]
    for name, value in vars(modules[0]).items():
        if type(value).__name__ == "BaseCppType" or name == "TENSOR_LIST_LIKE_CTYPES":
            assert not difference(value, getattr(modules[1], name), name)
    for name in ("BaseTypeToCppMapping", "ScalarTypeToCppMapping"):
        tables = [{str(key): value for key, value in getattr(module, name).items()} for module in modules]
        assert {key: str(value) for key, value in tables[0].items()}.items() <= {
            key: str(value) for key, value in tables[1].items()
        }.items()


def test_types_print_themselves(reference: Side, own: Side) -> None:
    """Each kind of C++ type prints the same, with its reference and without, and drops references inside."""
    texts = []
    for side in (reference, own):
        types = side.module("api.types")
        tensor = types.BaseCType(types.tensorT)
        wrapped = [
            getattr(types, f"{name}CType")(tensor)
            for name in ("ConstRef", "MutRef", "Optional", "List", "ArrayRef", "Vector", "Vectorized")
        ]
        wrapped += [types.ArrayCType(tensor, 3), types.TupleCType([tensor, types.ConstRefCType(tensor)])]
        nested = [types.VectorCType(types.ConstRefCType(tensor)), types.ConstRefCType(types.OptionalCType(tensor))]
        for ctype in (tensor, *wrapped, *nested):
            named = types.NamedCType("x", ctype)
            texts.append([ctype.cpp_type(), ctype.cpp_type(strip_ref=True), repr(ctype.remove_const_ref())])
            texts.append([named.cpp_type(), repr(named.with_name("y")), repr(named.remove_const_ref())])
        binding = types.Binding(
            "x", types.NamedCType("x", tensor), side.module("model").Argument.parse("Tensor x"), "0"
        )
        texts.append([binding.decl(), binding.defn(), binding.decl(func_ptr_cast=True), binding.type])
        texts.append(list(map(repr, (binding.rename("y"), binding.with_name("z"), binding.no_default()))))
    half = len(texts) // 2
    assert texts[:half] == texts[half:]
    unsat = own.module("api.translate").UnsatError
    with pytest.raises(unsat, match="no way to"):
        own.module("api.translate").translate([], [binding])
