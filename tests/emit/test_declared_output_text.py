"""The C++ text of declared outputs, with symbols and with numbers."""

from __future__ import annotations

import pytest

from opwright.libraries.emit.declared_outputs import allocation, inplace_check, out_resize, output_text, shape_function
from tests.dialects.test_declared_outputs import first_output

#: What an error says that cannot be computed.
WHERE = '"f: the size of the result"'


@pytest.mark.parametrize(
    ("outputs", "symbolic", "size"),
    [
        ("[self.size(0), n]", True, f"::opwright::Symbolic::list({{::opwright::Symbolic::size(self, 0, {WHERE}), n}})"),
        (
            "[self.size(0), n]",
            False,
            f"::opwright::Concrete::list({{::opwright::Concrete::size(self, 0, {WHERE}), n}})",
        ),
        ("dims", True, "::opwright::Symbolic::sizes(dims)"),
        (
            "'[self.size(dims[0] - 1)]'",
            True,
            f"::opwright::Concrete::subtract(::opwright::Concrete::item(dims, 0, {WHERE}), 1, {WHERE})",
        ),
        ("'[-3 * 4]'", True, f"::opwright::Concrete::multiply((-3), 4, {WHERE})"),
        ("reduce(self, None, True)", True, f"::opwright::dim_list(std::nullopt), true, {WHERE})"),
        (
            "'[(self.size(0) + n) % (n * 2)]'",
            True,
            "[&]() -> decltype(auto) { auto&& opwright_0 = ::opwright::Symbolic::add(",
        ),
        ("'[m or n]'", True, "(::opwright::has(m) ? c10::SymInt(::opwright::value(m)) : c10::SymInt(n))"),
    ],
)
def test_sizes_are_symbols_or_numbers(outputs: str, symbolic: bool, size: str) -> None:
    """Sizes are symbols where parameters are; indexes and integers are always numbers."""
    schema = "f(Tensor self, SymInt n, int[] dims, SymInt? m) -> Tensor"
    assert size in output_text(first_output(schema, outputs)[0], "f", symbolic=symbolic).size


def test_a_meta_kernel_makes_meta_tensors() -> None:
    """A Meta kernel makes its results without memory, with the memory format of the tensor that they are like."""
    (output,) = first_output("f(Tensor self) -> Tensor", "{like: self, dtype: bool}")
    assert allocation(output, "f", meta=True) == (
        "::opwright::empty_like(self, at::ScalarType::Bool, at::Device(at::kMeta))"
    )
    (output,) = first_output("f(Tensor self) -> Tensor", "[]")
    assert allocation(output, "f") == (
        "::opwright::empty(::opwright::Symbolic::list({}), self.scalar_type(), at::Device(self.device()))"
    )


def test_a_shape_function_sets_each_output() -> None:
    """The shape function of a structured kernel has a statement for each result."""
    outputs = first_output("f(Tensor self) -> (Tensor, Tensor)", "[like(self), [1]]")
    first, second = shape_function(outputs, "f").splitlines()
    assert first.startswith(
        "set_output_raw_strided(0, ::opwright::Concrete::sizes(self), ::opwright::strides_like(self), "
    )
    assert second.startswith("set_output_raw_strided(1, ::opwright::Concrete::list({1}), {}, ")


def test_written_arguments_are_checked() -> None:
    """Out arguments are checked and resized, arguments of in-place operators are checked."""
    (output,) = first_output("f(Tensor self) -> Tensor", "[2]")
    size = "::opwright::Symbolic::list({2})"
    rest = "self.scalar_type(), at::Device(self.device()));"
    assert out_resize(output, "out", "f") == f"::opwright::resize_out(out, {size}, {rest}"
    assert inplace_check(output, "f") == f"::opwright::check_inplace<c10::SymInt>(self, {size}, {rest}"
