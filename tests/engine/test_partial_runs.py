"""Runs of the programs for backends load the operators that the backend file names, and all of them after an error."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from opwright.dialects.native_functions import loader
from opwright.dialects.native_functions.entry import load_entry
from opwright.torchgen import gen_backend_stubs
from tests.conformance.inputs import reference_version
from tests.engine.project import files_of, replace_once

HEAD = "backend: PrivateUse1\ncpp_namespace: acme\nsupported:\n"
ATEN = Path("torchgen/packaged/ATen")
NATIVE = ATEN / "native/native_functions.yaml"
#: More than a run for a few operators reads, and fewer than all.
FEW = 60


class Runs:
    """Runs of `gen_backend_stubs` on inputs of their own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.read = 0

        def counted(*arguments: object) -> object:
            self.read += 1
            return load_entry(*arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(loader, "load_entry", counted)

    def run(self, names: str, out: str = "out", head: str = HEAD) -> tuple[int, str]:
        """The exit status of a run for these operators, and what it says."""
        Path("acme.yaml").write_text(head + "".join(f"- {name}\n" for name in names.split()))
        self.read = 0
        status = gen_backend_stubs.main(["-s", "acme.yaml", "--source-path", str(ATEN), "-o", out])
        return status, self._capsys.readouterr().err


@pytest.fixture
def runs(
    reference_inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Runs:
    """A working folder with PyTorch's inputs."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(reference_inputs.parent, ATEN.parent)
    Path("torch").mkdir()
    Path("torch/version.py").write_text(f"__version__ = '{reference_version()}'\n")
    return Runs(monkeypatch, capsys)


def break_entry(name: str) -> None:
    """Give the entry of an operator a mistake."""
    replace_once(NATIVE, f"- func: {name}(Tensor", f"- func: {name}(Tensr")


def test_a_run_reads_only_the_entries_that_it_needs(runs: Runs) -> None:
    """A run for few operators reads their entries and no others, so it does not report mistakes in the others."""
    break_entry("tanh")
    assert runs.run("relu") == (0, "")
    assert 0 < runs.read < FEW


@pytest.mark.parametrize(
    ("names", "report"),
    [
        ("relu rleu", "did you mean `relu`?"),
        ("relu sigmod", "did you mean `sigmoid`?"),
        ("relu aten::relu", "write `relu`"),
    ],
)
def test_a_run_with_an_error_reads_all_entries(runs: Runs, names: str, report: str) -> None:
    """After an error, the help names any operator of the release, and mistakes in all entries are reported."""
    status, said = runs.run(names)
    assert status == 1
    assert report in said
    assert runs.read > FEW
    break_entry("tanh")
    status, said = runs.run(names)
    assert "unknown type `Tensr`" in said


def test_a_mistake_in_an_entry_that_is_needed_is_reported(runs: Runs) -> None:
    """A run reports the mistakes of the operators that it needs, and then those of all."""
    break_entry("relu_")
    break_entry("tanh")
    status, said = runs.run("relu")
    assert status == 1
    assert said.count("unknown type `Tensr`") == 2


def test_a_key_with_kernels_of_pytorch_is_reported(runs: Runs) -> None:
    """Whether PyTorch has kernels for the key of a backend, a run finds in whatever entry has one."""
    head = HEAD.replace("PrivateUse1", "{}")
    for key in ("ZeroTensor", r'"\x5aeroTensor"'):
        status, said = runs.run("relu", head=head.format(key))
        assert status == 1
        assert "PyTorch itself has kernels for `ZeroTensor`" in said


def test_a_file_with_anchors_is_read_whole(runs: Runs) -> None:
    """An entry that refers to another one is read with all of them."""
    replace_once(NATIVE, "- func: abs(Tensor self) -> Tensor\n", "- func: &abs abs(Tensor self) -> Tensor\n")
    relu = "- func: relu(Tensor self) -> Tensor\n"
    replace_once(NATIVE, relu, f"{relu}  cpp_no_default_args: [*abs]\n")
    status, said = runs.run("relu")
    assert status == 1
    assert "has no argument `abs(Tensor self) -> Tensor`" in said
    assert runs.read > FEW


def test_runs_after_edits_write_what_fresh_runs_write(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    """Entries that an earlier run kept serve the next one, also if it needs others."""
    for names in ("relu add.out", "relu add.out sigmoid", "relu add.out tanh", "add.out sub.out", "relu tanh"):
        assert runs.run(names) == (0, "")
        assert runs.read < FEW
    edited = files_of(Path("out"))
    for folder in ("torchgen", "torch"):
        shutil.copytree(folder, f"fresh/{folder}")
    monkeypatch.chdir("fresh")
    assert runs.run(names) == (0, "")
    assert files_of(Path("out")) == edited
