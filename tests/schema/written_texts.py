"""Random schemas as people write them, and texts that are nearly schemas: what PyTorch's dispatcher says of each.

`make written-schemas` compares 100,000 of them.
"""

from __future__ import annotations

import argparse
import itertools
import keyword
import multiprocessing
import os
import random
import re
import sys
from collections.abc import Iterator
from typing import Final

import torch

from opwright.schema.base_types import BASE_TYPE_ROWS
from opwright.schema.fault import SchemaFault
from opwright.schema.parser import read_namespace
from opwright.source import codes
from opwright.syntax.dispatcher_schemas import DISPATCHER, read_written_schema

_TYPES: Final = (
    "Tensor", "Tensor", "Tensor", "Tensor", "int", "float", "bool", "str", "Scalar", "SymInt", "ScalarType", "Device",
    "Layout", "MemoryFormat", "Generator", "SymBool", "Storage", "Stream", "QScheme", "DeviceIndex", "Any", "complex",
    "AnyEnumType", "Capsule", "NoneType", "None", "t", "number", "dtype", "Dimname", "Tensr", "Float", "list",
    "__torch__.torch.classes.rnn.CellParamsBase", "Quantizer", "a.b",
)  # fmt: skip
_SUFFIXES: Final = ("", "", "", "", "?", "[]", "[]?", "?[]", "[2]", "[3]?", "[][]", "??", "[2][]")
_ANNOTATIONS: Final = (
    "!", "!", "(a!)", "(a)", "(b!)", "(a|b)", "(a -> *)", "(*)", "(a! -> a|b)", "(out!)", "( a ! )", "(A)", "()", "(a",
    "(for!)", "(a|a)", "(*|a)",
)  # fmt: skip
DEFAULTS: Final = (
    "None", "1", "-1", "0", "007", "- 3", "1.", "1.5", ".5", "1e3", "-2.5e-3", "True", "False", '"a"', "'b, c'", "[]",
    "[1, 2]", "[ 1,2 ]", "[True]", "[1.5]", "[1j]", "1j", "-2.5j", "float", "long", "half", "int32", "Mean", "strided",
    "contiguous_format", "preserve_format", '"cpu"', '"cuda:1"', '"nope"', "{}", "inf", "nan", "true", "x", "",
    "[None]", "[long]", "99999999999999999999", "1e400", '"a\\nb"', '"\\q"', '")"', '"("',
)  # fmt: skip
_NAMES: Final = (
    "f", "f_", "f_out", "add", "_f", "__and__", "__iand__", "__if__", "_", "for", "f.out", "f.x_out", "f._x",
    "f.default", "f.__x", "f.1", "f.in", "ns::f", "ns :: f . o", "a::b::f", "f.Mean",
)  # fmt: skip
_ARGUMENTS: Final = ("x", "y", "self", "out", "n", "dim", "from", "lambda", "is", "global", "int", "_")
_BLANKS: Final = ("", "", "", " ", " ", "  ", "\n", "\t", "\n    ")

_PARAMETRIC: Final = ("Dict", "Future", "RRef", "Await", "List", "")
_HELD: Final = (
    "Tensor", "Tensor?", "Tensor[]", "Tensor[2]", "Tensor[]?", "Tensor?[]", "Tensor[][]", "int", "Any", "str[]",
)  # fmt: skip

#: How many texts are made from one seed.
TEXTS_OF_A_SEED: Final = 1_000

#: The faults of schemas that the dispatcher takes, for which no C++ can be generated.
_OWN_LIMITS: Final = frozenset(
    (codes.DUPLICATE_ARGUMENT, codes.REQUIRED_AFTER_DEFAULT, codes.VARIADIC, codes.TOO_LARGE)
)
#: How the dispatcher shows an optional of an optional scalar.
_ONE_OF: Final = re.compile(r"Union\[(\w+)\]")
#: The types whose alias sets are compared: those of a list may be of the list or of its items.
_ALIASED: Final = frozenset(("Tensor", "Optional[Tensor]"))


class WrittenTexts:
    """A source of texts: the same ones for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random: Final = random.Random(seed)

    def texts(self, count: int) -> Iterator[str]:
        """That many texts."""
        for _ in range(count):
            text = self._schema()
            yield text if self._random.random() < 0.8 else self._damaged(text)

    def _one(self, choices: tuple[str, ...]) -> str:
        return self._random.choice(choices)

    def _common(self, choices: tuple[str, ...], common: int) -> str:
        """One of the choices, mostly of the first ones."""
        return self._one(choices[:common] if self._random.random() < 0.85 else choices)

    def _type(self, depth: int = 0) -> str:
        kind = self._random.random()
        if depth < 2 and kind < 0.06:
            items = [self._type(depth + 1) for _ in range(self._random.randint(1, 2))]
            name = self._one(("Dict", "Dict", "Future", "RRef", "Await", ""))
            return f"{name}({self._one((',', ', ')).join(items)}){self._common(_SUFFIXES, 8)}"
        annotation = self._common(_ANNOTATIONS, 10) if self._random.random() < 0.3 else ""
        container = self._common(_ANNOTATIONS, 10) if self._random.random() < 0.03 else ""
        name = self._common(_TYPES, 12)
        return f"{name}{annotation}{self._common(_SUFFIXES, 8)}{container}"

    def _argument(self) -> str:
        default = f"{self._one(('=', ' = '))}{self._one(DEFAULTS)}" if self._random.random() < 0.2 else ""
        return f"{self._type()} {self._common(_ARGUMENTS, 6)}{self._random.randrange(9)}{default}"

    def _schema(self) -> str:
        arguments = [self._argument() for _ in range(self._random.randrange(5))]
        if self._random.random() < 0.3:
            arguments.insert(self._random.randint(0, len(arguments)), "*")
        if self._random.random() < 0.02:
            arguments.append("...")
        comma = f"{self._one(('', '', ' '))},{self._one(_BLANKS)}"
        inside = f"{self._one(_BLANKS)}{comma.join(arguments)}{self._one(_BLANKS)}"
        returns = [f"{self._type()}{self._one(('', '', ' y'))}" for _ in range(self._random.randrange(3))]
        if len(returns) == 1 and self._random.random() < 0.6:
            shown = returns[0]
        else:
            shown = f"({self._one(_BLANKS)}{comma.join(returns)})"
        arrow = self._one((" -> ", "->", " ->", "  ->  ", "-> "))
        around = self._one(("", "", "", " ", "\n"))
        return f"{around}{self._common(_NAMES, 5)}{self._one(('', '', ' '))}({inside}){arrow}{shown}{around}"

    def _damaged(self, text: str) -> str:
        """The text with a character left out, doubled, or replaced."""
        at = self._random.randrange(len(text))
        return text[:at] + self._one(("", text[at] * 2, *" ,()[]!?*=.-\n;a1")) + text[at + 1 :]


def texts_of_parts() -> Iterator[str]:
    """Schemas with each name, type, annotation and default, and with each default for each type."""
    words = [*_NAMES, *_ARGUMENTS, *keyword.kwlist, *keyword.softkwlist]
    yield from (f"{form.format(word)} -> ()" for word in words for form in ("{}()", "f.{}()", "n::{}()", "f(int {})"))
    types = list(dict.fromkeys([*_TYPES, *[row.name for row in BASE_TYPE_ROWS]]))
    yield from (f"f({type}{suffix} x) -> {type}{suffix}" for type in types for suffix in dict.fromkeys(_SUFFIXES))
    items = (*types, *_HELD, "Dict(str, int)", "Tensor!", "Tensor(a!)", "Tensor ! [ ]")
    for name, item, form in itertools.product(_PARAMETRIC, items, ("({})", "({}, int)", "(int,{})", "({}![])?")):
        yield f"f({name}{form.format(item)} x) -> {name}{form.format(item)}"
    yield from (f"f({name}{rest} x) -> {name}{rest}" for name in _PARAMETRIC for rest in ("", "()", "(int, int, int)"))
    for held, annotation in itertools.product(_HELD, dict.fromkeys(_ANNOTATIONS)):
        bare = held.rstrip("[2]?")
        yield f"f({bare}{annotation}{held.removeprefix(bare)} x) -> {bare}{annotation}"
        yield f"f({held}{annotation} x, {held}(a!) y) -> ()"
    defaults = dict.fromkeys(DEFAULTS)
    for type, suffix, default in itertools.product(types, ("", "?", "[]", "[2]"), defaults):
        # Of a number that is not complex, the dispatcher takes the last character for `j`.
        if (type, default) != ("complex", "[1.5]"):
            yield f"f({type}{suffix} x={default}) -> ()"


def difference(text: str) -> str:
    """What Opwright and the dispatcher say differently of a text; empty if they agree."""
    try:
        schema = torch._C.parse_schema(text, allow_typevars=False)
    except (RuntimeError, ValueError, IndexError) as error:
        if "Unknown custom class type" in str(error):
            return ""
        schema = None
    try:
        read = read_written_schema(text, read_namespace(text, DISPATCHER)[1])
    except SchemaFault as fault:
        if schema is None or fault.code in _OWN_LIMITS or "the dispatcher reads" in fault.message:
            return ""
        return f"{text!r}: refused ({fault.code} {fault.message}), and the dispatcher has `{schema}`"
    if schema is None:
        return f"{text!r}: read as `{read}`, and the dispatcher refuses it"
    written, normal = [_registered(read.name.name, one) for one in (read.written_text, str(read))]
    if written != normal:
        return f"{text!r}: `{read}` is registered as {normal}, and the dispatcher has {written}"
    return ""


def _registered(name: str, text: str) -> tuple[object, ...]:
    """What the dispatcher has of an operator that is registered with a text, with alias sets numbered as they occur."""
    library = torch.library.Library("written_texts", "FRAGMENT")
    try:
        library.define(text)
        (schema,) = torch._C._jit_get_schemas_for_operator(f"written_texts::{name}")
        return _facts(schema)
    finally:
        library._destroy()


def _facts(schema: torch._C.FunctionSchema) -> tuple[object, ...]:
    names: dict[str, int] = {}

    def aliases(value: torch.Argument) -> tuple[object, ...]:
        found = value.alias_info
        if found is None or str(value.type) not in _ALIASED:
            return ()
        before = sorted(names.setdefault(name, len(names)) for name in sorted(found.before_set))
        return (found.is_write, tuple(before))

    def facts(value: torch.Argument) -> tuple[object, ...]:
        type = _ONE_OF.sub(r"\1", str(value.real_type))
        return value.name, type, value.N, str(value.default_value), value.kwarg_only, aliases(value)

    values = [facts(value) for value in (*schema.arguments, *schema.returns)]
    return (schema.name, schema.overload_name, len(schema.arguments), *values)


def _differences(numbers: range) -> tuple[int, list[str]]:
    """How many texts of some seeds were compared, and the differences."""
    texts = [text for seed in numbers for text in WrittenTexts(seed).texts(TEXTS_OF_A_SEED)]
    return len(texts), [found for text in texts if (found := difference(text))]


def main() -> int:
    """Compare many texts; the exit status is 1 if Opwright and the dispatcher differ on one."""
    parser = argparse.ArgumentParser(prog="python -m tests.schema.written_texts", description=__doc__)
    parser.add_argument("--count", type=int, default=100_000, help="how many texts are compared (default: 100,000)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (default: 0)")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="how many at once (default: all)")
    options = parser.parse_args()
    last = options.first + -(-options.count // TEXTS_OF_A_SEED)
    seeds = [range(seed, seed + 1) for seed in range(options.first, last)]
    compared, different = 0, 0
    with multiprocessing.get_context("fork").Pool(options.processes, maxtasksperchild=10) as pool:
        for count, found in pool.imap_unordered(_differences, seeds):
            compared += count
            different += len(found)
            for line in found:
                print(line, flush=True)
    print(f"{compared:,} texts, {different} differences")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
