"""Calls of the operators with arguments that are changed at random, and what a framework says of each.

`python calls.py FRAMEWORK CALLS OUT` reads calls from a JSON file, and writes an outcome for each: a digest of the
results and of what is written, or the kind and the text of the error.
"""

from __future__ import annotations

import hashlib
import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

#: How errors of a kernel begin that XLA passes on.
_XLA = "INVALID_ARGUMENT: "


def array(spec: dict[str, Any]) -> np.ndarray:
    """The array that a call describes: sizes, dtype, seed, and a layout."""
    generator = np.random.default_rng(spec["seed"])
    sizes = tuple(spec["sizes"])
    wide = (*sizes[:-1], sizes[-1] * 2) if sizes and spec["layout"] == "strided" else sizes
    data = generator.standard_normal(wide) * 3
    made = np.asarray(data).astype(spec["dtype"]) if spec["dtype"] != "index" else generator.integers(0, 5, wide)
    if 0 in sizes:
        # Elements that are none have strides all the same, which differ with how the array was made.
        return np.zeros(sizes, made.dtype)
    if sizes and spec["layout"] == "strided":
        return made[..., ::2]
    if spec["layout"] == "transposed":
        return np.ascontiguousarray(made.T).T
    return made


def is_array(value: object) -> bool:
    """Whether a value of a call describes an array."""
    return isinstance(value, dict)


def given(value: Any, make: Any) -> Any:  # noqa: ANN401
    """An argument with the arrays of a framework in place of what describes them."""
    if is_array(value):
        return make(array(value))
    if isinstance(value, list):
        return [given(item, make) for item in value]
    return value


def digest(values: list[np.ndarray]) -> str:
    """What tells results apart."""
    sums = hashlib.sha256()
    for value in values:
        # Which of the many values that are not a number it is says nothing.
        data = np.ascontiguousarray(value)
        sums.update(f"{data.dtype.name}{data.shape}".encode())
        sums.update(
            np.where(np.isnan(data), np.float64("nan"), data).tobytes() if data.dtype.kind == "f" else data.tobytes()
        )
    return sums.hexdigest()[:16]


def flat(results: Any) -> list[Any]:  # noqa: ANN401
    """The results of a call, one after the other."""
    if results is None:
        return []
    return list(results) if isinstance(results, (tuple, list)) else [results]


def main(framework: str, calls: str, out: str) -> None:
    """Make all calls."""
    if framework == "torch":
        import torch

        import_module("acme_views.torch")
        # This has the operators too that only formulas call.
        ops = import_module("acme_views._ops")

        def make(value: np.ndarray) -> Any:  # noqa: ANN401
            # `from_numpy` keeps strides, also those of NumPy for arrays without elements.
            return (
                torch.from_numpy(value)
                if value.size
                else torch.from_numpy(value).contiguous().clone().reshape(value.shape)
            )

        read = lambda tensor: tensor.numpy()  # noqa: E731
    elif framework == "jax":
        import jax

        jax.config.update("jax_enable_x64", True)
        import acme_views.jax as ops
        import jax.numpy as jnp

        make, read = jnp.asarray, np.asarray
    else:
        import acme_views.tvm_ffi as ops

        make, read = lambda value: value, np.from_dlpack
    outcomes: list[list[str]] = []
    for name, arguments in json.loads(Path(calls).read_text(encoding="utf-8")):
        if framework == "jax" and len(outcomes) % 500 == 499:
            # Each size is another program.
            jax.clear_caches()
        passed = {key: given(value, make) for key, value in arguments.items()}
        try:
            results = flat(getattr(ops, name)(**passed))
            if name.endswith("_") and framework != "jax":
                results.append(passed["x"])
            outcomes.append(
                ["ok", digest([read(result) if not isinstance(result, np.ndarray) else result for result in results])]
            )
        except Exception as error:
            kind = "type" if isinstance(error, TypeError) else "refused"
            text = str(error)
            if "has to be a tensor" in text or "There were no tensor arguments" in text:
                # PyTorch takes None for any tensor, and leaves calls without one to nobody.
                kind = "type"
            outcomes.append([kind, text.removeprefix(_XLA)])
    Path(out).write_text(json.dumps(outcomes), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
