"""Conditions of the preprocessor and names of C++ that only other lines of the sources explain."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from opwright.cli.main import main
from opwright.migrate.importing.library_file import library_text
from opwright.migrate.importing.run import ImportRequest, ReadOperators, read_operators

KERNELS = "#include <torch/library.h>\nat::Tensor f(const at::Tensor& x);\nat::Tensor g(const at::Tensor& x);\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder."""
    monkeypatch.chdir(tmp_path)
    Path("csrc").mkdir()
    return tmp_path


def read(**files: str) -> ReadOperators:
    """What is read of files, whose suffix is after the last `_` of their names."""
    for name, text in files.items():
        Path("csrc", ".".join(name.rsplit("_", 1))).write_text(text)
    return read_operators(ImportRequest(("csrc",), (), {}, "acme.yaml"))


def kernels(operators: ReadOperators) -> dict[str, str]:
    """The kernels of each operator, or that they stay by hand."""
    return {
        operator.name: "by hand" if operator.by_hand else ", ".join(kernel.name for kernel in operator.kernels)
        for operator in operators.imported.operators
    }


@pytest.mark.parametrize(
    ("statement", "kernel"),
    [
        ('m.def("h(Tensor x"\n#ifdef MORE\n", int n=2"\n#endif\n") -> Tensor");', "by hand"),
        ('m.def("h(Tensor x) -> Tensor", {\n#ifdef MORE\nat::Tag::core\n#endif\n});', ""),
        ('m.impl("f", c10::DispatchKey::CPU,\n#ifdef MORE\n&g\n#else\n&f\n#endif\n);', "by hand"),
        ('m.impl("f",\n#ifdef MORE\nc10::DispatchKey::CUDA,\n#endif\n&f);', "by hand"),
    ],
)
def test_calls_of_which_the_preprocessor_chooses_parts(statement: str, kernel: str) -> None:
    """A call that is another one in another build is named, and not read as all of its branches together."""
    operators = read(a_cpp=f'{KERNELS}TORCH_LIBRARY(acme, m) {{\n  m.def("f(Tensor x) -> Tensor");\n{statement}\n}}\n')
    assert kernels(operators) == {"f": kernel}
    reasons = [reason for place, reason in operators.imported.left if place.first == 6]
    assert any("of which the preprocessor chooses parts" in reason for reason in reasons)


def test_blocks_of_which_the_preprocessor_chooses_the_key() -> None:
    """A block whose key depends on the build registers no kernel that is read."""
    head = f'{KERNELS}TORCH_LIBRARY(acme, m) {{ m.def("f(Tensor x) -> Tensor"); }}\n'
    block = 'TORCH_LIBRARY_IMPL(acme,\n#ifdef MORE\n  CUDA,\n#endif\n  m) { m.impl("f", &f); }\n'
    assert kernels(read(a_cpp=head + block)) == {"f": "by hand"}


def test_parts_of_a_chain_with_their_own_conditions() -> None:
    """Each whole call of a chain has its own condition."""
    chain = '.op("acme::f(Tensor x) -> Tensor", &f)\n#ifdef MORE\n  .op("acme::g(Tensor x) -> Tensor", &g)\n#endif\n;\n'
    operators = read(a_cpp=f"{KERNELS}static auto registry = torch::RegisterOperators()\n  {chain}")
    conditions = {operator.name: operator.condition for operator in operators.imported.operators}
    assert conditions == {"f": "", "g": "defined(MORE)"}


@pytest.mark.parametrize("suffix", ["cpp", "h"])
def test_conditions_on_what_a_source_defines(suffix: str) -> None:
    """Generated code has no macro that a source defines for itself, or for a header that it includes."""
    block = (
        'TORCH_LIBRARY(acme, m) {\n  m.def("f(Tensor x) -> Tensor");\n#ifdef MORE\n  m.def("g(Tensor x) -> Tensor");\n'
    )
    texts = {f"ops_{suffix}": f"{KERNELS}{block}#endif\n}}\n"}
    if suffix == "cpp":
        texts["ops_cpp"] = f"#define MORE 1\n{texts['ops_cpp']}"
    else:
        texts["a_cpp"] = '#define MORE 1\n#include "ops.h"\n'
    operators = read(**texts)
    assert [operator.name for operator in operators.imported.operators] == ["f"]
    told = "`acme::g` stays by hand: the condition `defined(MORE)` depends on what a source defines"
    assert told in [reason for _, reason in operators.imported.left]


def test_conditions_on_what_another_source_defines() -> None:
    """A macro of another source says nothing of the build of this one."""
    texts = {"ops_cpp": f'{KERNELS}#ifdef MORE\nTORCH_LIBRARY(acme, m) {{ m.def("f(Tensor x) -> Tensor"); }}\n#endif\n'}
    operators = read(**texts, other_cpp="#define MORE 1\nvoid h();\n")
    assert [operator.condition for operator in operators.imported.operators] == ["defined(MORE)"]


def test_headers_that_register_are_not_included() -> None:
    """A kernel of a header with registrations stays by hand: generated code would register them again."""
    head = "#include <torch/library.h>\ninline at::Tensor f(const at::Tensor& x) { return x; }\n"
    operators = read(ops_h=f'{head}TORCH_LIBRARY(acme, m) {{ m.def("f(Tensor x) -> Tensor", &f); }}\n')
    assert kernels(operators) == {"f": "by hand"}
    assert "ops.h" not in operators.head.headers


@pytest.mark.parametrize("directive", ["using namespace acme::cpu;", ""])
def test_kernels_that_a_directive_names(directive: str) -> None:
    """A name of a kernel means what `using namespace` gives, in a block or before it."""
    inside, before = ("", directive) if directive else ("using namespace acme::cpu; ", "")
    functions = "namespace acme { namespace cpu { at::Tensor k(const at::Tensor& x) { return x; } } }\n"
    blocks = 'TORCH_LIBRARY(acme, m) { m.def("f(Tensor x) -> Tensor"); }\n'
    blocks += f'TORCH_LIBRARY_IMPL(acme, CPU, m) {{ {inside}m.impl("f", &k); }}\n'
    assert kernels(read(a_cpp=f"{KERNELS}{functions}{before}\n{blocks}")) == {"f": "acme::cpu::k"}


def test_kernels_that_a_directive_names_from_its_scope() -> None:
    """A directive in a namespace names another one from there."""
    functions = "namespace acme {\nnamespace cpu { at::Tensor k(const at::Tensor& x) { return x; } }\n"
    blocks = "using namespace cpu;\nusing namespace acme::cpu;\n"
    blocks += 'TORCH_LIBRARY(acme, m) { m.def("f(Tensor x) -> Tensor", &k); }\n}\n'
    assert kernels(read(a_cpp=KERNELS + functions + blocks)) == {"f": "acme::cpu::k"}


def test_kernels_that_a_declaration_names() -> None:
    """A name that a namespace has from another one by `using` is that of the function there."""
    functions = "namespace a { at::Tensor k(const at::Tensor& x) { return x; } }\nnamespace b { using a::k; }\n"
    blocks = 'TORCH_LIBRARY(acme, m) { m.def("f(Tensor x) -> Tensor", &b::k); }\n'
    assert kernels(read(a_cpp=KERNELS + functions + blocks)) == {"f": "a::k"}


INLINE = """\
at::Tensor f(const at::Tensor& x) { return x.sin(); }
inline namespace d { at::Tensor g(const at::Tensor& x) { return x; } }
namespace { inline namespace w { at::Tensor h(const at::Tensor& x) { return x; } } }
"""
IN_BLOCK = """\
namespace a {
namespace v1 { at::Tensor f(const at::Tensor& x) { return x; } }
TORCH_LIBRARY(acme, m) {
  m.def("one(Tensor x) -> Tensor", &f);
  m.def("two(Tensor x) -> Tensor", &a::g);
  m.def("three(Tensor x) -> Tensor", h);
  m.def("four(Tensor x) -> Tensor", &v1::f);
  m.def("five(Tensor x) -> Tensor", &v2::g);
}
}
"""
IN_HEADER = """\
namespace a { inline namespace v2 { at::Tensor f(const at::Tensor&); } }
namespace a { inline namespace v2 { inline namespace d { at::Tensor g(const at::Tensor&); } } }
namespace a { inline namespace v2 { inline namespace w { at::Tensor h(const at::Tensor&); } } }
namespace a::v1 { at::Tensor f(const at::Tensor&); }
"""


@pytest.mark.parametrize(
    ("opened", "closed"), [("namespace a { inline namespace v2 {", "} }"), ("namespace a::inline v2 {", "}")]
)
def test_kernels_of_inline_namespaces(opened: str, closed: str) -> None:
    """A name of an inline namespace is also one of the namespace around it, and a header says that it is inline."""
    operators = read(a_cpp=f"{KERNELS}{opened}\n{INLINE}{closed}\n{IN_BLOCK}")
    whole = {"one": "f", "two": "d::g", "three": "w::h", "five": "d::g"}
    assert kernels(operators) == {**{name: f"a::v2::{kernel}" for name, kernel in whole.items()}, "four": "a::v1::f"}
    assert set(IN_HEADER.splitlines()) <= set(operators.header.splitlines())


@pytest.mark.parametrize(
    ("code", "kernel"),
    [
        ("constexpr auto k = &f;", "k"),
        ("auto k = [](const at::Tensor& x) { return x; };", "k"),
        ("at::Tensor k(c10::DispatchKeySet keys, const at::Tensor& x) { return x; }", "&k"),
        ('extern "C" at::Tensor k(const at::Tensor& x) { return x; }', "&k"),
        ("struct K { static at::Tensor k(at::Tensor x); };\nat::Tensor K::k(at::Tensor x) { return x; }", "&K::k"),
    ],
)  # fmt: skip
def test_kernels_that_no_written_header_can_declare(code: str, kernel: str) -> None:
    """Variables, functions of C or with a set of keys, and members of classes that no header has stay by hand."""
    text = f'{KERNELS}{code}\nTORCH_LIBRARY(acme, m) {{ m.def("f(Tensor x) -> Tensor", {kernel}); }}\n'
    assert kernels(read(a_cpp=text)) == {"f": "by hand"}


@pytest.mark.parametrize(
    ("declared", "kernel"),
    [
        ("using b::f;", "&f"),
        ("auto f = &g;", "f"),
        ("auto f = [](const at::Tensor& x) { return x; };", "f"),
        ("namespace n = b;", "&n::f"),
        ("at::Tensor (*f)(const at::Tensor&) = &b::f;", "TORCH_FN(f)"),
        ("at::Tensor f(const at::Tensor& x);", "&f"),
        ("\n#define f g\n", "&f"),
        ("\n#define of(x) &b::x\n", "of(f)"),
    ],
)
def test_kernels_that_a_block_names_for_itself(declared: str, kernel: str) -> None:
    """What a block declares, and a macro, may hide the function of a name, which stays by hand."""
    others = "namespace b { at::Tensor f(const at::Tensor& x) { return x; } }\nnamespace n = b;\n"
    block = f'TORCH_LIBRARY(acme, m) {{ {declared} m.def("f(Tensor x) -> Tensor", {kernel}); }}\n'
    assert kernels(read(a_cpp=KERNELS + others + block)) == {"f": "by hand"}
    other = 'TORCH_LIBRARY(acme, m) { using namespace b; auto h = 3; m.def("f(Tensor x) -> Tensor", &g); }\n'
    assert kernels(read(a_cpp=KERNELS + others + other)) == {"f": "g"}


@pytest.mark.parametrize("kernel", ["f", "&n::f"])
def test_functions_of_modules_that_a_block_names_for_itself(kernel: str) -> None:
    """A variable of a module's block is no function of the sources."""
    functions = "namespace b { at::Tensor f(const at::Tensor& x) { return x; } }\nnamespace n = b;\n"
    functions += "at::Tensor f(const at::Tensor& x) { return x; }\n"
    block = "PYBIND11_MODULE(acme, m) {\n  auto f = &b::f;\n  namespace n = c;\n"
    block += f'  auto s = m.def_submodule("s");\n  m.def("f", {kernel});\n  s.def("g", &b::f);\n}}\n'
    assert list(kernels(read(a_cpp=KERNELS + functions + block))) == ["s_g"]


def test_definitions_with_a_key_that_only_a_run_knows() -> None:
    """A definition that stays with its kernel defines what the file defines, too, and says what to write."""
    text = 'TORCH_LIBRARY(acme, m) { m.def("f(Tensor x) -> Tensor", torch::dispatch(key(), &f)); }\n'
    operators = read(a_cpp=KERNELS + text)
    assert kernels(operators) == {"f": "by hand"}
    reasons = [reason for _, reason in operators.imported.left]
    assert 'the schema of `f` is generated: write `m.impl("f", ...)` in place of `m.def`' in reasons


def test_views_and_alias_sets_that_no_run_takes(tmp_path: Path) -> None:
    """A view without its copying form keeps its kernels by hand, and one alias set for two arguments is refused."""
    schemas = {
        "view": ("view(Tensor(a) x) -> Tensor(a)", "by hand"),
        "cut": ("cut(Tensor(a) x) -> Tensor(a)", "f"),
        "cut_copy": ("cut_copy(Tensor x) -> Tensor", "f"),
        "tip": ("tip(Tensor(a) x) -> Tensor(a)", "by hand"),
        "tip_copy": ("tip_copy(Tensor x) -> Tensor", None),
        "both": ("both(Tensor(a!) x, Tensor(a!) y) -> ()", None),
        "given": ("given(Tensor! x) -> Tensor!", None),
        "apart": ("apart(Tensor! x, Tensor! y) -> ()", "f"),
    }
    tags = {"cut_copy": ", {at::Tag::view_copy}"}
    block = "".join(f'm.def("{schema}"{tags.get(name, "")});\n' for name, (schema, _) in schemas.items())
    kernel = "".join(f'm.impl("{name}", &f);\n' for name in schemas if name not in tags)
    texts = f'TORCH_LIBRARY(acme, m) {{\n{block}m.def("all(Tensor(a) x) -> Tensor(a)", &f);\n}}\n'
    texts += 'TORCH_LIBRARY_IMPL(acme, CompositeExplicitAutogradNonFunctional, m) { m.impl("cut_copy", &f); }\n'
    operators = read(a_cpp=f"{KERNELS}{texts}TORCH_LIBRARY_IMPL(acme, CPU, m) {{\n{kernel}}}\n")
    assert kernels(operators) == {**{name: kept for name, (_, kept) in schemas.items() if kept}, "all": "f"}
    (tmp_path / "acme.yaml").write_text(library_text(operators.imported, operators.head))
    assert main(["generate", "--library", "acme.yaml", "--out", "out"]) == 0


def test_kernels_in_python_of_operators_that_cpp_defines(capsys: pytest.CaptureFixture[str]) -> None:
    """What they call records gradients: alone they have no generated kernels, and beside others these are lost."""
    definitions = "".join(f'm.def("{name}(Tensor x) -> Tensor");\n' for name in ("alone", "beside", "faked", "graded"))
    implemented = "".join(f'm.impl("{name}", &f);\n' for name in ("beside", "faked"))
    cpp = f"{KERNELS}TORCH_LIBRARY(acme, m) {{\n{definitions}}}\nTORCH_LIBRARY_IMPL(acme, CPU, m) {{\n{implemented}}}\n"
    rows = (("alone", "CPU"), ("beside", "CUDA"), ("faked", "Meta"), ("graded", "CPU"), ("graded", "Autograd"))
    python = "".join(f'torch.library.impl("acme::{name}", "{key}", lambda x: x * 2)\n' for name, key in rows)
    operators = read(a_cpp=cpp, a_py=f"import torch\n{python}")
    assert kernels(operators) == {"alone": "by hand", "beside": "f", "faked": "f", "graded": ""}
    (lost,) = [reason for _, reason in operators.imported.left if "its gradients are gone" in reason]
    assert lost.startswith("Python adds to `beside` for CUDA: its gradients are gone: write a derivative")
    assert main(["import", "csrc", "--out", "acme.yaml"]) == 0
    assert main(["import", "csrc", "--out", "acme.yaml", "--check"]) == 1
    printed = capsys.readouterr().out
    assert re.search(
        r"lost: `acme::beside`: .*`lambda x: x \* 2` gives the result of what it calls, which rec", printed
    )
    assert "`acme::alone`" not in printed


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("b_cpp", 'TORCH_LIBRARY_IMPL(acme, CUDA, m) { m.impl("f", [](const at::Tensor& x) { return x * 2; }); }'),
        ("b_py", 'import torch\ntorch.library.impl("acme::f", "CUDA", lambda x: x * 2)'),
    ],
)
@pytest.mark.parametrize("defined", ["in_cpp", "in_python"])
def test_unnamed_kernels_beside_named_ones(file: str, text: str, defined: str) -> None:
    """What they call records gradients, wherever the operator is defined: its generated kernel for Autograd raises."""
    name, definition = {
        "in_cpp": ("c_cpp", f'{KERNELS}TORCH_LIBRARY(acme, m) {{ m.def("f(Tensor x) -> Tensor"); }}'),
        "in_python": ("c_py", 'import torch\ntorch.library.define("acme::f", "(Tensor x) -> Tensor")'),
    }[defined]
    kernel = f'{KERNELS}TORCH_LIBRARY_IMPL(acme, CPU, m) {{ m.impl("f", &f); }}'
    read(a_cpp=f"{kernel}\n", **{file: f"{text}\n", name: f"{definition}\n"})
    assert main(["import", "csrc", "--out", "acme.yaml"]) == 0
    assert main(["import", "csrc", "--out", "acme.yaml", "--check"]) == 1


def test_callers_of_a_second_namespace(capsys: pytest.CaptureFixture[str]) -> None:
    """The head names one C++ namespace for callers, so the others have no entry with the name of a function there."""
    functions = "".join(f"namespace {name} {{ at::Tensor h(const at::Tensor& x) {{ return x; }} }}\n" for name in "ab")
    blocks = "".join(f'TORCH_LIBRARY({name}, m) {{ m.def("h(Tensor x) -> Tensor", &{name}::h); }}\n' for name in "ab")
    Path("csrc/a.cpp").write_text(KERNELS + functions + blocks)
    assert main(["import", "csrc", "--out", "acme.yaml"]) == 0
    assert (
        "`b::h` stays by hand: the sources have `b::h`, a name that generated headers give" in capsys.readouterr().out
    )
    assert main(["import", "csrc", "--out", "acme.yaml", "--check"]) == 0
    assert "error" not in capsys.readouterr().err


@pytest.mark.parametrize("declared", ["struct f {};", "using f = int;", "enum class f { a };", "constexpr int f = 7;"])
def test_names_that_callers_would_have(declared: str) -> None:
    """The functions for callers are elsewhere if the sources declare anything of their names in the namespace."""
    block = 'TORCH_LIBRARY(acme, m) { m.def("f(Tensor x) -> Tensor", [](const at::Tensor& x) { return x + 1; }); }\n'
    for namespace, is_apart in (("acme", True), ("other", False)):
        operators = read(a_cpp=f"{KERNELS}namespace {namespace} {{ {declared} }}\n{block}")
        text = library_text(operators.imported, operators.head)
        assert ("cpp_namespace: acme::ops\n" in text) is is_apart


def test_gradients_of_drafted_derivatives_are_not_lost() -> None:
    """A formula takes the place of a class of autograd, so the kernel never recorded gradients by itself."""
    source = """\
#include <torch/library.h>
#include <torch/csrc/autograd/custom_function.h>
at::Tensor scale(const at::Tensor& x) { return x * 2; }
struct Scale : torch::autograd::Function<Scale> {
  static at::Tensor forward(torch::autograd::AutogradContext* ctx, const at::Tensor& x) {
    at::AutoDispatchBelowADInplaceOrView guard;
    return scale(x);
  }
  static torch::autograd::variable_list backward(
      torch::autograd::AutogradContext* ctx, torch::autograd::variable_list grads) {
    return {grads[0] * 2};
  }
};
at::Tensor scale_autograd(const at::Tensor& x) { return Scale::apply(x); }
TORCH_LIBRARY(acme, m) { m.def("scale(Tensor x) -> Tensor"); }
TORCH_LIBRARY_IMPL(acme, CPU, m) { m.impl("scale", &scale); }
TORCH_LIBRARY_IMPL(acme, Autograd, m) { m.impl("scale", &scale_autograd); }
"""
    Path("csrc/a.cpp").write_text(source)
    assert main(["import", "csrc", "--out", "acme.yaml", "--derivatives", "derivatives.yaml"]) == 0
    assert "records under" not in Path("acme.yaml").read_text()
    assert "  x: grad*2" in Path("derivatives.yaml").read_text()
