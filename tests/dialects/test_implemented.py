"""Library files with kernels for operators of others: schemas from files, and what such files cannot say."""

from __future__ import annotations

from pathlib import Path

import pytest

from opwright.cli.main import main

OWNER = """\
namespace: acme
derivatives: absent.yaml
operators:
- func: scale(Tensor self, float by=2.0) -> Tensor
  dispatch: {CPU: scale}
  outputs: like(self)
- func: scale_(Tensor(a!) self, float by=2.0) -> Tensor(a!)
  dispatch: {CPU: scale_}
- func: view_rows(Tensor(a) self) -> Tensor(a)
- func: noise(Tensor self, *, Generator? generator=None) -> Tensor
  dispatch: {CPU: noise}
- func: other::scale(Tensor self) -> Tensor
- func: other::twice(Tensor self) -> Tensor
"""
HEAD = "namespace: acme_npu\nimplements: acme.yaml\noperators:\n"
ENTRY = "- name: scale\n  dispatch: {PrivateUse1: scale}\n"


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """The path of a library file beside that of the owner."""
    (tmp_path / "acme.yaml").write_text(OWNER)
    return tmp_path / "acme_npu.yaml"


def checked(library: Path, text: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What `opwright check` says of a file."""
    library.write_text(text)
    main(["check", "--select", "all", str(library)])
    said = capsys.readouterr()
    return said.out + said.err


def test_a_right_file_has_no_findings(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nor has it any about what its owner says, such as operators that write, draw numbers or are views."""
    names = ("scale", "scale_", "view_rows", "noise")
    entries = "".join(ENTRY.replace("name: scale", f"name: {name}") for name in names)
    assert checked(library, HEAD + entries, capsys).startswith("no findings")
    stable = HEAD.replace("operators:", "abi: stable\noperators:") + ENTRY
    assert checked(library, stable, capsys).startswith("no findings")


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        (HEAD + ENTRY.replace("scale\n", "scal\n"), "4:9: error[E1186]", "did you mean `scale`"),
        (HEAD + ENTRY.replace("scale\n", "twice\n"), "4:9: error[E1186]", "write `other::twice`"),
        (HEAD + ENTRY + ENTRY.replace("scale\n", "other::twice\n"), "6:9: error[E1186]", "another namespace"),
        (HEAD + "- func: scale(Tensor self) -> Tensor\n", "4:3: error[E1187]", "names of another library's operators"),
        (HEAD + ENTRY + "  tags: pointwise\n", "6:3: error[E1187]", "`tags`"),
        (HEAD + "- name: scale\n", "4:3: error[E1187]", "`dispatch` is missing"),
        (HEAD + ENTRY.replace("PrivateUse1", "CPU"), "5:14: error[E1188]", "has a kernel for `CPU`"),
        (HEAD + ENTRY.replace("PrivateUse1", "CompositeExplicitAutograd"), "5:14: error[E1188]", "defines it"),
        (HEAD + ENTRY.replace(": scale}", ": [scale, fast]}"), "5:14: error[E1188]", "one kernel in C++"),
        (HEAD.replace("acme.yaml", "acme") + ENTRY, "2:13: error[E1185]", "opwright import acme --out"),
        (HEAD.replace("acme.yaml", "a-b") + ENTRY, "2:13: error[E1185]", "neither a module nor the path"),
        (HEAD.replace("acme.yaml", "acme_npu.yaml") + ENTRY, "2:13: error[E1185]", "defines no operators"),
        (HEAD.replace("namespace: acme_npu\n", "") + ENTRY, "1:13: error[E1187]", "a name of its own"),
        (HEAD.replace("implements", "c_shims: [cpu]\nimplements") + ENTRY, "2:1: error[E1187]", "`c_shims`"),
        (HEAD.replace("implements", "abi: dlpack\nimplements") + ENTRY, "2:1: error[E1187]", "`abi: dlpack`"),
        (HEAD.replace("implements: acme.yaml\n", "") + ENTRY, "3:3: error[E1187]", "`implements` of the head"),
        (HEAD + ENTRY + "  requires: bye > 0\n", "6:13: error[E", "bye"),
    ],
)
def test_mistakes_have_their_places(
    library: Path, capsys: pytest.CaptureFixture[str], text: str, place: str, words: str
) -> None:
    """What such a file cannot say is told at its place."""
    said = checked(library, text, capsys)
    where, _, severity = place.partition(": ")
    assert f"acme_npu.yaml:{where}\n" in said
    assert severity in said
    assert words in said


def test_faults_of_the_owners_file_are_told_there(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its errors are, and its warnings are not."""
    (library.parent / "acme.yaml").write_text(OWNER.replace("Tensor self, float by", "Tensr self, float by", 1))
    assert "acme.yaml:4:15\n" in checked(library, HEAD + ENTRY, capsys)


@pytest.mark.parametrize("namespace", ["aten", "{from: TORCH_EXTENSION_NAME}\ncpp_namespace: acme"])
def test_some_namespaces_have_no_kernels_of_others(
    library: Path, capsys: pytest.CaptureFixture[str], namespace: str
) -> None:
    """Nobody knows the namespace that a build gives, and PyTorch's operators have backend files."""
    (library.parent / "acme.yaml").write_text(
        f"namespace: {namespace}\noperators:\n- func: scale_of_acme(Tensor self) -> Tensor\n"
    )
    assert "error[E1185]" in checked(library, HEAD + ENTRY.replace("name: scale", "name: scale_of_acme"), capsys)


@pytest.mark.thorough
def test_a_lock_is_written_and_refreshed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`opwright import` writes the schemas of a module, and writes them again after the module has changed."""
    module, lock = tmp_path / "owning_operators.py", tmp_path / "owning_operators.lock.yaml"
    text = 'import torch\nlibrary = torch.library.Library("owning_operators", "DEF")\nlibrary.define("{}")\n'
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    library = tmp_path / "acme_npu.yaml"
    library.write_text(HEAD.replace("acme.yaml", "owning_operators") + ENTRY + "  requires: by > 0\n")
    for schema, faults in (("scale(Tensor! self, float by) -> ()", 0), ("scale(Tensor! self) -> ()", 1)):
        module.write_text(text.format(schema))
        assert main(["import", "owning_operators", "--out", str(lock), "--force"]) == 0
        assert schema in lock.read_text()
        assert main(["check", str(library)]) == faults


def test_generated_code_registers_these_kernels_alone(library: Path) -> None:
    """It defines nothing, and has nothing for keys that no entry names."""
    library.write_text(HEAD + ENTRY + "  dims: {self: n, return: n}\n")
    out = library.parent / "out"
    assert main(["generate", "--library", str(library), "--torch", "auto", "--out", str(out)]) == 0
    source = (out / "src" / "acme_npu" / "register_0.cpp").read_text()
    assert [line for line in source.splitlines() if "TORCH_LIBRARY" in line] == [
        "TORCH_LIBRARY_IMPL(acme, PrivateUse1, m) {"
    ]
    assert sorted(path.name for path in (out / "python" / "acme_npu").iterdir()) == [
        *("_implements.py", "_load.py", "_ops.py", "py.typed")
    ]
    assert not (out / "tests").exists()
    (library.parent / "acme.yaml").write_text(OWNER.replace("by=2.0) -> Tensor\n", "by=3.0) -> Tensor\n"))
    assert main(["generate", "--library", str(library), "--torch", "auto", "--out", str(out)]) == 0
    assert "by=3.0" in (out / "src" / "acme_npu" / "register_0.cpp").read_text()


def test_an_explanation_has_the_kernels_of_the_file_alone(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What runs under other keys is known to the owner."""
    library.write_text(HEAD + ENTRY)
    assert main(["explain", "--library", str(library), "acme::scale"]) == 0
    said = capsys.readouterr().out
    assert "another library defines it" in said
    dispatch = said.split("Dispatch\n")[1].split("\n\n")[0]
    assert [line.split() for line in dispatch.splitlines()] == [["PrivateUse1", "wrapper_PrivateUse1__scale"]]


def test_versions_of_such_files_are_compared(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A kernel that is gone, and a condition that is new, break callers."""
    library.write_text(HEAD + ENTRY + ENTRY.replace("name: scale", "name: scale_"))
    newer = library.with_name("newer.yaml")
    newer.write_text(HEAD + ENTRY + "  requires: by > 0\n")
    main(["diff", str(library), str(newer)])
    said = capsys.readouterr().out
    assert "acme::scale_" in said
    assert "by > 0" in said
    assert "Verdict: major" in said
