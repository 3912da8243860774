"""The C++ types of ExecuTorch. `tests/executorch/runtime` compiles kernels that have them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from opwright.convention.shared_types import NoCppType
from opwright.cpp.c_types import CType
from opwright.mobile.executorch.convention import argument_type, return_type
from opwright.model.native_function import TypeStyle
from opwright.schema import parse_type

CONST = TypeStyle.CONST_REF_MUTABLES


@pytest.mark.parametrize(
    ("type", "argument", "result"),
    [
        ("Tensor", "const torch::executor::Tensor &", "torch::executor::Tensor"),
        ("Tensor?", "const std::optional<torch::executor::Tensor> &", None),
        ("Tensor[]", "torch::executor::TensorList", "::std::vector<torch::executor::Tensor>"),
        ("Tensor[]?", "std::optional<torch::executor::TensorList>", None),
        ("Tensor?[]", "torch::executor::ArrayRef<std::optional<torch::executor::Tensor>>", None),
        ("Scalar", "const torch::executor::Scalar &", "torch::executor::Scalar"),
        ("Scalar?", "const std::optional<torch::executor::Scalar> &", None),
        ("SymInt", "int64_t", "int64_t"),
        ("int?", "std::optional<int64_t>", "std::optional<int64_t>"),
        ("str", "std::string_view", "std::string_view"),
        ("ScalarType?", *["std::optional<torch::executor::ScalarType>"] * 2),
        ("SymInt[]", "torch::executor::ArrayRef<int64_t>", "::std::vector<int64_t>"),
        ("int[2]", "torch::executor::ArrayRef<int64_t>", None),
        ("int[]?", "std::optional<torch::executor::ArrayRef<int64_t>>", None),
        ("bool[2]", *["torch::executor::ArrayRef<bool>"] * 2),
        ("bool[]", None, None),
        ("Layout", None, None),
        ("Generator?", None, None),
    ],
)
def test_types_of_arguments_and_results(type: str, argument: str | None, result: str | None) -> None:
    """Tensors and scalars are passed by reference, lists refer to the caller's memory, and results own theirs."""
    assert type_or_none(argument_type, type) == argument
    assert type_or_none(return_type, type) == result


def type_or_none(convention: Callable[..., CType], type: str, **style: object) -> str | None:
    """The C++ type under a convention, None if there is none."""
    try:
        return convention(parse_type(type), **style).text
    except NoCppType:
        return None


@pytest.mark.parametrize(
    ("convention", "type", "plain", "const"),
    [
        (argument_type, "Tensor", "torch::executor::Tensor &", "const torch::executor::Tensor &"),
        (
            argument_type,
            "Tensor?",
            "torch::executor::Tensor &",
            "const std::optional<torch::executor::Tensor> &",
        ),
        (argument_type, "Tensor[]", *["torch::executor::TensorList"] * 2),
        (argument_type, "Scalar", *["const torch::executor::Scalar &"] * 2),
        (return_type, "Tensor", "torch::executor::Tensor &", "const torch::executor::Tensor &"),
        (return_type, "Tensor[]", None, None),
        (return_type, "Scalar", *["torch::executor::Scalar"] * 2),
    ],
)
def test_types_of_what_is_written(
    convention: Callable[..., CType], type: str, plain: str | None, const: str | None
) -> None:
    """Tensors that an operator writes to are passed and returned by reference, to a constant if the entry says so."""
    assert type_or_none(convention, type, mutable=True) == plain
    assert type_or_none(convention, type, mutable=True, style=CONST) == const
