"""Commands that write files among those of the user replace nothing without a word, and lose nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from opwright.cli.main import main
from opwright.source.diagnostic import Fault
from opwright.workspace.user_files import finish_killed_runs
from opwright.workspace.user_outputs import write_user_files

SOURCE = 'TORCH_LIBRARY(acme, m) { m.def("f(Tensor a) -> Tensor"); }\n'
KERNEL = "#include <torch/extension.h>\nat::Tensor f(at::Tensor a){ return a.cummax(0); }\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, and a cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


def test_all_files_or_none(folder: Path) -> None:
    """If one file cannot be written, those before it have their old contents, and new ones are gone."""
    Path("a").write_text("old")
    Path("b").write_text("saved meanwhile")
    with pytest.raises(Fault) as raised:
        write_user_files({"new/c": b"c", "a": b"new", "b": b"new"}, read={"a": b"old", "b": b"read"})
    assert raised.value.diagnostic.code == "E2207"
    assert Path("a").read_text() == "old"
    assert Path("b").read_text() == "saved meanwhile"
    assert not Path("new/c").exists()
    assert not [name for name in os.listdir() if name.startswith(".opwright")]


def test_existing_files_stay(folder: Path) -> None:
    """What exists is replaced with `force` alone, and keeps its mode and its hard links; equal contents are right."""
    Path("a").write_text("old")
    os.chmod("a", 0o640)
    os.link("a", "hard")
    write_user_files({"a": b"old"})
    with pytest.raises(Fault) as raised:
        write_user_files({"c": b"c", "a": b"new"})
    assert raised.value.diagnostic.code == "E2402"
    assert not Path("c").exists()
    write_user_files({"a": b"new"}, force=True)
    assert Path("hard").read_text() == "new"
    assert os.stat("a").st_mode & 0o777 == 0o640


def test_links_that_lead_out_are_refused(folder: Path, tmp_path: Path) -> None:
    """A link to a file elsewhere is not written through, even with `force`; one inside the folder is followed."""
    victim = tmp_path / "victim"
    victim.write_text("important")
    Path("out").symlink_to(victim)
    Path("dangling").symlink_to(tmp_path / "absent")
    for name in ("out", "dangling"):
        with pytest.raises(Fault, match="is a link to"):
            write_user_files({name: b"new"}, force=True)
    assert victim.read_text() == "important"
    assert not (tmp_path / "absent").exists()
    Path("inside").write_text("old")
    Path("link").symlink_to("inside")
    write_user_files({"link": b"new"}, force=True)
    assert Path("inside").read_text() == "new"
    assert Path("link").is_symlink()


def test_port_keeps_a_header_of_the_user(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`port` replaces no header that it did not write, and changes no source if one is in its way."""
    Path("csrc").mkdir()
    Path("csrc/a.cpp").write_text(KERNEL)
    Path("csrc/stable_ops.h").write_text("#pragma once\n// my own header\nint important();\n")
    assert main(["port", "csrc"]) == 1
    assert "`opwright port` did not write it" in capsys.readouterr().err
    assert Path("csrc/a.cpp").read_text() == KERNEL
    assert main(["port", "csrc", "--header", "csrc/calls.h"]) == 0
    assert "int important();" in Path("csrc/stable_ops.h").read_text()
    assert "stable_ops::cummax" in Path("csrc/a.cpp").read_text()


def test_port_keeps_what_the_file_is(folder: Path) -> None:
    """A file that is ported in place keeps its mode and its byte order mark; `--out` replaces nothing that exists."""
    Path("csrc").mkdir()
    source = Path("csrc/a.cpp")
    source.write_text(KERNEL, encoding="utf-8-sig")
    source.chmod(0o750)
    assert main(["port", "csrc", "--out", "ported"]) == 0
    Path("ported/a.cpp").write_text("mine")
    assert main(["port", "csrc", "--out", "ported"]) == 1
    assert Path("ported/a.cpp").read_text() == "mine"
    assert main(["port", "csrc", "--out", "ported", "--force"]) == 0
    assert main(["port", "csrc"]) == 0
    assert source.read_bytes().startswith(b"\xef\xbb\xbf")
    assert b"stable_ops::cummax" in source.read_bytes()
    assert source.stat().st_mode & 0o777 == 0o750


def test_import_replaces_with_force(folder: Path) -> None:
    """`import` replaces a file with `--force` alone, and then the file keeps its mode."""
    Path("a.cpp").write_text(SOURCE)
    Path("o.yaml").write_text("mine")
    os.chmod("o.yaml", 0o600)
    assert main(["import", "a.cpp", "--out", "o.yaml"]) == 1
    assert Path("o.yaml").read_text() == "mine"
    assert main(["import", "a.cpp", "--out", "o.yaml", "--force"]) == 0
    assert os.stat("o.yaml").st_mode & 0o777 == 0o600
    assert "namespace: acme" in Path("o.yaml").read_text()


LINKED = (
    ["import", "a.cpp", "--out", "link/o.yaml", "--force"],
    ["import", "a.cpp", "--out", "o.yaml", "--derivatives", "link/d.yaml", "--force"],
    ["import", "csrc", "--out", "o.yaml", "--edit", "--force"],
    ["port", "csrc", "--out", "link", "--force"],
    ["port", "csrc", "--out", "link/inner", "--force"],
    ["port", "csrc", "--header", "link/calls.h", "--force"],
    ["port", "csrc/below", "--force"],
    ["port", "csrc/below/kernel.cpp", "--force"],
    ["dump", "--library", "acme.yaml", "--out", "link/dump.json", "--force"],
    ["diff", "acme.yaml", "acme.yaml", "--out", "link/o.yaml"],
    ["diff", "acme.yaml", "acme.yaml", "--out", "linked.yaml"],
    ["coverage", "--backend", "npu.yaml", "--out", "link/o.yaml"],
    ["generate", "--library", "acme.yaml", "--out", "g", "--describe", "json", "--describe-to", "link/o.yaml"],
    ["generate", "--library", "acme.yaml", "--out", "g", "--depfile", "link/o.d"],
    ["generate", "--library", "acme.yaml", "--out", "g", "--stamp", "link/inner/o.stamp"],
    ["generate", "--library", "acme.yaml", "--out", "g", "--provenance", "link/o.json"],
)


@pytest.mark.parametrize("command", LINKED, ids=" ".join)
def test_no_command_writes_through_a_linked_folder(folder: Path, tmp_path: Path, command: list[str]) -> None:
    """A linked folder on the way to a file is as a link in its place: what is elsewhere stays as it is."""
    victim = tmp_path / "victim"
    (victim / "inner").mkdir(parents=True)
    (victim / "kernel.cpp").write_text(KERNEL + SOURCE)
    (victim / "o.yaml").write_text("important")
    Path("link").symlink_to(victim)
    Path("linked.yaml").symlink_to(victim / "o.yaml")
    Path("npu.yaml").write_text("backend: PrivateUse1\ncpp_namespace: npu\nsupported: [add.Tensor]\n")
    Path("csrc").mkdir()
    Path("csrc/a.cpp").write_text(KERNEL)
    Path("csrc/below").symlink_to(victim)
    Path("csrc/b.cpp").symlink_to(victim / "kernel.cpp")
    Path("a.cpp").write_text(SOURCE)
    Path("acme.yaml").write_text("namespace: acme\noperators:\n- func: f(Tensor a) -> Tensor\n")
    assert main(command) == 1
    assert sorted(os.listdir(victim)) == ["inner", "kernel.cpp", "o.yaml"]
    assert os.listdir(victim / "inner") == []
    assert (victim / "kernel.cpp").read_text() == KERNEL + SOURCE
    assert (victim / "o.yaml").read_text() == "important"


@pytest.mark.thorough
def test_a_linked_build_folder_takes_all_files_of_a_run(folder: Path, tmp_path: Path) -> None:
    """A link on the way to `--out` serves what is written beside; a later stamp behind another link is refused too."""
    elsewhere, victim = tmp_path / "elsewhere", tmp_path / "victim"
    elsewhere.mkdir()
    victim.mkdir()
    Path("build").symlink_to(elsewhere)
    Path("link").symlink_to(victim)
    Path("acme.yaml").write_text("namespace: acme\noperators:\n- func: f(Tensor a) -> Tensor\n")
    command = ["generate", "--library", "acme.yaml", "--out", "build/g"]
    assert main([*command, "--depfile", "build/g.d", "--stamp", "build/g.stamp", "--provenance", "build/g.json"]) == 0
    assert sorted(os.listdir(elsewhere)) == ["g", "g.d", "g.json", "g.stamp"]
    # Nothing else is left to do.
    assert main([*command, "--stamp", "link/g.stamp"]) == 1
    assert os.listdir(victim) == []


@pytest.mark.thorough
def test_a_killed_run_is_taken_back(folder: Path, tmp_path: Path) -> None:
    """What a run replaced and made before it was killed is as before it once the next run begins."""
    Path("a").write_text("old")
    os.chmod("a", 0o640)
    script = (
        "import os\\n"
        "from opwright.workspace import user_outputs\\n"
        "real = user_outputs.UserFiles.replace\\n"
        "def replace(self, path, old, new):\\n"
        "    if path == 'b': os.kill(os.getpid(), 9)\\n"
        "    return real(self, path, old, new)\\n"
        "user_outputs.UserFiles.replace = replace\\n"
        "user_outputs.write_user_files({'a': b'new', 'b': b'new', 'c': b'c'}, force=True)\\n"
    ).replace("\\n", "\n")
    Path("b").write_text("old")
    done = subprocess.run([sys.executable, "-c", script], check=False)
    assert done.returncode == -9
    assert Path("a").read_text() == "new"
    finish_killed_runs()
    assert [Path("a").read_text(), Path("b").read_text(), Path("c").exists()] == ["old", "old", False]
    assert os.stat("a").st_mode & 0o777 == 0o640
    write_user_files({"a": b"new", "b": b"new", "c": b"c"}, force=True)
    finish_killed_runs()
    assert [Path(name).read_text() for name in "abc"] == ["new", "new", "c"]
