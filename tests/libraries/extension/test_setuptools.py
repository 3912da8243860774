"""Packages that setuptools builds: what is generated, compiled and installed. A program replaces the compiler."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
from email import message_from_string
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from zipfile import ZipFile

import pytest
from setuptools import Distribution, Extension
from setuptools.errors import CompileError

from opwright.libraries.extension.generated import GeneratedCode, update_code
from opwright.libraries.extension.project import write_project
from opwright.libraries.extension.toolchain import first_error, needs_cpp_library
from opwright.setuptools import BuildOperators, OperatorExtension, _add_flags, _keep_order_of_sources, _leave_out_python
from opwright.source.text import SourceFile
from tests.libraries.extension.compiler import FakeCompiler

pytestmark = pytest.mark.thorough

YAML = """\
namespace: acme
operators:
  - func: scale(Tensor self, float factor) -> Tensor
    doc: Multiply.
    dispatch:
      CPU: scale
"""
#: The head of a library with the stable interface, from the release on that it names.
STABLE = """\
abi: stable
torch: ">=2.11"
"""
#: The series of the PyTorch that builds.
SERIES = ".".join(version("torch").split(".")[:2])
SETUP = """\
from opwright.setuptools import operator_library
from setuptools import setup

setup(**operator_library("acme_ops", yaml="acme.yaml", sources=["csrc/kernels.cpp"]))
"""
BACKEND = """\
backend: PrivateUse1
display_name: Acme
cpp_namespace: acme
supported:
- abs
"""
BACKEND_SETUP = """\
from opwright.setuptools import backend
from setuptools import setup

setup(**backend("acme_ops", yaml="device.yaml", sources=["csrc/kernels.cpp"]))
"""
PROJECT = """\
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"

[project]
name = "acme-ops"
version = "1.0"

[tool.setuptools]
packages = ["acme_ops"]
package-dir = { acme_ops = "python/acme_ops" }
"""


class Project:
    """A project with an operator, and the compiler that builds it."""

    def __init__(self, folder: Path, compiler: FakeCompiler) -> None:
        self.folder = folder
        self.compiler = compiler
        self.path = os.environ.get("PATH", os.defpath)
        texts = {"acme.yaml": YAML, "setup.py": SETUP, "pyproject.toml": PROJECT, "python/acme_ops/__init__.py": ""}
        for name, text in {**texts, "csrc/kernels.cpp": "#include <acme/kernels.h>\n"}.items():
            self.write(name, text)

    def write(self, name: str, text: str) -> None:
        """Write a file of the project."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run Python in the project."""
        program = str(self.compiler.path)
        environment = {
            **os.environ,
            "PATH": self.path,
            "CXX": program,
            "LDCXXSHARED": f"{program} -shared",
            "LDSHARED": f"{program} -shared",
            "TORCH_DONT_CHECK_COMPILER_ABI": "1",
            # Otherwise PyTorch puts a compiler cache, where one is installed, before the compiler.
            "TORCH_NO_COMPILER_WRAPPER": "1",
        }
        return subprocess.run(
            [sys.executable, *words], cwd=self.folder, env=environment, capture_output=True, text=True, check=False
        )

    def build(self) -> list[str]:
        """Build in place, and give what was compiled."""
        done = self.run("setup.py", "build_ext", "--inplace")
        assert done.returncode == 0, done.stderr
        return self.compiler.calls()

    def package(self, kind: str) -> Path:
        """Build a distribution as pip does."""
        call = f"import setuptools.build_meta as backend; print(backend.build_{kind}('dist'))"
        done = self.run("-c", call)
        assert done.returncode == 0, done.stderr
        return self.folder / "dist" / done.stdout.split()[-1]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """The project, with its compiler beside it."""
    return Project(tmp_path / "project", FakeCompiler(tmp_path))


def test_edits_compile_what_they_touch(project: Project) -> None:
    """A build compiles kernels and generated code; afterwards, what an edit changes and nothing else."""
    assert project.build() == [".so", "kernels.o", "register_0.o"]
    assert project.build() == []
    package = project.folder / "python" / "acme_ops"
    assert "Multiply." in (package / "_ops.py").read_text()
    # A text for users is in Python alone.
    project.write("acme.yaml", YAML.replace("Multiply.", "Scale."))
    assert project.build() == []
    assert "Scale." in (package / "_ops.py").read_text()
    # A tag changes no declaration.
    project.write("acme.yaml", YAML.replace("    doc: Multiply.\n", "    tags: pointwise\n"))
    assert project.build() == [".so", "register_0.o"]
    project.write("csrc/kernels.cpp", "#include <acme/kernels.h>\nint x;\n")
    assert project.build() == [".so", "kernels.o"]
    project.write("acme.yaml", YAML.replace("float factor", "int factor"))
    assert project.build() == [".so", "kernels.o", "register_0.o"]


def test_wheel_has_library_and_modules(project: Project) -> None:
    """A wheel has the shared object and the generated modules, and is for every version of Python."""
    wheel = project.package("wheel")
    assert wheel.name.startswith("acme_ops-1.0-py3-none-")
    names = ZipFile(wheel).namelist()
    assert {name for name in names if name.startswith("acme_ops/")} == {
        "acme_ops/_C.so",
        "acme_ops/cmake/acme-config.cmake",
        "acme_ops/__init__.py",
        "acme_ops/_cache_keys.py",
        "acme_ops/_load.py",
        "acme_ops/_ops.py",
        "acme_ops/include/acme/ops.h",
        "acme_ops/py.typed",
    }


def contents(wheel: Path) -> dict[str, bytes]:
    """The files of the package in a wheel."""
    with ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist() if name.startswith("acme_ops/")}


WITH_AUTOCAST = STABLE + YAML + "    autocast: fp32\n"


def test_wheels_are_those_of_fresh_builds(project: Project, tmp_path: Path) -> None:
    """What is no longer generated leaves the build and the sources; what someone edited in them is restored."""
    fresh = Project(tmp_path / "fresh", project.compiler)
    project.write("acme.yaml", WITH_AUTOCAST)
    assert "acme_ops/_autocast.py" in contents(project.package("wheel"))
    fresh.write("acme.yaml", STABLE + YAML)
    wanted = contents(fresh.package("wheel"))
    for path in [*project.folder.glob("build/**/_ops.py"), *project.folder.glob("build/**/stable_ops.h")]:
        path.write_text(path.read_text() + "edited\n")
    project.write("acme.yaml", STABLE + YAML)
    assert contents(project.package("wheel")) == wanted
    # A build in place leaves generated files beside the sources, which other builds copy.
    source = project.folder / "python/acme_ops/_autocast.py"
    for finish in ("editable", "wheel"):
        project.write("acme.yaml", WITH_AUTOCAST)
        project.package("editable")
        assert source.exists()
        project.write("acme.yaml", STABLE + YAML)
        result = project.package(finish)
        assert finish == "editable" or contents(result) == wanted
        assert source.exists() == (finish == "wheel")
    # What a user puts there is the user's.
    source.write_text("mine = True\n")
    project.package("editable")
    source.write_text("mine = True\n")
    project.package("editable")
    assert source.read_text() == "mine = True\n"


def test_shared_object_is_linked_again_without_a_source(project: Project) -> None:
    """A source that leaves the project leaves the shared object too."""
    project.write("csrc/more.cpp", "int more;\n")
    project.write("setup.py", SETUP.replace('"csrc/kernels.cpp"', '"csrc/kernels.cpp", "csrc/more.cpp"'))
    project.build()
    project.write("setup.py", SETUP)
    assert project.build() == [".so"]
    assert project.build() == []


@pytest.mark.parametrize("ninja", [True, False])
def test_edits_of_included_headers_compile(project: Project, tmp_path: Path, ninja: bool) -> None:
    """A header that a source includes is seen, with Ninja and without."""
    project.write("csrc/acme_more.h", "")
    project.write("csrc/kernels.cpp", "#include <acme/kernels.h>\n#include <acme_more.h>\n")
    project.write("setup.py", SETUP.replace('"csrc/kernels.cpp"]', '"csrc/kernels.cpp"], include_dirs=["csrc"]'))
    if not ninja:
        project.path = str(tmp_path / "no programs")
    assert project.build() == [".so", "kernels.o", "register_0.o"]
    project.write("csrc/acme_more.h", "int x;\n")
    assert {".so", "kernels.o"} <= set(project.build())


def required(distribution: Path) -> list[str]:
    """What the metadata of a wheel or of a source distribution require."""
    if distribution.suffix == ".whl":
        [path] = [name for name in ZipFile(distribution).namelist() if name.endswith(".dist-info/METADATA")]
        text = ZipFile(distribution).read(path).decode()
    else:
        with tarfile.open(distribution) as archive:
            file = archive.extractfile("acme_ops-1.0/PKG-INFO")
            assert file is not None
            text = file.read().decode()
    return sorted(message_from_string(text).get_all("Requires-Dist", []))


DEPENDENCIES = """\
dependencies = ["torch>=2.10; python_version>'3'", "torchvision", "numpy>=2"]
optional-dependencies = { test = ["torch>=2.11"] }
"""


@pytest.mark.parametrize(("head", "releases"), [("", f"=={SERIES}.*,>=2.10"), (STABLE, ">=2.10,>=2.11")])
def test_wheel_requires_the_releases_that_it_is_for(project: Project, head: str, releases: str) -> None:
    """A native wheel requires the series it was built with, a stable one its oldest release; nothing else changes.

    Source distributions, which any PyTorch builds, require what the project does.
    """
    project.write("pyproject.toml", PROJECT.replace('version = "1.0"\n', 'version = "1.0"\n' + DEPENDENCIES))
    project.write("acme.yaml", head + YAML)
    others = ["numpy>=2", 'torch>=2.11; extra == "test"', "torchvision"]
    assert required(project.package("wheel")) == sorted([*others, f'torch{releases}; python_version > "3"'])
    assert required(project.package("sdist")) == sorted([*others, 'torch>=2.10; python_version > "3"'])


def test_metadata_before_a_build(project: Project) -> None:
    """Installers that ask for metadata before they build get those of the wheel."""
    project.write("pyproject.toml", PROJECT.replace('version = "1.0"\n', 'version = "1.0"\ndependencies = ["torch"]\n'))
    done = project.run("-c", "import setuptools.build_meta as backend; backend.prepare_metadata_for_build_wheel('.')")
    assert done.returncode == 0, done.stderr
    [path] = project.folder.glob("*.dist-info/METADATA")
    assert message_from_string(path.read_text()).get_all("Requires-Dist") == [f"torch=={SERIES}.*"]
    assert not project.compiler.calls()


def test_wheel_for_another_release(project: Project) -> None:
    """A project that requires another PyTorch than the one that builds it is told so, without a traceback."""
    lines = 'version = "1.0"\ndependencies = ["torch==1.13.*"]\n'
    project.write("pyproject.toml", PROJECT.replace('version = "1.0"\n', lines))
    done = project.run("setup.py", "bdist_wheel")
    assert done.returncode == 1
    assert "error[E1209]: the project requires `torch==1.13.*`, and it is built with PyTorch 2" in done.stderr
    assert "Traceback" not in done.stderr


def test_editable_install_reuses_objects(project: Project) -> None:
    """An editable install puts the same files beside the sources, and compiles only once."""
    project.package("editable")
    assert project.compiler.calls() == [".so", "kernels.o", "register_0.o"]
    package = project.folder / "python" / "acme_ops"
    names = {path.name for path in package.iterdir()}
    assert names == {"_C.so", "__init__.py", "_cache_keys.py", "_load.py", "_ops.py", "cmake", "include", "py.typed"}
    project.package("editable")
    assert "kernels.o" not in project.compiler.calls()


def test_an_edit_is_built_without_pytorch(project: Project) -> None:
    """After an edit, a build repeats the commands of the last one, if setup.py and the environment ask for the same."""

    def built(*, imports_torch: bool) -> list[str]:
        done = project.run(
            "-c",
            "import runpy, sys; sys.argv[:] = ['setup.py', 'build_ext', '--inplace']; runpy.run_path('setup.py'); "
            "print('torch' in sys.modules)",
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.split()[-1] == str(imports_torch)
        return project.compiler.calls()

    project.package("editable")
    project.compiler.calls()
    project.write("csrc/kernels.cpp", "#include <acme/kernels.h>\nint x;\n")
    assert built(imports_torch=False) == [".so", "kernels.o"]
    assert built(imports_torch=False) == []
    project.write("acme.yaml", YAML.replace("    doc: Multiply.\n", "    tags: pointwise\n"))
    assert built(imports_torch=False) == [".so", "register_0.o"]
    project.write("setup.py", SETUP.replace('"csrc/kernels.cpp"]', '"csrc/kernels.cpp"], extra_compile_args=["-DX"]'))
    assert built(imports_torch=True) == [".so", "kernels.o", "register_0.o"]
    project.write("csrc/more.cpp", "int more;\n")
    project.write("setup.py", SETUP.replace('"csrc/kernels.cpp"', '"csrc/kernels.cpp", "csrc/more.cpp"'))
    assert ".o" in built(imports_torch=True)
    project.write("csrc/kernels.cpp", "FAULTY\n")
    told = project.run("setup.py", "build_ext", "--inplace").stderr
    assert "the first error of the C++ compiler:\n\n<inline cpp>:2:3: error: 'FAULTY'" in told
    assert "Traceback" not in told
    project.compiler.calls()
    project.write("csrc/kernels.cpp", "#include <acme/kernels.h>\n")
    assert built(imports_torch=False) == [".so", "kernels.o"]


@pytest.mark.parametrize("damage", ["", "rule nonsense\n", "# nothing\n"])
def test_commands_that_cannot_be_repeated_are_made_anew(project: Project, damage: str) -> None:
    """A build without the file of Ninja, or with another one, makes it again, and compiles what was edited."""
    project.build()
    (path,) = (project.folder / "build").glob("temp*/build.ninja")
    if damage:
        path.write_text(damage)
    else:
        path.unlink()
    project.write("csrc/kernels.cpp", "#include <acme/kernels.h>\nint x;\n")
    assert project.build() == [".so", "kernels.o"]
    next(path.parent.glob("**/kernels.o")).unlink()
    assert project.build() == [".so", "kernels.o"]


def test_a_project_that_moves_is_built_there(project: Project, tmp_path: Path) -> None:
    """The commands of a build folder are not repeated where they name another folder."""
    project.build()
    project.folder = project.folder.rename(tmp_path / "moved")
    project.write("csrc/kernels.cpp", "#include <acme/kernels.h>\nint x;\n")
    assert "kernels.o" in project.build()


@pytest.mark.parametrize("name", ["csrc/kernels.cpp", "csrc/acme_more.h"])
def test_a_restored_file_is_compiled(project: Project, name: str) -> None:
    """A source or a header that comes back with its old time, as from version control, is compiled again."""
    project.write("csrc/acme_more.h", "// first\n")
    project.write("setup.py", SETUP.replace('"csrc/kernels.cpp"]', '"csrc/kernels.cpp"], include_dirs=["csrc"]'))
    project.write("csrc/kernels.cpp", "#include <acme/kernels.h>\n#include <acme_more.h>\n")
    path = project.folder / name
    old = path.read_text()
    os.utime(path, (1_500_000_000, 1_500_000_000))
    project.build()
    path.write_text(f"{old}// second\n")
    assert project.build() == [".so", "kernels.o"]
    project.write("old", old)
    os.utime(project.folder / "old", (1_500_000_000, 1_500_000_000))
    (project.folder / "old").rename(path)
    assert project.build() == [".so", "kernels.o"]
    assert project.build() == []


@pytest.mark.parametrize("name", ["python/acme_ops/_ops.py", "tests/test_acme.py"])
def test_a_source_is_never_replaced(project: Project, name: str) -> None:
    """A generated file that has the name of a source ends the build before it compiles, whatever earlier builds did."""
    project.write("setup.py", SETUP.replace('"csrc/kernels.cpp"]', '"csrc/kernels.cpp"], tests="tests"'))
    project.write("acme.yaml", YAML + "    samples:\n    - torch.ones(2), 3.0\n")
    project.write("python/acme_ops/py.typed", "partial\n")
    for text in ("# Not generated by opwright.\n", "# Fakes.\n"):
        if text == "# Fakes.\n":
            (project.folder / name).unlink()
            project.build()
        project.write(name, text)
        done = project.run("setup.py", "build_ext", "--inplace")
        assert done.returncode != 0
        assert "error[E1212]" in done.stderr
        assert name in done.stderr
        assert "Traceback" not in done.stderr
        assert project.compiler.calls() == []
        assert (project.folder / name).read_text() == text
    assert (project.folder / "python/acme_ops/py.typed").read_text() == "partial\n"


def test_the_source_of_a_wheel_is_never_replaced(project: Project) -> None:
    """A wheel is made from the build folder, whose copy of a source is safe too; another package has room for both."""
    project.write("python/acme_ops/_ops.py", "# Fakes.\n")
    call = "import setuptools.build_meta as backend; backend.build_wheel('dist')"
    done = project.run("-c", call)
    assert done.returncode != 0
    assert "error[E1212]" in done.stderr
    project.write("setup.py", SETUP.replace('"acme_ops"', '"acme_ops._generated"'))
    names = contents(project.package("wheel"))
    assert names["acme_ops/_ops.py"] == b"# Fakes.\n"
    assert b"Generated by opwright" in names["acme_ops/_generated/_ops.py"]
    assert "acme_ops/_generated/_C.so" in names


def test_a_package_of_generated_files_needs_no_folder(project: Project) -> None:
    """A build in place makes the folder of a package in one of the project; a misspelt one is a mistake."""
    project.write("python/acme_ops/layers/__init__.py", "")
    project.write("pyproject.toml", PROJECT.replace('["acme_ops"]', '["acme_ops", "acme_ops.layers"]'))
    for package in ("acme_ops.layer", "acme.generated"):
        project.write("setup.py", SETUP.replace('"acme_ops"', f'"{package}"'))
        assert f"error[E1214]: no package `{package}`" in project.run("setup.py", "build_ext", "--inplace").stderr
    project.write("setup.py", SETUP.replace('"acme_ops"', '"acme_ops.generated"'))
    assert project.build() == [".so", "kernels.o", "register_0.o"]
    folder = project.folder / "python" / "acme_ops" / "generated"
    assert {"_C.so", "_ops.py"} <= {path.name for path in folder.iterdir()}


def test_generated_tests_are_beside_others(project: Project) -> None:
    """A build in place puts generated tests into the folder that the option names."""
    project.write("setup.py", SETUP.replace('"csrc/kernels.cpp"]', '"csrc/kernels.cpp"], tests="tests"'))
    project.write("acme.yaml", YAML + "    samples:\n    - torch.ones(2), 3.0\n")
    project.build()
    assert "lambda: call(torch.ones(2), 3.0)" in (project.folder / "tests" / "test_acme.py").read_text()


def test_source_distribution_has_inputs(project: Project) -> None:
    """A source distribution has the library file and the sources, and nothing that was generated."""
    project.build()
    with tarfile.open(project.package("sdist")) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"acme.yaml", "csrc/kernels.cpp", "setup.py", "pyproject.toml"} <= names
    assert not [name for name in names if "register" in name]


def test_mistakes_are_reported(project: Project) -> None:
    """A mistake in the library file ends the build with its diagnostic, without a traceback."""
    project.write("acme.yaml", YAML.replace("Tensor self", "Tensr self"))
    done = project.run("setup.py", "build_ext", "--inplace")
    assert done.returncode == 1
    assert "error: the operator library acme_ops._C has mistakes" in done.stderr
    assert "--> acme.yaml:3:" in done.stderr
    assert "Traceback" not in done.stderr
    assert project.compiler.calls() == []


def test_kernels_of_other_types_are_reported(project: Project) -> None:
    """A source that defines a kernel with other types than its schema ends the build before anything is compiled."""
    other = "namespace acme::native { at::Tensor scale(const at::Tensor& self, double factor, bool twice) {} }\n"
    project.write("csrc/kernels.cpp", f"#include <acme/kernels.h>\n{other}")
    done = project.run("setup.py", "build_ext", "--inplace")
    assert done.returncode == 1
    assert "error[E1210]: `acme::native::scale` is wanted as `at::Tensor (const at::Tensor &, double)`" in done.stderr
    assert "--> acme.yaml:6:12" in done.stderr
    assert "::: csrc/kernels.cpp:2:26" in done.stderr
    assert "Traceback" not in done.stderr
    assert project.compiler.calls() == []
    # A library that is linked may define the kernel as well.
    project.write("setup.py", SETUP.replace("sources=", 'libraries=["m"], sources='))
    assert "register_0.o" in project.build()


def test_backend_is_built(project: Project) -> None:
    """A package with a backend is built from its backend file, and from library files if there are any."""
    project.write("setup.py", BACKEND_SETUP)
    project.write("device.yaml", BACKEND)
    assert project.build() == [".o", ".so", "kernels.o"]
    (registrations,) = project.folder.glob("build/**/RegisterAcme.cpp")
    assert "wrapper_Acme__abs" in registrations.read_text()
    assert registrations.with_name("AcmeNativeFunctions.h").exists()
    project.write("setup.py", BACKEND_SETUP.replace('"device.yaml",', '"device.yaml", libraries=["acme.yaml"],'))
    assert project.build() == [".so", "register_0.o"]
    assert "Multiply." in (project.folder / "python" / "acme_ops" / "_ops.py").read_text()


def test_build_does_not_load_the_backend(project: Project) -> None:
    """A build works before there is anything that PyTorch can load when it is imported."""
    project.write("setup.py", BACKEND_SETUP)
    project.write("device.yaml", BACKEND)
    project.write("acme_ops.egg-info/entry_points.txt", "[torch.backends]\nacme = acme_ops:autoload\n")
    project.write("acme_ops.egg-info/PKG-INFO", "Metadata-Version: 2.1\nName: acme-ops\nVersion: 1.0\n")
    loaded = project.run("-c", "import torch")
    assert "Failed to load the backend extension: acme" in loaded.stderr
    assert project.build() == [".o", ".so", "kernels.o"]


def test_mistakes_of_backends_are_reported(project: Project) -> None:
    """A mistake in the backend file ends the build with its diagnostic."""
    project.write("setup.py", BACKEND_SETUP)
    project.write("device.yaml", BACKEND.replace("abs", "abz"))
    done = project.run("setup.py", "build_ext", "--inplace")
    assert done.returncode == 1
    assert "error: the backend acme_ops._C has mistakes" in done.stderr
    assert "--> device.yaml:5:" in done.stderr


@pytest.mark.parametrize(
    ("word", "error"),
    [
        ("FAULTY", "<inline cpp>:2:3: error: 'FAULTY' was not declared in this scope"),
        ("UNDEFINED", "undefined reference to `acme::native::scale(at::Tensor const&, double)'"),
    ],
)
def test_errors_of_the_compiler_end_the_build(project: Project, word: str, error: str) -> None:
    """The last lines are the first error of the compiler or the linker, without a traceback, after their output."""
    project.write("csrc/kernels.cpp", f"#include <acme/kernels.h>\n{word}\n")
    done = project.run("setup.py", "build_ext", "--inplace")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    told = done.stderr[done.stderr.index("error: the first error of the C++ compiler:") :]
    assert error in told
    assert error in done.stdout + done.stderr.replace(told, "")


def test_the_header_of_a_name_is_named(tmp_path: Path) -> None:
    """Without the headers of a function, a class and operators, the lines that the error adds make a source compile."""
    folder = Path(find_spec("torch").origin or "").parent / "include"  # type: ignore[union-attr]
    source = tmp_path / "kernels.cpp"
    text = "at::Tensor fresh() { at::TensorIterator iterator; return 2.0 * at::empty({2}, at::kFloat); }\n"
    source.write_text(f"#include <ATen/core/Tensor.h>\n{text}")
    call = ["c++", "-std=c++20", "-fsyntax-only", "-DAT_PER_OPERATOR_HEADERS", f"-I{folder}", str(source)]
    added = []
    while (failed := subprocess.run(call, capture_output=True, text=True, check=False)).returncode:
        told = re.search(r"Add `(#include <.*?>)`\.$", first_error(failed.stderr) or "")
        assert told is not None, failed.stderr
        added.append(told[1])
        source.write_text("\n".join(["#include <ATen/core/Tensor.h>", *added, text]))
    assert {"#include <ATen/ops/empty.h>", "#include <ATen/TensorOperators.h>"} <= set(added)


def test_openmp_of_the_compiler_alone(tmp_path: Path) -> None:
    """Where the compiler has `-fopenmp` and the linker has not, the error of the linker says what it needs."""
    source, compiler = tmp_path / "sums.cpp", ["c++", "-shared", "-fPIC", "-Wl,--no-undefined", "-o"]
    source.write_text(
        "void each(int n, int* to) {\n#pragma omp parallel for\n  for (int i = 0; i < n; ++i) to[i] = i;\n}\n"
    )
    subprocess.run(["c++", "-c", "-fPIC", "-fopenmp", source, "-o", tmp_path / "sums.o"], check=True)
    link = [*compiler, str(tmp_path / "sums.so"), str(tmp_path / "sums.o")]
    failed = subprocess.run(link, capture_output=True, text=True, check=False)
    told = first_error(failed.stderr)
    assert failed.returncode
    assert told is not None
    added = re.search(r"write `extra_link_args=\[\"(.*?)\"\]`", told)
    assert added is not None
    subprocess.run([*link, added[1]], check=True)


def test_a_kernel_in_another_namespace(tmp_path: Path) -> None:
    """The error of the linker says in which namespace a kernel is missing, as the header declares it."""
    source = tmp_path / "kernels.cpp"
    declared = "namespace acme { namespace native { double scale(const double& x); } }\n"
    source.write_text(
        declared
        + "namespace acme { double scale(const double& x) { return x; } }\nint main() { acme::native::scale(1); }\n"
    )
    failed = subprocess.run(["c++", str(source), "-o", tmp_path / "out"], capture_output=True, text=True, check=False)
    told = first_error(failed.stderr)
    assert failed.returncode
    assert told is not None
    namespace = told.rpartition("namespace `")[2].partition("`")[0]
    source.write_text(source.read_text().replace("namespace acme { double", f"namespace {namespace} {{ double"))
    subprocess.run(["c++", "-std=c++17", str(source), "-o", tmp_path / "out"], check=True)


def test_errors_in_generated_code_lead_to_the_entry(project: Project) -> None:
    """An expression of an entry that the compiler refuses is an error at that entry, also one of a derivative."""
    head = YAML.replace("operators:", "derivatives: derivatives.yaml\noperators:")
    picking = "  - func: pick(Tensor self) -> Tensor\n    dispatch: {CPU: [{kernel: one, when: MISPLACED > 2}, two]}\n"
    project.write("acme.yaml", head + picking)
    project.write("derivatives.yaml", "- name: scale(Tensor self, float factor) -> Tensor\n  self: grad * factor\n")
    told = project.run("setup.py", "build_ext", "--inplace").stderr
    assert "in code that is generated from `pick`, acme.yaml:8:" in told
    project.write("acme.yaml", head + picking.replace("MISPLACED", "self.dim()"))
    project.write("derivatives.yaml", "- name: scale(Tensor self, float factor) -> Tensor\n  self: MISPLACED(grad)\n")
    told = project.run("setup.py", "build_ext", "--inplace").stderr
    assert "in code that is generated from `scale`, acme.yaml:4:" in told


def test_missing_pytorch_is_reported(project: Project) -> None:
    """Without PyTorch, what needs no compiler works, and a build says what to do."""
    listed = project.run(
        "-c",
        "import sys, runpy; sys.modules['torch'] = None; sys.argv[:] = ['setup.py', '--name']; "
        "runpy.run_path('setup.py')",
    )
    assert listed.stdout.split() == ["acme-ops"]
    built = project.run(
        "-c",
        "import sys, runpy; sys.modules['torch'] = None; sys.argv[:] = ['setup.py', 'build_ext']; "
        "runpy.run_path('setup.py')",
    )
    assert "error[E1201]: PyTorch cannot be imported" in built.stderr
    assert "Traceback" not in built.stderr


def test_folders_of_headers_are_those_of_the_project() -> None:
    """Folders that `setup.py` names are found from the folder in which Ninja runs, before all others."""
    extension = OperatorExtension("acme_ops._C", ["acme.yaml"], ["csrc/kernels.cpp"], include_dirs=["csrc"])
    _add_flags(extension, GeneratedCode("include", (), (), (), ()), abi=1)
    assert extension.include_dirs[0] == str(Path("csrc").resolve())


PROJECTS = Path(__file__).parents[2] / "cuda" / "project"
CODE = GeneratedCode("include", (), (), (), ())


@pytest.fixture
def builder(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module of PyTorch that makes extensions, with a PyTorch for CUDA."""
    monkeypatch.setattr(pytest.importorskip("torch").version, "cuda", "13.0")
    return importlib.import_module("torch.utils.cpp_extension")


def test_cuda_sources_need_cuda(builder: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without CUDA, a build with a CUDA source ends with one sentence about what to do."""
    extension = OperatorExtension("acme_ops._C", ["acme.yaml"], ["csrc/a.cpp", "csrc/scale.cu"])
    monkeypatch.setattr(builder, "CUDA_HOME", None)
    with pytest.raises(CompileError, match=r"csrc/scale\.cu is compiled where CUDA is .*: set CUDA_HOME"):
        _add_flags(extension, CODE, abi=1)
    monkeypatch.setattr("torch.version.cuda", None)
    with pytest.raises(CompileError, match=r"csrc/scale\.cu needs a PyTorch for CUDA, and the installed one is for"):
        _add_flags(extension, CODE, abi=1)


def test_cuda_sources_are_those_that_pytorch_makes(builder: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch gets the sources and the folders of headers, and may give others: for ROCm, it translates them."""

    def translated(name: str, sources: list[str], include_dirs: list[str]) -> Extension:
        assert include_dirs == ["csrc"]
        hip = [source.replace(".cu", ".hip") for source in sources]
        return Extension(name, hip, include_dirs=[*include_dirs, "/rocm"], libraries=["c10_hip", "torch_python"])

    monkeypatch.setattr(builder, "CUDAExtension", translated)
    extension = OperatorExtension("acme_ops._C", ["acme.yaml"], ["csrc/a.cpp", "csrc/scale.cu"], include_dirs=["csrc"])
    _add_flags(extension, CODE, abi=1)
    assert extension.sources == ["csrc/a.cpp", "csrc/scale.hip"]
    assert extension.libraries == ["c10_hip"]
    assert extension.include_dirs[0] == os.path.abspath("csrc")
    assert extension.include_dirs[-1] == "/rocm"
    assert "csrc" not in extension.include_dirs


@pytest.mark.parametrize(
    ("abi", "differing"), [("native", ["c10/cuda/CUDAGuard.h", "c10/hip/HIPGuard.h"]), ("stable", [])]
)
def test_generated_sources_for_rocm(tmp_path: Path, abi: str, differing: list[str]) -> None:
    """What is generated for ROCm is what is for CUDA, but for the header of guards that structured kernels need."""
    pytest.importorskip("torch")
    files = [SourceFile.read(PROJECTS / f"{abi}.yaml")]
    written = []
    for rocm in (False, True):
        code = update_code(files, str(tmp_path / str(rocm)), rocm=rocm)
        written.append(
            [line for path in (*code.sources, *code.headers) for line in Path(path).read_text().splitlines()]
        )
    changes = [pair for pair in zip(*written, strict=True) if pair[0] != pair[1]]
    assert [line for pair in changes for line in pair] == [f"#include <{header}>" for header in differing]


def test_kernels_of_new_projects_are_translated_for_rocm(tmp_path: Path) -> None:
    """PyTorch's translator finds HIP's header for each of CUDA that the kernel of a new project names, and its launch.

    No compiler of ROCm reads what it makes.
    """
    translator = pytest.importorskip("torch.utils.hipify.hipify_python")
    write_project("library", "acme_ops", str(tmp_path), force=False, cuda=True)
    source = str(tmp_path / "csrc" / "kernels_cuda.cu")
    translator.hipify(
        project_directory=str(tmp_path),
        output_directory=str(tmp_path),
        includes=[f"{tmp_path}/*"],
        extra_files=[source],
        is_pytorch_extension=True,
        hipify_extra_files_only=True,
    )
    [translated] = tmp_path.rglob("*.hip")
    before, after = Path(source).read_text(), translated.read_text()
    included = re.compile(r"#include <(.*(?:cuda|CUDA|hip|HIP).*)>")
    assert included.findall(before) == ["c10/cuda/CUDAException.h", "c10/cuda/CUDAStream.h"]
    assert included.findall(after)[-2:] == ["c10/hip/HIPException.h", "c10/hip/HIPStream.h"]
    assert (before.count("<<<"), after.count("<<<"), after.count("hipLaunchKernelGGL")) == (1, 0, 1)


def test_flags_of_the_other_compiler_are_not_given_to_nvcc(
    builder: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Flags of the author go to both compilers, and those that Opwright adds for C++ to the one of C++ alone."""
    monkeypatch.setattr(builder, "CUDAExtension", lambda name, sources, **_: Extension(name, sources))
    sources, flags = ["csrc/a.cpp", "csrc/scale.cu"], ["-DFAST"]
    extension = OperatorExtension("acme_ops._C", ["acme.yaml"], sources, extra_compile_args=flags)
    _add_flags(extension, CODE, abi=1)
    assert extension.extra_compile_args == {"cxx": ["-g0", "-DFAST"], "nvcc": ["-DFAST"]}
    assert ("USE_CUDA", None) in extension.define_macros


@pytest.mark.parametrize(
    ("sources", "debug", "macros"),
    [
        (["stable.cpp", "stable_cuda.cu"], True, ["OPWRIGHT_CHECK_LAUNCHES"]),
        (["stable.cpp", "stable_cuda.cu"], None, []),
        (["stable.cpp"], True, []),
    ],
)
def test_debug_builds_check_launches(tmp_path: Path, sources: list[str], debug: bool | None, macros: list[str]) -> None:
    """`build_ext --debug` defines the macro where there are sources in CUDA."""
    pytest.importorskip("torch")
    command = BuildOperators(Distribution())
    command.initialize_options()
    command.build_temp, command.debug = str(tmp_path), debug
    paths = [str(PROJECTS / "csrc" / source) for source in sources]
    extension = OperatorExtension("acme_ops._C", [str(PROJECTS / "stable.yaml")], paths, extra_objects=["other.o"])
    command._generate(extension)
    assert [name for name, _ in extension.define_macros if name.startswith("OPWRIGHT")] == macros


def test_device_code_is_linked(builder: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `dlink`, the commands that link device code are those that PyTorch makes, after the author's."""
    monkeypatch.setattr(builder, "CUDA_HOME", "/usr/local/cuda")
    monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", "9.0")
    options = {"dlink": True, "dlink_libraries": ["parts"], "extra_compile_args": {"nvcc": ["-rdc=true"]}}
    extension = OperatorExtension("acme_ops._C", ["acme.yaml"], ["csrc/a.cpp", "csrc/scale.cu"], **options)
    _add_flags(extension, CODE, abi=1)
    made = builder.CUDAExtension("acme_ops._C", [], dlink=True, dlink_libraries=["parts"]).extra_compile_args
    assert "-lparts" in made["nvcc_dlink"]
    assert extension.extra_compile_args == {"cxx": ["-g0"], "nvcc": ["-rdc=true"], "nvcc_dlink": made["nvcc_dlink"]}


def test_sources_of_one_object_are_refused() -> None:
    """Two sources that differ in their suffix alone would overwrite each other's object file."""
    pytest.importorskip("torch.utils.cpp_extension")
    extension = OperatorExtension("acme_ops._C", ["acme.yaml"], ["csrc/scale.cpp", "csrc/scale.cu"])
    with pytest.raises(CompileError, match=r"csrc/scale\.cpp and csrc/scale\.cu would be one object file: rename one"):
        _add_flags(extension, CODE, abi=1)


def test_architectures_are_named_where_there_is_no_gpu(builder: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch asks the GPUs for their architectures; where there is none, the sentence says what to set."""
    monkeypatch.setattr(builder, "CUDA_HOME", "/usr/local/cuda")
    monkeypatch.delenv("TORCH_CUDA_ARCH_LIST", raising=False)
    extension = OperatorExtension("acme_ops._C", ["acme.yaml"], ["csrc/a.cpp", "csrc/scale.cu"])
    with pytest.raises(CompileError, match="set TORCH_CUDA_ARCH_LIST to theirs"):
        _add_flags(extension, CODE, abi=1)


@pytest.mark.skipif(sys.platform != "linux" or shutil.which("g++") is None, reason="GCC links for Linux")
@pytest.mark.parametrize("flag", ["", "-static-libstdc++"])
def test_a_static_cpp_library_is_seen(tmp_path: Path, flag: str) -> None:
    """A shared object with the C++ library in it is told from one that needs the shared one."""
    text = "#include <sstream>\nstd::string shown(int n) { std::ostringstream text; text << n; return text.str(); }\n"
    (tmp_path / "a.cpp").write_text(text)
    command = ["g++", "-shared", "-fPIC", *filter(None, [flag]), str(tmp_path / "a.cpp"), "-o", str(tmp_path / "a.so")]
    subprocess.run(command, check=True)
    assert needs_cpp_library(str(tmp_path / "a.so")) is not bool(flag)


def test_python_is_left_out_of_shared_objects() -> None:
    """`<torch/torch.h>` includes nothing of Python in sources of operators, and does in those of Python modules."""
    torch = pytest.importorskip("torch.utils.cpp_extension")
    command = torch.BuildExtension(Distribution())
    _leave_out_python(command)
    operators = OperatorExtension("acme_ops._C", ["acme.yaml"], ["csrc/a.cpp"])
    module = Extension("acme_ops.module", ["csrc/module.cpp"])
    for extension in (operators, module):
        command._add_compile_flag(extension, "-DTORCH_API_INCLUDE_EXTENSION_H")
        command._add_compile_flag(extension, "-O1")
    assert operators.extra_compile_args == ["-O1"]
    assert module.extra_compile_args == ["-DTORCH_API_INCLUDE_EXTENSION_H", "-O1"]


def test_sources_of_the_author_are_compiled_first() -> None:
    """Sources are compiled in their order, in which generated ones come last; setuptools alone sorts them."""
    command = BuildOperators(Distribution())
    command.swig_cpp, command.swig_opts = False, []
    extension = OperatorExtension("acme._C", ["acme.yaml"], ["csrc/kernels.cpp"])
    extension.sources.append("build/register_0.cpp")
    _keep_order_of_sources(command)
    assert command.swig_sources(sorted(extension.sources), extension) == ["csrc/kernels.cpp", "build/register_0.cpp"]
