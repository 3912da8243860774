from __future__ import annotations

import importlib
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

import opwright
from opwright.release.inputs import Inputs, from_files, from_installed, from_source_path, from_wheel, resolve
from opwright.release.version import version_of
from opwright.source.diagnostic import Diagnostics, Fault
from opwright.wheels.wheel import Wheel
from opwright.wheels.wheel_store import WheelStore, member_of, name_of
from tests.release.fake_torch import (
    ATEN,
    AUTOGRAD,
    INPUT_NAMES,
    NATIVE,
    package_files,
    wheel_bytes,
    write_files,
    write_source_tree,
)

PACKAGED = ("torchgen", "packaged", "ATen")


def wheel_file(folder: Path, version: str = "2.13.0", **options: object) -> Path:
    """A wheel on disk."""
    path = folder / f"torch-{version}-cp312-cp312-win_amd64.whl"
    path.write_bytes(wheel_bytes(version, **options))  # type: ignore[arg-type]
    return path


def fault_code(spec: str) -> str:
    """The code of the fault with which a `--torch` argument is refused."""
    with pytest.raises(Fault) as caught:
        resolve(spec).names()
    return caught.value.diagnostic.code


@pytest.fixture
def empty_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A Python that finds packages in one empty folder only; gives the folder."""
    site = tmp_path / "site-packages"
    site.mkdir()
    monkeypatch.setattr(sys, "path", [str(site)])
    monkeypatch.setattr(sys, "meta_path", [finder for finder in sys.meta_path if "editable" not in repr(finder)])
    for name in ("torch", "torchgen"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    importlib.invalidate_caches()
    return site


def test_the_same_inputs_come_from_everywhere(tmp_path: Path) -> None:
    """A tree, a package and a wheel have the same names, texts and digest."""
    tree = from_source_path(write_source_tree(tmp_path / "tree") / "aten" / "src" / "ATen")
    package = from_source_path(write_files(tmp_path / "site", package_files("2.13.0+cpu")).joinpath(*PACKAGED))
    wheel = from_wheel(wheel_file(tmp_path))
    for inputs in (tree, package, wheel):
        assert inputs.names() == INPUT_NAMES
        assert inputs.template_names() == ("Functions.h", "ViewMetaClasses.h")
        assert inputs.template_names("autograd/templates") == ("Functions.h",)
        assert inputs.read_text("autograd/templates/Functions.h").text == "// autograd\n"
        assert inputs.read_text(NATIVE) is inputs.read_text(NATIVE)
    assert tree.digest == package.digest == wheel.digest
    assert [inputs.version_text for inputs in (tree, package, wheel)] == ["2.13.0a0+git12ab", "2.13.0+cpu", "2.13.0"]


def test_the_digest_follows_the_content(tmp_path: Path) -> None:
    """An edited template gives another digest."""
    top = write_source_tree(tmp_path)
    before = from_source_path(top).digest
    (top / "aten" / "src" / "ATen" / "templates" / "Functions.h").write_text("// edited\n", encoding="utf-8")
    assert from_source_path(top).digest != before


def test_paths_are_shown_as_they_were_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative source path stays relative in diagnostics."""
    monkeypatch.chdir(write_source_tree(tmp_path))
    inputs = from_source_path("aten/src/ATen")
    assert inputs.read_text(NATIVE).path == os.path.join("aten/src/ATen", NATIVE)
    assert inputs.display_path("autograd/derivatives.yaml") == os.path.join("tools", "autograd", "derivatives.yaml")
    assert inputs.read_text("autograd/derivatives.yaml").path == inputs.display_path("autograd/derivatives.yaml")
    assert inputs.read_member("version.txt") == b"2.13.0a0+git12ab\n"


def test_the_top_of_a_tree_will_do(tmp_path: Path) -> None:
    """The tree's top leads to its ATen folder."""
    assert from_source_path(write_source_tree(tmp_path)).names() == INPUT_NAMES


def test_a_folder_of_ones_own_needs_no_tree(tmp_path: Path) -> None:
    """A folder with YAML and templates alone has no version and no autograd inputs, and says so when asked."""
    inputs = from_source_path(write_files(tmp_path / "mine", ATEN))
    assert inputs.version_text is None
    assert inputs.names() == tuple(sorted(ATEN))
    with pytest.raises(Fault) as caught:
        inputs.read_text("autograd/derivatives.yaml")
    assert caught.value.diagnostic.code == "E0514"


def test_another_projects_version_is_not_taken(tmp_path: Path) -> None:
    """A `version.txt` three folders up counts only where the folders are those of a PyTorch tree."""
    write_files(tmp_path, {"version.txt": "1.0"})
    assert from_source_path(write_files(tmp_path / "a" / "b" / "mine", ATEN)).version_text is None
    assert from_source_path(write_files(tmp_path / "aten" / "src" / "ATen", ATEN)).version_text == "1.0"


def test_an_edited_copy_keeps_its_autograd_beside_it(tmp_path: Path) -> None:
    """A copy of the packaged folders needs no packages around it."""
    write_files(tmp_path / "autograd", AUTOGRAD)
    inputs = from_source_path(write_files(tmp_path / "ATen", ATEN))
    assert inputs.names() == INPUT_NAMES
    assert inputs.version_text is None


@pytest.mark.parametrize("spot", ["nowhere", "file", "empty"])
def test_a_source_path_without_inputs_is_a_fault(tmp_path: Path, spot: str) -> None:
    """A folder that does not exist, a file, and an empty folder are refused."""
    (tmp_path / "file").write_text("", encoding="utf-8")
    (tmp_path / "empty").mkdir()
    with pytest.raises(Fault) as caught:
        from_source_path(tmp_path / spot)
    assert caught.value.diagnostic.code == "E0501"


def test_a_path_without_operators_is_a_fault(tmp_path: Path) -> None:
    """The fault names the file of operators that does not exist."""
    with pytest.raises(Fault) as caught:
        from_files(str(tmp_path / "functions.yaml"), str(tmp_path / "tags.yaml"), str(tmp_path))
    assert caught.value.diagnostic.code == "E0501"
    assert caught.value.diagnostic.message == f"there is no file `{tmp_path / 'functions.yaml'}`"


def test_kernels_compiled_ahead_of_time_come_from_a_folder(tmp_path: Path) -> None:
    """A folder replaces the release's declarations, an empty name leaves them out, and other inputs stay."""
    name = "native_aot/scaled/aot.py"
    tree = write_source_tree(tmp_path / "tree")
    for folder, text in ((tmp_path / "tree" / "torch" / "_native" / "ops", "ours"), (tmp_path / "other", "theirs")):
        (folder / "scaled").mkdir(parents=True)
        (folder / "scaled" / "aot.py").write_text(text, encoding="utf-8")
    inputs = from_source_path(tree)
    replaced = inputs.with_native_aot(str(tmp_path / "other"))
    assert inputs.read_text(name).text == "ours"
    assert replaced.read_text(name).text == "theirs"
    assert replaced.read_text(NATIVE).text == inputs.read_text(NATIVE).text
    assert replaced.names() == inputs.names()
    assert set(inputs.names()) - set(inputs.with_native_aot("").names()) == {name}


def test_the_installed_package_is_found_and_not_imported(empty_environment: Path) -> None:
    """The running environment's package gives inputs and version; importing it would end the test."""
    write_files(empty_environment, package_files("2.14.1"))
    inputs = from_installed()
    assert inputs.names() == INPUT_NAMES
    assert inputs.version_text == "2.14.1"
    assert inputs.read_member("torch/version.py").startswith(b"from typing")
    assert resolve("auto").digest == inputs.digest


def test_an_installation_in_place_leads_to_its_tree(empty_environment: Path) -> None:
    """A PyTorch that is developed in place has no packaged inputs; those of its tree are read."""
    write_source_tree(empty_environment)
    write_files(empty_environment, {"torchgen/__init__.py": "raise SystemExit"})
    inputs = from_installed()
    assert inputs.names() == INPUT_NAMES
    assert inputs.version_text == "2.13.0a0+git12ab"


def test_no_installed_torch_says_the_three_ways(empty_environment: Path) -> None:
    """Without PyTorch, `auto` names what else can be done."""
    with pytest.raises(Fault) as caught:
        resolve("auto")
    assert caught.value.diagnostic.code == "E0502"
    assert all(way in str(caught.value.diagnostic.help) for way in ("--source-path", "FILE.whl", "--torch 2.13.0"))


def test_a_wheel_is_named_with_the_member(tmp_path: Path) -> None:
    """A place inside a wheel is shown as the wheel's path and the member's."""
    path = wheel_file(tmp_path)
    assert resolve(str(path)).read_text(NATIVE).path == f"{path}/torchgen/packaged/ATen/{NATIVE}"


def test_members_of_a_wheel_are_read(tmp_path: Path) -> None:
    """Any member can be read, and a missing one is a fault."""
    inputs = from_wheel(wheel_file(tmp_path))
    paths = ["torch/version.py", "torchgen/__init__.py"]
    assert list(inputs.read_members(paths)) == paths
    assert inputs.member_names("torchgen/packaged/ATen/native/") == (
        "torchgen/packaged/ATen/native/native_functions.yaml",
        "torchgen/packaged/ATen/native/tags.yaml",
    )
    with pytest.raises(Fault) as caught:
        inputs.read_member("torch/nothing.py")
    assert caught.value.diagnostic.code == "E0514"


def test_specs_that_lead_nowhere_are_faults(tmp_path: Path) -> None:
    """A wheel that is missing, is none, or has no inputs, and words that are no spec, have a code each."""
    (tmp_path / "empty.whl").write_bytes(b"")
    (tmp_path / "folder.whl").mkdir()
    assert fault_code(str(tmp_path / "missing.whl")) == "E0504"
    assert fault_code(str(tmp_path / "empty.whl")) == "E0504"
    assert fault_code(str(tmp_path / "folder.whl")) == "E0504"
    assert fault_code(str(wheel_file(tmp_path, files={"torch/__init__.py": ""}))) == "E0505"
    assert fault_code(str(tmp_path)) == "E0503"
    assert fault_code("newest") == "E0503"


SOUND = wheel_bytes("2.13.0")
SOUND_TEXTS = ATEN | {f"autograd/{name}": text for name, text in AUTOGRAD.items() if not name.endswith(".py")}


@pytest.mark.thorough
@pytest.mark.parametrize("change", ["bit", "byte", "end"])
def test_a_damaged_wheel_gives_the_same_texts_or_a_fault(change: str) -> None:
    """Whatever byte is changed, or wherever the file ends, no other text and no other error comes out."""
    codes = set()
    for at in range(len(SOUND)):
        altered = b"" if change == "end" else bytes([SOUND[at] ^ (0x80 if change == "bit" else 0xFF)])
        damaged = SOUND[:at] + altered + (b"" if change == "end" else SOUND[at + 1 :])
        try:
            store = WheelStore(Wheel("torch.whl", io.BytesIO(damaged)))
            texts = {name: store.read_text(name).text for name in store.names()}
        except Fault as fault:
            codes.add(fault.diagnostic.code)
        else:
            assert texts == SOUND_TEXTS
    assert codes == ({"E0504"} if change == "end" else {"E0504", "E0510"})


def test_importing_the_package_is_cheap() -> None:
    """Reading a source tree needs none of the modules for networks, archives and settings."""
    program = (
        "import sys, opwright.release.inputs, opwright.release.rules, opwright.release.version\n"
        "heavy = {'urllib.request', 'zipfile', 'packaging', 'platformdirs', 'ssl', 'json', 'hashlib', 'tempfile',"
        " 'importlib.metadata', 'configparser', 'html.parser', 'http.client'}\n"
        "print(sorted(heavy & set(sys.modules) - before))"
    )
    program = "import sys, opwright.source.diagnostic, opwright.source.text; before = set(sys.modules)\n" + program
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_inputs_say_where_they_are_from(tmp_path: Path) -> None:
    """The origin is words for a summary, and stands in the representation."""
    inputs = from_wheel(wheel_file(tmp_path))
    assert inputs.origin == "the wheel torch-2.13.0-cp312-cp312-win_amd64.whl"
    assert isinstance(inputs, Inputs)
    assert str(version_of(inputs)) in repr(inputs)


def test_the_header_of_formula_helpers_is_an_input_where_it_is(tmp_path: Path) -> None:
    """A source tree, a package and a wheel have it at places of their own; a folder of one's has none."""
    header, text = "FunctionsManual.h", "Tensor twice_backward(const Tensor& grad);\n"
    name = f"autograd/{header}"
    installed = {f"torch/include/torch/csrc/autograd/{header}": text}
    tree = write_source_tree(tmp_path / "tree")
    write_files(tree, {f"torch/csrc/autograd/{header}": text, **dict.fromkeys(installed, "stale")})
    package = write_files(tmp_path / "site", package_files("2.13.0") | installed)
    wheel = tmp_path / "torch-2.13.0-py3-none-any.whl"
    wheel.write_bytes(wheel_bytes("2.13.0", package_files("2.13.0") | installed))
    for inputs in (from_source_path(tree), from_source_path(package.joinpath(*PACKAGED)), from_wheel(wheel)):
        assert name in inputs.names()
        read = inputs.read_optional(name)
        assert read is not None
        assert read.text == text
    alone = from_source_path(write_files(tmp_path / "mine", ATEN))
    assert name not in alone.names()
    assert alone.read_optional(name) is None


def test_an_edited_header_of_formula_helpers_is_noticed(tmp_path: Path) -> None:
    """It is among the files that a later run compares."""
    tree = write_source_tree(tmp_path)
    write_files(tree, {"torch/csrc/autograd/FunctionsManual.h": "Tensor twice(Tensor grad);\n"})
    places = from_source_path(tree).paths()
    assert places is not None
    assert str(tree / "torch" / "csrc" / "autograd" / "FunctionsManual.h") in places.files


@pytest.mark.parametrize(("module", "spec"), [("fetch", "2.13.0"), ("wheel_store", "torch.whl")])
def test_the_core_reads_folders_alone(monkeypatch: pytest.MonkeyPatch, module: str, spec: str) -> None:
    """Without the package that reads wheels, a fault says what there is; any other missing module is an error."""
    for name in ("opwright.wheels", f"opwright.wheels.{module}"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(opwright, "__path__", [])
    with pytest.raises(Fault) as caught:
        resolve(spec)
    assert caught.value.diagnostic.code == "E0503"
    assert spec in caught.value.diagnostic.message
    assert "--source-path" in str(caught.value.diagnostic.help)
    monkeypatch.undo()
    monkeypatch.delitem(sys.modules, f"opwright.wheels.{module}", raising=False)
    monkeypatch.delitem(sys.modules, "opwright.wheels.wheel_store", raising=False)
    monkeypatch.setitem(sys.modules, "opwright.wheels.wheel", None)
    with pytest.raises(ModuleNotFoundError):
        resolve(spec)


def test_names_lead_to_members_and_back(tmp_path: Path) -> None:
    """Each input of a wheel has a member, by which it is found again."""
    files = package_files("2.13.0")
    files |= dict.fromkeys(
        ("torch/_native/ops/scaled/aot.py", "torch/_native/ops/scaled/other.py", "torchgen/aoti/fallback_ops.py"), "a"
    )
    files["torch/include/torch/csrc/autograd/FunctionsManual.h"] = "h"
    wheel = from_wheel(wheel_file(tmp_path, files=files))
    more = ("aoti/fallback_ops.py", "autograd/FunctionsManual.h", "native_aot/scaled/aot.py")
    assert wheel.names() == tuple(sorted((*INPUT_NAMES, *more)))
    for name in wheel.names():
        assert name_of(member_of(name)) == name
        assert wheel.read_text(name).text == files[member_of(name)]
    # Members outside the generator's folders are inputs by their paths.
    assert wheel.read_text("torch/version.py").text == files["torch/version.py"]
    assert member_of("torchgen/gen.py") == "torchgen/gen.py"
    assert wheel.read_optional("torch/missing.py") is None
    assert wheel.read_optional("native/missing.yaml") is None


def test_named_files_come_with_their_tree(tmp_path: Path) -> None:
    """Separate paths replace the files of a tree or a package, whose version and other inputs stay."""
    own = write_files(tmp_path / "own", {"ops/mine.yaml": "- func: mine() -> ()\n", "tags.yaml": "- tag: mine\n"})
    tree, site = write_source_tree(tmp_path / "tree"), write_files(tmp_path / "site", package_files("2.13.0+cpu"))
    for autograd, version in (
        (tree / "tools" / "autograd", "2.13.0a0+git12ab"),
        (site / "torchgen" / "packaged" / "autograd", "2.13.0+cpu"),
        (tmp_path / "autograd", None),
    ):
        native, tags = str(own / "ops" / "mine.yaml"), str(own / "tags.yaml")
        inputs = from_files(native, tags, str(autograd), {"autograd/deprecated.yaml": tags})
        assert inputs.version_text == version
        assert inputs.origin == f"the file {native}"
        texts = [inputs.read_text(name).text for name in (NATIVE, "native/tags.yaml", "autograd/deprecated.yaml")]
        assert texts == ["- func: mine() -> ()\n", "- tag: mine\n", "- tag: mine\n"]
        assert inputs.display_path("templates/a.h") == str(own / "templates" / "a.h")
        if version is not None:
            assert inputs.read_text("autograd/derivatives.yaml").text == AUTOGRAD["derivatives.yaml"]


def test_a_folder_of_kernels_that_is_missing_is_a_warning(tmp_path: Path) -> None:
    """The inputs are then those without kernels; with an empty name nothing is said."""
    inputs, sink = from_source_path(write_source_tree(tmp_path)), Diagnostics()
    assert inputs.with_native_aot(None, sink) is inputs
    assert inputs.with_native_aot("", sink).names() == inputs.names()
    assert len(sink) == 0
    assert inputs.with_native_aot(str(tmp_path / "none"), sink).names() == inputs.names()
    assert [diagnostic.code for diagnostic in sink] == ["W0503"]


def test_files_that_cannot_be_read_are_faults(tmp_path: Path) -> None:
    """A member that does not exist, and a folder in place of an input."""
    inputs = from_source_path(write_source_tree(tmp_path))
    with pytest.raises(Fault, match="E0514"):
        inputs.read_member("no.txt")
    assert inputs.missing().diagnostic.code == "E0501"
    assert inputs.member_names("tools/autograd/d") == (
        "tools/autograd/deprecated.yaml",
        "tools/autograd/derivatives.yaml",
    )
    assert inputs.member_names("version") == ("version.txt",)
