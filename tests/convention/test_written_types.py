"""Types and defaults in C++ that PyTorch's files do not have. `tests/library/written` compiles them."""

from __future__ import annotations

import pytest

from opwright.convention import dispatcher
from opwright.convention.defaults import default_expression
from opwright.syntax.dispatcher_schemas import read_written_schema


@pytest.mark.parametrize(
    ("text", "type", "default"),
    [
        ("complex z=1j", "c10::complex<double>", "c10::complex<double>(0, 1)"),
        ("complex? z=0.5j", "::std::optional<c10::complex<double>>", "c10::complex<double>(0, 0.5)"),
        (
            "complex[2] z=2j",
            "c10::List<c10::complex<double>>",
            "c10::List<c10::complex<double>>({c10::complex<double>(0, 2), c10::complex<double>(0, 2)})",
        ),
        ("bool[] m=[True]", "c10::List<bool>", "c10::List<bool>({true})"),
        ("bool[] m=[]", "c10::List<bool>", "c10::List<bool>()"),
        ("bool[]? m=None", "::std::optional<c10::List<bool>>", "::std::nullopt"),
        ("bool[2] m=[True, False]", "::std::array<bool,2>", "{true, false}"),
        ("bool[2] m=True", "::std::array<bool,2>", "{true, true}"),
        ("int[][] n", "c10::List<c10::List<int64_t>>", None),
        ("int[]?[] n", "c10::List<::std::optional<c10::List<int64_t>>>", None),
        ("int?[] n", "at::ArrayRef<::std::optional<int64_t>>", None),
        ("Tensor?[] t", "const c10::List<::std::optional<at::Tensor>> &", None),
        ("Tensor[][] t", "c10::List<c10::List<at::Tensor>>", None),
        ("Tensor? t=None", "const ::std::optional<at::Tensor> &", "{}"),
        ("Device[] d", "at::ArrayRef<at::Device>", None),
        ("(int, Tensor)[] p", "c10::List<::std::tuple<int64_t,at::Tensor>>", None),
        ("(int, bool[]) p", "::std::tuple<int64_t,c10::List<bool>>", None),
        ("Dict(str, Tensor[]) d", "c10::Dict<::std::string, c10::List<at::Tensor>>", None),
        ("Any v", "c10::IValue", None),
        ("Any[] v", "c10::List<c10::IValue>", None),
        ("float[] f=[1.0, 2.0]", "at::ArrayRef<double>", "{1.0, 2.0}"),
        ("int[2] n=[0, 1]", "at::IntArrayRef", "{0, 1}"),
        ("int[2]? n=1", "at::OptionalIntArrayRef", "1"),
        ("SymInt[2] n=1", "c10::SymIntArrayRef", "c10::SymInt(1)"),
        ("int n=Mean", "int64_t", "at::Reduction::Mean"),
        ("ScalarType d=long", "at::ScalarType", "at::kLong"),
        ("ScalarType d=float", "at::ScalarType", "at::ScalarType::Float"),
        ("ScalarType d=3", "at::ScalarType", "static_cast<at::ScalarType>(3)"),
        ("str s='a'", "c10::string_view", '"a"'),
        (r"""str s='a "b" \'c\' \n'""", "c10::string_view", r'''"a \"b\" 'c' \n"'''),
        ('str s="a"', "c10::string_view", '"a"'),
    ],
)
def test_types_and_defaults_of_written_schemas(text: str, type: str, default: str | None) -> None:
    """The dispatcher holds lists of lists, of booleans and of its own types; others refer to the caller's memory."""
    argument = read_written_schema(f"f({text}) -> ()").arguments.all[0]
    assert dispatcher.argument_type(argument).text == type
    if default is None:
        assert argument.default is None
    else:
        assert default_expression(argument.default or "", argument.type, symint=True) == default
