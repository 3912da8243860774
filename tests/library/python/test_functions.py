"""The Python functions of a library: what type checkers make of them, and what they do."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path

import pytest

from opwright.cli.main import main
from tests.stubs.installed import Site, expected_lines, mypy_errors, pyright_errors, site
from tests.torch_process import TorchProcess

HERE = Path(__file__).resolve().parent
LIBRARY = HERE / "operators.yaml"


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the package of the library."""
    folder = tmp_path_factory.mktemp("library")
    assert main(["generate", "--library", str(LIBRARY), "--out", str(folder)]) == 0
    (folder / "python" / "acme" / "__init__.py").write_text("from acme._ops import *\n", encoding="utf-8")
    return folder / "python" / "acme"


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """An environment without stubs."""
    return site(tmp_path_factory.mktemp("environment"), None)


@pytest.fixture
def program(package: Path, tmp_path: Path) -> Path:
    """A program that calls every function, beside the package and out of the project's settings."""
    shutil.copytree(package, tmp_path / "acme")
    return Path(shutil.copy(HERE / "calls.py", tmp_path))


@pytest.mark.thorough
def test_mypy_takes_right_calls_and_flags_wrong_ones(environment: Site, program: Path) -> None:
    """With `mypy --strict`, exactly the lines that are wrong have errors, and the module has none."""
    module = program.parent / "acme" / "_ops.py"
    errors = mypy_errors(environment, program, module)
    assert errors["calls.py"].keys() == expected_lines(program), errors["calls.py"]
    assert errors["_ops.py"] == {}


def test_pyright_takes_right_calls_and_flags_wrong_ones(environment: Site, program: Path) -> None:
    """With pyright in strict mode, exactly the lines that are wrong have errors, and the module has none."""
    errors = pyright_errors(environment, program)["calls.py"]
    own = {line: message for line, message in errors.items() if "reportPrivateUsage" not in message}
    assert own.keys() == expected_lines(program), own


@pytest.mark.thorough
def test_pyright_finds_nothing_in_the_module(environment: Site, program: Path) -> None:
    """With pyright in strict mode, the module itself has no errors."""
    assert pyright_errors(environment, program.parent / "acme" / "_ops.py") == {"_ops.py": {}}


def test_calls_use_every_function(package: Path) -> None:
    """The program that is checked calls each function of the module."""
    tree = ast.parse((package / "_ops.py").read_text(encoding="utf-8"))
    functions = {statement.name for statement in tree.body if isinstance(statement, ast.FunctionDef)}
    calls = ast.parse((HERE / "calls.py").read_text(encoding="utf-8"))
    assert functions
    assert functions <= {node.attr for node in ast.walk(calls) if isinstance(node, ast.Attribute)}


def test_functions_call_their_operators(package: Path, torch_process: TorchProcess) -> None:
    """Functions choose the overload, pass defaults and outputs, name results, and can be compiled."""
    text = f"import runpy; runpy.run_path({str(HERE / 'runtime.py')!r}, run_name='__main__')"
    ran = torch_process.run(text, [str(package.parent)])
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split("\n") == ["", ""]


def test_docstrings_say_what_the_file_says(package: Path) -> None:
    """The module has the text of the head, and a function those of its entries and the schemas, whatever they are."""
    tree = ast.parse((package / "_ops.py").read_text(encoding="utf-8"))
    head = (ast.get_docstring(tree) or "").splitlines()[0]
    assert head == 'Operators of every kind, for tests of "\\\\"...'
    shown = {
        node.name: (ast.get_docstring(node) or "").split("\n\n")
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
    }
    assert shown["scale"][:2] == ["Multiplies a tensor by a factor.", 'The path "C:\\new" and a quote: """.']
    assert shown["scale"][2:] == [
        "Args:\n    self: Tensor\n    factor: float, 1.0 by default\n    out: Tensor, is written",
        "Operators::",
        "    acme::scale(Tensor self, float factor=1.0) -> Tensor\n"
        "    acme::scale.out(Tensor self, float factor=1.0, *, Tensor(a!) out) -> Tensor(a!)",
    ]
    assert shown["pick"][:2] == ["Picks rows.", "Picks one row."]
    assert shown["scale_"][0] == "In-place form of `scale`."


def test_docstrings_show_sizes(tmp_path: Path) -> None:
    """What `dims` states of arguments and of results stands beside them, as it is written in the entry."""
    library = HERE.parent / "required" / "operators.yaml"
    assert main(["generate", "--library", str(library), "--out", str(tmp_path)]) == 0
    tree = ast.parse((tmp_path / "python" / "required" / "_ops.py").read_text(encoding="utf-8"))
    shown = {node.name: ast.get_docstring(node) or "" for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert "Args:\n    x: Tensor `[*b d]`\n    weight: Tensor `[d]`\n    eps: float" in shown["rms_norm"]
    assert "Returns:\n    a tensor of size `[*b d]` and dtype `x.dtype`\n" in shown["rms_norm"]
    assert "image: Tensor `[n c h*w h w]`" in shown["pool"]


def test_backward_functions_are_not_public(tmp_path: Path) -> None:
    """What formulas call to differentiate another operator is no name of `from library import *`; others are."""
    library = HERE.parent / "trained" / "trained.yaml"
    assert main(["generate", "--library", str(library), "--out", str(tmp_path)]) == 0
    tree = ast.parse((tmp_path / "python" / "trained" / "_ops.py").read_text(encoding="utf-8"))
    (listed,) = [
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    ]
    defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert {"squash", "squash_backward"} <= defined
    assert "squash" in listed
    assert not [name for name in listed if name.endswith("_backward")]
