"""Runs for the stub files of torch: flags, runs after edits, and what is reported about inputs that lack something."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from opwright.cli.main import main
from opwright.torchgen import gen_pyi, programs
from tests.conformance.compare import compare
from tests.conformance.stub_inputs import MODULES, TEMPLATES, stub_tree

NATIVE = Path("aten/src/ATen/native/native_functions.yaml")
DOCS = Path("torch/_torch_docs.py")
FUNCTIONS = Path("torch/_C/_VariableFunctions.pyi")


@pytest.fixture(scope="module")
def made_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A source tree like the one of the installed PyTorch, and the stub files that belong to it in `shipped`."""
    folder = tmp_path_factory.mktemp("tree")
    for path, text in stub_tree("stubs").items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text)
    return folder


@pytest.fixture
def tree(made_tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the tree, which is the working folder."""
    shutil.copytree(made_tree, tmp_path / "tree")
    monkeypatch.chdir(tmp_path / "tree")
    return tmp_path / "tree"


def replace(path: Path, old: str, new: str) -> None:
    """Edit a file."""
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def remove_entries(tree: Path, name: str) -> None:
    """Remove the entries of an operator from the YAML."""
    path = tree / NATIVE
    entries = path.read_text(encoding="utf-8").split("\n- func: ")
    kept = [entry for entry in entries if not re.match(rf"{name}[.(]", entry)]
    assert len(kept) < len(entries)
    path.write_text("\n- func: ".join(kept), encoding="utf-8")


def stubs(folder: Path) -> dict[str, bytes]:
    """The stub files in a folder, by path."""
    return {name: (folder / name).read_bytes() for name in TEMPLATES}


def test_files_go_to_the_tree_itself(tree: Path) -> None:
    """Without flags, the program reads the tree in the working folder and writes its stub files there."""
    assert gen_pyi.main([]) == 0
    assert stubs(tree) == stubs(tree / "shipped")


def test_modules_with_docstrings_do_not_run(tree: Path) -> None:
    """The program reads docstrings out of modules whose imports would end it if they ran."""
    for module in MODULES:
        with (tree / module).open("a", encoding="utf-8") as file:
            file.write("\nimport no_such_module\n")
    assert gen_pyi.main([]) == 0
    assert stubs(tree) == stubs(tree / "shipped")


def test_a_run_with_nothing_to_do_ends_at_once(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Outputs beside templates and modules with docstrings do not make these look changed."""
    assert gen_pyi.main([]) == 0
    runs: list[object] = []
    monkeypatch.setattr(programs, "write_all", lambda *run: runs.append(run))
    assert (gen_pyi.main([]), len(runs)) == (0, 0)
    replace(tree / "torch/_C/_nn.pyi.in", "# Defined in", "# Bound in")
    assert (gen_pyi.main([]), len(runs)) == (0, 1)


EDITS: dict[str, Callable[[Path], None]] = {
    "docstring": lambda tree: replace(tree / DOCS, "Computes the absolute value", "Gives the absolute value"),
    "template": lambda tree: replace(tree / "torch/_C/_nn.pyi.in", "# Defined in", "# Bound in"),
    "operator": lambda tree: replace(
        tree / NATIVE, "- func: cosine_similarity(Tensor x1", "- func: cosine_similarity(Tensor first"
    ),
    "tag": lambda tree: replace(
        tree / NATIVE.with_name("tags.yaml"), "- tag: core\n", "- tag: aaa\n  desc: new\n- tag: core\n"
    ),
}


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param(edit, id=name, marks=() if name == "docstring" else pytest.mark.thorough)
        for name, edit in EDITS.items()
    ],
)
def test_a_run_after_an_edit_writes_what_a_fresh_run_writes(tree: Path, edit: Callable[[Path], None]) -> None:
    """Whatever was edited, the files are those of a run into an empty folder, and some of them changed."""
    assert gen_pyi.main(["--out", "out"]) == 0
    before = stubs(tree / "out")
    edit(tree)
    assert gen_pyi.main(["--out", "out"]) == 0
    assert gen_pyi.main(["--out", "fresh"]) == 0
    comparison = compare(stubs(tree / "fresh"), tree / "out")
    assert comparison.is_clean, comparison.first_difference
    assert stubs(tree / "out") != before


def test_flags_name_every_input(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Inputs may be anywhere; docstrings are those in the working folder."""
    for module in MODULES:
        (tmp_path / "elsewhere" / module).parent.mkdir(parents=True, exist_ok=True)
        (tree / module).rename(tmp_path / "elsewhere" / module)
    monkeypatch.chdir(tmp_path / "elsewhere")
    native = tree / NATIVE
    paths = ["--native-functions-path", str(native), "--tags-path", str(native.with_name("tags.yaml"))]
    paths += ["--deprecated-functions-path", str(tree / "tools/autograd/deprecated.yaml"), "--template-dir", str(tree)]
    assert gen_pyi.main([*paths, "--out", "out"]) == 0
    assert stubs(Path("out")) == stubs(tree / "shipped")


@pytest.mark.parametrize("module", MODULES)
def test_stubs_may_lack_docstrings(tree: Path, module: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Without one of the modules no stub has a docstring, as with PyTorch's program, and a warning says so."""
    (tree / module).unlink()
    assert gen_pyi.main(["--out", "out"]) == 0
    assert f"warning[W2004]: there is no `{module}`" in capsys.readouterr().err
    text = (tree / "out" / FUNCTIONS).read_text()
    assert 'r"""' not in text
    assert "\ndef abs(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...\n" in text


def test_a_mistake_in_a_docstring_is_at_its_place(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is written."""
    replace(tree / DOCS, "{input}\n", "{inputt}\n")
    assert gen_pyi.main(["--out", "out"]) == 1
    said = capsys.readouterr().err
    assert "error[E2003]: `{inputt}` has no value" in said
    assert "torch/_torch_docs.py:" in said
    assert "did you mean `input`?" in said
    assert not (tree / "out").exists()


def test_three_quotation_marks_end_a_docstring(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """PyTorch's program writes a file that is no Python; here a warning says so."""
    text = (tree / DOCS).read_text()
    (tree / DOCS).write_text(text + '\nadd_docstr(torch.sin, \'a """ b\')\n')
    assert gen_pyi.main(["--out", "out"]) == 0
    assert "warning[W2006]: the docstring of `torch.sin` has three quotation marks" in capsys.readouterr().err


def test_templates_are_in_source_trees_alone(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The installed PyTorch has none; all five are named, with advice."""
    assert main(["generate", "--torch", "auto", "--only", "torch_stubs", "--out", str(tmp_path / "out")]) == 1
    said = capsys.readouterr().err
    assert said.count("error[E2001]: there is no template `torch/") == 5
    assert "help: stub files are made from PyTorch's source tree" in said


def test_a_template_without_a_slot_is_reported(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """PyTorch's program leaves the hints out silently."""
    replace(tree / "torch/_C/return_types.pyi.in", "${structseq_defs}", "")
    assert gen_pyi.main(["--out", "out"]) == 0
    said = capsys.readouterr().err
    assert "warning[W2002]: " in said
    assert "has no slot `structseq_defs`" in said


def test_a_template_with_an_unknown_slot_is_refused(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A slot that nothing fills is an error at its place."""
    replace(tree / "torch/_C/_nn.pyi.in", "${c_nn_function_hints}", "${c_nn_function_hint}")
    assert gen_pyi.main(["--out", "out"]) == 1
    said = capsys.readouterr().err
    assert "error[E0601]: no value for slot `c_nn_function_hint`" in said
    assert "did you mean `c_nn_function_hints`?" in said


@pytest.mark.parametrize(
    ("operator", "hinted"),
    [("linspace", "torch.linspace"), ("one_hot", "torch.nn.one_hot"), ("new_ones", "torch.Tensor.new_ones")],
)
def test_hints_without_operator_are_reported(
    tree: Path, operator: str, hinted: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A hand-written hint of an operator that the YAML lost is a warning, once; the hint is written all the same."""
    remove_entries(tree, operator)
    assert gen_pyi.main(["--out", "out"]) == 0
    said = capsys.readouterr().err
    assert said.count("warning[W2005]") == said.count(f"the hand-written hint of `{hinted}` is of no operator") == 1


def test_named_results_of_overloads_that_differ_are_refused(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """There is one class for each function; PyTorch's program stops with an assertion."""
    replace(
        tree / NATIVE,
        "- func: max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
        "- func: max.two(Tensor self, int one, int two) -> (Tensor values, Tensor places)\n"
        "  variants: function\n\n"
        "- func: max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
    )
    assert gen_pyi.main(["--out", "out"]) == 1
    said = capsys.readouterr().err
    assert said.count("error[") == 1
    assert "error[E2007]: the named results of `max.dim` differ from those of `max.two`" in said


def test_operators_without_a_binding_are_refused(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They are the errors that the Python bindings have."""
    with (tree / NATIVE).open("a") as stream:
        stream.write("\n- func: twisted(Tensor self, SymBool by) -> Tensor\n")
    assert gen_pyi.main(["--out", "out"]) == 1
    assert "error[E10" in capsys.readouterr().err


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("stub", "line", "operator"),
    [(FUNCTIONS, "def abs(", "abs.out"), (Path("torch/return_types.pyi"), "class max(", "max.dim")],
)
def test_lines_tell_their_operators(
    tree: Path, stub: Path, line: str, operator: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """`opwright where` names the entries behind a declaration."""
    flags = ["--source-path", ".", "--only", "torch_stubs", "--out", "out", "--provenance", "out/lines.json"]
    assert main(["generate", *flags]) == 0
    number = (tree / "out" / stub).read_text().split("\n").index(next_line(tree / "out" / stub, line)) + 1
    capsys.readouterr()
    assert main(["where", f"out/{stub}:{number}"]) == 0
    assert f"from `{operator}`" in capsys.readouterr().out


def next_line(path: Path, start: str) -> str:
    """The first line of a file with this beginning."""
    return next(line for line in path.read_text().split("\n") if line.startswith(start))
