"""Every command does work in proportion to the operators of its input, and so does every answer of the server."""

from __future__ import annotations

import gc
import io
import json
import re
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from opwright.cli.main import main
from opwright.libraries.emit import parts
from opwright.release.inputs import open_inputs
from opwright.source.text import SourceFile
from opwright.tools.lsp.answers import folds
from opwright.tools.lsp.code_lens import summary_of
from opwright.tools.lsp.completion import completions_at
from opwright.tools.lsp.cursor import word_at
from opwright.tools.lsp.diagnosis import quick_report
from opwright.tools.lsp.hover import hover_at
from opwright.tools.lsp.inlay_hints import hints_between
from opwright.tools.lsp.navigation import definitions_at, highlights_at, references_at, symbols_in
from opwright.tools.lsp.project import FileReport, kind_of
from opwright.tools.lsp.project import Project as OpenFiles
from opwright.tools.lsp.semantic_tokens import tokens_of
from opwright.tools.lsp.worker import check_texts
from tests.engine.project import DERIVATIVES, NO_SHIMS, WholeProject
from tests.engine.steps import Steps
from tests.engine.test_work import LIBRARY_HEADS, repeated, written_library

#: How often the inputs have their entries. The first run fills caches.
COUNTS = (2, 4, 8, 16)


@pytest.fixture(autouse=True)
def _small_parts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sources of libraries have few operations, so that large libraries have many of them.

    `explain` makes the sources of one operator, so there it is one source that has them all.
    """
    monkeypatch.setattr(parts, "_OPERATIONS_PER_FILE", 1000 if "explain" in request.node.name else 4)


def tree(folder: Path, count: int) -> WholeProject:
    """PyTorch's files with some entries, so many times."""
    project = WholeProject(folder, Path(open_inputs().display_path("native/native_functions.yaml")).parents[1])
    project.yaml.write_text(repeated(count))
    shifted = re.search(r"(?s)- name: shifted.*?\n\n", DERIVATIVES)
    assert shifted is not None
    project.derivatives.write_text("".join([shifted[0].replace("shifted", f"shifted{n}") for n in range(count)]))
    project.deprecated.write_text("[]\n")
    project.shim_tables.write_text(NO_SHIMS)
    return project


def backend(folder: Path, count: int) -> Path:
    """A backend file with some of these operators."""
    names = [f"{name}{n}{rest}" for n in range(count) for name, rest in (("twice", ".out"), ("shifted", ""))]
    file = folder / "backend.yaml"
    listed = "".join([f"- {name}\n" for name in names])
    file.write_text(f"backend: PrivateUse1\ncpp_namespace: acme::native\nsupported:\n{listed}")
    return file


def sources(folder: Path, count: int) -> Path:
    """A source that registers the operators of a library by hand."""
    numbers = range(8 * count)
    kernels = "".join([f"at::Tensor f{n}(const at::Tensor& self) {{ return self; }}\n" for n in numbers])
    schemas = "".join([f'  m.def("f{n}(Tensor self) -> Tensor");\n' for n in numbers])
    registered = "".join([f'  m.impl("f{n}", &f{n});\n' for n in numbers])
    file = folder / "sources.cpp"
    file.write_text(
        f"#include <torch/library.h>\n{kernels}TORCH_LIBRARY(acme, m) {{\n{schemas}}}\n"
        f"TORCH_LIBRARY_IMPL(acme, CPU, m) {{\n{registered}}}\n"
    )
    return file


class Inputs:
    """Inputs of each kind whose entries are there so many times; libraries and backends belong to PyTorch's files."""

    def __init__(self, folder: Path, kind: str, count: int) -> None:
        self.kind, self.out = kind, folder / "out"
        self.tree = tree(folder, 1 if kind == "library" else count)
        if kind == "library":
            self.file = written_library(folder / "library", LIBRARY_HEADS[0], count)
            self.old = self.file.with_name("old.yaml")
            self.old.write_text(self.file.read_text() + "- func: gone(Tensor self) -> Tensor\n")
            self.sources = sources(folder, count)
        else:
            self.file = backend(folder, count) if kind == "backend" else self.tree.yaml

    def words(self, text: str) -> list[str]:
        """The words of a command, of which those in capitals stand for paths."""
        text = text.replace("OWN", "" if self.kind == "pytorch" else f"--{self.kind} FILE")
        if not text.startswith(("import", "diff")):
            text += " --release 2.13 --source-path TREE"
        paths = {"FILE": self.file, "TREE": self.tree.inputs, "OUT": self.out}
        if self.kind == "library":
            paths |= {"OLD": self.old, "SOURCES": self.sources, "IMPORTED": self.sources.with_suffix(".yaml")}
        return [str(paths.get(word, word)) for word in text.split()]

    def edit(self, old: str, new: str) -> None:
        """Edit the file, or PyTorch's file if a backend file names it."""
        file = self.tree.yaml if self.kind == "backend" else self.file
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new, 1))


#: What is measured: a command, after another one and an edit, if any.
Command = tuple[str, str, tuple[str, str] | None]


def alone(command: str) -> Command:
    """A command on its own."""
    return "", command, None


def after_edit(old: str, new: str) -> Command:
    """A run after one edit."""
    return _GENERATE, _GENERATE, (old, new)


_GENERATE = "generate OWN --jobs 1 --out OUT"
COMMANDS: dict[str, Command] = {
    "library explain": alone("explain acme::scale1 OWN"),
    "library dump": alone("dump OWN --out OUT"),
    "library stubs": alone("stubs OWN --namespace acme --out OUT"),
    "library edit": after_edit("CPU: scale1\n", "CPU: other\n"),
    "library diff": alone("diff OLD FILE --fail-on none"),
    "library import": alone("import SOURCES --out IMPORTED"),
    "library import --check": ("import SOURCES --out IMPORTED", "import SOURCES --out IMPORTED --check", None),
    "pytorch check": alone("check"),
    "pytorch generate": alone(_GENERATE),
    "pytorch edit": after_edit("CPU: shifted1_cpu", "CPU: other"),
    "pytorch new entry": after_edit("- func: mean_of1(", "- func: fresh(Tensor self) -> Tensor\n\n- func: mean_of1("),
    "pytorch explain": alone("explain shifted1"),
    "pytorch diff": alone("diff TREE TREE --release 2.13"),
    "pytorch dump": alone("dump --out OUT"),
    "pytorch stubs": alone("stubs --out OUT"),
    "backend check": alone("check OWN"),
    "backend generate": alone(_GENERATE),
    "backend edit": after_edit("Scalar alpha=1)", "Scalar alpha=2)"),
    "backend explain": alone("explain shifted1 OWN"),
    "backend coverage": alone("coverage OWN"),
    "backend dump": alone("dump OWN --out OUT"),
    "backend diff": alone("diff TREE TREE --release 2.13 OWN"),
}


def steps_of_command(inputs: Inputs, command: Command) -> int:
    """How many steps a command takes."""
    first, measured, edit = command
    if first:
        assert main(inputs.words(first)) == 0
    if edit:
        inputs.edit(*edit)
    steps = Steps()
    steps.start()
    try:
        status = main(inputs.words(measured))
    finally:
        steps.stop()
    assert status == 0
    return steps.count


def steps_of_watch(inputs: Inputs, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many steps `--watch` takes from an edit to the files."""
    steps = Steps()

    def changes_of(*folders: str, **_: object) -> Iterator[set[object]]:
        inputs.edit("CPU: shifted1_cpu", "CPU: other")
        steps.start()
        yield set()
        steps.stop()

    watchfiles = types.ModuleType("watchfiles")
    monkeypatch.setattr(watchfiles, "watch", changes_of, raising=False)
    monkeypatch.setitem(sys.modules, "watchfiles", watchfiles)
    try:
        assert main(inputs.words(f"{_GENERATE} --watch")) == 0
    finally:
        steps.stop()
        gc.enable()
    return steps.count


def check_open(project: OpenFiles, file: SourceFile, offset: int, tree: str) -> None:
    """The whole check of an open file."""
    request = {"folder": str(Path(file.path).parent), "texts": {file.path: file.text}, "plugins": []}
    check_texts(io.StringIO(json.dumps(request)), io.StringIO(), None, tree, ())


def type_letter(project: OpenFiles, file: SourceFile, offset: int, tree: str) -> None:
    """The diagnostics after a letter is typed."""
    text = f"{file.text[:offset]}x{file.text[offset:]}"
    quick_report(project, project.put(file.path, text), FileReport(file, []))


#: What the server answers about a place in a file.
ANSWERS: dict[str, Callable[[OpenFiles, SourceFile, int, str], object]] = {
    "open": check_open,
    "edit": type_letter,
    "hover": lambda project, file, offset, _: hover_at(project, file, offset),
    "completion": lambda project, file, offset, _: completions_at(project, file, offset),
    "definition": lambda project, file, offset, _: definitions_at(project, file, offset),
    "references": lambda project, file, offset, _: references_at(project, file, offset),
    "symbols": lambda _, file, __, ___: symbols_in(file),
    "highlights": lambda _, file, offset, __: list(highlights_at(file, offset)),
    "colours": lambda _, file, __, ___: list(tokens_of(kind_of(file), file.text)),
    "folds": lambda _, file, __, ___: list(folds(file)),
    "hints": lambda project, file, _, __: list(hints_between(project, file, 0, len(file.text))),
    "lens": lambda project, file, offset, _: summary_of(project, file, word_at(file, offset).text),
}


def steps_of_answer(inputs: Inputs, name: str) -> int:
    """How many steps an answer of the server takes."""
    tree = str(inputs.tree.inputs)
    project = OpenFiles(lambda: open_inputs(None, tree))
    text = inputs.file.read_text()
    file = project.put(str(inputs.file), text)
    offset = text.index("scale1" if inputs.kind == "library" else "shifted1") + 2
    steps = Steps()
    steps.start()
    try:
        ANSWERS[name](project, file, offset, tree)
    finally:
        steps.stop()
    return steps.count


def grows_linearly(folder: Path, kind: str, steps_of: Callable[[Inputs], int], margin: float = 0.03) -> bool:
    """Whether the second half of the entries is at most so much more work than the first half."""
    steps = []
    for count in COUNTS:
        (folder / str(count)).mkdir()
        steps.append(steps_of(Inputs(folder / str(count), kind, count)))
    _, few, more, many = steps
    print(steps)
    return many - more < (1 + margin) * 2 * (more - few) + 200


@pytest.mark.thorough
@pytest.mark.parametrize("name", COMMANDS)
def test_commands_do_linear_work(name: str, tmp_path: Path) -> None:
    """A command does work in proportion to the entries of a library, of a backend, or of PyTorch's file."""
    kind = name.split()[0]
    # From some number of operations on, `explain` takes a unit for one that many operators share.
    margin = 0.1 if name == "library explain" else 0.03
    assert grows_linearly(tmp_path, kind, lambda inputs: steps_of_command(inputs, COMMANDS[name]), margin)


@pytest.mark.thorough
def test_a_step_of_watch_does_linear_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `--watch` does after an edit is in proportion to the entries."""
    assert grows_linearly(tmp_path, "pytorch", lambda inputs: steps_of_watch(inputs, monkeypatch))


@pytest.mark.thorough
@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize("kind", ["library", "pytorch", "backend"])
def test_the_server_does_linear_work(kind: str, name: str, tmp_path: Path) -> None:
    """An answer of the language server takes work in proportion to the entries of the file."""
    assert grows_linearly(tmp_path, kind, lambda inputs: steps_of_answer(inputs, name))
