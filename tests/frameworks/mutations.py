"""Calls of the operators of the project: valid ones, changed at random."""

from __future__ import annotations

from random import Random
from typing import Any, Final

_DTYPES: Final = ("float32", "float64", "float16", "int32", "int64", "uint8", "bool", "complex64")
#: Arguments of each operator: an array with the names of its sizes and its dtype, or what draws a value.
OPERATORS: Final[dict[str, dict[str, Any]]] = {
    "rms_norm": {"x": ("b d", "real"), "weight": ("d", "real"), "eps": "real"},
    "rms_norm_backward": {"grad": ("b d", "real"), "x": ("b d", "real"), "weight": ("d", "real"), "eps": "real"},
    "rotary_": {"x": ("b t e", "real"), "cos": ("t h", "real"), "sin": ("t h", "real")},
    "top_k": {"scores": ("b e", "real"), "k": "integer"},
    "segment_sum": {"x": ("n d", "real"), "segments": ("n", "index"), "weights": ("n", "real"), "count": "integer"},
    "segment_gather": {"rows": ("m d", "real"), "segments": ("n", "index"), "weights": ("n", "real")},
    "weighted_sum": {"xs": [("b d", "real")], "weights": ["real"]},
    "scaled": {"x": ("b d", "real"), "factor": "real"},
    "described": {
        "x": ("b c h w", "float64"),
        "a": "integer",
        "flag": "boolean",
        "mode": "text",
        "pair": ["integer", "integer"],
        "more": ["real"],
        "flags": ["boolean"],
        "times": "integer",
    },
}
#: Arguments that may be None.
_OPTIONAL: Final = ("weights", "more", "times")


def calls_of(name: str, count: int, random: Random) -> list[tuple[str, dict[str, Any]]]:
    """Calls of an operator, of which about a quarter are as they should be."""
    return [(name, _call(name, random)) for _ in range(count)]


def _call(name: str, random: Random) -> dict[str, Any]:
    half = random.randint(0, 2)
    sizes = {letter: random.choice((0, 1, 2, 3)) for letter in "bdthnmcw"} | {"h": half, "e": 2 * half}
    if name in ("top_k", "described"):
        sizes |= {"e": random.randint(1, 4), "h": random.randint(0, 2)}
    dtype = random.choice(("float32", "float64"))
    call = {key: _value(key, kind, sizes, dtype, random) for key, kind in OPERATORS[name].items()}
    for _ in range(random.choice((0, 0, 1, 1, 1, 2, 3))):
        _mutate(name, call, random)
    return call


def _value(key: str, kind: Any, sizes: dict[str, int], dtype: str, random: Random) -> Any:  # noqa: ANN401
    if isinstance(kind, list):
        count = len(kind) if len(kind) > 1 else 2
        return [_value("", kind[0], sizes, dtype, random) for _ in range(count)]
    if isinstance(kind, tuple):
        if key in _OPTIONAL and random.random() < 0.3:
            return None
        chosen = {"real": dtype, "index": "index"}.get(kind[1], kind[1])
        return {
            "sizes": [sizes[letter] for letter in kind[0].split()],
            "dtype": chosen,
            "seed": random.randint(0, 3),
            "layout": "",
        }
    if kind == "integer":
        return random.choice((0, 1, 2, 5, 6))
    if kind == "real":
        return random.choice((0.0, 1e-6, 0.5, 2.0))
    return random.random() < 0.5 if kind == "boolean" else random.choice(("", "up", "größer", "a b"))


def _mutate(name: str, call: dict[str, Any], random: Random) -> None:
    key = random.choice(list(call))
    value = call[key]
    if isinstance(value, dict):
        _mutate_array(name, call, key, random)
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        place = random.randrange(len(value))
        if random.random() < 0.3:
            call[key] = random.choice(([], value[:1], [*value, value[0]]))
        else:
            _mutate_array(name, dict.fromkeys([0], None), 0, random, value[place])
    elif isinstance(value, list):
        # PyTorch takes lists of two numbers alone for `pair`, and says so in its own words.
        if key != "pair":
            call[key] = random.choice(([], value[:1], [*value, *value]))
    elif isinstance(value, bool) or value is None or isinstance(value, str):
        if key in _OPTIONAL:
            call[key] = None
    elif isinstance(value, int):
        call[key] = random.choice((-1, -3, 0, 1, 3, 7, 40, 2**61, 2**62))
    else:
        call[key] = random.choice((0.0, -1.0, float("inf"), float("nan"), 1e300))


def _mutate_array(name: str, call: Any, key: Any, random: Random, item: Any = None) -> None:  # noqa: ANN401
    spec = call[key] if item is None else item
    choice = random.random()
    if choice < 0.3 and spec["sizes"]:
        spec["sizes"][random.randrange(len(spec["sizes"]))] = random.choice((0, 1, 2, 3, 4))
    elif choice < 0.45:
        spec["sizes"].insert(random.randint(0, len(spec["sizes"])), random.choice((0, 1, 2)))
    elif choice < 0.55 and spec["sizes"]:
        spec["sizes"].pop(random.randrange(len(spec["sizes"])))
    elif choice < 0.8:
        spec["dtype"] = random.choice(_DTYPES)
    elif choice < 0.97:
        # Arrays of JAX are dense: what an operator refuses because of strides is a matter of the other two.
        spec["layout"] = "" if name == "rotary_" and key == "x" else random.choice(("strided", "transposed"))
    elif item is None:
        call[key] = None
