"""The installed PyTorch runs on Opwright's modules in place of its generator."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import torch.utils._python_dispatch
import torchgen.model

import opwright.torchgen.model
from opwright.torchgen import install
from opwright.torchgen.gen_schema_utils import FunctionSchemaGen, TypeGen
from opwright.torchgen.model import Argument, FunctionSchema
from tests.torchgen_interface.equality import difference, outcome
from tests.torchgen_interface.test_model import ARGUMENT, ARGUMENTS, SCHEMA, compare


def printed(schema: str) -> str:
    """A schema as PyTorch prints it."""
    return schema


def plain(schema: str) -> str:
    """The same without its namespace."""
    return schema.partition("::")[2]


def rewritten(schema: str) -> str:
    """The same as PyTorch rewrites it for its generator."""
    numbers = re.sub(r"=\[([01])(, \1)*\]", r"=\1", plain(schema))
    return re.sub(r"=\[(-?[0-9]+), (-?[0-9]+)\]", r"=[\1,\2]", numbers)


#: PyTorch's generator knows this overload by its name without a namespace.
DIFFERENT: dict[Callable[[str], str], set[str]] = {
    printed: {"aten::bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor"}
}


@pytest.mark.thorough
@pytest.mark.parametrize("spell", [rewritten, printed, plain])
def test_schemas_of_a_running_torch(spell: Callable[[str], str]) -> None:
    """Each schema that the installed PyTorch has is parsed as its generator does it, or refused in the same way."""
    texts = {spell(str(schema)) for schema in torch._C._jit_get_all_schemas()}
    seen, different = set(), set()
    parsed = 0
    for text in sorted(texts):
        try:
            expected = torchgen.model.FunctionSchema.parse(text)
        except (AssertionError, RuntimeError) as error:
            with pytest.raises(type(error), match=r"\[E0\d\d\d\]"):
                FunctionSchema.parse(text)
            continue
        parsed += 1
        schema = FunctionSchema.parse(text)
        assert (str(schema), schema == FunctionSchema.parse(text)) == (text, True)
        assert not difference(expected, schema)
        parts = text.partition("(")[2]
        if parts not in seen:
            seen.add(parts)
            try:
                compare(expected, schema, SCHEMA)
            except AssertionError:
                different.add(text)
            compare(expected.arguments, schema.arguments, ARGUMENTS)
            for argument, same in zip(expected.arguments.flat_all, schema.arguments.flat_all, strict=True):
                compare(argument, same, ARGUMENT)
    assert different == DIFFERENT.get(spell, set())
    assert parsed > 3_800


def test_aliases_of_operators(monkeypatch: pytest.MonkeyPatch) -> None:
    """What PyTorch's wrappers of tensors ask the generator about an overload has the same answer, or none."""
    names = [name.removeprefix("aten::").partition(".") for name in torch._C._dispatch_get_all_op_names()]
    names = [name for name in names if ":" not in name[0]]
    overloads = [getattr(getattr(torch.ops.aten, name), overload or "default") for name, _, overload in names]
    answers = []
    for model in (torchgen.model, opwright.torchgen.model):
        monkeypatch.setattr(torch.utils._python_dispatch, "torchgen", SimpleNamespace(model=model))
        ask = torch.utils._python_dispatch.get_alias_info.__wrapped__
        infos = [outcome(ask, overload) for overload in overloads]
        answers.append([None if isinstance(info, str) else info for info in infos])
    assert answers[0] == answers[1]
    assert sum(info is not None for info in answers[0]) > 3_000


#: Texts that PyTorch's generator takes or refuses, other than those of its schemas.
TEXTS = (
    "f(QScheme q=0) -> ()", "f(int i=None) -> ()", "f(bool y=0) -> ()", "f(int i=a.b) -> ()", "f(int i=) -> ()",
    "f(int i, int i) -> ()", "f(Tensor self, Tensor self) -> ()", "f(int i=1, int j) -> ()", "f(int if) -> ()",
    "f(int[2] i=[1, 1]) -> ()", "f(int[2] i=[1,1]) -> ()", "f(str s=\"a, b\") -> ()", "f(str s=\"a=b\") -> ()",
    "f(Tensor(*) x) -> ()", "f(Tensor(ab) x) -> ()", "f(Tensor(a -> *) x) -> ()", "f(Tensor(a -> a|*) x) -> ()",
    "f(Tensor(a -> *|a) x) -> ()", "f(Tensor(a)[2] x) -> ()", "f(Tensor(a)[]? x) -> ()", "f(Tensor(a)?[] x) -> ()",
    "f(Generator(a!) x) -> ()", "f(int[](a) x) -> ()", "f(Tensor x) -> (Tensor)", "f(Tensor x) -> ...",
    "f(Dict(str, t) x) -> ()", "f(Tensor x, *, Tensor(a!) out, int out) -> Tensor(a!)", "f(int i=1, *, int i=2) -> ()",
    "f(int[0] x) -> ()", "f(int[01] x) -> ()", "f(int x) -> Tensor(a)", "f(int, x) -> ()", "f(int x,int y) -> ()",
)  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_texts_for_the_generator(text: str) -> None:
    """Defaults, names and the order of arguments are not checked; the grammar is that of PyTorch's generator."""
    try:
        expected = torchgen.model.FunctionSchema.parse(text)
    except (AssertionError, RuntimeError) as error:
        with pytest.raises(type(error), match=r"\[E0\d\d\d\]"):
            FunctionSchema.parse(text)
    else:
        assert not difference(expected, FunctionSchema.parse(text))
        arguments = [(Argument.parse(str(argument)), str(argument)) for argument in expected.arguments.flat_all]
        assert [str(argument) for argument, _ in arguments] == [shown for _, shown in arguments]


@pytest.mark.thorough
def test_torch_runs_on_the_interface(tmp_path: Path) -> None:
    """Compilers, checks of operators and decompositions run on the modules that come in front of PyTorch's."""
    program = Path(__file__).parent / "torch_program.py"
    assert install.main(["--target", str(tmp_path), "--in-front"]) == 0
    start = f"import site, runpy; site.addsitedir({str(tmp_path)!r}); runpy.run_path({str(program)!r})"
    command = [sys.executable, "-c", start, "aot_eager", "inductor"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "cond(Tensor self, GraphModule graph, int[2] sizes) -> (Tensor, int)\n"


def test_schemas_of_calls() -> None:
    """Values give types; those that no argument has are refused."""
    schema = FunctionSchemaGen.from_example("op", (("a", 1), ("b", [True]), ("c", ("x", "y"))), (1.5,))
    assert str(schema) == "op(int a, bool[1] b, str[2] c) -> float"
    for value, message in (
        (None, "unsupported type <class 'NoneType'>"),
        ([1, "a"], "heterogeneous types `int`, `str`"),
    ):
        with pytest.raises(RuntimeError, match=message):
            TypeGen.from_example(value)
    with pytest.raises(AssertionError, match="empty list"):
        TypeGen.from_example([])


def test_values_of_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values of PyTorch's classes have their types, if the process has imported PyTorch."""
    classes = {name: type(name, (), {}) for name in ("Tensor", "SymInt", "SymBool", "GraphModule")}
    scripted = type("ScriptObject", (), {"_type": lambda _: SimpleNamespace(name=lambda: "acme.Stack")})
    values = [kind() for kind in (*classes.values(), scripted)]
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    with pytest.raises(RuntimeError, match="unsupported type"):
        TypeGen.from_example(values[0])
    graphs = SimpleNamespace(GraphModule=classes.pop("GraphModule"))
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(**classes, fx=graphs, ScriptObject=scripted))
    types = [str(TypeGen.from_example(value)) for value in values]
    assert types == ["Tensor", "SymInt", "SymBool", "GraphModule", "__torch__.torch.classes.acme.Stack"]
