"""Entries of libraries that say what operators need, at random, as people write and mistype them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

#: In each of these tables, what is right for most operators comes first.
TYPES = (
    "Tensor", "Tensor?", "Tensor[]", "int", "SymInt", "int[]", "float", "int?", "Tensor?[]", "Tensor(a!)", "SymInt[2]",
    "bool", "Scalar", "str", "ScalarType", "float?", "Device?", "Generator?",
)  # fmt: skip
NAMES = ("x", "weight", "bias", "n", "d", "out", "self", "b")
RETURNS = {
    "Tensor": ("return",),
    "(Tensor, Tensor)": ("result0", "result1"),
    "(Tensor x_grad, Tensor y)": ("x_grad", "y"),
    "Tensor[]": ("return",),
    "()": ("return",),
    "(Tensor, int)": ("result0", "result1"),
}
KERNELS = ("CPU: f", "CompositeExplicitAutograd: f", "CPU: f, Meta: f_meta", "CompositeImplicitAutograd: f")
ITEMS = (
    "d", "e", "h", "*b", "_", "3", "1", "#d", "h*w", "d//2", "2*d+1", "{n}", "{n*2}", "{len(n)}", "*#b", "...", "*c",
    "{n[0]}", "d%2", "(d+1)//2", "{max(n, 1)}", "0", "-1", "d//0", "{x}", "{x.size(0)}", "b", "x", "{", "}", "**b",
    "{d}", "{weight}", "d-1", "9" * 20,
)  # fmt: skip
DTYPES = (
    "x", "weight", "floating", "integral", "complex", "bool", "floating | bool", "float32", "[float32, float64]",
    "any", "quantized", "promote(x, weight)", "bias", "n", "self", "x.dtype", "result0", "nothing", "", "float16",
)  # fmt: skip
LAYOUTS = (
    "contiguous", "channels_last", "last_contiguous", "aligned", "any", "x", "contiguous!", "aligned!", "weight",
    "channels_last!", "any!", "nothing", "",
)  # fmt: skip
CONDITIONS = (
    "d > 0", "x.dim() == 2", "d % 2 == 0", "n > 0", "len(n) == 2", "d == e", "x.dtype == weight.dtype", "0 < n <= 3.5",
    "bias is None or bias.dtype == x.dtype", "x.size(-1) == n", "n < d < h", "x.device == weight.device", "1 < 2",
    "not (d == 0)", "sum(n) == 1", "n[0] > 1", "x.numel() > 0", "x.sizes() == weight.sizes()", "b == x.sizes()[1:]",
    "n", "x is not None", "d / 2 > 1", "n ** 2 == 4", "-n > -5", "x.is_contiguous()", "x == weight", "n in (1, 2)",
    "lambda: 1", "min(d, e) > 0", "broadcast(x, weight) == x.sizes()", "d if n else e", "'a' == n",
)  # fmt: skip
OUTPUTS = ("like(x)", "x.sizes()", "[x.size(0), 3]", "broadcast(x, weight)", "{sizes: [d], dtype: x.dtype}")
REFERENCES = ("a.b:c", "{function: a.b:c, tolerances: {float32: 1e-3}}", "{function: a, fallback: false}", "x")


def requirements_text(random: Random) -> str:
    """A library of one operator; about half of them have no fault."""
    names = ["x", *random.sample(NAMES[1:], random.randint(0, 3))]
    types = ["Tensor", *[_one_of(TYPES, random) for _ in names[1:]]]
    arguments = [
        f"{kind.replace('a!', f'{chr(97 + place)}!')} {name}"
        for place, (kind, name) in enumerate(zip(types, names, strict=True))
    ]
    returns = _one_of(tuple(RETURNS), random)
    results = list(RETURNS[returns])
    tensors = [name for kind, name in zip(types, names, strict=True) if kind.startswith("Tensor")]

    def mapping(values: Sequence[str], keys: list[str], most: int = 1) -> str:
        chosen = [key for key in keys if random.random() < 0.7] + (
            [random.choice(NAMES)] if random.random() < 0.02 else []
        )
        chosen = list(dict.fromkeys(chosen))
        texts = [
            " ".join(_one_of(values, random) for _ in range(random.randint(min(most, 2) - 1, most))) for _ in chosen
        ]
        return f"{{{', '.join([f'{key}: {_quoted(text)}' for key, text in zip(chosen, texts, strict=True)])}}}"

    fields: dict[str, tuple[float, Callable[[], str]]] = {
        "dims": (0.8, lambda: mapping(ITEMS, tensors + results if random.random() < 0.5 else tensors, 4)),
        "dtypes": (0.4, lambda: mapping(DTYPES, tensors)),
        "layout": (0.4, lambda: mapping(LAYOUTS, tensors)),
        "requires": (0.3, lambda: f"[{', '.join([_condition(_one_of(CONDITIONS, random)) for _ in range(2)])}]"),
        "linear": (0.1, lambda: f"[{random.choice(tensors)}]"),
        "reduction": (0.1, lambda: f"[{random.choice(results)}]"),
        "reference": (0.1, lambda: _one_of(REFERENCES, random)),
        "outputs": (0.1, lambda: _one_of(OUTPUTS, random)),
        "autogen": (0.05, lambda: "f.out"),
    }
    head = "namespace: acme\nabi: stable\n" if random.random() < 0.3 else "namespace: acme\n"
    lines = [f"- func: f({', '.join(arguments)}) -> {returns}", f"  dispatch: {{{_one_of(KERNELS, random)}}}"]
    lines += [f"  {name}: {value()}" for name, (share, value) in fields.items() if random.random() < share]
    return f"{head}operators:\n" + "".join([f"{line}\n" for line in lines])


def _one_of(values: Sequence[str], random: Random) -> str:
    """One of a table, mostly of its beginning."""
    return values[int(len(values) * random.random() ** 4)]


def _condition(text: str) -> str:
    return _quoted(text) if len(text) % 3 else f'{{{_quoted(text)}: "has to be {{d}} %s \\\\ \\" ok"}}'


def _quoted(text: str) -> str:
    return text if text.startswith("[") else f'"{text}"'
