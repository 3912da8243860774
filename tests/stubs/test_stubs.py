"""`opwright stubs`: what type checkers make of it, and what PyTorch says of the same operators."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.stubs.installed import (
    HERE,
    LIBRARY,
    Site,
    expected_lines,
    mypy_errors,
    pyright_errors,
    run_opwright,
    site,
)

CALLS = ("calls_aten.py", "calls_library.py")

#: Operators of the library that cannot be named, or are hidden by what namespaces have.
UNREACHABLE = ("lambda", "name", "__repr__")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """An environment with the stubs of PyTorch's operators and of the small library."""
    folder = tmp_path_factory.mktemp("installed")
    ran = run_opwright("stubs", "--out", folder / "stubs", "--yaml", LIBRARY)
    assert ran.returncode == 0, ran.stderr
    return site(folder / "environment", folder / "stubs")


@pytest.fixture
def calls(tmp_path: Path) -> list[Path]:
    """The files of typical calls, out of the project's settings."""
    return [Path(shutil.copy(HERE / name, tmp_path)) for name in CALLS]


def unlike(errors: dict[str, dict[int, str]], files: list[Path]) -> list[str]:
    """Where errors are missing or not expected."""
    differences = []
    for file in files:
        expected, given = expected_lines(file), errors[file.name]
        assert expected
        differences += [f"{file.name}:{line}: nothing is said" for line in sorted(expected - given.keys())]
        differences += [f"{file.name}:{line}: {given[line]}" for line in sorted(given.keys() - expected)]
    return differences


@pytest.mark.thorough
def test_mypy_takes_right_calls_and_flags_wrong_ones(installed: Site, calls: list[Path]) -> None:
    """With `mypy --strict`, exactly the lines that are wrong have errors."""
    assert unlike(mypy_errors(installed, *calls), calls) == []


@pytest.mark.thorough
def test_pyright_takes_right_calls_and_flags_wrong_ones(installed: Site, calls: list[Path]) -> None:
    """With pyright, exactly the lines that are wrong have errors."""
    test_pyright_takes_right_calls_and_flags_wrong_ones = pyright_errors(installed, *calls)
    # In strict mode pyright also has an opinion on private names of PyTorch, which the calls use on purpose.
    for lines in test_pyright_takes_right_calls_and_flags_wrong_ones.values():
        for line in [line for line, message in lines.items() if "reportPrivateUsage" in message]:
            del lines[line]
    assert unlike(test_pyright_takes_right_calls_and_flags_wrong_ones, calls) == []


@pytest.fixture
def modules(installed: Site, tmp_path: Path) -> list[Path]:
    """The stubs, as modules of a program."""
    files = []
    for name, copied in (("_ops", "operators"), ("_opwright/small", "small"), ("_opwright/aten", "aten")):
        files.append(tmp_path / f"{copied}.pyi")
        files[-1].write_text(installed.text(f"{name}.pyi"), encoding="utf-8")
    return files


@pytest.mark.thorough
def test_mypy_finds_nothing_in_the_stubs(installed: Site, modules: list[Path]) -> None:
    """The stubs themselves pass mypy."""
    assert mypy_errors(installed, *modules) == {file.name: {} for file in modules}


@pytest.mark.thorough
def test_pyright_finds_nothing_in_the_stubs(installed: Site, modules: list[Path]) -> None:
    """And pyright, to which the 3,000 overloads of `aten` are many seconds, and like those of the library."""
    *files, aten = modules
    aten.unlink()
    stubs = pyright_errors(installed, *files, mode="standard")
    assert stubs == {file.name: {} for file in files}


@pytest.mark.thorough
def test_a_library_can_bring_its_stub(installed: Site, tmp_path: Path) -> None:
    """A namespace's module works where nothing is installed, as `ops` of a module of the library."""
    (tmp_path / "small_ops.pyi").write_text(installed.text("_opwright/small.pyi"), encoding="utf-8")
    (tmp_path / "small_ops.py").write_text("import torch\n\nops = torch.ops.small\n", encoding="utf-8")
    text = (HERE / "calls_library.py").read_text(encoding="utf-8")
    assert "small = torch.ops.small\n" in text
    calls = tmp_path / "calls_library.py"
    calls.write_text(text.replace("small = torch.ops.small\n", "from small_ops import ops as small\n"))
    alone = site(tmp_path / "environment", None)
    assert unlike(mypy_errors(alone, calls), [calls]) == []
    assert unlike(pyright_errors(alone, calls), [calls]) == []


@pytest.mark.thorough
def test_stubs_agree_with_the_operators_that_are_there(installed: Site) -> None:
    """Overloads of `aten` have the arguments of their stubs, and numbers stand for tensors where the stubs say so."""
    module = installed.stubs / "torch-stubs" / "_opwright" / "aten.pyi"
    command = [sys.executable, str(HERE / "runtime.py"), str(module)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    *differences, last = ran.stdout.splitlines()
    assert differences == []
    assert int(last.removeprefix("compared ")) > 1500


@pytest.mark.thorough
def test_the_calls_do_in_pytorch_as_their_remarks_say() -> None:
    """The right calls that the checkers take work when they are made, and the wrong ones that they flag fail."""
    command = [sys.executable, str(HERE / "runtime_calls.py"), str(HERE / "calls_aten.py")]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == []


def test_every_overload_shows_its_schema(installed: Site) -> None:
    """Docstrings hold the schema as the YAML spells it."""
    tree = ast.parse(installed.text("_opwright/small.pyi"))
    shown = {ast.get_docstring(node) for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    schemas = {
        line.partition("func: ")[2].strip()
        for line in LIBRARY.read_text(encoding="utf-8").splitlines()
        if "func: " in line and not any(f"small::{name}(" in line for name in UNREACHABLE)
    }
    assert {text for text in shown if text} == schemas


def test_names_that_cannot_follow_a_dot_are_left_out(installed: Site) -> None:
    """Keywords, numbers and what operators have anyway are no attributes; calls still choose among all overloads."""
    tree = ast.parse(installed.text("_opwright/small.pyi"))
    classes = {stmt.name: stmt for stmt in tree.body if isinstance(stmt, ast.ClassDef)}
    operators = {stmt.target.id for stmt in classes["Namespace"].body if isinstance(stmt, ast.AnnAssign)}  # type: ignore[union-attr]
    assert operators.isdisjoint(UNREACHABLE)
    pick = [stmt.name for stmt in classes["pick"].body if isinstance(stmt, ast.FunctionDef)]
    assert pick == ["Scalar", "__call__", "__call__", "__call__", "__call__"]


def test_one_namespace_alone(tmp_path: Path) -> None:
    """With `--namespace`, others have no stubs; PyTorch's stubs come along unchanged."""
    ran = run_opwright("stubs", "--out", tmp_path, "--yaml", LIBRARY, "--namespace", "small", "--project", "small-ops")
    assert ran.returncode == 0, ran.stderr
    package = tmp_path / "torch-stubs"
    assert sorted(path.name for path in (package / "_opwright").iterdir()) == ["__init__.pyi", "small.pyi"]
    assert "    aten: " not in (package / "_ops.pyi").read_text(encoding="utf-8")
    assert (package / "py.typed").read_text(encoding="utf-8") == "partial\n"
    assert 'name = "small-ops"' in (tmp_path / "pyproject.toml").read_text(encoding="utf-8")
    spec = find_spec("torch")
    assert spec is not None
    assert spec.origin is not None
    own = Path(spec.origin).parent / "_C" / "__init__.pyi"
    assert (package / "_C" / "__init__.pyi").read_bytes() == own.read_bytes()


def test_a_second_run_writes_nothing(tmp_path: Path) -> None:
    """The same schemas give the same bytes, and files that are right are left alone."""
    first = run_opwright("stubs", "--out", tmp_path, "--yaml", LIBRARY)
    assert " 0 unchanged" in first.stdout
    again = run_opwright("stubs", "--out", tmp_path, "--yaml", LIBRARY)
    assert " 0 written" in again.stdout


def test_dry_run_writes_nothing(tmp_path: Path) -> None:
    """`--dry-run` lists the files and leaves the folder as it is."""
    ran = run_opwright("stubs", "--out", tmp_path / "stubs", "--dry-run")
    assert ran.returncode == 0, ran.stderr
    assert f"{tmp_path}/stubs/torch-stubs/_opwright/aten.pyi" in ran.stdout.splitlines()
    assert not (tmp_path / "stubs").exists()


def test_unknown_namespace(tmp_path: Path) -> None:
    """A namespace without operators is an error that says which there are."""
    ran = run_opwright("stubs", "--out", tmp_path, "--yaml", LIBRARY, "--namespace", "smal")
    assert ran.returncode == 1
    assert "error[E1080]: no operator is in the namespace `smal`" in ran.stderr
    assert "did you mean `small`?" in ran.stderr


@pytest.mark.thorough
def test_an_overload_twice_over_files(tmp_path: Path) -> None:
    """An overload of two files is an error at both places; one name in two namespaces is none."""
    (tmp_path / "one.yaml").write_text("- func: a::twice(Tensor self) -> Tensor\n", encoding="utf-8")
    (tmp_path / "two.yaml").write_text("- func: b::twice(Tensor self) -> Tensor\n", encoding="utf-8")
    (tmp_path / "three.yaml").write_text("\n- func: a::twice(Tensor self, int n) -> Tensor\n", encoding="utf-8")
    files = [tmp_path / "one.yaml", tmp_path / "two.yaml"]
    assert run_opwright("stubs", "--out", tmp_path / "stubs", "--yaml", *files).returncode == 0
    ran = run_opwright("stubs", "--out", tmp_path / "stubs", "--yaml", *files, tmp_path / "three.yaml")
    assert ran.returncode == 1
    assert "second entry for `a::twice`" in ran.stderr
    assert "three.yaml:2:12" in ran.stderr
    assert "one.yaml:1:12" in ran.stderr


def test_inputs_without_stubs_of_their_own(tmp_path: Path, reference_inputs: Path) -> None:
    """Where PyTorch's stubs are not to be had, that is a warning, and the rest is written."""
    inputs = tmp_path / "aten" / "src" / "ATen"
    shutil.copytree(reference_inputs, inputs)
    ran = run_opwright("stubs", "--out", tmp_path / "stubs", "--source-path", inputs, "--release", "2.13.0")
    assert ran.returncode == 0, ran.stderr
    assert "warning[W1081]" in ran.stderr
    assert (tmp_path / "stubs" / "torch-stubs" / "_opwright" / "aten.pyi").is_file()


def test_a_stub_that_is_not_utf8(tmp_path: Path, reference_inputs: Path) -> None:
    """A stub of PyTorch's that is not UTF-8 is a diagnostic with the place of the byte."""
    inputs = tmp_path / "aten" / "src" / "ATen"
    shutil.copytree(reference_inputs, inputs)
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "odd.pyi").write_bytes(b"def f(): ...\nx = '\xff'\n")
    ran = run_opwright("stubs", "--out", tmp_path / "stubs", "--source-path", inputs, "--release", "2.13.0")
    assert ran.returncode == 1, ran.stderr
    assert "error[E0003]" in ran.stderr
    assert "odd.pyi:2:6" in ran.stderr
