"""The declarations of Python functions are those of PyTorch's own stub files, but for what these have from hand."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path

import pytest

from opwright.convention.python.bound import NN, TENSOR_METHODS, TORCH
from opwright.convention.python.signature import python_signature
from opwright.emit.emitter import Job
from opwright.release.inputs import from_source_path
from opwright.run.generation import Generation
from opwright.run.request import Request
from opwright.schema import parse_schema
from tests.emit import hint_exceptions as by_hand
from tests.emit.module_declarations import module_declarations, result_classes
from tests.emit.nn_declarations import differences, parts
from tests.emit.python_declarations import declaration, result_class, spread_declaration

Declarations = Mapping[str, list[str]]


@pytest.fixture(scope="module")
def job(reference_inputs: Path) -> Job:
    """PyTorch's own operators with their deprecated signatures."""
    request = Request(inputs=from_source_path(reference_inputs), folders={}, families=("python",))
    return Generation(request).job


def plain(function: ast.FunctionDef) -> str:
    """A declaration in one line, without decorators and docstring."""
    function.decorator_list = []
    function.body = [ast.Expr(ast.Constant(...))]
    return ast.unparse(function).removesuffix(":\n    ...")


def functions(text: str) -> list[ast.FunctionDef]:
    """The functions that a text declares."""
    return [stmt for stmt in ast.parse(text).body if isinstance(stmt, ast.FunctionDef)]


def declared(text: str, class_name: str = "") -> Declarations:
    """The functions that a stub file declares, or the methods of a class in it, by name."""
    body = ast.parse(text).body
    if class_name:
        body = next(stmt.body for stmt in body if isinstance(stmt, ast.ClassDef) and stmt.name == class_name)
    declarations: dict[str, list[str]] = {}
    for stmt in body:
        if isinstance(stmt, ast.FunctionDef):
            declarations.setdefault(stmt.name, []).append(plain(stmt))
    return declarations


def shipped(inputs: Path, name: str) -> str:
    """The text of a stub file of the installed PyTorch."""
    return (inputs.parents[2] / "torch" / name).read_text(encoding="utf-8")


def ours(made: Declarations) -> Declarations:
    """Our declarations in the same form."""
    return {name: [line for text in texts for line in declared(text)[name]] for name, texts in made.items()}


def check(theirs: list[str], generated: list[str], beside: tuple[str, ...], instead: tuple[str, ...]) -> None:
    """What is from hand is all there, and the rest is what is generated, in its order.

    Where generated declarations are replaced, those of deprecated signatures stay: they are the ones that call the
    tensor `self`.
    """
    from_hand = [*beside, *instead]
    assert set(from_hand) <= set(theirs)
    rest = [text for text in theirs if text not in from_hand]
    kept = [text for text in generated if "(self: " in text] if instead else generated
    assert rest == kept
    assert not instead or kept != generated


def test_functions_are_declared_as_in_pytorch(job: Job, reference_inputs: Path) -> None:
    """Every function of `torch`, with all of its overloads in their order."""
    theirs = declared(shipped(reference_inputs, "_C/_VariableFunctions.pyi"))
    generated = ours(module_declarations(job, TORCH))
    assert theirs.keys() - generated.keys() == by_hand.FUNCTIONS_BY_HAND
    assert generated.keys() - theirs.keys() == by_hand.FUNCTIONS_LEFT_OUT
    beside, instead = by_hand.FUNCTIONS_BESIDE, by_hand.FUNCTIONS_INSTEAD
    for name in theirs.keys() & generated.keys():
        check(theirs[name], generated[name], beside.get(name, ()), instead.get(name, ()))


def test_methods_are_declared_as_in_pytorch(job: Job, reference_inputs: Path) -> None:
    """Every generated method of tensors, with all of its overloads in their order."""
    theirs = declared(shipped(reference_inputs, "_C/__init__.pyi"), "TensorBase")
    generated = ours(module_declarations(job, TENSOR_METHODS))
    assert generated.keys() - theirs.keys() == by_hand.METHODS_LEFT_OUT
    beside, instead = by_hand.METHODS_BESIDE, by_hand.METHODS_INSTEAD
    for name in theirs.keys() & generated.keys():
        check(theirs[name], generated[name], beside.get(name, ()), instead.get(name, ()))


def test_named_results_are_declared_as_in_pytorch(job: Job, reference_inputs: Path) -> None:
    """Every class of `torch.return_types`."""
    theirs = {
        stmt.name: ast.unparse(stmt)
        for stmt in ast.parse(shipped(reference_inputs, "return_types.pyi")).body
        if isinstance(stmt, ast.ClassDef)
    }
    assert {name: ast.unparse(ast.parse(text)) for name, text in result_classes(job).items()} == theirs


def test_functions_of_nn_are_declared_as_in_pytorch(job: Job, reference_inputs: Path) -> None:
    """That file is all from hand; in what each declaration differs from the operator's is listed, and no more."""
    generated: dict[str, list[list[str]]] = {}
    for module in (TORCH, NN):
        for name, texts in module_declarations(job, module).items():
            generated.setdefault(name, []).extend([parts(function) for text in texts for function in functions(text)])
    different: dict[str, tuple[str, ...]] = {}
    by_hand_alone = set()
    for function in functions(shipped(reference_inputs, "_C/_nn.pyi")):
        forms = generated.get(function.name)
        if forms is None:
            by_hand_alone.add(function.name)
            continue
        nearest = min([differences(parts(function), form) for form in forms], key=len)
        if nearest:
            different[function.name] = nearest
    assert different == by_hand.NN_OTHERWISE
    assert by_hand_alone == by_hand.NN_BY_HAND


def test_long_declarations_are_broken() -> None:
    """A declaration that is too long for a line has a line for each parameter, as PyTorch's formatter writes it."""
    schema = parse_schema("mix_all(Tensor self, Tensor[] others, *, float rate=0.5, int[2] by=[1, 2]) -> Tensor[]")
    assert (
        declaration(python_signature(schema))
        == """\
def mix_all(
    input: Tensor,
    others: tuple[Tensor, ...] | list[Tensor],
    *,
    rate: _float = 0.5,
    by: _int | _size = (1, 2),
) -> tuple[Tensor, ...]: ..."""
    )


def test_sizes_may_be_spread() -> None:
    """Where a list of integers is the only positional argument, its items may be passed one by one."""
    method = python_signature(parse_schema("shrink(Tensor self, SymInt[] size) -> Tensor"), method=True)
    assert spread_declaration(method) == "def shrink(self, *size: _int | SymInt) -> Tensor: ..."
    assert spread_declaration(python_signature(parse_schema("shrink(Tensor self, int[] size) -> Tensor"))) is None


def test_words_of_python_are_not_used_as_names() -> None:
    """`from` gets an underscore; `out` may be left out, whatever its name."""
    schema = parse_schema("draw.to(int from, *, Tensor(a!) into) -> Tensor(a!)")
    text = declaration(python_signature(schema, category="dummy"))
    assert text == "def draw(from_: _int, *, into: Tensor | None = None) -> Tensor: ..."


def test_class_of_named_results_has_its_fields() -> None:
    """The class is a tuple with a property per field."""
    signature = python_signature(parse_schema("top(Tensor self) -> (Tensor values, int count)"))
    text = result_class(signature)
    assert text is not None
    assert text.startswith(
        "class top(tuple[Tensor, _int]):  # fmt: skip\n    @property\n    def values(self) -> Tensor"
    )
    assert declaration(signature).endswith(" -> torch.return_types.top: ...")
