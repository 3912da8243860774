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
