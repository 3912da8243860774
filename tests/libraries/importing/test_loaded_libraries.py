"""The process that loads a library says what it registers, and the sources say where."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from opwright.cli.main import main
from opwright.migrate.calls.stored_calls import counted, read_records
from opwright.migrate.importing.comparison import RegisteredSide
from opwright.migrate.importing.explained import explained
from opwright.migrate.importing.process import LoadedLibrary, LoadedOperator, loaded_library
from opwright.migrate.importing.recorded_calls import record_command
from opwright.migrate.importing.registration import RegistrationStatement, SourcePlace
from opwright.migrate.importing.run import ImportRequest, read_operators
from opwright.migrate.importing.two_processes import compare_processes

LIVE = """\
import torch

library = torch.library.Library("acme_live", "DEF")
library.define("scale(Tensor x, float by=1) -> Tensor", tags=torch.Tag.core)
library.impl("scale", lambda x, by: x * by, "CPU")


globals()["library"].define("hidden(Tensor x) -> Tensor")
globals()["library"].impl("scale", lambda x, by: x * by, "AutogradCPU")
torch.library.register_fake("acme_live::scale", lambda x, by: x)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, from which processes import."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    Path("acme_live.py").write_text(LIVE)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    """The exit status of an import, and what it prints."""
    status = main(["import", *words, "--out", "o.yaml"])
    return status, capsys.readouterr().out


@pytest.mark.usefixtures("torch")
def test_what_no_source_explains_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """An operator that no source defines has no entry; one with such a kernel keeps its kernels by hand."""
    status, printed = run(capsys, "acme_live.py", "acme_live")
    assert status == 0
    assert "not explained: `acme_live::hidden` (no kernel): no source that was read defines it" in printed
    assert "not explained: `acme_live::scale`: no source that was read has its kernel for AutogradCPU" in printed
    assert "2 registered in the process, 0 read, 2 stay by hand (`acme_live::hidden`, `acme_live::scale`)" in printed
    assert "nothing was compared" not in printed
    text = Path("o.yaml").read_text()
    assert "manual_kernel_registration: True" in text
    assert "hidden" not in text
    status, printed = run(capsys, "acme_live.py", "acme_live", "--check")
    assert printed.splitlines()[-1].startswith("no call was compared: the sources and the file register ")


@pytest.mark.usefixtures("torch")
def test_the_file_is_the_same_wherever_the_project_is(folder: Path) -> None:
    """A module that an absolute path names has one from the library file on in this."""
    read = read_operators(ImportRequest(("acme_live.py",), (str(folder / "acme_live.py"),), {}, "lib/o.yaml"))
    assert read.head.sources == ("acme_live.py", "../acme_live.py")


@pytest.mark.usefixtures("torch")
def test_sources_that_explain_nothing_are_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    """Other sources, or another schema, are those of no operator; a module alone has no sources to compare."""
    Path("other.py").write_text(LIVE.replace("by=1", "by=2"))
    status, _ = run(capsys, "other.py", "acme_live")
    assert status == 1
    assert not Path("o.yaml").exists()
    status, printed = run(capsys, "acme_live")
    assert status == 0
    assert "2 registered in the process, 0 read, 1 stays by hand (`acme_live::scale`)" in printed


def test_without_a_library_the_first_and_last_line_say_so(capsys: pytest.CaptureFixture[str]) -> None:
    """Sources alone are compared with no library, and this is said."""
    status, printed = run(capsys, "acme_live.py")
    first, *_, last = printed.splitlines()
    assert status == 0
    for line in (first, last):
        assert "nothing was compared with a running library" in line


@pytest.mark.usefixtures("torch")
def test_kernels_for_operators_of_others_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    """A kernel that a port adds to an operator of PyTorch is told; without an original there is nothing to compare."""
    line = "import torch\ntorch.library.impl('aten::relu', 'XPU', lambda x: x)\n"
    Path("ported.py").write_text(LIVE.replace("import torch\n", line))
    status, printed = run(capsys, "acme_live", "--check", "--port", "ported")
    assert status == 1
    assert "added: `aten::relu`: a kernel for XPU of an operator of another library" in printed
    assert "compared in two processes: 2 operators, 3 kernels: 1 difference is lost, added or changed" in printed
    assert main(["import", "acme_live.py", "--out", "o.yaml", "--check", "--port", "ported"]) == 2


CPP = """\
#include <torch/library.h>
#include <torch/types.h>
namespace un {
at::Tensor same(const at::Tensor& self) { return self.clone(); }
template <class T>
at::Tensor fill(const at::Tensor& self, T value) { return at::full_like(self, value); }
#define UNARY(X) X(relu6x) X(gelux)
#define DEFINE(name) m.def(#name "(Tensor self) -> Tensor");
#define IMPLEMENT(name) m.impl(#name, &un::same);
template <class T>
void add(torch::Library& m, const char* name) { m.def(name, &fill<T>); }
void more(torch::Library& m) {
  m.def("scaled(Tensor self) -> Tensor");
  m.impl("scaled", c10::DispatchKey::CPU, &un::same);
}
static torch::Library object(torch::Library::FRAGMENT, "un", std::nullopt, __FILE__, __LINE__);
static int registered = [] {
  object.def("by_object(Tensor self) -> Tensor");
  object.impl("plain", c10::DispatchKey::AutogradCPU, torch::CppFunction::makeFallthrough());
  return 0;
}();
}  // namespace un
TORCH_LIBRARY(un, m) {
  m.def("plain(Tensor self) -> Tensor");
  m.def("read(Tensor self) -> Tensor");
  m.def("loop(Tensor self) -> Tensor");
  UNARY(DEFINE)
  un::add<double>(m, "fill_double");
  un::more(m);
  auto& alias = m;
  alias.def("by_alias(Tensor self) -> Tensor");
  for (const char* name : {"one", "two"}) {
    m.def((std::string(name) + "(Tensor self) -> Tensor").c_str());
  }
}
TORCH_LIBRARY_IMPL(un, CPU, m) {
  m.impl("plain", &un::same);
  m.impl("read", &un::same);
  UNARY(IMPLEMENT)
}
"""


def test_code_that_gets_the_library_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """Macros, helpers, references and objects are named with their places, and no kernel is generated beside them."""
    Path("un.cpp").write_text(CPP)
    status, printed = run(capsys, "un.cpp")
    assert status == 0
    lines = [line.strip() for line in CPP.splitlines()]
    for text in (
        "static torch::Library",
        "UNARY(DEF",
        "un::add<",
        "un::more(m)",
        "auto& alias",
        "alias.def",
        "UNARY(IMPL",
    ):
        (number,) = [number for number, line in enumerate(lines, 1) if line.startswith(text)]
        assert f"stays: un.cpp:{number}: " in printed, text
    text = Path("o.yaml").read_text()
    assert "dispatch" not in text
    assert text.count("manual_kernel_registration: True") == text.count("- func: ")
    status, printed = run(capsys, "un.cpp", "--check")
    assert printed.count("not compared: un.cpp:") >= 7
    assert "register 0 operators alike" in printed


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ("/site-packages/torch/library.py:9", ", registered in Python; its"),
        ("ops.cpp:3", ", registered at ops.cpp:3; its"),
        ("", "for CPU; its"),
    ],
)
def test_places_of_kernels_that_no_source_has(place: str, told: str) -> None:
    """The dispatcher has the place of PyTorch's own Python for kernels in Python, which is of no use."""
    operator = LoadedOperator("f(Tensor x) -> Tensor", frozenset(), "", {"CPU": ""}, {"CPU": place}, ())
    row = RegistrationStatement("acme", "f", SourcePlace("ops.py", 1, 1), schema=operator.schema)
    library = explained(LoadedLibrary({("acme", "f"): operator}, {}, {}), [row])
    (line,) = [line for line in library.lines if "its kernel for CPU" in line]
    assert told in line


MACROS = """\
#include <torch/library.h>
at::Tensor same(const at::Tensor& x);
#ifdef WITH_X
#define BLOCK(key) TORCH_LIBRARY_IMPL(un, key, m) { m.impl("f", &same); }
#else
#define BLOCK(key) TORCH_LIBRARY_IMPL(un, key, m) { m.impl("f", same); }
#endif
#define WHOLE_BLOCK TORCH_LIBRARY_IMPL(un, CPU, m) { m.impl("f", &same); }
#define KEYS(X) X(CPU) X(CUDA)
#define OF_KEY(key) TORCH_LIBRARY_IMPL(un, key, m) { m.impl("f", &same); }
TORCH_LIBRARY(un, m) { m.def("f(Tensor x) -> Tensor"); }
"""


@pytest.mark.parametrize("call", ["BLOCK(CPU)", "WHOLE_BLOCK", "KEYS(OF_KEY)"])
def test_blocks_of_macros_are_named(capsys: pytest.CaptureFixture[str], call: str) -> None:
    """A block that a macro makes, which may be another one, is named, and an edit leaves its call where it is."""
    Path("un.cpp").write_text(f"{MACROS}{call}\nTORCH_LIBRARY_IMPL(un, Meta, m) {{}}\n")
    line = MACROS.count("\n") + 1
    status, printed = run(capsys, "un.cpp", "--edit")
    assert f"stays: un.cpp:{line}: the macro `" in printed
    assert "register 0 operators alike" in printed
    assert (
        Path("un.cpp")
        .read_text()
        .endswith(f"{MACROS.splitlines()[-2]}\n{call}\nTORCH_LIBRARY_IMPL(un, Meta, m) {{}}\n")
    )
    assert status == 0


@pytest.mark.parametrize(
    "statement",
    [
        'M.impl("f", c10::DispatchKey::AutogradCPU, &same);',
        'm.impl("f", on() ? c10::DispatchKey::CPU : c10::DispatchKey::AutogradCPU, &same);',
        'm.impl("f", torch::dispatch(key(), &same));',
        'm.impl_unboxed("f", &same);',
        "m.impl(names[0], &same);",
    ],
)
def test_calls_whose_keys_and_names_are_not_known_count(statement: str) -> None:
    """A call that may register any kernel of an operator leaves no operator that seems to have no kernel."""
    head = '#include <torch/library.h>\n#define M m\nTORCH_LIBRARY(un, m) {\n  m.def("f(Tensor x) -> Tensor");\n'
    Path("un.cpp").write_text(f"{head}  {statement}\n}}\n")
    read = read_operators(ImportRequest(("un.cpp",), (), {}, "o.yaml"))
    assert [row.is_unread for row in read.statements] == [False, True]
    assert any(place.first == 5 and reason.endswith("may register operators and kernels")
               for place, reason in read.imported.left)  # fmt: skip
    assert [operator.by_hand for operator in read.imported.operators] == [True]


def build(source: str, library: str) -> None:
    """Compile a source into a library that PyTorch loads."""
    paths = pytest.importorskip("torch.utils.cpp_extension")
    includes = [word for path in paths.include_paths() for word in ("-isystem", path)]
    (folder,) = paths.library_paths()[:1]
    words = ["-O0", "-std=c++20", "-fPIC", "-shared", "-w", f"-L{folder}", "-ltorch", "-ltorch_cpu", "-lc10"]
    subprocess.run(["g++", source, "-o", library, *includes, *words], check=True)


@pytest.mark.thorough
@pytest.mark.usefixtures("torch")
@pytest.mark.skipif(sys.platform != "linux", reason="the compiler is called as on Linux")
def test_no_registration_of_a_built_library_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    """Each operator of the dispatcher is in the file or named, whatever style of C++ registers it."""
    Path("un.cpp").write_text(CPP)
    build("un.cpp", "un.so")
    status, printed = run(capsys, "un.cpp", "un.so")
    assert status == 0, printed
    names = ("relu6x", "gelux", "fill_double", "scaled", "by_object", "by_alias", "one", "two")
    for name in names:
        assert f"not explained: `un::{name}` (" in printed
    assert "not explained: `un::plain`: no source that was read has its kernel for AutogradCPU" in printed
    assert "11 registered in the process, 2 read, 9 stay by hand (" in printed
    assert "- func: read(Tensor self) -> Tensor\n  dispatch: {CPU: same}" in Path("o.yaml").read_text()
    status, printed = run(capsys, os.path.abspath("un.so"), "--check", "--port", "un.so")
    assert status == 0, printed
    assert "compared in two processes: 11 operators" in printed


@pytest.mark.usefixtures("torch")
def test_operators_of_pytorch_are_not_those_of_a_library() -> None:
    """What a module of PyTorch registers, which a library is the first to import, is not what the library registers."""
    Path("importing.py").write_text(f"import torch.ao.quantization.fx._decomposed\n{LIVE}")
    loaded = loaded_library(["importing"])
    assert loaded.operators.keys() == loaded_library(["acme_live"]).operators.keys()
    assert loaded.others == {}


@pytest.mark.usefixtures("torch")
def test_packages_of_one_name_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    """A path names the package of each side."""
    for folder, text in (("old", LIVE), ("new", LIVE.replace("by=1", "by=2"))):
        Path(folder, "acme_two").mkdir(parents=True)
        Path(folder, "acme_two", "__init__.py").write_text(text)
    assert main(["import", "--module", "old/acme_two", "--out", "o.yaml", "--check", "--port", "old/acme_two"]) == 0
    capsys.readouterr()
    assert main(["import", "--module", "old/acme_two", "--out", "o.yaml", "--check", "--port", "new/acme_two"]) == 1
    assert "changed: " in capsys.readouterr().out


@pytest.mark.usefixtures("torch")
def test_functions_of_modules_that_a_port_lost_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    """A function of a module that is no Python becomes an operator, or stays; those of modules inside count too."""
    module = "import types\n__file__ = 'acme_ext.so'\ndef f(x): return x\n"
    Path("acme_ext.py").write_text(f"{module}sub = types.ModuleType('acme_ext.sub')\nsub.g = f\n")
    assert loaded_library(["acme_ext"]).functions == [("acme_ext", "f"), ("acme_ext", "sub.g")]
    port = "import torch\nlibrary = torch.library.Library('acme_ext', 'DEF')\nlibrary.define('f(Tensor x) -> Tensor')\n"
    Path("port.py").write_text(port)
    assert main(["import", "--module", "acme_ext", "--out", "o.yaml", "--check", "--port", "port"]) == 1
    printed = capsys.readouterr().out
    assert "lost: `acme_ext.sub.g`: the port has neither an operator nor it" in printed
    assert "`acme_ext.f`" not in printed
    assert "compared in two processes: 0 operators, 0 kernels, 2 functions of modules: 1 difference is lost" in printed


MODULE = """\
__file__ = 'acme_ext.so'
def f(x, by): "f(x: torch.Tensor, by: typing.SupportsFloat = 1.1) -> None\\n\\nScales."
def g(*args): "g(*args, **kwargs)\\nTwo.\\n\\n1. g(arg0: torch.Tensor)\\n\\n2. g(x: int, *, n: int = 2) -> int"
def h(k): "h(k: acme_ext.Kind = <Kind.SUM: 1>) -> int"
def i(x): "Has no signature."
"""
PORT = """\
import torch
library = torch.library.Library('acme_ext', 'DEF')
for schema in SCHEMAS:
    library.define(schema)
"""
SCHEMAS = ["f(Tensor x, float by=1.1) -> ()", "g(Tensor x) -> int", "g.overload2(int x, *, int n=2) -> int",
           "h(int k=0) -> int", "i(Tensor x) -> int"]  # fmt: skip


@pytest.mark.usefixtures("torch")
@pytest.mark.parametrize(
    ("number", "schema", "told"),
    [
        (0, "f(Tensor x, float by=1.1) -> ()", ""),
        (0, "f(Tensor x, float by=1.2) -> ()", "`acme_ext.f`: its argument `by` has the default `1.1`, and"),
        (0, "f(Tensor x, float by) -> ()", "`acme_ext.f`: its argument `by` has the default `1.1`, and no default"),
        (0, "f(Tensor y, float by=1.1) -> ()", "`acme_ext.f`: its argument `x` is `y` in the port"),
        (0, "f(Tensor x) -> ()", "`acme_ext.f`: it takes 2 arguments, and the port takes 1"),
        (2, "g.overload2(int x, int n=2) -> int", "`acme_ext.g`: its argument `n` is given by name alone, and"),
    ],
)  # fmt: skip
def test_signatures_of_functions_are_compared(
    capsys: pytest.CaptureFixture[str], number: int, schema: str, told: str
) -> None:
    """Names and defaults of a function's arguments are those of the operator, as far as its text says them."""
    Path("acme_ext.py").write_text(MODULE)
    schemas = [*SCHEMAS[:number], schema, *SCHEMAS[number + 1 :]]
    Path("port.py").write_text(PORT.replace("SCHEMAS", repr(schemas)))
    status = main(["import", "--module", "acme_ext", "--out", "o.yaml", "--check", "--port", "port"])
    printed = capsys.readouterr().out
    assert status == (1 if told else 0), printed
    assert f"changed: {told}" in printed if told else "changed: " not in printed
    assert "not compared: names and defaults of arguments of 1 function of modules\n" in printed


@pytest.mark.usefixtures("torch")
def test_functions_that_a_build_lacks_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    """What the sources define under a condition, and the module that was built does not have, is said."""
    Path("csrc").mkdir()
    functions = "at::Tensor f(at::Tensor x) { return x + 1; }\nat::Tensor g(at::Tensor x) { return x + 2; }\n"
    module = 'm.def("f", &f);\n#ifdef MORE\nm.def("g", &g);\n#endif\n'
    Path("csrc/b.cpp").write_text(f"{functions}PYBIND11_MODULE(acme_ext, m) {{\n{module}}}\n")
    Path("acme_ext.py").write_text("__file__ = 'acme_ext.so'\ndef f(x): return x\n")
    Path("new").mkdir()
    assert main(["import", "csrc", "--module", "acme_ext", "--out", "new/o.yaml"]) == 0
    printed = capsys.readouterr().out
    assert "not in the process: `g`: this build of the sources does not define these functions" in printed
    assert '"g": ("g", globals().pop("g")),' in Path("new/acme_ext.py").read_text()


@pytest.mark.thorough
@pytest.mark.usefixtures("torch")
def test_a_path_may_name_a_module_that_is_no_python() -> None:
    """A library that is a module of Python too has functions, whose calls are recorded wherever it is imported."""
    spec = importlib.util.find_spec("syslog")
    if spec is None or not str(spec.origin).endswith(".so"):
        pytest.skip("this Python has no such library")
    path = str(spec.origin)
    assert ("syslog", "LOG_MASK") in loaded_library([path]).functions
    called = [sys.executable, "-c", "import torch, syslog; syslog.LOG_MASK(1)"]
    calls, status = record_command(called, {}, [path])
    assert status == 0
    Path("all.calls").write_bytes(calls)
    assert counted(read_records("all.calls")).calls == {"syslog.LOG_MASK": 1}


def test_what_a_port_adds_is_told_in_the_order_of_names() -> None:
    """The order does not depend on the seed of hashes."""
    operator = LoadedOperator("f(Tensor x) -> Tensor", frozenset(), "", {}, {}, ())
    names = [("acme", f"f{number}") for number in range(9)]
    port = LoadedLibrary({("acme", "f"): operator, **dict.fromkeys(reversed(names), operator)}, {}, {})
    original = port._replace(operators={("acme", "f"): operator})
    added = compare_processes(original, port, RegisteredSide()).differences
    assert [(difference.kind, difference.operator) for difference in added] == [
        ("added", "::".join(name)) for name in names
    ]
