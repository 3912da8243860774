"""Registrations of libraries become library files that register the same."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from opwright.cli.main import main
from opwright.migrate.importing.cpp_reader import read_cpp_sources
from opwright.migrate.importing.operators import type_notes
from opwright.schema import parse_schema
from opwright.source.text import SourceFile
from tests.libraries.importing.library import BINDINGS, EXPECTED, HEADER, PYTHON, STABLE

DEFINE = ["--define", "PREFIX=acme"]


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder with the sources of a library."""
    monkeypatch.chdir(tmp_path)
    Path("bindings.cpp").write_text(BINDINGS)
    Path("kernels.h").write_text(HEADER)
    return tmp_path


def imported(*words: str) -> int:
    """The exit status of an import."""
    return main(["import", *words, "--out", "acme.yaml"])


def test_native_library(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every form of a registration is read, and what stays by hand is named with its place."""
    assert imported("bindings.cpp", *DEFINE) == 0
    assert Path("acme.yaml").read_text() == EXPECTED
    printed = capsys.readouterr().out
    assert 'stays: bindings.cpp:33: the schema of `twice` is generated: write `m.impl("twice", ...)`' in printed
    assert "stays: bindings.cpp:42: the sources have no schema for `acme::absent`" in printed
    assert "in the file: bindings.cpp: 18-22, 24-25, 27, 29, 32, 34, 41, 45-46, 48" in printed
    main(["check", "acme.yaml"])
    assert "error" not in capsys.readouterr().err


def test_generated_registrations_are_equal(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The code that is generated from the file registers what the sources register, until one of them changes."""
    kernel = '  m.impl("twice", [](const at::Tensor& x) { return x + x; });\n'
    Path("hand.cpp").write_text(f"TORCH_LIBRARY_IMPL(acme, CompositeImplicitAutograd, m) {{\n{kernel}}}\n")
    words = ["bindings.cpp", *DEFINE]
    assert imported(*words) == 0
    words += ["--by-hand", "hand.cpp", "--check"]
    assert imported(*words) == 0
    assert "register 9 operators alike, 0 differences are lost or added" in capsys.readouterr().out
    changed = [
        ("float by", "int by", "lost: `acme::scale`: its schema: "),
        ("pt2_compliant_tag", "core", "lost: `acme::scale`: its tags: `pt2_compliant_tag` in the sources, and `core`"),
        (
            "CUDA: fast::scale",
            "MPS: fast::scale",
            "lost: `acme::scale`: `fast::scale` answers for CUDA, and now nothing",
        ),
        ("VERSION >= 12", "VERSION >= 13", "lost: `acme::fill`: `fill_cuda` if "),
        ("if: defined(WITH_MORE)\n", "if: defined(WITHOUT)\n", "lost: `acme::fill`: its condition: "),
        ("last() -> int[]", "least() -> int[]", "added: `acme_more::least`: it is not in the sources"),
    ]
    # A comparison asks a process with PyTorch, so all changes but that of another operator's `fill` share one.
    for together in (changed[:3] + changed[4:], changed[3:4]):
        text = EXPECTED
        for old, new, _ in together:
            assert old in text
            text = text.replace(old, new)
        Path("acme.yaml").write_text(text)
        assert imported(*words) == 1
        printed = capsys.readouterr().out
        assert [told for _, _, told in together if told not in printed] == []


def test_stable_library(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What operators share becomes a section, and types that only `TORCH_BOX` knows are taken."""
    Path("stable.cpp").write_text(STABLE)
    assert imported("stable.cpp") == 0
    text = Path("acme.yaml").read_text()
    assert text.endswith("""\
operators:
- if: "!defined(USE_ROCM)"
  dispatch: CUDA
  operators:
  - func: scale(Tensor x, float by) -> Tensor
  - func: twice(Tensor x) -> Tensor
  - func: offsets(int[][] sizes) -> ()
""")
    assert imported("stable.cpp", "--check") == 0
    assert "register 3 operators alike, 0 differences" in capsys.readouterr().out


def test_python_library(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Operators of Python get entries, and their kernels stay."""
    Path("ops.py").write_text(PYTHON)
    assert imported("ops.py") == 0
    text = Path("acme.yaml").read_text()
    assert '- func: glue(Tensor x, Tensor(a1!)? y, SymInt n=2, *, str mode="a") -> Tensor[]\n' in text
    assert "- func: paste(Tensor x, Tensor(a!) y) -> ()\n  dispatch: {}" in text
    assert "- func: cut(Tensor x) -> Tensor\n  tags: [core]\n  manual_kernel_registration: True\n" in text
    printed = capsys.readouterr().out
    assert '@torch.library.impl("acme::glue", "CPU")' in printed
    assert "stays: ops.py:22: the schema of `acme::unknown` is not read: the parameter `x` has no annotation" in printed
    assert main(["check", "acme.yaml"]) == 0


def test_sources_of_which_nothing_is_read(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The error says why at the operator, and not that the source registers nothing."""
    head = "import torch\n@torch.library.custom_op('acme::f', mutates_args=())\n"
    Path("ops.py").write_text(f"{head}def f(x: torch.Tensor, by: complex) -> torch.Tensor: ...\n")
    assert imported("ops.py") == 1
    told = capsys.readouterr().err
    assert "error[E2401]: no operator is read from ops.py\n --> ops.py:2:1\n" in told
    assert "the annotation of the parameter `by` is `complex`, of which PyTorch has no type" in told


def test_generators_need_no_tag(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An operator that takes a generator is imported as its source registers it, and a check says what a tag is for."""
    Path("draw.cpp").write_text(
        "#include <torch/library.h>\nat::Tensor draw(const at::Tensor& x, std::optional<at::Generator> g);\n"
        'TORCH_LIBRARY(acme, m) { m.def("draw(Tensor x, Generator? g=None) -> Tensor"); }\n'
        'TORCH_LIBRARY_IMPL(acme, CPU, m) { m.impl("draw", &draw); }\n'
    )
    assert imported("draw.cpp") == 0
    assert "tags:" not in Path("acme.yaml").read_text()
    capsys.readouterr()
    main(["check", "acme.yaml"])
    told = capsys.readouterr().out
    assert "warning[W1128]" in told
    assert "error" not in told
    assert main(["generate", "--library", "acme.yaml", "--out", "out"]) == 0


def test_refused_operators_stay_by_hand(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An operator that no library file can have is a comment, and the others have entries."""
    annotated = "(x: torch.Tensor, {name}: str) -> torch.Tensor:\n    return x\n"
    Path("ops.py").write_text(
        "import torch\n"
        + "".join(
            f'@torch.library.custom_op("acme::{name}", mutates_args=())\ndef {name}{annotated.format(name=name)}'
            for name in ("default", "mode")
        )
        + 'torch.library.define("acme::wait", "(Future(Tensor) x) -> Tensor")\n'
    )
    assert imported("ops.py") == 0
    text = Path("acme.yaml").read_text()
    assert "- func: mode(Tensor x, str mode) -> Tensor\n" in text
    assert "\n# ops.py:2: `acme::default` stays by hand: the argument name `default` is a C++ keyword\n" in text
    assert "\n# ops.py:8: `acme::wait` stays by hand: `Future(Tensor) x` has no form in C++\n" in text
    assert "stays: ops.py:2: `acme::default` stays by hand" in capsys.readouterr().out
    assert main(["check", "acme.yaml"]) == 0
    assert imported("ops.py", "--check") == 1
    lost = [line for line in capsys.readouterr().out.splitlines() if line.startswith("lost: ")]
    assert lost
    assert all(line.startswith("lost: `acme::mode`: ") for line in lost)


def test_python_beside_cpp(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A fake in Python keeps no kernel of C++ by hand."""
    Path("stable.cpp").write_text(STABLE)
    adders = {
        "register_fake": "for Meta: declare `outputs` in its place",
        "register_autograd": "for Autograd: write a derivative in its place",
        "register_autocast": "for AutocastCUDA: declare `autocast` in its place",
        "register_vmap": "for FuncTorchBatched: it stays",
    }
    given = {"register_autocast": '"cuda", torch.half'}
    calls = [f'torch.library.{adder}("acme::twice", {given.get(adder, "f")})\n' for adder in adders]
    Path("fakes.py").write_text("import torch\ndef f(x):\n    return x\n" + "".join(calls))
    assert imported("stable.cpp", "fakes.py") == 0
    assert "  dispatch: CUDA\n" in Path("acme.yaml").read_text()
    printed = capsys.readouterr().out
    for number, told in enumerate(adders.values()):
        assert f"stays: fakes.py:{number + 4}: Python adds to `twice` {told}" in printed


def test_inferred_schemas_are_those_of_pytorch(library: Path, torch: ModuleType) -> None:
    """PyTorch reads the schemas that are inferred from C++ types, with the names that it gives."""
    rows = read_cpp_sources([SourceFile.read("bindings.cpp")], {}).statements
    for row in rows:
        if any("infers" in note for note in row.notes):
            assert str(torch._C.parse_schema(row.schema)) == row.schema


def test_files_are_not_replaced(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that exists is replaced with `--force` alone."""
    Path("acme.yaml").write_text("mine")
    assert imported("bindings.cpp", *DEFINE) == 1
    assert "E2402" in capsys.readouterr().err
    assert Path("acme.yaml").read_text() == "mine"
    assert imported("bindings.cpp", *DEFINE, "--force") == 0


@pytest.mark.parametrize(
    ("words", "code"),
    [(["kernels.h"], "E2401"), (["bindings.cpp"], "E2403"), (["bindings.cpp", "stable.cpp", *DEFINE], "E2404")],
)
def test_what_cannot_be_imported(
    library: Path, capsys: pytest.CaptureFixture[str], words: list[str], code: str
) -> None:
    """A run that cannot write a sound file says why, and writes none."""
    Path("stable.cpp").write_text(STABLE)
    assert imported(*words) == 1
    assert code in capsys.readouterr().err
    assert not Path("acme.yaml").exists()


HUB = """\
TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, ops) {
  ops.def("relu(Tensor! out, Tensor input) -> ()");
#if defined(CPU_KERNEL)
  ops.impl("relu", torch::kCPU, &relu);
#endif
}
"""


def test_the_build_gives_the_namespace(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The namespace of a kernel for the Hugging Face Hub stays with its build, if no macro gives it."""
    Path("binding.cpp").write_text(HUB)
    assert imported("binding.cpp") == 0
    text = Path("acme.yaml").read_text()
    assert "namespace: {from: TORCH_EXTENSION_NAME}\ncpp_namespace: acme\n" in text
    assert imported("binding.cpp", "--check") == 0
    assert "register 1 operator alike, 0 differences" in capsys.readouterr().out
    assert imported("binding.cpp", "--force", "--define", "TORCH_EXTENSION_NAME=_C") == 0
    assert "namespace: _C\n" in Path("acme.yaml").read_text()


MODULE = """
import torch
library = torch.library.Library("acme_live", "DEF")
library.define("scale(Tensor x, float by) -> Tensor", tags=torch.Tag.core)
library.impl("scale", lambda x, by: x * by, "CPU")
library.define("none(int n) -> int")
"""


def test_module(library: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A process of its own imports a module and reads schemas, keys and tags from the dispatcher."""
    monkeypatch.setenv("PYTHONPATH", str(library))
    Path("acme_module.py").write_text(MODULE)
    assert imported("--module", "acme_module") == 0
    text = Path("acme.yaml").read_text()
    assert "- func: scale(Tensor x, float by) -> Tensor\n  tags: [core]\n  manual_kernel_registration: True\n" in text
    assert "the kernels for CPU" in text
    assert "- func: none(int n) -> int\n  dispatch: {}" in text
    assert imported("--module", "acme_absent", "--force") == 1
    assert "E2405" in capsys.readouterr().err


HOSTILE = r"""
TORCH_LIBRARY(acme, m) {
#if defined(A) || __FILE__[0] == '"'
  m.def("odd(Tensor x) -> Tensor");
#endif
  m.def("lines(Tensor x) -> Tensor", [](const at::Tensor& x) { f(R"(
- func: injected(Tensor x) -> Tensor
)"); return x; });
  m.def("two: words(Tensor x) -> Tensor", &f);
  m.def("fine(Tensor x, str s=\": # '\") -> Tensor", &f);
}
"""


def test_nothing_in_sources_is_yaml(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Texts of sources stay texts in the library file, and conditions that it cannot have are named."""
    Path("bindings.cpp").write_text(HOSTILE)
    assert imported("bindings.cpp") == 0
    written = yaml.safe_load(Path("acme.yaml").read_text())
    assert [entry["func"] for entry in written["operators"]] == [
        "lines(Tensor x) -> Tensor",
        'fine(Tensor x, str s=": # \'") -> Tensor',
    ]
    assert "bindings.cpp:4: a library file cannot have the condition" in capsys.readouterr().out


MACROS = """\
#include "kernels.h"
#define NAME acme
#define FRAGMENT(name, m) TORCH_LIBRARY_FRAGMENT(name, m)
#define SELF "Tensor self"
#define CPU_IMPL(name, ...) m.impl(#name, torch::dispatch(torch::kCPU, TORCH_FN(acme::name##_cpu)))
#define BOTH(name) \\
  m.def(#name "(" SELF ") -> Tensor"); \\
  CPU_IMPL(name, unused, too)
#ifdef A
#define UNKNOWN(m) m.def("one() -> ()")
#else
#define UNKNOWN(m) m.def("other() -> ()")
#endif
FRAGMENT(NAME, m) {
  BOTH(twice);
  m.def("half\\50" SELF ", float by=0.5\\x29 -> Tensor");
  CPU_IMPL(half);
  m.def("mixed(Tensor self) -> Tensor"); m.def("lambda() -> int", [] { return 1; });
}
"""


def test_macros_of_a_file(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Macros with parameters that register are read as what they stand for, and macros in texts as theirs."""
    Path("macros.cpp").write_text(MACROS)
    assert imported("macros.cpp") == 0
    entries = {entry["func"]: entry for entry in yaml.safe_load(Path("acme.yaml").read_text())["operators"]}
    assert entries["twice(Tensor self) -> Tensor"]["dispatch"] == {"CPU": "twice_cpu"}
    assert entries["half(Tensor self, float by=0.5) -> Tensor"]["dispatch"] == {"CPU": "half_cpu"}
    assert len(entries) == 4
    # A line of which one statement stays is not deleted.
    assert "in the file: macros.cpp: 15-17\n" in capsys.readouterr().out
    kernel = '  m.impl("lambda", [] { return 1; });\n'
    Path("hand.cpp").write_text(f"TORCH_LIBRARY_IMPL(acme, CompositeImplicitAutograd, m) {{\n{kernel}}}\n")
    assert imported("macros.cpp", "--by-hand", "hand.cpp", "--check") == 0


def test_macros_that_name_namespaces(library: Path) -> None:
    """A macro that names a namespace is the namespace, and no block is read for another one that a macro is given."""
    Path("names.cpp").write_text("""
#include <torch/library.h>
#include "names.ipp"
#define SPACE spaced
#define SAME(...) __VA_ARGS__
namespace SPACE { at::Tensor f(const at::Tensor& x) { return x; } at::Tensor g(const at::Tensor& x) { return x; } }
SAME(TORCH_LIBRARY(given, m) { m.def("h(Tensor x) -> Tensor"); })
TORCH_LIBRARY(SPACE, m) { m.def("f(Tensor x) -> Tensor"); m.def("g(Tensor x) -> Tensor"); }
IMPLEMENT(SPACE)
""")
    Path("names.ipp").write_text("""
#define IMPLEMENT(ns) TORCH_LIBRARY_IMPL(ns, CPU, m) { m.impl("f", &ns::f); m.impl("g", &ns::g); }
""")
    assert main(["import", "names.cpp", "--out", "names.yaml"]) == 0
    text = Path("names.yaml").read_text()
    assert "namespace: spaced\ncpp_namespace: spaced::ops\nkernel_namespace: spaced\n" in text
    assert "given" not in text
    Path("used.cpp").write_text("""
#include <torch/library.h>
namespace used::inner { at::Tensor f(const at::Tensor& x) { return x; } }
namespace used { using inner::f; }
TORCH_LIBRARY(used, m) { m.def("f(Tensor x) -> Tensor"); }
TORCH_LIBRARY_IMPL(used, CPU, m) { m.impl("f", torch::CppFunction(&used::f)); }
""")
    assert main(["import", "used.cpp", "--out", "used.yaml"]) == 0
    assert "namespace: used\ncpp_namespace: used::ops\n" in Path("used.yaml").read_text()


def test_a_kernel_for_several_keys(library: Path) -> None:
    """An operator whose kernels have its own name lists their keys."""
    kernels = "".join(f'  m.impl("f", torch::k{key}, &f);\n' for key in ("CPU", "CUDA"))
    Path("keys.cpp").write_text(f'TORCH_LIBRARY(acme, m) {{\n  m.def("f(Tensor x) -> Tensor");\n{kernels}}}\n')
    assert imported("keys.cpp") == 0
    assert "dispatch: CPU, CUDA\n" in Path("acme.yaml").read_text()


def test_kernels_and_callers_are_told_apart(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where a kernel has the C++ name of an operator, functions for callers are in another namespace."""
    Path("shift.h").write_text("namespace acme { void shift(at::Tensor x, at::Tensor y); }\n")
    Path("shift.cpp").write_text(
        '#include "shift.h"\nTORCH_LIBRARY(acme, m) {\n  m.def("shift(Tensor x, Tensor(a!) y) -> ()");\n'
        '  m.impl("shift", torch::kCPU, &acme::shift);\n}\n'
    )
    assert imported("shift.cpp") == 0
    assert "cpp_namespace: acme::ops\n" in Path("acme.yaml").read_text()
    assert imported("shift.cpp", "--check") == 0
    assert "error" not in capsys.readouterr().err


def test_declared_kernels_of_stable_libraries_are_equal(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Generated code registers kernels of the stable interface through a template, of which the name is read."""
    Path("narrow.h").write_text("Tensor f(const Tensor& q, float scale);\nTensor g(const Tensor& q, double scale);\n")
    Path("narrow.cpp").write_text(
        '#include "narrow.h"\nSTABLE_TORCH_LIBRARY(acme, m) {\n  m.def("f(Tensor q, float scale) -> Tensor");\n}\n'
        'STABLE_TORCH_LIBRARY_IMPL(acme, CPU, m) {\n  m.impl("f", TORCH_BOX(&f));\n}\n'
    )
    assert imported("narrow.cpp") == 0
    assert imported("narrow.cpp", "--check") == 0
    assert "register 1 operator alike, 0 differences" in capsys.readouterr().out
    text = Path("acme.yaml").read_text()
    assert "# narrow.cpp:6: the kernel takes `scale` as `float`, which generated code converts" in text
    Path("acme.yaml").write_text(text.replace("dispatch: CPU", "dispatch: {CPU: g}"))
    assert imported("narrow.cpp", "--check") == 1
    assert "lost: `acme::f`: `f` answers for CPU, and now `g`" in capsys.readouterr().out


def test_types_of_stable_kernels_are_told() -> None:
    """Notes say what is converted, and what does not compile, and nothing of types that are read as they are."""
    schema = parse_schema("f(Tensor x, float a, int? b, int[] c, str d, bool e, Tensor? g, ScalarType h) -> Tensor")
    same = ["Tensor", "double", "std::optional<int64_t>", "std::vector<int64_t>", "std::string_view", "bool"]
    same += ["const std::optional<torch::stable::Tensor>&", "Dtype"]
    assert [*type_notes(schema, same)] == []
    other = ["const Tensor&", "float", "std::optional<short>", "const std::vector<int>&", "const std::string&"]
    other += ["int", "Tensor", "int64_t"]
    told = [
        re.sub(r"^the kernel takes `(\w)` as .*(converts|compile).*", r"\1 \2", note)
        for note in type_notes(schema, other)
    ]
    assert told == ["a converts", "b converts", "c converts", "e compile", "g compile", "h compile"]
    assert [*type_notes(schema, other[:2])] == ["the kernel takes 2 arguments, and does not compile: the schema has 8"]


KERNELS = """
#include <torch/library.h>
at::Tensor plain(const at::Tensor& x);
at::Tensor plain(const at::Tensor& x, int64_t n);
at::Tensor only(const at::Tensor& x, int64_t n = 3);
static at::Tensor padded(const at::Tensor& x) { return only(x, 3); }
static at::Tensor shape(const at::Tensor& x) { return at::empty_like(x); }
static at::Tensor same(const at::Tensor& x, int64_t n) { return only(x, n); }
template <int n> at::Tensor cast(const at::Tensor& x);
TORCH_LIBRARY(acme, m) {
  m.def("f(Tensor x) -> Tensor");
  m.impl("f", c10::DispatchKey::CPU, KERNEL);
  m.impl("f", c10::DispatchKey::AutocastCPU, &cast<2>);
}
"""


@pytest.mark.parametrize(
    ("kernel", "dispatch"),
    [
        ("&plain", None),
        ("static_cast<at::Tensor (*)(const at::Tensor&)>(&plain)", None),
        ("static_cast<at::Tensor (*)(const at::Tensor&)>(&at::relu)", None),
        ("[](const at::Tensor& x) { return at::relu(x); }", None),
        ("[](const at::Tensor& x) { return only(x); }", None),
        ("&padded", {"CPU": "padded"}),
        ("&shape", {"CPU": "shape"}),
        ("&same", {"CPU": "only"}),
        ("[](const at::Tensor& x, int64_t n) { return only(x, n); }", {"CPU": "only"}),
        ("[](const at::Tensor& x, int n) { return only(x, n); }", None),
    ],
)
def test_kernels_that_a_name_says(
    library: Path, capsys: pytest.CaptureFixture[str], kernel: str, dispatch: dict[str, str] | None
) -> None:
    """An entry names a kernel only if the name means one function with the types of the kernel.

    The kernel for autocast has no name, and stays beside those that have one.
    """
    Path("k.cpp").write_text(KERNELS.replace("KERNEL", kernel))
    assert imported("k.cpp") == 0
    (entry,) = yaml.safe_load(Path("acme.yaml").read_text())["operators"]
    assert entry.get("dispatch") == dispatch
    assert entry.get("manual_kernel_registration", False) is (dispatch is None)
    printed = capsys.readouterr().out
    assert "stays: k.cpp:13: the kernel of `f` is registered by hand" in printed
    assert ("stays: k.cpp:12:" in printed) is (dispatch is None)
    main(["check", "acme.yaml"])
    assert "error" not in capsys.readouterr().err


def test_kernels_of_one_name_in_several_files(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Functions of one name that several files hide get names of their own, also where a file serves two operators."""
    for folder in ("cpu", "cuda"):
        Path(folder).mkdir()
        Path(folder, "kernel.cpp").write_text(
            "namespace acme { namespace {\nat::Tensor run(const at::Tensor& x) { return x; }\n}\n"
            f'TORCH_LIBRARY_IMPL(acme, {folder.upper()}, m) {{\n  m.impl("f", TORCH_FN(run));\n'
            '  m.impl("g", TORCH_FN(run));\n}\n}\n'
        )
    Path("more.cpp").write_text(
        "namespace acme { static at::Tensor run(const at::Tensor& x) { return x; }\n"
        'TORCH_LIBRARY_FRAGMENT(acme, m) { m.def("h", torch::dispatch(c10::kCPU, run)); }\n}\n'
    )
    Path("def.cpp").write_text(
        'TORCH_LIBRARY(acme, m) {\n  m.def("f(Tensor x) -> Tensor");\n  m.def("g(Tensor x) -> Tensor");\n}\n'
    )
    sources = ("def.cpp", "cpu", "cuda", "more.cpp")
    assert imported(*sources) == 0
    text = Path("acme.yaml").read_text()
    assert [entry["dispatch"] for entry in yaml.safe_load(text)["operators"]] == [
        {"CPU": "run_cpu", "CUDA": "run_cuda"},
        {"CPU": "run_cpu", "CUDA": "run_cuda"},
        {"CPU": "run_more"},
    ]
    assert "func: h(Tensor _0) -> Tensor _0" in text
    assert "cuda/kernel.cpp:5: `acme::run` can only be named in its own file: move it out" in text
    assert "and call it `run_cuda`, because other files have one of its name" in text
    assert imported(*sources, "--check") == 0


def test_the_python_module_of_operators_is_named(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A library file names no module with fakes, and the import says so where the sources do."""
    Path("k.cpp").write_text(
        'TORCH_LIBRARY(acme, m) {\n  m.set_python_module("fakes");\n  m.def("f(Tensor x) -> Tensor");\n}\n'
    )
    assert imported("k.cpp") == 0
    printed = capsys.readouterr().out
    assert 'stays: k.cpp:2: `set_python_module` names "fakes", which the library file cannot say' in printed
    assert "in the file: k.cpp: 3\n" in printed
