"""`opwright new`: the projects that it writes, and the names and folders that it refuses."""

from __future__ import annotations

import ast
import os
import pkgutil
import re
import shutil
from pathlib import Path

import pytest
import yaml

from opwright.cli.main import main
from opwright.libraries.extension import project
from opwright.libraries.extension.project import project_files, project_names
from opwright.source.diagnostic import Fault
from tests.kills.lines import run_traced
from tests.libraries.extension.backend_project import PROJECT, shared_files


def test_files_of_a_project(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The project has everything that it needs, under names made from one, and the command says how to go on."""
    monkeypatch.chdir(tmp_path)
    assert main(["new", "library", "acme-ops", "acme"]) == 0
    printed = capsys.readouterr().out.splitlines()
    files = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert files == set(printed[: len(files)])
    assert {f"acme/{name}" for name in ("operators.yaml", "csrc/kernels.cpp", "src/acme_ops/__init__.py")} <= files
    assert printed[-4:] == ["", "  cd acme", "  pip install --no-build-isolation -e .", "  pytest"]
    assert 'name = "acme-ops"' in (tmp_path / "acme" / "pyproject.toml").read_text()


@pytest.mark.parametrize(
    ("kind", "name", "cuda"), [("library", "acme_ops", False), ("library", "acme_ops", True), ("backend", "npu", False)]
)
def test_no_placeholder_is_left(kind: str, name: str, cuda: bool) -> None:
    """Every name that a file of the project asks for is filled in, and its Python and YAML can be read."""
    for path, text in project_files(kind, project_names(kind, name), cuda=cuda):
        assert not re.search(r"@\w+@", path + text)
        if path.endswith(".py"):
            ast.parse(text)
        if path.endswith((".yaml", ".yml")):
            assert yaml.safe_load(text)


@pytest.mark.parametrize("kind", ["library", "backend", "kernel"])
def test_projects_are_in_the_canonical_layout(kind: str, tmp_path: Path) -> None:
    """`opwright check` and `opwright format --check`, which the workflow of a project runs, find nothing in it."""
    assert main(["new", kind, "acme", str(tmp_path)]) == 0
    files = [str(path) for path in sorted(tmp_path.glob("*.yaml"))]
    assert main(["check", *files]) == 0
    assert main(["format", "--check", *files]) == 0


def test_only_libraries_with_cuda_have_its_kernels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With `--cuda`, one file is more, and the entry names its kernel; other projects do not take the option."""
    plain, cuda = [
        dict(project_files("library", project_names("library", "acme"), cuda=cuda)) for cuda in (False, True)
    ]
    assert cuda.keys() - plain.keys() == {os.path.join("csrc", "kernels_cuda.cu")}
    assert not any("cuda" in text.lower() for text in plain.values())
    assert "CUDA: {kernel: soft_clip_out_cuda, if: defined(WITH_CUDA)}" in cuda["operators.yaml"]
    assert main(["new", "backend", "npu", str(tmp_path / "npu"), "--cuda"]) == 2
    assert "`--cuda` is for a library, not for a backend" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("options", [(), ("--cuda",)])
def test_library_of_the_project_has_no_mistakes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    """Code can be generated from the library file of the project, without warnings."""
    monkeypatch.chdir(tmp_path)
    assert main(["new", "library", "acme_ops", ".", *options]) == 0
    assert main(["generate", "--library", "operators.yaml", "--torch", "auto", "--out", "build", "--strict"]) == 0


def test_backend_of_the_project_has_no_mistakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code can be generated from the backend file of the project, without warnings."""
    monkeypatch.chdir(tmp_path)
    assert main(["new", "backend", "npu", "."]) == 0
    assert main(["generate", "--backend", "npu.yaml", "--torch", "auto", "--out", "build", "--strict"]) == 0


def test_folder_of_a_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a folder, the project gets one of its name, and the next commands enter it."""
    monkeypatch.chdir(tmp_path)
    assert main(["new", "library", "acme_ops"]) == 0
    assert (tmp_path / "acme_ops/operators.yaml").exists()
    assert "  cd acme_ops\n  pip install" in capsys.readouterr().out


def test_taken_packages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A device whose package has the name of a vendor's is written, with a warning; others are without."""
    for name, is_taken in (("npu", True), ("musa", True), ("acme", False), ("mynpu", False)):
        assert main(["new", "backend", name, str(tmp_path / name)]) == 0
        said = capsys.readouterr().err
        assert (f"warning[W1213]: the package of the device `{name}` is `torch_{name}`" in said) is is_taken


def test_files_of_the_backend_are_those_of_the_example() -> None:
    """What the project shares with the example of a backend has the same text, but for names."""
    shared = dict(shared_files())
    assert shared == {path: path.read_text(encoding="utf-8") for path in shared}
    assert set(PROJECT.rglob("runtime/*")) <= shared.keys()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("My-Device", "`My-Device` is not a name for a device"),
        ("cuda", "a device cannot have the name `cuda`"),
        ("torch", "a device cannot have the name `torch`: it is a package or a namespace that the project needs"),
        ("double", "a device cannot have the name `double`: it is a word of C++"),
        ("opengl", "a device cannot have the name `opengl`: it is a device of PyTorch"),
        ("leaf", "a device cannot have the name `leaf`: it is an attribute of `torch` or of its tensors"),
        ("null", "a device cannot have the name `null`: it is nothing in YAML"),
    ],
)
def test_wrong_names_of_devices(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, message: str) -> None:
    """A name that a device cannot have is a diagnostic, and nothing is written."""
    assert main(["new", "backend", name, str(tmp_path / "project")]) == 1
    assert f"error[E1207]: {message}" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "message", "help"),
    [
        ("3d-ops", "`3d-ops` is not a name for a package", "write letters, digits and single underscores"),
        ("acme ops", "`acme ops` is not a name for a package", "write letters, digits and single underscores"),
        ("../acme", "`../acme` is not a name for a package", "write letters, digits and single underscores"),
        ("torch", "a package cannot have the name `torch`", "choose another name, such as `torch_ops`"),
        ("class", "a package cannot have the name `class`", "choose another name, such as `class_ops`"),
        ("double", "a package cannot have the name `double`: it is a word of C++", "choose another name"),
    ],
)
def test_wrong_names(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, message: str, help: str) -> None:
    """A name that a package or a namespace cannot have is a diagnostic, and nothing is written."""
    assert main(["new", "library", name, str(tmp_path / "project")]) == 1
    report = capsys.readouterr().err
    assert f"error[E1207]: {message}" in report
    assert f"help: {help}" in report
    assert not list(tmp_path.iterdir())


REFUSED = {
    "in YAML": ("null", "yes", "off", "Null"),
    "a module of Python": ("os", "json", "Random", "errno"),
    "a device of Windows": ("con", "nul", "aux", "com1", "LPT9", "prn"),
    "a word of C++": ("double", "co_await"),
    "a macro of C++": ("linux", "unix", "stdout", "EOF"),
    "declared by headers of C++": ("index", "log", "gamma", "FILE"),
    "a namespace of PyTorch or of C++": ("std", "at", "c10"),
    "a namespace of PyTorch's operators": ("aten", "prims", "quantized"),
    "a package or a folder that the project needs": ("numpy", "setuptools", "tests", "torch"),
}


@pytest.mark.parametrize(("use", "name"), [(use, name) for use, names in REFUSED.items() for name in names])
def test_names_that_are_used_otherwise(tmp_path: Path, capsys: pytest.CaptureFixture[str], use: str, name: str) -> None:
    """A name that Python, YAML, C++ or PyTorch uses is refused, and the name that the help proposes is accepted."""
    assert main(["new", "library", name, str(tmp_path / "project")]) == 1
    report = capsys.readouterr().err
    assert f"error[E1207]: a package cannot have the name `{name}`: it is " in report
    assert use in report
    (other,) = re.findall("choose another name, such as `(.*)`", report)
    assert project_names("library", other)


def test_devices_hide_nothing_of_torch() -> None:
    """No device has a name that `torch` or its tensors have, which PyTorch gives functions of the device."""
    torch = pytest.importorskip("torch")
    names = {*dir(torch), *dir(torch.Tensor), *[name.removeprefix("is_") for name in dir(torch.Tensor)]}
    # A module of `torch` becomes its attribute when something imports it.
    names |= {module.name for module in pkgutil.iter_modules(torch.__path__)}
    accepted = []
    for name in names:
        try:
            project_names("backend", name)
        except Fault:
            continue
        accepted.append(name)
    assert len(names) > 1000
    assert not accepted


def contents(folder: Path) -> dict[str, bytes]:
    """The files below a folder, and its empty folders."""
    paths = [path for path in folder.rglob("*") if path.is_file() or not any(path.iterdir())]
    return {path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else b"" for path in paths}


@pytest.mark.parametrize("link", ["csrc", "setup.py", "src/acme_ops"])
def test_links_in_the_folder(link: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is written through a link in the folder of the project, with `--force` either."""
    outside, folder = tmp_path / "outside", tmp_path / "project"
    outside.mkdir()
    (outside / "kernels.cpp").write_text("mine")
    (folder / link).parent.mkdir(parents=True)
    (folder / link).symlink_to(outside / "kernels.cpp" if link == "setup.py" else outside)
    assert main(["new", "library", "acme_ops", str(folder), "--force"]) == 1
    assert f"error[E1208]: `{folder / link}` is a link" in capsys.readouterr().err
    assert contents(outside) == {"kernels.cpp": b"mine"}
    assert os.listdir(folder) == [link.split("/")[0]]


def test_a_link_to_the_folder(tmp_path: Path) -> None:
    """The folder itself may be a link, because the user named it."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert main(["new", "library", "acme_ops", str(tmp_path / "link")]) == 0
    assert (tmp_path / "real" / "setup.py").is_file()


@pytest.mark.parametrize("folder", ["deep/new", "empty"])
def test_a_full_disk_leaves_nothing(folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a file cannot be written or put in place, there is no part of a project, so that the next try succeeds."""
    (tmp_path / "empty").mkdir()
    replace, calls = os.replace, [0]

    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    def second_fails(source: str, target: str) -> None:
        calls[0] += 1
        if folder != "empty" or calls[0] == 2:
            full()
        replace(source, target)

    for module, name, fault in ((project, "make_folder", full), (os, "replace", second_fails)):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, fault)
            assert main(["new", "library", "acme_ops", str(tmp_path / folder)]) == 1
        assert contents(tmp_path) == {"empty": b""}
    assert main(["new", "library", "acme_ops", str(tmp_path / folder)]) == 0


def test_a_name_that_is_too_long(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A name that is too long for the file system is a diagnostic, and leaves nothing."""
    for words in (["a" * 300, str(tmp_path / "project")], ["acme_ops", str(tmp_path / ("a" * 300))]):
        assert main(["new", "library", *words]) == 1
        assert "error[E0608]" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.thorough
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be copied here")
@pytest.mark.parametrize("exists", [False, True])
def test_a_killed_run_does_not_block_the_next(exists: bool, tmp_path: Path) -> None:
    """Wherever a run is killed, the next one makes the whole project, and nothing else is left."""
    words = ["new", "library", "acme_ops", str(tmp_path / "project")]
    assert main(words) == 0
    expected = contents(tmp_path)
    modules = frozenset({project.__file__})

    def prepare() -> None:
        shutil.rmtree(tmp_path / "project")
        if exists:
            (tmp_path / "project").mkdir()

    prepare()
    _, lines = run_traced(lambda: main(words), modules)
    assert lines > 100
    for line in range(1, lines + 1, lines // 25):
        prepare()
        status, _ = run_traced(lambda: main(words), modules, killed_at=line)
        assert os.WIFSIGNALED(status)
        assert main(words) == 0
        assert contents(tmp_path) == expected


def test_the_printed_folder_is_quoted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The printed command for a folder with blanks can be copied."""
    assert main(["new", "library", "acme_ops", str(tmp_path / "my ops")]) == 0
    assert f"  cd '{tmp_path}/my ops'" in capsys.readouterr().out.splitlines()


def test_folder_with_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder with files is left alone, unless `--force` is given; files of other names stay."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "main.cpp").write_text("int main() {}")
    (tmp_path / "setup.py").write_text("old")
    assert main(["new", "library", "acme_ops", str(tmp_path)]) == 1
    assert "error[E1208]" in capsys.readouterr().err
    assert (tmp_path / "setup.py").read_text() == "old"
    assert main(["new", "library", "acme_ops", str(tmp_path), "--force"]) == 0
    assert "operator_library" in (tmp_path / "setup.py").read_text()
    assert (tmp_path / "main.cpp").read_text() == "int main() {}"


def test_repository_without_files(tmp_path: Path) -> None:
    """A new repository counts as empty, and a file is no folder."""
    (tmp_path / ".git").mkdir()
    assert main(["new", "library", "acme_ops", str(tmp_path)]) == 0
    assert main(["new", "library", "acme_ops", str(tmp_path / "setup.py")]) == 1
