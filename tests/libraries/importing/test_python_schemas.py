"""Schemas that are read from annotations of Python functions are those that PyTorch infers when it runs the source."""

from __future__ import annotations

import random
from types import ModuleType

import pytest

from opwright.migrate.importing.python_reader import read_python_sources
from opwright.source.text import SourceFile

HEAD = """
import collections.abc
import math
import typing
import typing as t
from typing import List, Optional, Sequence, Tuple, Union
import torch
from torch import Tensor, device as where, dtype
from torch.types import Number
NUMBER = Union[int, float, bool]
SIZES = List[int]
TWO = 2
"""
#: What parameters are annotated with, and defaults that PyTorch takes for the type or for its schema alone.
BASES = {
    "Tensor": ["None"], "torch.Tensor": ["None"], "int": ["1", "-3", "1 << 20", "TWO * 4 - 1", "2 ** 10 // 3", "True"],
    "float": ["1.5", "1 / 3", "1e-05", "-math.pi / TWO", "float(2)", "3", "1e300"], "bool": ["True", "not True"],
    "str": ["'a'", "'a' + 'b'", "\"it's\"", "''"], "Number": ["1", "2.5", "False"], "NUMBER": ["TWO"],
    "Union[bool, int, float]": ["0"], "int | float | bool": ["1"], "torch.types.Number": ["1.5"],
    "dtype": ["torch.float16", "torch.half", "torch.long", "torch.quint8"], "torch.dtype": ["torch.bool"],
    "where": ["torch.device('cpu')", "torch.device('cuda', 1)"], "torch.device": ["torch.device('cuda:0')"],
    "SIZES": [], "torch.Size": [], "object": [], "complex": ["1j"], "typing.Dict[str, int]": [], "bytes": ["b'a'"],
    "Tuple[int, int]": ["(1, 2)"], "tuple[Tensor, ...]": [], "torch.layout": ["torch.strided"], "torch.SymInt": ["1"],
    "Union[int, float]": ["1"], "Union[Tensor, int]": [], "typing.Any": ["[]"], "None": [],
}  # fmt: skip
KNOWN = [*BASES].index("SIZES") + 1
AROUND = [
    "{}", "{}", "Optional[{}]", "Union[{}, None]", "Union[None, {}]", "t.Optional[{}]", "({} | None)", "List[{}]",
    "list[{}]", "Sequence[{}]", "collections.abc.Sequence[{}]", "typing.List[Optional[{}]]", "Optional[list[{}]]",
    "Optional[Sequence[{}]]", "list[{} | None]", "List[List[{}]]", "Optional[Optional[{}]]", "set[{}]",
]  # fmt: skip
RESULTS = [
    "Tensor", "torch.Tensor", "None", "int", "float", "bool", "Number", "NUMBER", "List[Tensor]", "list[Tensor]",
    "Tuple[Tensor, int]", "tuple[Tensor, List[Tensor], float]", "Sequence[Tensor]", "Optional[Tensor]", "str",
    "List[int]", "tuple[Tensor, ...]", "dict[str, Tensor]", "Tuple[Tensor, str]", "Union[int, float, bool]",
]  # fmt: skip
MUTATED = ["()", "[]", "{}", "set()", "('a',)", "{'a', 'b'}", "'unknown'", "['c']", "['zz']", "('a')"]


def signature(choose: random.Random, quotes: float) -> tuple[str, str]:
    """The parameters and results of a function, and the arguments that it writes. So often, types have quotes."""
    parts: list[str] = []
    has_default = False
    for name in "abcd"[: choose.randint(1, 3)]:
        base = choose.choice([*BASES] if choose.random() < 0.1 else [*BASES][:KNOWN])
        annotation = choose.choice(AROUND).format(base) if choose.random() < 0.4 else base
        quoted = f'"{annotation}"' if choose.random() < quotes else annotation
        default = choose.choice([*BASES[base], "None"])
        if parts and "*" not in parts and choose.random() < 0.2:
            parts.append("*")
        has_default = (has_default and "*" not in parts) or choose.random() < 0.3
        parts.append(f"{name}: {quoted}" + (f" = {default}" if has_default else ""))
    result = choose.choice(RESULTS[:12] if choose.random() < 0.8 else RESULTS)
    return f"({', '.join(parts)}) -> {result}", choose.choice(MUTATED[:4] if choose.random() < 0.7 else MUTATED)


@pytest.mark.thorough
@pytest.mark.parametrize("future", [False, True])
def test_generated_signatures(torch: ModuleType, future: bool) -> None:
    """PyTorch infers what is read, and what is unread it refuses; the reason names the parameter or the results."""
    choose = random.Random(int(future))
    counts = {"read": 0, "unread": 0}
    for number in range(600):
        # PyTorch reads one pair of quotes, and `annotations` adds one.
        text, mutated = signature(choose, 0 if future else 0.2)
        infer = f"torch.library.infer_schema(f, mutates_args={mutated}, op_name='acme::f')"
        source = f"def f{text}: ...\n"
        head = ("from __future__ import annotations\n" if future else "") + HEAD
        scope: dict[str, object] = {"__name__": f"source_{number}"}
        try:
            # Without the features of this module.
            exec(compile(head + source, "source", "exec", dont_inherit=True), scope)
        except TypeError:
            # `"Tensor" | None` and the like.
            continue
        try:
            wanted = str(eval(infer, scope))
        except ValueError:
            wanted = ""
        decorated = f"@torch.library.custom_op('acme::f', mutates_args={mutated})\n"
        read = read_python_sources([SourceFile("ops.py", head + decorated + source)])
        schemas = [f"acme::{row.schema}" for row in read.statements]
        assert schemas == ([wanted] if wanted else []), (source, mutated, read.unread)
        assert len(read.unread) == (not wanted)
        assert wanted or any(word in read.unread[0][1] for word in ("parameter `", "result", "`mutates_args`"))
        counts["read" if wanted else "unread"] += 1
    assert min(counts.values()) > 120


@pytest.mark.parametrize(
    ("signature", "mutated", "reason"),
    [
        ("(x: Tensor, by: Union[int, float]) -> Tensor", "()", "the annotation of the parameter `by` is"),
        ("(x: Tensor, by) -> Tensor", "()", "the parameter `by` has no annotation"),
        ("(x: Tensor, by: int = len('ab')) -> Tensor", "()", "the default of the parameter `by` is `len('ab')`"),
        ("(x: Tensor, by: int = 1 << (1 << 40)) -> Tensor", "()", "the default of the parameter `by` is"),
        ("(x: Tensor, by: int = 9 ** 9 ** 9) -> Tensor", "()", "the default of the parameter `by` is"),
        ("(x: Tensor, by: float = 1 / 0) -> Tensor", "()", "the default of the parameter `by` is"),
        ("(x: Tensor, *rest: Tensor) -> Tensor", "()", "the parameter `rest` is positional only, or"),
        ("(x: Tensor, /) -> Tensor", "()", "the parameter `x` is positional only, or"),
        ("(x: Tensor)", "()", "the results have no annotation"),
        ("(x: Tensor) -> Tuple[Tensor]", "()", "is a tuple of one"),
        ("(x: Tensor) -> Tensor", "names_of('x')", "`mutates_args` is `names_of('x')`"),
        ("(x: Tensor) -> Tensor", "['y']", "`mutates_args` names `y`"),
        ("(x: Tensor, y: int) -> Tensor", "['y']", "`mutates_args` names `y`, which is no tensor"),
    ],
)
def test_unread_signatures_say_why(signature: str, mutated: str, reason: str) -> None:
    """The reason names the parameter and what it is annotated with."""
    text = f"{HEAD}@torch.library.custom_op('acme::f', mutates_args={mutated})\ndef f{signature}: ...\n"
    read = read_python_sources([SourceFile("ops.py", text)])
    assert not read.statements
    ((_, told),) = read.unread
    assert told.startswith("the schema of `acme::f` is not read: ")
    assert reason in told


def test_tags_say_what_is_returned(torch: ModuleType) -> None:
    """The tags `inplace` and `out` make written arguments the results, as PyTorch infers them."""
    for tag, mutated, text in (
        ("inplace", "['x']", "(x: Tensor, y: int) -> Tensor"),
        ("out", "['o']", "(x: Tensor, *, o: Tensor) -> Tensor"),
        ("out", "['o', 'p']", "(x: Tensor, *, o: Tensor, p: Tensor) -> Tuple[Tensor, Tensor]"),
    ):
        source = f"def f{text}: ...\n"
        scope: dict[str, object] = {}
        exec(HEAD + source, scope)
        arguments = f"mutates_args={mutated}, tags=[torch.Tag.{tag}]"
        wanted = eval(f"torch.library.infer_schema(f, op_name='f', {arguments})", scope)
        decorated = f"@torch.library.custom_op('acme::f', {arguments})\n"
        read = read_python_sources([SourceFile("ops.py", HEAD + decorated + source)])
        assert [row.schema for row in read.statements] == [wanted]
