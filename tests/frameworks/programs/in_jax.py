"""The operators in an environment that has JAX alone."""

from __future__ import annotations

import importlib.util
import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
os.environ["JAX_ENABLE_X64"] = "1"

import acme_views.jax as ops
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import values
from jax import export
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


def random(*sizes: int, dtype: type = np.float32) -> jax.Array:
    """An array."""
    return jnp.asarray(np.random.default_rng(sum(sizes)).standard_normal(sizes), dtype)


def plain(x: jax.Array, weight: jax.Array, eps: float = 1e-6) -> jax.Array:
    """The same as `rms_norm` with JAX's own functions."""
    return x / jnp.sqrt((x * x).mean(-1, keepdims=True) + eps) * weight


def test_other_frameworks_are_missing() -> None:
    """Each module says in a sentence what it needs."""
    for name, needed in (("torch", "install `torch`"), ("tvm_ffi", "install `apache-tvm-ffi`")):
        assert importlib.util.find_spec(name) is None
        with pytest.raises(ImportError, match=needed):
            importlib.import_module(f"acme_views.{name}")


def test_values() -> None:
    """Results are those of NumPy, eagerly and under `jit`, and shapes are known without a call."""
    x, weight = random(4, 3, 8), random(8)
    expected = values.rms_norm(np.asarray(x), np.asarray(weight))
    for call in (ops.rms_norm, jax.jit(ops.rms_norm), jax.jit(lambda x, w: ops.rms_norm(x, weight=w, eps=1e-6))):
        np.testing.assert_allclose(call(x, weight), expected, rtol=1e-5, atol=1e-6)
    assert jax.eval_shape(ops.rms_norm, x, weight) == jax.ShapeDtypeStruct((4, 3, 8), "float32")
    rows, segments = random(5, 3), jnp.array([0, 1, 0, 3, 3])
    for weights in (None, random(5)):
        given = None if weights is None else np.asarray(weights)
        expected = values.segment_sum(np.asarray(rows), np.asarray(segments), given, 4)
        np.testing.assert_allclose(ops.segment_sum(rows, segments, weights, count=4), expected, rtol=1e-5)
    top = ops.top_k(jnp.array([[1.0, 3.0, 2.0]]), 2)
    assert top.values.tolist() == [[3, 2]]
    assert top.indices.tolist() == [[1, 2]]
    assert top.indices.dtype == "int32"
    np.testing.assert_allclose(ops.weighted_sum([x, 2 * x], [1.0, 3.0]), 7 * x, rtol=1e-6)


def test_written_argument() -> None:
    """What is written is a result: the argument keeps its values, unless a program gives it away."""
    x, cos, sin = random(2, 5, 8), random(5, 4), random(5, 4)
    before = np.asarray(x).copy()
    expected = values.rotary(before, np.asarray(cos), np.asarray(sin))
    np.testing.assert_allclose(ops.rotary_(x, cos, sin), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(x, before)
    program = jax.jit(ops.rotary_, donate_argnums=0)
    assert "input_output_alias" in program.lower(x, cos, sin).compile().as_text()
    np.testing.assert_allclose(program(x, cos, sin), expected, rtol=1e-5, atol=1e-6)


def test_described() -> None:
    """Kernels get every kind of argument, and defaults."""
    x = jnp.arange(24, dtype=jnp.float64).reshape(1, 2, 3, 4)
    assert ops.described(x, 7).tolist() == [123, 7, 0, 2117, 33, -1, 0, -1]
    called = ops.described(x, -7, True, "", [1, 2], more=[1.5, 2.5], flags=[True, False], times=9)
    assert called.tolist() == [123, -7, 1, -1, 21, 4.5, 210, 9]
    assert ops.described(x, 7, more=[]).tolist()[5] == 0.5
    for wrong in ({"a": "x"}, {"a": 1.5}, {"a": 1, "flag": 1}, {"a": 1, "mode": 2}):
        with pytest.raises(TypeError, match=r"acme_views::described: `.*` is .*, and has to be"):
            ops.described(x, **wrong)
    with pytest.raises(TypeError, match="has to be known when JAX traces"):
        jax.jit(ops.described)(x, 7)


def test_programs_are_kept() -> None:
    """Values that are no arrays tell programs apart, each of which is made once, and old ones go."""
    x = random(2, dtype=np.float64)
    operator = ops._operator_7
    operator.programs.clear()
    for factor in (2, 2.0, float("nan"), float("nan"), 0.0, -0.0):
        ops.scaled(x, factor)
    assert len(operator.programs) == 4
    for factor in range(1100):
        jax.eval_shape(lambda x, factor=factor: ops.scaled(x, factor), x)
    assert len(operator.programs) <= 1024


def test_earlier_calls_decide_nothing() -> None:
    """A value equal to one of an earlier call, but of another type, is taken or refused as at first."""
    scores = random(2, 4)
    for k in (2.0, True, np.float64(2)):
        operator = ops._operator_3
        for earlier in ((), (1, 2)):
            operator.programs.clear()
            operator.exact.clear()
            for value in earlier:
                ops.top_k(scores, value)
            if k is True:
                assert ops.top_k(scores, k).values.shape == (2, 1)
                continue
            with pytest.raises(TypeError, match=r"top_k: `k` is .*2.0.*, and has to be an integer"):
                ops.top_k(scores, k)
    x = random(3, dtype=np.float64)
    for factor in (0.0, -0.0, 0, -0.0, 0.0):
        assert str(ops.scaled(x * 0 + 1, factor)[0]) == str(float(factor))
    listed = [[1.0, 2.0], (1.0, 2.0), [1, 2], np.array([1.0, 2.0]), [True, 2.0], [0.0, -0.0], [-0.0, 0.0]]
    for weights in [*listed, *reversed(listed)]:
        expected = sum(item * float(weight) for item, weight in zip((x, 2 * x), weights, strict=True))
        np.testing.assert_allclose(ops.weighted_sum([x, 2 * x], weights), expected)
        np.testing.assert_allclose(ops.weighted_sum((x, 2 * x), weights), expected)


def test_gradients() -> None:
    """Gradients are those of JAX's own functions; what has no formula says so."""
    x, weight = random(4, 8, dtype=np.float64), random(8, dtype=np.float64)
    for transform in (lambda f: f, jax.jit):
        own = transform(jax.grad(lambda x, w: (ops.rms_norm(x, w) ** 2).sum(), (0, 1)))(x, weight)
        expected = jax.grad(lambda x, w: (plain(x, w) ** 2).sum(), (0, 1))(x, weight)
        for gradient, other in zip(own, expected, strict=True):
            np.testing.assert_allclose(gradient, other, rtol=1e-9, atol=1e-12)
    segments = jnp.array([0, 1, 0, 2])
    gradient = jax.grad(lambda w: (ops.segment_sum(x, segments, w, count=3) ** 2).sum())(random(4, dtype=np.float64))
    other = jax.grad(lambda w: (jnp.zeros((3, 8)).at[segments].add(x * w[:, None]) ** 2).sum())(
        random(4, dtype=np.float64)
    )
    np.testing.assert_allclose(gradient, other, rtol=1e-9)
    np.testing.assert_allclose(jax.grad(lambda x: ops.scaled(x, 3.0).sum())(x), 3.0)
    _, vjp = jax.vjp(ops.rms_norm, x, weight)
    assert [item.shape for item in vjp(x)] == [(4, 8), (8,)]
    with pytest.raises(NotImplementedError, match="derivative for acme_views::top_k is not implemented"):
        jax.grad(lambda x: ops.top_k(x, 2).values.sum())(x)


def test_batches() -> None:
    """`vmap` gives what a loop gives, nested and along any dimension, also for what only calls one after the other."""
    x, weight, weights = random(4, 3, 8), random(8), random(4, 8)
    looped = jnp.stack([ops.rms_norm(x[:, i], weight) for i in range(3)])
    np.testing.assert_allclose(jax.vmap(ops.rms_norm, (1, None))(x, weight), looped, rtol=1e-6)
    text = jax.jit(jax.vmap(ops.rms_norm, (1, None))).lower(x, weight).as_text()
    assert "while" not in text
    looped = jnp.stack([ops.rms_norm(x[i], weights[i]) for i in range(4)])
    np.testing.assert_allclose(jax.vmap(ops.rms_norm)(x, weights), looped, rtol=1e-6)
    nested = jax.vmap(jax.vmap(ops.rms_norm, (0, None)), (0, None))(x, weight)
    np.testing.assert_allclose(nested, ops.rms_norm(x, weight), rtol=1e-6)
    grads = jax.vmap(jax.grad(lambda x, w: (ops.rms_norm(x, w) ** 2).sum(), 1), (0, None))(x, weight)
    looped = jnp.stack([jax.grad(lambda w, i=i: (ops.rms_norm(x[i], w) ** 2).sum())(weight) for i in range(4)])
    np.testing.assert_allclose(grads, looped, rtol=1e-5, atol=1e-5)
    lists = jax.vmap(lambda a, b: ops.weighted_sum([a, b], [1.0, 2.0]))(x, x)
    np.testing.assert_allclose(lists, 3 * x, rtol=1e-6)
    cos, sin = random(3, 4), random(3, 4)
    turned = jax.vmap(ops.rotary_, (0, None, None))(x, cos, sin)
    np.testing.assert_allclose(turned, ops.rotary_(x, cos, sin), rtol=1e-6)


def test_devices() -> None:
    """A sharded batch stays where it is; gradients are summed over the devices."""
    mesh = Mesh(np.array(jax.devices()), ("b",))
    x, weight = random(8, 3, 16), random(16)
    sharded = jax.device_put(x, NamedSharding(mesh, P("b")))
    whole = jax.device_put(weight, NamedSharding(mesh, P()))
    program = jax.jit(ops.rms_norm)
    assert "all-gather" not in program.lower(sharded, whole).compile().as_text()
    result = program(sharded, whole)
    assert result.sharding.spec == P("b")
    np.testing.assert_array_equal(result, ops.rms_norm(x, weight))
    program = jax.jit(jax.grad(lambda x, w: (ops.rms_norm(x, w) ** 2).sum(), (0, 1)))
    text = program.lower(sharded, whole).compile().as_text()
    assert "all-gather" not in text
    assert "all-reduce" in text
    for own, other in zip(program(sharded, whole), program(x, weight), strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-5, atol=1e-5)
    # The dimension within which the operator computes is not divided.
    across = jax.device_put(x, NamedSharding(mesh, P(None, None, "b")))
    np.testing.assert_allclose(jax.jit(ops.rms_norm)(across, whole), ops.rms_norm(x, weight), rtol=1e-6)
    turned = jax.jit(ops.rotary_)(sharded, random(3, 8), random(3, 8))
    np.testing.assert_allclose(turned, ops.rotary_(x, random(3, 8), random(3, 8)), rtol=1e-6)


def test_export() -> None:
    """An exported program gives the same after it was written and read."""
    x, weight = random(4, 8), random(8)
    allowed = [export.DisabledSafetyCheck.custom_call("opwright_acme_views_rms_norm")]
    exported = export.export(jax.jit(ops.rms_norm), disabled_checks=allowed)(x, weight)
    read = export.deserialize(exported.serialize())
    np.testing.assert_array_equal(read.call(x, weight), ops.rms_norm(x, weight))


def test_refusals() -> None:
    """A call is refused while JAX traces it, and an error of a kernel when it runs."""
    with pytest.raises(
        RuntimeError, match=r"^acme_views::rms_norm: dimension 0 of `weight` has size 3, and has to have"
    ):
        jax.eval_shape(ops.rms_norm, random(4, 8), random(3))
    with pytest.raises(Exception, match="there is no segment 9"):
        jax.block_until_ready(ops.segment_sum(random(2, 3), jnp.array([0, 9]), count=4))


def test_results_that_no_memory_holds() -> None:
    """A result is refused before XLA counts its elements, which would end the process."""
    for count in (2**57, 2**60, 2**62):
        with pytest.raises(RuntimeError, match="cannot be computed: no memory has room for so many elements"):
            ops.segment_sum(random(0, 4), jnp.zeros(0, jnp.int64), count=count)
