"""The operators in an environment that has TVM FFI and NumPy alone."""

from __future__ import annotations

import importlib.util

import acme_views.tvm_ffi as ops
import numpy as np
import pytest
import tvm_ffi
import values


def random(*sizes: int, dtype: type = np.float32) -> np.ndarray:
    """An array."""
    return np.random.default_rng(sum(sizes)).standard_normal(sizes).astype(dtype)


def test_other_frameworks_are_missing() -> None:
    """Each module says in a sentence what it needs."""
    for name, needed in (("torch", "install `torch`"), ("jax", "install `jax`")):
        assert importlib.util.find_spec(name) is None
        with pytest.raises(ImportError, match=needed):
            importlib.import_module(f"acme_views.{name}")


def test_values() -> None:
    """Results are those of NumPy, also for layouts that need a copy."""
    x, weight = random(4, 3, 8), random(8)
    for array in (x, x.transpose(1, 0, 2), x[::2], x[:, ::-1]):
        result = np.from_dlpack(ops.rms_norm(array, weight))
        np.testing.assert_allclose(result, values.rms_norm(array, weight), rtol=1e-5, atol=1e-6)
    rows, segments = random(5, 3), np.array([0, 1, 0, 3, 3])
    for weights in (None, random(5)):
        result = np.from_dlpack(ops.segment_sum(rows, segments, weights, count=4))
        np.testing.assert_allclose(result, values.segment_sum(rows, segments, weights, 4), rtol=1e-5)
    top = ops.top_k(np.array([[1.0, 3.0, 2.0]]), 2)
    assert np.from_dlpack(top.values).tolist() == [[3, 2]]
    assert np.from_dlpack(top.indices).tolist() == [[1, 2]]
    np.testing.assert_allclose(np.from_dlpack(ops.weighted_sum([x, 2 * x], [1.0, 3.0])), 7 * x, rtol=1e-6)
    assert np.from_dlpack(ops.scaled(random(0, 3))).shape == (0, 3)


def test_written_argument() -> None:
    """An argument that is written changes in place; memory that is shared is refused."""
    x, cos, sin = random(2, 5, 8), random(5, 4), random(5, 4)
    expected = values.rotary(x, cos, sin)
    assert ops.rotary_(x, cos, sin) is None
    np.testing.assert_allclose(x, expected, rtol=1e-5, atol=1e-6)
    with pytest.raises(RuntimeError, match="which shares memory with `cos`"):
        ops.rotary_(x, x.reshape(-1)[:20].reshape(5, 4), sin)


def test_described() -> None:
    """Kernels get every kind of argument, and defaults."""
    x = np.arange(24, dtype=np.float64).reshape(1, 2, 3, 4)
    assert np.from_dlpack(ops.described(x, 7)).tolist() == [123, 7, 0, 2117, 33, -1, 0, -1]
    called = ops.described(x, -7, True, "", [1, 2], more=[1.5, 2.5], flags=[True, False], times=9)
    assert np.from_dlpack(called).tolist() == [123, -7, 1, -1, 21, 4.5, 210, 9]
    for wrong in ({"a": "x"}, {"a": 1.5}, {"a": 1, "flag": 1}, {"a": 1, "mode": 2}):
        with pytest.raises(TypeError, match=r"acme_views::described: `.*` has to be"):
            ops.described(x, **wrong)


def test_functions_of_the_module() -> None:
    """The shared object has functions with the names of the operators, and defaults of their own."""
    functions = tvm_ffi.load_module(str(ops.library))
    result = functions.get_function("described")(np.zeros((1, 1, 1, 1)), 7)
    assert np.from_dlpack(result).tolist() == [0, 7, 0, 2117, 33, -1, 0, -1]
    with pytest.raises(TypeError, match="`a` is missing"):
        functions.get_function("described")(np.zeros((1, 1, 1, 1)))
    with pytest.raises(TypeError, match="takes 2 arguments, and got 3"):
        functions.get_function("scaled")(np.zeros(1), 1.0, 2.0)


def test_results_outlive_their_call() -> None:
    """The memory of a result belongs to it."""
    results = [ops.scaled(np.full(1000, float(number))) for number in range(100)]
    assert [np.from_dlpack(result)[999] for result in results] == [2.0 * number for number in range(100)]


def test_results_that_no_memory_holds() -> None:
    """A result is refused before a kernel writes to memory that it does not have."""
    rows, segments = random(0, 4), np.zeros(0, np.int64)
    for count in (2**57, 2**60, 2**62):
        with pytest.raises(RuntimeError, match="cannot be computed: no memory has room for so many elements"):
            ops.segment_sum(rows, segments, count=count)
    with pytest.raises(RuntimeError, match="segment_sum: there is no memory for a new tensor"):
        ops.segment_sum(rows, segments, count=2**46)
