"""Operators from texts, with a program in place of the compiler: what is compiled, cached and reported."""

from __future__ import annotations

import contextlib
import importlib
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import opwright
from opwright.libraries.extension import inline as module
from opwright.libraries.extension import live, steps
from opwright.libraries.extension.generated import GeneratedCode
from opwright.libraries.extension.kept import KeptResult
from opwright.libraries.extension.toolchain import Toolchain
from opwright.source.diagnostic import Fault
from tests.libraries.extension.compiler import FakeCompiler

YAML = """\
- func: acme::scale(Tensor self, float factor) -> Tensor
  dispatch:
    CPU: scale
  outputs: like(self)
"""


@pytest.fixture
def builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeCompiler:
    """A program as compiler, a cache of its own, and libraries that are not loaded."""
    compiler = FakeCompiler(tmp_path)
    monkeypatch.setenv("CXX", str(compiler.path))
    monkeypatch.setenv("OPWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(module, "load_library", lambda *arguments: arguments[0])
    return compiler


def test_second_build_of_the_same_calls_no_compiler(builds: FakeCompiler) -> None:
    """The first call compiles PyTorch's headers and two sources and links them; the second one finds the result."""
    first = opwright.inline(YAML, "int x;")
    assert builds.calls() == [".gch", ".o", ".o", ".so"]
    assert opwright.inline(YAML, "int x;") == first
    assert builds.calls() == []


@pytest.mark.parametrize("ninja", [True, False])
def test_edit_of_kernels_compiles_only_them(builds: FakeCompiler, monkeypatch: pytest.MonkeyPatch, ninja: bool) -> None:
    """After an edit of the C++ text, generated sources are not compiled again, with Ninja and without."""
    if not ninja:
        monkeypatch.setattr("shutil.which", lambda name: name if os.path.isabs(name) else None)
    opwright.inline(YAML, "int x;")
    assert builds.calls() == [".gch", ".o", ".o", ".so"]
    opwright.inline(YAML, "int y;")
    assert builds.calls() == [".o", ".so"]


@pytest.mark.parametrize("ninja", [True, False])
def test_as_many_compilers_as_max_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ninja: bool) -> None:
    """With MAX_JOBS=1 one step runs at a time, with Ninja and without; with 4 they meet."""
    if not ninja:
        monkeypatch.setattr("shutil.which", lambda name: None)
    alone = f"mkdir {tmp_path}/alone && sleep 0.2 && rmdir {tmp_path}/alone && touch "
    for jobs, meet in ((1, False), (4, True)):
        monkeypatch.setenv("MAX_JOBS", str(jobs))
        names = [f"{tmp_path}/{jobs}-{number}" for number in range(4)]
        todo = [steps.BuildStep(name, (), ("sh", "-c", alone + name)) for name in names]
        with contextlib.suppress(steps.StepFailed):
            steps.run_steps(todo, str(tmp_path), verbose=False)
        assert all(map(os.path.exists, names)) is not meet


def test_a_build_says_that_it_compiles(builds: FakeCompiler, capsys: pytest.CaptureFixture[str]) -> None:
    """Before compilers run, standard error has a line; what is kept compiles nothing and says nothing."""
    opwright.inline(YAML, "int x;")
    headers, sources = capsys.readouterr().err.splitlines()
    assert headers == "opwright: compiling the headers of PyTorch, once for all libraries"
    assert sources.startswith("opwright: compiling 2 of 2 sources, ")
    opwright.inline(YAML, "int x;")
    assert capsys.readouterr() == ("", "")


def test_environment_of_the_compiler_is_part_of_the_key(builds: FakeCompiler, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other flags for the compiler give another result."""
    first = opwright.inline(YAML, "int x;")
    monkeypatch.setenv("CXXFLAGS", "-g")
    assert opwright.inline(YAML, "int x;") != first


#: Files that the texts below name or include, each with an edit.
NAMED = {
    "derivatives.yaml": (
        "- name: scale(Tensor self, float factor) -> Tensor\n  self: grad * factor\n",
        "* factor",
        "* 2",
    ),
    "acme_factor.h": ("#define FACTOR 2\n", "2", "3"),
}
NAMING = "namespace: acme\nderivatives: derivatives.yaml\noperators:\n" + YAML


@pytest.mark.parametrize("name", NAMED)
def test_edits_of_named_files_are_seen(
    builds: FakeCompiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """What the YAML names and the C++ text includes is part of the key; what was built before is found again."""
    monkeypatch.setenv("CXXFLAGS", f"-I{tmp_path}")
    monkeypatch.chdir(tmp_path)
    for path, (text, _, _) in NAMED.items():
        (tmp_path / path).write_text(text)
    cpp = "#include <acme_factor.h>\nint x;"
    first = opwright.inline(NAMING, cpp)
    assert builds.calls() == [".gch", ".o", ".o", ".so"]
    assert opwright.inline(NAMING, cpp) == first
    text, old, new = NAMED[name]
    (tmp_path / name).write_text(text.replace(old, new, 1))
    edited = opwright.inline(NAMING, cpp)
    assert edited != first
    assert ".so" in builds.calls()
    assert opwright.inline(NAMING, cpp) == edited
    (tmp_path / name).write_text(text)
    assert opwright.inline(NAMING, cpp) == first
    assert builds.calls() == []


def test_files_that_change_during_a_build_are_read_again(
    builds: FakeCompiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A result is not kept for a header that changes while it is compiled: which text was read, nobody knows."""
    monkeypatch.setenv("CXXFLAGS", f"-I{tmp_path}")
    header = tmp_path / "acme_factor.h"
    header.write_text("")
    run = steps.run_steps

    def run_and_edit(todo: Sequence[steps.BuildStep], folder: str, *, verbose: bool) -> None:
        run(todo, folder, verbose=verbose)
        header.write_text("#define FACTOR 2")

    cpp = "#include <acme_factor.h>\nint x;"
    with monkeypatch.context() as patch:
        patch.setattr(steps, "run_steps", run_and_edit)
        first = opwright.inline(YAML, cpp)
    assert opwright.inline(YAML, cpp) != first


@pytest.mark.parametrize("ninja", [True, False])
def test_error_of_the_compiler_has_its_place(
    builds: FakeCompiler, monkeypatch: pytest.MonkeyPatch, ninja: bool
) -> None:
    """An error in the C++ text is a diagnostic at its place in that text; the compiler's words follow."""
    if not ninja:
        monkeypatch.setattr("shutil.which", lambda name: name if os.path.isabs(name) else None)
    with pytest.raises(opwright.BuildFailed) as failed:
        opwright.inline(YAML, "int x;\n  FAULTY;\n")
    [diagnostic] = failed.value.diagnostics
    assert (diagnostic.code, str(diagnostic.span)) == ("E1203", "<inline cpp>:2:3")
    assert failed.value.output == "<inline cpp>:2:3: error: 'FAULTY' was not declared in this scope\n"
    assert str(failed.value).startswith(
        "\nerror[E1203]: 'FAULTY' was not declared in this scope\n --> <inline cpp>:2:3\n"
        "  |\n2 |   FAULTY;\n  |   ^^^^^^\n"
    )


def test_report_begins_with_what_was_known(builds: FakeCompiler) -> None:
    """Doubts about a formula are errors when the compiler fails, and come before what it says."""
    derivatives = "- name: scale(Tensor self, float factor) -> Tensor\n  self: at::mul(grad, at::factr(factor))\n"
    with pytest.raises(opwright.BuildFailed) as failed:
        opwright.inline(YAML, "FAULTY;", derivatives=derivatives)
    found = [(diagnostic.severity.value, diagnostic.code) for diagnostic in failed.value.diagnostics]
    assert found == [("error", "E1203"), ("error", "W0903")]
    assert "there is no function `at::factr`" in str(failed.value)


def test_misspelt_name_in_a_formula_ends_before_the_compiler(builds: FakeCompiler) -> None:
    """A name that nothing can declare needs no compiler, and is suggested."""
    derivatives = "- name: scale(Tensor self, float factor) -> Tensor\n  self: grad * factorr\n"
    with pytest.raises(opwright.BuildFailed, match=r"error\[W0901\](.|\n)*did you mean `factor`"):
        opwright.inline(YAML, "int x;", derivatives=derivatives)
    assert builds.calls() == []


def test_warnings_of_a_build_are_printed(builds: FakeCompiler, capsys: pytest.CaptureFixture[str]) -> None:
    """A build that succeeds prints what is doubtful, once."""
    yaml = YAML.replace("  outputs: like(self)\n", "")
    opwright.inline(yaml, "int x;")
    assert "warning[W1119]: tracing fails at `scale`" in capsys.readouterr().err
    opwright.inline(yaml, "int x;")
    assert capsys.readouterr().err == ""


def test_headers_that_a_text_names_are_included(builds: FakeCompiler, monkeypatch: pytest.MonkeyPatch) -> None:
    """Functions of PyTorch need no `#include`; the lines of the text keep their numbers."""
    written: list[str] = []
    compile_objects = steps.compile_objects

    def record(
        sources: Sequence[str], code: GeneratedCode, toolchain: Toolchain, work: str, *, verbose: bool
    ) -> tuple[KeptResult, ...]:
        written.append(Path(sources[-1]).read_text())
        return compile_objects(sources, code, toolchain, work, verbose=verbose)

    monkeypatch.setattr(module, "compile_objects", record)
    opwright.inline(YAML, "// at::cat is not named\nauto f(at::Tensor x) { return at::gelu(x); }")
    assert '#include <ATen/ops/gelu.h>\n#line 1 "<inline cpp>"\n// at::cat' in written[0]
    assert "cat.h" not in written[0]


def test_missing_kernel_is_named(builds: FakeCompiler) -> None:
    """A symbol that the linker does not find is a kernel that the user did not define."""
    with pytest.raises(opwright.BuildFailed) as failed:
        opwright.inline(YAML, "UNDEFINED")
    [diagnostic] = failed.value.diagnostics
    assert diagnostic.code == "E1204"
    assert diagnostic.message == "`acme::native::scale(at::Tensor const&, double)` is declared and not defined"


def test_mistake_in_the_yaml_is_shown(builds: FakeCompiler) -> None:
    """Mistakes in the YAML are reported with its lines, and no compiler is called."""
    with pytest.raises(opwright.BuildFailed, match=r"--> <inline yaml>:1:\d+\n"):
        opwright.inline("- func: acme::scale(Tensr self) -> Tensor", "int x;")
    assert builds.calls() == []


@pytest.mark.parametrize(
    ("yaml", "message"),
    [
        ("[]", "the YAML has no operators"),
        ("- func: a::f() -> ()\n- func: b::f() -> ()\n", "the YAML has operators of 2 namespaces: `a` and `b`"),
    ],
)
def test_one_namespace(builds: FakeCompiler, yaml: str, message: str) -> None:
    """A module has the operators of one namespace."""
    with pytest.raises(opwright.BuildFailed) as failed:
        opwright.inline(yaml, "int x;")
    assert [(found.code, found.message) for found in failed.value.diagnostics] == [("E1205", message)]


def test_missing_compiler(builds: FakeCompiler, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compiler that does not exist is a fault that names it."""
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(opwright.Fault, match=r"E1202.*`no-such-compiler`, which CXX names"):
        opwright.inline(YAML, "int x;")


def test_compiler_with_a_wrapper(builds: FakeCompiler, monkeypatch: pytest.MonkeyPatch) -> None:
    """CXX may name a program that calls the compiler, and arguments."""
    monkeypatch.setenv("CXX", f"env {builds.path} -DWRAPPED")
    opwright.inline(YAML, "int x;")
    assert builds.calls() == [".gch", ".o", ".o", ".so"]


def test_cuda_text_is_compiled_by_nvcc(builds: FakeCompiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text for CUDA is one more source, for the compiler of CUDA_HOME; what is missing is one sentence."""
    torch = pytest.importorskip("torch")
    builder = importlib.import_module("torch.utils.cpp_extension")
    monkeypatch.delenv("TORCH_CUDA_ARCH_LIST", raising=False)
    monkeypatch.setattr(torch.version, "cuda", None)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    changes: list[tuple[Callable[[], None], str]] = [
        (lambda: None, r"E1202.*needs a PyTorch for CUDA, and the installed one is for the CPU"),
        (lambda: monkeypatch.setattr(torch.version, "cuda", "13.0"), r"E1202.*is compiled where CUDA is .*CUDA_HOME"),
        (lambda: monkeypatch.setattr(builder, "CUDA_HOME", str(tmp_path)), r"E1202.*for the GPUs of this machine"),
        (lambda: monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", "9.0"), r"E1202.*CUDA_HOME has no compiler `.*bin/nvcc`"),
    ]
    for change, message in changes:
        change()
        with pytest.raises(opwright.Fault, match=message):
            opwright.inline(YAML, "int x;", cuda="int y;")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/nvcc").symlink_to(builds.path)
    built = opwright.inline(YAML, "int x;", cuda="int y;")
    assert builds.calls() == [".gch", ".o", ".o", ".o", ".so"]
    assert opwright.inline(YAML, "int x;", cuda="int z;") != built
    assert builds.calls() == [".o", ".so"]
    with pytest.raises(opwright.BuildFailed) as failed:
        opwright.inline(YAML, "int x;", cuda="int x;\n  UNKNOWN;\n")
    [diagnostic] = failed.value.diagnostics
    assert (diagnostic.code, str(diagnostic.span)) == ("E1203", "<inline cuda>:2:3")


@pytest.mark.thorough
def test_processes_that_build_the_same_share_the_work(builds: FakeCompiler, tmp_path: Path) -> None:
    """Of several processes at once, one compiles, and all get the result."""
    script = tmp_path / "script.py"
    script.write_text(
        "import opwright\nfrom opwright.libraries.extension import inline as module\n"
        "module.load_library = lambda folder, name: folder\n"
        f"print(opwright.inline({YAML!r}, 'int x;'))\n"
    )
    processes = [subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True) for _ in range(3)]
    outputs = {process.communicate()[0] for process in processes}
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert len(outputs) == 1
    assert builds.calls() == [".gch", ".o", ".o", ".so"]
    assert not list((tmp_path / "cache" / "inline").glob(".build-*"))


def test_failed_build_leaves_nothing(builds: FakeCompiler, tmp_path: Path) -> None:
    """After an error nothing is left but what later builds use, and the same text fails again."""
    for _ in range(2):
        with pytest.raises(opwright.BuildFailed):
            opwright.inline(YAML, "FAULTY")
    assert {path.name for path in (tmp_path / "cache" / "inline").iterdir()} == {"headers", "locks", "objects"}


@pytest.mark.parametrize("head", ["", "namespace: acme\noperators:\n"])
def test_derivatives_are_checked(builds: FakeCompiler, head: str) -> None:
    """Derivatives are a text of their own, whatever form the YAML has; mistakes in it are shown with its lines."""
    derivatives = "- name: scale(Tensor self, float factor) -> Tensor\n  self: grad * factor\n"
    with pytest.raises(opwright.BuildFailed, match=r"--> <inline derivatives>:2:\d+\n"):
        opwright.inline(head + YAML, "", derivatives=derivatives.replace("self:", "slef:"))
    assert opwright.inline(head + YAML, "int x;", derivatives=derivatives) != opwright.inline(head + YAML, "int x;")


def test_module_can_be_imported_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`torch.compile` imports the module of a function that it traces; a module that is there keeps its name."""
    (tmp_path / "_ops.py").write_text("answer = 42\n")
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    built = live.make_module(str(tmp_path / "_ops.py"), "acme_inline")
    assert sys.modules["acme_inline"] is built
    assert live.make_module(str(tmp_path / "_ops.py"), "json") is not sys.modules["json"]


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="folders have owners")
@pytest.mark.parametrize(
    ("place", "mode", "message"),
    [
        ("cache/inline", 0o777, "others can write"),
        ("cache/inline", 0o770, "others can write"),
        ("cache", 0o777, "others can write"),
        ("cache/inline", None, "another user owns"),
        ("cache/inline", 0o700, ""),
        ("cache", 0o1777, ""),
    ],
)
def test_code_of_other_users_is_not_loaded(
    builds: FakeCompiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, mode: int | None, message: str
) -> None:
    """What is kept is loaded only from a folder that nobody else could have written into, and that is made so."""
    first = opwright.inline(YAML, "int x;")
    assert stat.S_IMODE((tmp_path / "cache/inline").stat().st_mode) == 0o700
    if mode is None:
        monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    else:
        (tmp_path / place).chmod(mode)
    if message:
        with pytest.raises(Fault, match=message):
            opwright.inline(YAML, "int x;")
    else:
        assert opwright.inline(YAML, "int x;") == first
