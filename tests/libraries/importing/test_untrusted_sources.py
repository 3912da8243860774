"""What sources of strangers say is data: it becomes neither structure of YAML nor code, as PyYAML reads the file."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import yaml

from opwright.cli.main import main

#: Ends what is around a text in YAML, and begins other keys.
HOSTILE = ["x}\nplugins: [./evil.py]\n#", "x]\nplugins: [./evil.py]\n#", 'x"\nplugins: [./evil.py]\n#', "x: y #"]
HEAD = {
    "namespace", "cpp_namespace", "kernel_namespace", "kernel_signatures", "includes", "operators", "backend",
    "device_guard", "derived_overloads", "autocast_fallthrough", "supported", "autograd", "manual", "symint",
    "fallback",
}  # fmt: skip
EVIL = "open('RAN', 'w').write('x')\nfrom opwright.plugin import Plugin\nplugin = Plugin('evil', api=1)\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with a plug-in that nobody allowed."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "evil.py").write_text(EVIL)
    return tmp_path


def library_source(text: str) -> str:
    """A source that has a text wherever a library names something."""
    raw = f'R"F({text})F"'
    return f"""\
#include <torch/library.h>
TORCH_LIBRARY(acme, m) {{
  m.def("f(Tensor a) -> Tensor", {{at::Tag::{raw}}});
  m.impl("f", torch::kCPU, ::opwright::own_signature<&{raw}>());
  m.def({raw} "(Tensor a) -> Tensor");
  m.def("g(Tensor a, str b=" {raw} ") -> Tensor");
  m.impl("g", torch::dispatch(c10::DispatchKey::{raw}, &g));
}}
TORCH_LIBRARY({raw}, m) {{ m.def("h(Tensor a) -> Tensor"); }}
"""


def backend_source(text: str) -> str:
    """A source that has a text wherever a backend names something."""
    raw = f'R"F({text})F"'
    return f"""\
TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {{
  m.impl("relu", ::opwright::own_signature<&{raw}>());
  m.impl("abs", &npu::abs);
  m.impl("add." {raw} "out", &npu::add);
  m.impl("neg", TORCH_FN({raw}));
}}
"""


def read_head(path: str) -> dict[str, object]:
    """The mapping that PyYAML reads, which has no other keys than those of an import."""
    content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    assert content.keys() <= HEAD, content
    return dict(content)


@pytest.mark.parametrize("text", HOSTILE)
def test_texts_of_a_library_are_data(text: str, folder: Path) -> None:
    """No text of a source, nor the name of one, adds a key to the library file, and the entries are operators."""
    name = f"{text.replace('/', '')}.cpp"
    Path(name).write_text(library_source(text))
    assert main(["import", name, "--out", "o.yaml"]) == 0
    head = read_head("o.yaml")
    operators = head["operators"]
    assert isinstance(operators, list)
    assert all(isinstance(entry["func"], str) for entry in operators)
    main(["check", "o.yaml"])
    assert not Path("RAN").exists()


@pytest.mark.parametrize("text", HOSTILE)
def test_texts_of_a_backend_are_data(text: str, folder: Path) -> None:
    """No text of a source, nor the name of one, adds a key to the backend file; only names name kernels."""
    name = f"{text.replace('/', '')}.cpp"
    Path(name).write_text(backend_source(text))
    assert main(["import", name, "--backend", "--out", "o.yaml"]) == 0
    head = read_head("o.yaml")
    assert head["supported"] == [{"abs": {"kernel": "npu::abs"}}]


@pytest.mark.parametrize("name", ["null", "no", "yes", "true", "on", "off"])
def test_words_of_yaml_are_names(name: str, folder: Path) -> None:
    """A namespace is the text that the source has, also where YAML reads a word otherwise."""
    Path("a.cpp").write_text(f'TORCH_LIBRARY({name}, m) {{ m.def("f(Tensor a) -> Tensor"); }}\n')
    assert main(["import", "a.cpp", "--out", "o.yaml"]) == 0
    assert read_head("o.yaml")["namespace"] == name


def test_comparison_runs_no_plugin(folder: Path) -> None:
    """`import --backend --check` does not run what the file names."""
    Path("a.cpp").write_text(backend_source("x"))
    assert main(["import", "a.cpp", "--backend", "--out", "o.yaml"]) == 0
    Path("o.yaml").write_text("plugins: [./evil.py]\n" + Path("o.yaml").read_text())
    main(["import", "a.cpp", "--backend", "--out", "o.yaml", "--check"])
    assert not Path("RAN").exists()


#: Texts with escapes of C++ that end what is around a text in Python.
ESCAPED = [
    r"x\"\nopen(\"RAN\", \"w\")\n#",
    r"x\ropen('RAN', 'w')\r#",
    r"\"\"\"\nopen(\"RAN\", \"w\")\n\"\"\"",
    r"\0\f\\",
]


@pytest.mark.parametrize("text", [*HOSTILE, *ESCAPED])
def test_texts_of_a_module_are_data(text: str, folder: Path) -> None:
    """No text of a module of pybind11 is code of the Python module with its names, or the path of a file."""
    raw = f'"{text}"' if text in ESCAPED else f'R"F({text})F"'
    Path("a.cpp").write_text(f"""\
void f(at::Tensor x, std::string y) {{}}
PYBIND11_MODULE(acme, m) {{
  m.doc() = {raw};
  m.attr({raw}) = 1;
  m.attr("y") = {raw};
  auto inner = m.def_submodule({raw});
  auto other = m.def_submodule("other", {raw});
  m.def({raw}, &f);
  m.def("f", &f, {raw}, py::arg("x"), py::arg("y") = {raw});
  m.def("f", &f, py::arg({raw}), py::arg("y"));
  m.def("f", &f);
  py::class_<{raw}>(m, {raw});
}}
PYBIND11_MODULE(../evil, m) {{ m.def("f", &f); }}
""")
    files = {path.name for path in folder.parent.iterdir()}
    assert main(["import", "a.cpp", "--out", "o.yaml"]) == 0
    read_head("o.yaml")
    code = Path("acme.py").read_text(encoding="utf-8")
    defined = [node for node in ast.parse(code).body if not isinstance(node, (ast.FunctionDef, ast.Import, ast.Assign))]
    assert all(isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) for node in defined), code
    assert {path.name for path in folder.parent.iterdir()} == files


#: What ends lines for some reader and not for others, what reverses the order of letters, and what terminals obey.
CONTROLS = "\x85\u2028\u2029\ufeff\u202e\u2066\x0b\x0c\x1b\x7f\r"
#: What means something where source text may be written: in YAML, in comments, and in texts of C++ and Python.
MEANING = [
    *[f"{control}plugins: [./evil.py]{control}" for control in CONTROLS],
    "# x", "a: b", "'", '"', '"""', "R\"(", "*/ int evil(); /*", "\\\nint evil();//", "??/\nint evil();", "{{x}}",
    "- a", "--- ", "%YAML 1.1", "&a", "!!python/object:os.system x",
]  # fmt: skip


def everywhere(text: str) -> str:
    """A source that has a text in each place from which some file gets text."""
    raw = f'R"F({text})F"'
    return f"""\
#include <torch/extension.h>
#include <torch/library.h>
at::Tensor f(const at::Tensor& a) {{ TORCH_CHECK(a.dim() == 2, {raw}); return at::cummax(a, 0); }}
TORCH_LIBRARY(acme, m) {{
  m.def("f(Tensor a) -> Tensor", {{at::Tag::{raw}}});
  m.impl("f", torch::kCPU, [](const at::Tensor& a) {{ return a.clone({raw}); }});
  m.def("k(Tensor a, str b=\\"" {raw} "\\") -> Tensor", &f);
#if FOO == {raw}
  m.def("h(Tensor a) -> Tensor", &f);
#endif
  m.set_python_module({raw});
}}
PYBIND11_MODULE(mod, m) {{
  m.doc() = {raw};
  m.def("f", &f, {raw}, py::arg("a"));
  m.def({raw}, &f, "x");
  m.def("h", [](const at::Tensor& a, std::string s) {{ return a; }}, {raw}, py::arg("a"), py::arg("s") = {raw});
}}
{backend_source(text)}"""


@pytest.mark.thorough
@pytest.mark.parametrize("text", MEANING, ids=ascii)
def test_no_writer_of_source_text_writes_structure(text: str, folder: Path) -> None:
    """Files of an import have no line, letter or code from a text, and a port leaves texts where they were."""
    source = everywhere(text)
    name = f"{text.replace('/', '')}.cpp"
    Path(name).write_text(source, encoding="utf-8", newline="")
    for words in (["--out", "o.yaml", "--derivatives", "d.yaml"], ["--out", "b.yaml", "--backend"]):
        assert main(["import", name, *words]) == 0
    written = [path for path in folder.iterdir() if path.suffix in (".yaml", ".py", ".h") and path.name != "evil.py"]
    assert {path.name for path in written} >= {"o.yaml", "b.yaml", "mod.py"}
    for path in written:
        content = path.read_bytes().decode()
        assert not set(content) & set(CONTROLS), path
        if path.suffix == ".py":
            kinds = {type(node) for node in ast.parse(content).body}
            assert kinds <= {ast.Expr, ast.Import, ast.Assign, ast.FunctionDef}
        else:
            assert not any(line.lstrip().startswith(("plugins", "int evil")) for line in content.splitlines()), path
    for library in ("o.yaml", "b.yaml"):
        read_head(library)
    if main(["port", name]) == 0:
        ported = Path(name).read_bytes().decode()
        raw = f'R"F({text})F"'
        assert ported.count(raw) == source.count(raw)
    assert not Path("RAN").exists()
