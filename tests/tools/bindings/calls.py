"""Calls C functions of the example's library, and compares their results with those of PyTorch in Python.

python calls.py generated/libatc.so
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence

import pytest
import torch

Number = int | float | bool | complex

#: The kinds of numbers in atc.h.
_KINDS = {int: 0, float: 1, bool: 2, complex: 3}


class Scalar(ctypes.Structure):
    """`atc_scalar`."""

    _fields_ = (
        ("kind", ctypes.c_int32),
        ("integer", ctypes.c_int64),
        ("real", ctypes.c_double),
        ("imaginary", ctypes.c_double),
    )


class Device(ctypes.Structure):
    """`atc_device`."""

    _fields_ = (("type", ctypes.c_int32), ("index", ctypes.c_int32))


def scalar(value: Number) -> Scalar:
    """A number as C has it."""
    number = complex(value)
    integer = 0 if isinstance(value, (float, complex)) else int(value)
    return Scalar(_KINDS[type(value)], integer, number.real, number.imag)


def int32(value: int | None) -> object:
    """A pointer to an optional enumeration."""
    return None if value is None else ctypes.byref(ctypes.c_int32(value))


class Library:
    """The library, with values of Python in place of those of C."""

    def __init__(self, path: str) -> None:
        self._library = ctypes.CDLL(path)
        self._library.atc_last_error.restype = ctypes.c_char_p
        self._library.atc_is_defined.restype = ctypes.c_bool

    def handle(self, tensor: torch.Tensor | None) -> ctypes.c_void_p:
        """A new handle for a copy of a tensor."""
        handle = ctypes.c_void_p()
        if tensor is not None:
            sizes = (ctypes.c_int64 * tensor.dim())(*tensor.shape)
            dtype = {torch.float32: 6, torch.int64: 4}[tensor.dtype]
            data = ctypes.c_void_p(tensor.contiguous().data_ptr())
            self("atc_from_data", data, sizes, ctypes.c_size_t(tensor.dim()), dtype, ctypes.byref(handle))
        return handle

    def tensor(self, handle: ctypes.c_void_p, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """The tensor of a handle as a flat tensor of PyTorch; the handle is freed."""
        count = ctypes.c_int64()
        self("at_sym_numel", handle, ctypes.byref(count))
        values = torch.empty(count.value, dtype=dtype)
        bytes = ctypes.c_size_t(values.nbytes)
        self("atc_to_data", handle, ctypes.c_void_p(values.data_ptr()), bytes)
        self._library.atc_free(handle)
        return values

    def __call__(self, name: str, *arguments: object) -> None:
        """Calls a function. Raises RuntimeError with its message."""
        if getattr(self._library, name)(*arguments):
            raise RuntimeError(self._library.atc_last_error().decode())

    def is_defined(self, handle: ctypes.c_void_p) -> bool:
        """Whether there is a tensor in a handle."""
        return bool(self._library.atc_is_defined(handle))

    def results(self, count: int, name: str, *arguments: object) -> list[ctypes.c_void_p]:
        """The tensors that a function gives after its arguments."""
        handles = [ctypes.c_void_p() for _ in range(count)]
        self(name, *arguments, *map(ctypes.byref, handles))
        return handles

    def result(self, name: str, *arguments: object, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """The only tensor that a function gives, flat."""
        (handle,) = self.results(1, name, *arguments)
        return self.tensor(handle, dtype)

    def handles(self, tensors: Sequence[torch.Tensor | None]) -> tuple[object, ctypes.c_size_t]:
        """The pointer and the length for a list of tensors."""
        values = [self.handle(tensor).value for tensor in tensors]
        return (ctypes.c_void_p * len(values))(*values), ctypes.c_size_t(len(values))


def integers(*values: int) -> tuple[object, ctypes.c_size_t]:
    """The pointer and the length for a list of integers."""
    return (ctypes.c_int64 * len(values))(*values), ctypes.c_size_t(len(values))


def same(actual: torch.Tensor, expected: torch.Tensor) -> None:
    """Fails if a flat tensor has other elements than the expected one."""
    assert torch.equal(actual, expected.flatten()), (actual, expected)


X = torch.tensor([[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]])
INTS = torch.tensor([2, 0])


def numbers(c: Library) -> None:
    """Scalars of each kind, absent ones, and numbers as results."""
    for alpha in (2, 0.5, True):
        same(c.result("at_mul_Scalar", c.handle(X), scalar(alpha)), X * alpha)
    same(c.result("at_clamp", c.handle(X), None, ctypes.byref(scalar(2.5))), X.clamp(max=2.5))
    value = Scalar()
    c("at_item", c.handle(torch.tensor(7)), ctypes.byref(value))
    assert (value.kind, value.integer) == (0, 7)
    size = ctypes.c_int64()
    c("at_size_int", c.handle(X), ctypes.c_int64(1), ctypes.byref(size))
    assert size.value == 3
    answer = ctypes.c_bool()
    c("at_equal", c.handle(X), c.handle(X), ctypes.byref(answer))
    assert answer.value


def lists(c: Library) -> None:
    """Lists of tensors, of tensors that may be absent, of integers and of booleans; lists as results."""
    same(c.result("at_cat", *c.handles([X, X]), ctypes.c_int64(1)), torch.cat([X, X], 1))
    same(c.result("at_index_Tensor", c.handle(X), *c.handles([None, INTS])), X[:, INTS])
    same(c.result("at_permute", c.handle(X), *integers(1, 0)), X.permute(1, 0))
    keep, none = ctypes.c_bool(False), ctypes.c_size_t(0)
    same(c.result("at_mean_dim", c.handle(X), *integers(0), keep, None), X.mean(0))
    same(c.result("at_sum_dim_IntList", c.handle(X), None, none, keep, None), X.sum())
    handles, length = ctypes.POINTER(ctypes.c_void_p)(), ctypes.c_size_t()
    c("at_split_Tensor", c.handle(X), ctypes.c_int64(1), ctypes.c_int64(0), ctypes.byref(handles), ctypes.byref(length))
    for index, part in enumerate(X.split(1)):
        same(c.tensor(ctypes.c_void_p(handles[index])), part)
    assert length.value == 2
    grad, values, weight = torch.ones(1, 1, 2, 2), torch.rand(1, 1, 3, 3), torch.rand(1, 1, 2, 2)
    shared = (*integers(1, 1), *integers(0, 0), *integers(1, 1), ctypes.c_bool(False), *integers(0, 0))
    given = [*map(c.handle, (grad, values, weight)), None, none, *shared, ctypes.c_int64(1)]
    gradients = c.results(3, "at_convolution_backward", *given, (ctypes.c_bool * 3)(True, False, False))
    same(c.tensor(gradients[0]), torch.nn.functional.conv_transpose2d(grad, weight))
    assert not any(c.is_defined(gradient) for gradient in gradients[1:])


def several_results(c: Library) -> None:
    """Functions with two results, and those that write into their arguments."""
    values, indices = c.results(2, "at_max_dim", c.handle(X), ctypes.c_int64(1), ctypes.c_bool(False))
    same(c.tensor(values), X.max(1).values)
    same(c.tensor(indices, torch.int64), X.max(1).indices)
    out = c.handle(torch.empty(2, 3))
    c("at_abs_out", c.handle(X), out)
    same(c.tensor(out), X.abs())
    own = c.handle(X)
    c("at_add__Tensor", own, c.handle(X), scalar(1))
    same(c.tensor(own), X + X)


def options_and_texts(c: Library) -> None:
    """Tensor options, devices, texts and generators."""
    cpu = Device(0, -1)
    options = (int32(7), None, ctypes.byref(cpu), None)
    same(c.result("at_full", *integers(2), scalar(3), *options, dtype=torch.float64), torch.full((2,), 3.0).double())
    same(c.result("at_gelu", c.handle(X), b"tanh"), torch.nn.functional.gelu(X, approximate="tanh"))
    no_path = (None, ctypes.c_size_t(0))
    same(c.result("at_einsum", b"ij,kj->ik", *c.handles([X, X]), *no_path), torch.einsum("ij,kj->ik", X, X))
    generator = ctypes.c_void_p()
    c("atc_generator_new", ctypes.c_uint64(3), ctypes.byref(generator))
    expected = torch.rand(4, generator=torch.Generator().manual_seed(3))
    same(c.result("at_rand_generator", *integers(4), generator, None, None, None, None), expected)


def errors(c: Library) -> None:
    """Exceptions of PyTorch and missing tensors are codes with messages."""
    with pytest.raises(RuntimeError, match="a tensor is missing"):
        c.result("at_abs", None)
    with pytest.raises(RuntimeError, match="size mismatch"):
        c.result("at_matmul", c.handle(X), c.handle(torch.ones(2)))


GROUPS: tuple[Callable[[Library], None], ...] = (numbers, lists, several_results, options_and_texts, errors)

if __name__ == "__main__":
    library = Library(sys.argv[1])
    for group in GROUPS:
        group(library)
    print("all calls agree")
