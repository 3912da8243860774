"""Sources that ask for too much work, or are not C++ or Python at all, get a diagnostic within seconds."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from opwright.cli.main import main
from tests.fuzz.run import memory_limit, time_limit

DEFINITION = 'm.def("f(Tensor a) -> Tensor");'


def library(body: str) -> str:
    """A source with a block of registrations."""
    return f"#include <torch/library.h>\nTORCH_LIBRARY(acme, m) {{\n{body}\n}}\n"


def bomb(body: str) -> str:
    """Macros of which each stands for the next one twice."""
    macros = [f"#define A{number}(x) m.impl(#x, &x); {body.replace('B', f'A{number + 1}')}\n" for number in range(40)]
    return "".join(macros) + library("A0(f)")


#: Source -> what the report says.
TOO_MUCH = {
    "doubled calls": (bomb("B(x) B(x)"), "E0006"),
    "doubled texts": (bomb("B(#x #x)"), "E0006"),
    "doubled names": (bomb("B(x ## x)"), "E0006"),
    "brackets": (library(f'm.impl("f", {"(" * 3000}x{")" * 3000});'), "E0006"),
    "namespaces": ("namespace a {" * 5000 + library(DEFINITION), "E0006"),
    "conditions": ("#if A\n" * 5000 + library(DEFINITION), "E0006"),
    "branches": ("#if A\n" + "#elif B\n" * 5000 + library(DEFINITION), "E0006"),
    "long conditions": (f"#if {'A + ' * 9000}A\n" + library(DEFINITION), "E0006"),
    "open raw string": (library(DEFINITION) + 'R"(' * 20_000, "E0006"),
    "long source": (library(DEFINITION) + " " * 4_000_000, "E0006"),
    "many registrations": (library(DEFINITION * 10_001), "E0006"),
    "hexadecimal escape": (library(r'm.def("f\x110000(Tensor a) -> Tensor");'), "not a text"),
    "bytes that are not UTF-8": (library(r'm.def("f\xff(Tensor a) -> Tensor");'), "not a text"),
    "surrogate": (library(r'm.def("f\ud800(Tensor a) -> Tensor");'), "not a text"),
    "no policy": ("TORCH_LIBRARY_IMPL(aten, AutocastCPU, m) { KERNEL() }", "names no operator"),
    "no policy of a device": ("TORCH_LIBRARY_IMPL(aten, AutocastCPU, m) { KERNEL_CPU() }", "names no operator"),
    "large default": (library(f'm.def("f(Tensor a, int b=0x{"f" * 20_000}) -> Tensor");'), "E2401"),
    "nested types": (
        f"at::Tensor f({'std::vector<' * 3000}int{'>' * 3000} x);\n" + library('m.def("f", &f);'),
        "E2401",
    ),
    "open comments": ("#/*\n" * 100_000 + library(DEFINITION), "E2401"),
    "methods without calls": (library("m.a " * 50_000), "E2401"),
}
PYTHON = {
    "large default": f"@torch.library.custom_op('acme::g', mutates_args=())\ndef g(b: int = 0x{'f' * 20_000}): pass\n",
    "nested type": "@torch.library.custom_op('acme::g', mutates_args=())\n"
    f"def g(x: '{'Optional[' * 180}int{']' * 180}'): pass\n",
    "nested value": f"x = {'-' * 50_000}1\n",
    "surrogate": "torch.library.define('acme::f\\ud800', '(Tensor x) -> Tensor')\n",
    "null": "torch.library.define('acme::f\\0', '(Tensor x) -> Tensor')\n",
}


pytestmark = pytest.mark.alone


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.thorough
@pytest.mark.parametrize("name", TOO_MUCH)
def test_cpp_sources(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The diagnostic is at the place that asks for too much, or that was not read, and reading took little memory."""
    text, told = TOO_MUCH[name]
    Path("a.cpp").write_text(text)
    with time_limit(10), memory_limit(200):
        assert main(["import", "a.cpp", "--out", "o.yaml"]) == 1
    printed = capsys.readouterr().err
    assert told in printed
    assert "--> a.cpp:" in printed or name in ("open comments", "methods without calls")
    assert not Path("o.yaml").exists()


@pytest.mark.parametrize("name", PYTHON)
def test_python_sources(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What is not read of a Python source has a place."""
    Path("a.py").write_text(f"import torch.library\n{PYTHON[name]}")
    with time_limit(10):
        assert main(["import", "a.py", "--out", "o.yaml"]) == 1
    assert "--> a.py:" in capsys.readouterr().err


@pytest.mark.thorough
def test_work_that_doubles_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """Many declarations and calls of one name, and chains of calls, take time that grows with the text."""
    declared = "void f();" * 6_000 + f"void g(A<int{', int x' * 6_000});\n"
    calls = 'm.impl("f", &f);' * 1200 + "m" + f".{DEFINITION[2:-1]}" * 1200 + ";"
    chain = f"RegisterOperators(){'.RegisterOperators()' * 6_000};\n"
    Path("a.cpp").write_text(chain + declared + library(calls))
    with time_limit(9):
        assert main(["import", "a.cpp", "--out", "o.yaml"]) == 0
    assert "1 operator;" in capsys.readouterr().out


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
def test_includes_that_are_no_files() -> None:
    """A source that includes a pipe, a device or the log of the kernel does not make the run wait."""
    os.mkfifo("pipe.h")
    includes = ("pipe.h", "./pipe.h", "/dev/zero", "/proc/kmsg", f"{'../' * 30}proc/kmsg")
    Path("a.cpp").write_text("".join([f'#include "{name}"\n' for name in includes]) + library(DEFINITION))
    with time_limit(5):
        assert main(["import", "a.cpp", "--out", "o.yaml"]) == 0


MODULE = 'PYBIND11_MODULE(acme, m) {{ m.def("f", &f{0}); {1} }}'
#: Modules of pybind11 whose functions ask for much reading.
MODULES = {
    "uses of an argument": f"void f(at::Tensor x) {{ g({'x, ' * 20_000}x); {'x + ' * 20_000}x; }}"
    + MODULE.format("", ""),
    "members": f"void f(at::Tensor x) {{ {' '.join(f'p.m{n} = x.data_ptr();' for n in range(4000))} }}"
    + MODULE.format("", ""),
    "functions of a name": "void f(at::Tensor x);" * 5000 + MODULE.format("", 'm.def("f", &f);' * 1000),
    "a cast": "void f(at::Tensor x) {}" + MODULE.format("", f'm.def("g", a<{"b, " * 20_000}c);'),
    "a default": "void f(bool x) {}" + MODULE.format(f', py::arg("x") = std::vector<{">(0)" * 20_000}', ""),
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", MODULES)
def test_modules_of_pybind11(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What is too much to follow counts as not read."""
    Path("a.cpp").write_text(MODULES[name])
    with time_limit(10):
        main(["import", "a.cpp", "--out", "o.yaml"])
    assert Path("o.yaml").exists() is (name != "a default")
