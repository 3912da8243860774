"""Python signatures, the order in which they are tried, and how parsed values reach the call."""

from __future__ import annotations

import pytest

from opwright.convention.python.bound import LINALG, TENSOR_METHODS, TORCH, is_bound, is_in_module
from opwright.convention.python.call import NoFieldName, NoTensorOptions, call_arguments, dispatch_lambda, field_names
from opwright.convention.python.overloads import OutAlone, Overload, Pair, Repeated, pair_overloads, sort_pairs
from opwright.convention.python.parameter import NoPythonType, reader, type_name
from opwright.convention.python.signature import function_signature, python_signature
from opwright.model.native_function import NativeFunction
from opwright.schema import parse_schema, parse_type
from tests.dialects.loading import load_text

OPTIONS = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"


def functions_of(*entries: str) -> list[NativeFunction]:
    """The functions of entries, each given by its schema and, after a blank line, other fields."""
    text = "".join(f"- func: {entry}\n" for entry in entries)
    catalog, sink = load_text(text)
    sink.raise_if_errors()
    return list(catalog.functions)


def overloads_of(*entries: str, method: bool = False) -> list[Overload]:
    """The overloads of entries."""
    return [Overload(function_signature(function, method=method), function) for function in functions_of(*entries)]


@pytest.mark.parametrize(
    ("schema_type", "name"),
    [
        ("int", "int64_t"),
        ("float?", "double?"),
        ("str", "c10::string_view"),
        ("Tensor?", "Tensor?"),
        ("SymInt[2]", "SymIntArrayRef[2]"),
        ("int[]?", "IntArrayRef?"),
        ("Tensor[]", "TensorList"),
        ("Tensor?[]", "c10::List<::std::optional<Tensor>>"),
        ("bool[3]", "::std::array<bool,3>"),
        ("float[]", "ArrayRef<double>"),
        ("Scalar[]", "ScalarList"),
        ("Dimname[]?", "DimnameList?"),
    ],
)
def test_types_have_names_in_the_parsers_language(schema_type: str, name: str) -> None:
    """Each type is spelt as the argument parser expects it."""
    assert type_name(parse_type(schema_type)) == name


@pytest.mark.parametrize(
    ("schema_type", "absent", "method"),
    [
        ("Tensor", False, "tensor"),
        ("Tensor?", True, "optionalTensor"),
        ("int?", True, "toInt64Optional"),
        ("bool?", False, "toBool"),
        ("SymInt[2]?", True, "symintlistOptional"),
        ("Tensor[2]", False, "tensorlist_n<2>"),
        ("Tensor?[]", False, "list_of_optional_tensors"),
        ("Generator?", True, "generator"),
        ("Dimname[]?", True, "toDimnameListOptional"),
        ("DeviceIndex", False, "toInt64"),
    ],
)
def test_values_are_read_by_their_types(schema_type: str, absent: bool, method: str) -> None:
    """Each type has its method of the parser, and a value that may be missing another."""
    assert reader(parse_type(schema_type), absent=absent, has_default=False) == method


@pytest.mark.parametrize("schema_type", ["SymBool", "bool[]", "Generator[]", "QScheme"])
def test_some_types_cannot_be_read(schema_type: str) -> None:
    """A type without a method is refused by its name."""
    with pytest.raises(NoPythonType, match="^" + schema_type.replace("[", r"\[")):
        reader(parse_type(schema_type), absent=False, has_default=False)


def test_self_of_a_function_is_called_input() -> None:
    """A function's tensor `self` is `input` for its callers; one of another type, and a method's, are not."""
    schema = parse_schema("mix(Tensor other, Tensor self, *, Scalar alpha=1) -> Tensor")
    assert python_signature(schema).text == "mix(Tensor other, Tensor input, *, Scalar alpha=1)"
    assert python_signature(schema, method=True).text == "mix(Tensor other, *, Scalar alpha=1)"
    assert python_signature(parse_schema("mix(Scalar self) -> Tensor")).inputs[0].text == "Scalar self"


def test_several_outs_are_one_list() -> None:
    """Out arguments become one parameter, which has the name of the only one, or is a list of as many tensors."""
    signature = python_signature(parse_schema("top.out(Tensor self, *, Tensor(a!) values) -> Tensor(a!)"))
    two = python_signature(
        parse_schema("top.out(Tensor self, *, Tensor(a!) values, Tensor(b!) places) -> (Tensor(a!), Tensor(b!))")
    )
    assert signature.text == "top(Tensor input, *, Tensor values=None)"
    assert two.text == "top(Tensor input, *, TensorList[2] out=None)"
    assert two.text_without_out == "top(Tensor input)"


def test_defaults_are_pythons() -> None:
    """What is missing is None, truth values and numbers are Python's, and other values stay C++."""
    schema = parse_schema(
        "all(Tensor self, Tensor? a=None, bool b=False, float c=1e-5, int d=Mean, int[2] e=0, int[] f=[0,1], "
        "int[1] g=[], str h='sum') -> Tensor"
    )
    assert python_signature(schema).text == (
        "all(Tensor input, Tensor? a=None, bool b=False, double c=1e-05, int64_t d=at::Reduction::Mean, "
        'IntArrayRef[2] e=0, IntArrayRef f={0,1}, IntArrayRef[1] g=None, c10::string_view h="sum")'
    )


def test_factories_have_tensor_options() -> None:
    """A function that makes its tensor from none has five options, and the device that is set as default."""
    signature = python_signature(parse_schema(f"tile(int times, *, {OPTIONS}) -> Tensor"))
    assert signature.text == (
        "tile(int64_t times, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
        "bool? pin_memory=False, bool? requires_grad=False)"
    )
    device = signature.options[2]
    assert device.read(3) == "_r.deviceWithDefault(3, torch::tensors::get_default_device())"


@pytest.mark.parametrize("name", ["new_tile", "tile_like"])
def test_options_of_a_model_tensor_have_no_defaults(name: str) -> None:
    """Operators named for it take what is not given from their tensor."""
    signature = python_signature(parse_schema(f"{name}(Tensor self, *, {OPTIONS}) -> Tensor"))
    assert [option.read(place) for place, option in enumerate(signature.options)][:3] == [
        "_r.scalartypeOptional(0)",
        "_r.layoutOptional(1)",
        "_r.deviceOptional(2)",
    ]


def test_category_overrides_the_rules_of_options() -> None:
    """An entry can say that its operator is a factory against its schema, or is none."""
    plain = parse_schema("tile(Tensor self) -> Tensor")
    assert python_signature(plain, category="factory").options
    assert python_signature(plain, category="like").options
    assert not python_signature(parse_schema("tile(int times) -> Tensor"), category="dummy").options


def test_result_names_are_all_or_none() -> None:
    """Several results have names or have not; a single one's name counts for nothing."""
    named, plain, single = functions_of(
        "top(Tensor self) -> (Tensor values, Tensor places)",
        "pair(Tensor self) -> (Tensor, Tensor)",
        "one(Tensor self) -> Tensor value",
    )
    assert [field_names(function) for function in (named, plain, single)] == [("values", "places"), (), ()]
    (mixed,) = functions_of("mixed(Tensor self) -> (Tensor values, Tensor)")
    with pytest.raises(NoFieldName):
        field_names(mixed)


def test_out_form_shares_the_signature_of_its_base() -> None:
    """The two become a pair, with the signature that has `out`."""
    pairs = pair_overloads(
        overloads_of(
            "mix.out(Tensor self, Scalar by, *, Tensor(a!) out) -> Tensor(a!)", "mix(Tensor self, Scalar by) -> Tensor"
        )
    )
    assert [(pair.signature.text, pair.base.name.text, pair.out and pair.out.name.text) for pair in pairs] == [
        ("mix(Tensor input, Scalar by, *, Tensor out=None)", "mix", "mix.out")
    ]


def test_equal_signatures_are_refused() -> None:
    """Two overloads that Python cannot tell apart are named: these methods differ in the place of `self` alone."""
    with pytest.raises(Repeated) as caught:
        pair_overloads(
            overloads_of("mix(Tensor self, int by) -> Tensor", "mix.other(int by, Tensor self) -> Tensor", method=True)
        )
    assert (caught.value.first.function.name.text, caught.value.second.function.name.text) == ("mix", "mix.other")


def test_out_form_without_base_is_refused() -> None:
    """The candidates are those without `out`; a base whose `input` is no `self` is none of them."""
    with pytest.raises(OutAlone) as caught:
        pair_overloads(
            overloads_of(
                "mix(Tensor self, Scalar by) -> Tensor",
                "mix.out(Tensor self, int by, *, Tensor(a!) out) -> Tensor(a!)",
            )
        )
    assert [candidate.function.name.text for candidate in caught.value.candidates] == ["mix"]
    with pytest.raises(OutAlone):
        pair_overloads(
            overloads_of("mix(Tensor input) -> Tensor", "mix.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)")
        )


@pytest.mark.parametrize(
    ("schemas", "order"),
    [
        # A number is taken for a tensor, so the overload for tensors is tried first.
        (("mix.s(Tensor self, Scalar by) -> Tensor", "mix.t(Tensor self, Tensor by) -> Tensor"), ["mix.t", "mix.s"]),
        # A lone integer is a list of one; a list of plain integers comes before one of symbolic ones.
        (
            (
                "mix.many(Tensor self, int[] by) -> Tensor",
                "mix.one(Tensor self, int by) -> Tensor",
                "mix.symbolic(Tensor self, SymInt[] by) -> Tensor",
            ),
            ["mix.one", "mix.many", "mix.symbolic"],
        ),
        # The parser fails at a list that is not of tensors.
        (("mix.l(Tensor[] by) -> Tensor", "mix.n(float[] by) -> Tensor"), ["mix.n", "mix.l"]),
        # Names of dimensions, of releases that have them, are tried last of all.
        (("mix.n(Tensor self, Dimname by) -> Tensor", "mix.i(Tensor self, int by) -> Tensor"), ["mix.i", "mix.n"]),
        # Else the texts decide, and the number of parameters makes them incomparable.
        (("mix.b(Tensor self, str by) -> Tensor", "mix.a(Tensor self, int by) -> Tensor"), ["mix.b", "mix.a"]),
        (
            ("mix.s(Tensor self, Scalar by) -> Tensor", "mix.t(Tensor self, Tensor by, int n) -> Tensor"),
            ["mix.s", "mix.t"],
        ),
    ],
)
def test_overloads_are_tried_in_a_fit_order(schemas: tuple[str, ...], order: list[str]) -> None:
    """What another overload would take as well is tried after it; all else is in the order of the texts."""
    made = [Pair(overload.signature, overload.function, None) for overload in overloads_of(*schemas)]
    for pairs in (made, made[::-1]):
        assert [pair.base.name.text for pair in sort_pairs(pairs)] == order


def test_written_tensors_are_taken_by_value() -> None:
    """The parser's values are temporaries, to which no reference binds; items of a list of outs are not."""
    (inplace,) = overloads_of("mix_(Tensor(a!) self, Scalar by) -> Tensor(a!)")
    assert dispatch_lambda(*inplace).parameters == ["at::Tensor self", "const at::Scalar & by"]
    two = overloads_of("top.out(Tensor self, *, Tensor(a!) values, Tensor(b!) places) -> (Tensor(a!), Tensor(b!))")[0]
    assert dispatch_lambda(*two).parameters == ["at::Tensor & values", "at::Tensor & places", "const at::Tensor & self"]


def test_methods_are_called_where_there_are_some() -> None:
    """The lambda calls the method, else the function, and that of `torch::` where it makes a tensor from options."""
    method, function, factory = functions_of(
        "mix(Tensor self, SymInt by) -> Tensor\n  variants: function, method",
        "mix.f(Tensor self, Scalar by) -> Tensor",
        f"tile(int times, *, {OPTIONS}) -> Tensor\n  dispatch:\n    CPU: tile",
    )
    calls = [
        dispatch_lambda(function_signature(native_function, method=False), native_function)
        for native_function in (method, function, factory)
    ]
    assert [(call.target, call.passed) for call in calls] == [
        ("self.mix_symint", ["by"]),
        ("at::mix", ["self", "by"]),
        ("torch::tile", ["times", "options"]),
    ]


def test_deprecated_signature_passes_constants() -> None:
    """A deprecated signature has its own parameters, and passes on what its entry says."""
    (function,) = functions_of("mix(Tensor self, Tensor other, Scalar alpha=1) -> Tensor")
    schema = parse_schema("mix(Tensor self, Tensor other) -> Tensor")
    signature = python_signature(schema, passed=("self", "other", "1"))
    assert signature.text == "mix(Tensor input, Tensor other)|deprecated"
    called = dispatch_lambda(signature, function)
    assert called.parameters == ["const at::Tensor & self", "const at::Tensor & other"]
    assert called.passed == ["self", "other", "1"]


def test_outs_are_taken_from_their_list() -> None:
    """The list is read once, and its items are passed."""
    (overload,) = overloads_of(
        "top.out(Tensor self, int k, *, Tensor(a!) values, Tensor(b!) places) -> (Tensor(a!), Tensor(b!))"
    )
    called = dispatch_lambda(*overload)
    prepared, passed, _ = call_arguments(*overload, called.names, guards_device=True)
    assert prepared == ["auto out = _r.tensorlist_n<2>(2);"]
    assert passed == ["out[0]", "out[1]", "_r.tensor(0)", "_r.toInt64(1)"]


def test_options_without_use_are_refused() -> None:
    """A function that makes a tensor without taking options has no binding."""
    (overload,) = overloads_of("tile(int times) -> Tensor\n  dispatch:\n    CPU: tile")
    with pytest.raises(NoTensorOptions):
        call_arguments(*overload, ("times",), guards_device=True)


def test_modules_divide_the_functions() -> None:
    """An entry's module has it, whatever its variants; the others are functions of `torch`, methods, or both."""
    both, method, linear = functions_of(
        "mix(Tensor self) -> Tensor\n  variants: function, method",
        "mix_(Tensor(a!) self) -> Tensor(a!)\n  variants: method",
        "linalg_mix(Tensor self) -> Tensor\n  python_module: linalg",
    )
    where = [[module.name for module in (TORCH, TENSOR_METHODS, LINALG) if is_in_module(function, module)]
             for function in (both, method, linear)]  # fmt: skip
    assert where == [["torch", "torch.Tensor"], ["torch.Tensor"], ["torch.linalg"]]


def test_unbound_overloads_are_told_by_schema_too() -> None:
    """`add.Scalar` is unbound as PyTorch spells it; another overload of the name is bound."""
    unbound, bound = functions_of(
        "add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
        "sub.Scalar(Tensor self, Scalar by) -> Tensor",
    )
    assert (is_bound(unbound), is_bound(bound)) == (False, True)
