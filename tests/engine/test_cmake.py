"""The CMake module, in the example's project: with Ninja and with Make."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import opwright
from tests.engine.project import Project, files_of

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "cmake"
GENERATORS = {"Ninja": "ninja", "Unix Makefiles": "make"}
EACH_GENERATOR = ("Ninja", pytest.param("Unix Makefiles", marks=pytest.mark.thorough))

pytestmark = pytest.mark.skipif(shutil.which("cmake") is None, reason="there is no CMake here")


def run(*words: object) -> str:
    """What a program prints; it must succeed."""
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def configure(folder: Path, project: Project, *words: object) -> list[str]:
    """The command that configures the example over a small project."""
    module = run(sys.executable, "-m", "opwright", "--cmake-dir").strip()
    program = f"{sys.executable};-m;opwright"
    settings = {"INPUTS": project.inputs, "RELEASE": "2.13", "Opwright_DIR": module, "OPWRIGHT_COMMAND": program}
    defined = [f"-D{name}={value}" for name, value in settings.items()]
    return ["cmake", "-S", str(EXAMPLE), "-B", str(folder), *map(str, words), *defined]


@pytest.fixture(params=EACH_GENERATOR)
def build(request: pytest.FixtureRequest, project: Project, tmp_path: Path) -> Path:
    """A configured build of the example over a small project."""
    generator: str = request.param
    if shutil.which(GENERATORS[generator]) is None:
        pytest.skip(f"there is no {GENERATORS[generator]} here")
    folder = tmp_path / "build"
    run(*configure(folder, project, "-G", generator))
    return folder


def test_build_follows_the_entries(build: Path, project: Project) -> None:
    """A build generates; the next does nothing; an edit generates again, and what reads an unchanged header rests."""
    assert "Generating from operators" in run("cmake", "--build", build)
    assert "shifted" in (build / "registrations.txt").read_text()
    idle = run("cmake", "--build", build)
    assert "Generating" not in idle
    assert "Reading" not in idle
    assert "no work to do" in idle or "Built target" in idle
    project.edit("eps=1e-6", "eps=1e-5")
    edited = run("cmake", "--build", build)
    assert "Generating" in edited
    assert "Reading" in edited
    assert "1e-5" in (build / "generated/aten/src/ATen/ops/mean_of.h").read_text()
    project.yaml.write_text(project.yaml.read_text() + "# a comment at the end\n")
    commented = run("cmake", "--build", build)
    assert "Generating" in commented
    assert "Generating" not in run("cmake", "--build", build)
    template = project.inputs / "templates" / "Function.h"
    template.write_text(template.read_text() + "// edited\n")
    assert "Generating" in run("cmake", "--build", build)
    assert "Generating" not in run("cmake", "--build", build)


def test_readers_rest_where_bytes_stay(build: Path, project: Project) -> None:
    """With Ninja, a run that changes no header makes nothing else run."""
    if not (build / "build.ninja").exists():
        pytest.skip("Make looks at the time of the run, not of each file")
    run("cmake", "--build", build)
    project.yaml.write_text(project.yaml.read_text() + "# a comment at the end\n")
    commented = run("cmake", "--build", build)
    assert "Generating" in commented
    assert "Reading" not in commented


def test_files_of_new_entries_are_known(build: Path, project: Project) -> None:
    """An entry that is added makes headers that the build then knows."""
    run("cmake", "--build", build)
    project.yaml.write_text(project.yaml.read_text() + "\n- func: newcomer(Tensor self) -> Tensor\n")
    run("cmake", "--build", build)
    assert (build / "generated/aten/src/ATen/ops/newcomer.h").exists()
    assert "newcomer" in (build / "registrations.txt").read_text()


MAJOR, MINOR = map(int, opwright.__version__.split(".")[:2])


@pytest.mark.parametrize(
    ("request_", "accepted"),
    [
        ("", True),
        (f"{MAJOR}.{MINOR}", True),
        (f"{opwright.__version__} EXACT", True),
        (f"{MAJOR}.{MINOR}...{MAJOR + 1}", True),
        (f"{MAJOR}.0...<{MAJOR}.{MINOR}", False),
        (f"{MAJOR}.{MINOR + 1}...{MAJOR + 1}", False),
        (f"{MAJOR}.{MINOR + 1}", False),
        (f"{MAJOR + 1}", False),
        (f"{MAJOR}.{MINOR}.99 EXACT", False),
    ],
)
def test_projects_ask_for_a_version(tmp_path: Path, request_: str, accepted: bool) -> None:
    """`find_package` finds the program's version, and refuses to take it for a newer or incompatible one."""
    module = run(sys.executable, "-m", "opwright", "--cmake-dir").strip()
    script = tmp_path / "find.cmake"
    script.write_text(
        f'set(Opwright_DIR "{module}")\nset(OPWRIGHT_COMMAND true)\nfind_package(Opwright {request_} QUIET)\n'
        'message(NOTICE "${Opwright_FOUND} ${Opwright_VERSION}")\n'
    )
    done = subprocess.run(["cmake", "-P", str(script)], capture_output=True, text=True, check=True)
    answer, version = done.stderr.split()[-2:] if accepted else (done.stderr.split()[0], None)
    assert answer == str(int(accepted))
    assert version == (opwright.__version__ if accepted else None)


def test_diagnostics_are_shown_as_they_are(project: Project, tmp_path: Path) -> None:
    """When CMake configures, the lines of a diagnostic arrive unwrapped, so that its marks stand below their words."""
    project.edit("    CPU: shifted_cpu", "    CPUU: shifted_cpu")
    with project.yaml.open("a") as file:
        file.write(
            "\n- func: far(Tensr self, Tensor a_name_of_many_letters, Tensor another_name_of_many_letters) -> Tensor\n"
        )
    faulty = subprocess.run(
        [sys.executable, "-m", "opwright", *project.words()], capture_output=True, text=True, check=False
    )
    assert "CPUU" in faulty.stderr
    assert max(map(len, faulty.stderr.splitlines())) > 80
    configured = subprocess.run(configure(tmp_path / "build", project), capture_output=True, text=True, check=False)
    assert configured.returncode != 0
    assert faulty.stderr in configured.stderr


#: Generates for a backend and for a library, and writes down what the build knows of both.
LISTS = """\
cmake_minimum_required(VERSION 3.21)
project(lists NONE)
find_package(Opwright REQUIRED)
foreach(kind backend library)
  opwright_generate(${kind} OUT "${CMAKE_BINARY_DIR}/${kind}" TORCH auto OPTIONS --${kind} ${kind}.yaml OUTPUTS outputs)
  file(WRITE "${CMAKE_BINARY_DIR}/${kind}.txt" "${outputs}")
endforeach()
"""
BACKEND = "backend: PrivateUse1\ncpp_namespace: acme\nsupported:\n- abs\n"
LIBRARY = """\
namespace: acme
abi: stable
torch: ">=2.10"
derivatives: derivatives.yaml
operators:
- {func: 'n(int number) -> int', dispatch: {CompositeExplicitAutograd: n}}
"""
#: An operator with tensors, for which Python has code about gradients.
DIFFERENTIABLE = "- {func: 'f(Tensor self) -> Tensor', dispatch: {CPU: f}, outputs: like(self)}\n"
DERIVATIVES = "- name: f(Tensor self) -> Tensor\n  self: grad\n"


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("ninja") is None, reason="there is no Ninja here")
def test_lists_follow_every_edit(tmp_path: Path) -> None:
    """After edits of files, of those that they name and of Opwright itself, a build has the files of a fresh run."""
    package = shutil.copytree(
        Path(opwright.__file__).parent, tmp_path / "new/opwright", ignore=shutil.ignore_patterns("__pycache__")
    )
    source, build = tmp_path / "source", tmp_path / "build"
    source.mkdir()
    texts = {"CMakeLists.txt": LISTS, "backend.yaml": BACKEND, "library.yaml": LIBRARY, "derivatives.yaml": "[]\n"}
    for name, text in texts.items():
        (source / name).write_text(text)
    program = f"env;PYTHONPATH={package.parent};{sys.executable};-m;opwright"
    settings = {"Opwright_DIR": package / "builds" / "cmake", "OPWRIGHT_COMMAND": program}
    run("cmake", "-G", "Ninja", "-S", source, "-B", build, *[f"-D{name}={value}" for name, value in settings.items()])

    def follow(added: set[str]) -> None:
        """Build, and compare what CMake knows, and what is on disk, with fresh runs."""
        run("cmake", "--build", build)
        assert "no work to do" in run("cmake", "--build", build)
        names = set()
        for kind in ("backend", "library"):
            known = (build / f"{kind}.txt").read_text().split(";")
            fresh = tmp_path / "fresh" / kind
            words = ("generate", "--out", fresh, f"--{kind}", source / f"{kind}.yaml")
            run("env", f"PYTHONPATH={package.parent}", sys.executable, "-m", "opwright", *words)
            made = files_of(fresh)
            assert files_of(build / kind) == made
            assert sorted(known) == sorted(str(build / kind / path) for path in made)
            names |= {Path(path).name for path in made}
        assert names & {"RegisterAutogradPrivateUse1.cpp", "_autograd.py"} == added
        shutil.rmtree(tmp_path / "fresh")

    follow(set())
    (source / "backend.yaml").write_text(BACKEND + "autograd:\n- roll\n")
    (source / "library.yaml").write_text(LIBRARY + DIFFERENTIABLE)
    (source / "derivatives.yaml").write_text(DERIVATIVES)
    follow({"RegisterAutogradPrivateUse1.cpp", "_autograd.py"})
    (source / "library.yaml").write_text(LIBRARY)
    (source / "derivatives.yaml").write_text("[]\n")
    (source / "backend.yaml").write_text(BACKEND)
    template = package / "libraries/emit/templates/stable_kernels.h"
    template.write_text(template.read_text() + "// of another Opwright\n")
    follow(set())
    assert any("of another Opwright" in path.read_text() for path in (build / "library").rglob("*.h"))


#: A project that has an operator library, without PyTorch and without a compiler.
LIBRARY_PROJECT = """\
cmake_minimum_required(VERSION 3.21)
project(example LANGUAGES CXX)
add_library(torch INTERFACE)
find_package(Opwright 0.1 REQUIRED)
opwright_add_operator_library(operators YAML acme.yaml SOURCES kernels.cpp DESTINATION acme)
"""


@pytest.mark.thorough
@pytest.mark.parametrize("top", ["", "python/"])
def test_a_module_does_not_replace_a_source(top: str, tmp_path: Path) -> None:
    """A source with the name of a generated module ends the configuration (E1212), and a generated one does not."""
    (tmp_path / "CMakeLists.txt").write_text(LIBRARY_PROJECT)
    (tmp_path / "kernels.cpp").write_text("")
    (tmp_path / "acme.yaml").write_text(
        "namespace: acme\noperators:\n- func: f(Tensor self) -> Tensor\n  dispatch: {CPU: f}\n"
    )
    module = run(sys.executable, "-m", "opwright", "--cmake-dir").strip()
    command = ["cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DOpwright_DIR={module}"]
    command += [f"-DOPWRIGHT_COMMAND={sys.executable};-m;opwright"]
    source = tmp_path / top / "acme/_ops.py"
    source.parent.mkdir(parents=True)
    for text in ("# Fakes.\n", "# Not generated by opwright.\n"):
        source.write_text(text)
        done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
        assert done.returncode != 0
        complaint = " ".join(done.stderr.split())
        assert "a generated module would replace" in complaint
        assert "(E1212)" in complaint
        assert "DESTINATION acme/_generated" in complaint
        assert source.read_text() == text
    source.write_text("# Generated by opwright.\n")
    run(*command)
