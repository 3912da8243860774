"""Fuzzing of what reads files besides those of dialects: sources in C++ and Python, provenance, dumps."""

from __future__ import annotations

import json
import re
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from opwright.cli import where
from opwright.migrate.importing.autograd_classes import autograd_classes
from opwright.migrate.importing.backend_import import import_backend
from opwright.migrate.importing.library_file import library_text
from opwright.migrate.importing.run import ImportRequest, read_operators
from opwright.migrate.porting.run import PortRequest, port_sources
from opwright.release.inputs import open_inputs
from opwright.release.view import NATIVE_FUNCTIONS
from opwright.source.diagnostic import Diagnostics, Fault
from opwright.source.text import SourceFile
from opwright.source.yaml import load_yaml
from opwright.syntax.cpp_functions import function_of, statements
from opwright.syntax.cpp_source import read_cpp
from opwright.tools.dump.document import dumped_files, parse_dump
from tests.libraries.importing.library import BINDINGS, PYTHON, STABLE

BACKEND = """\
#include <torch/library.h>
#define KERNELS(name, key) m.impl(#name, &npu::name)
namespace npu {
at::Tensor relu(const at::Tensor& self) { return self; }
void fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) { at::native::cpu_fallback(op, stack); }
}  // namespace npu
#if defined(WITH_MORE) && VERSION > 3
TORCH_LIBRARY_IMPL(aten, AutogradPrivateUse1, m) { m.impl("abs", torch::autograd::autogradNotImplementedFallback()); }
#elif 0
#else
TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("relu", TORCH_FN(npu::relu)); KERNELS(abs, x);
  m.impl("add." R"(out)", "\\x61\\142", &npu::add_out);
}
#endif
TORCH_LIBRARY_IMPL(_, PrivateUse1, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&npu::fallback>()); }
TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m) {
  KERNEL_PRIVATEUSEONE(mm, lower_precision_fp)
  KERNEL(PrivateUse1, pow, Tensor_Scalar, fp32)
  KERNEL_DIFFERENT_REDISPATCH_SIGNATURE(PrivateUse1, at::norm, "norm.Scalar", Tensor(), Tensor(), fp32_append_dtype)
}
"""
CLASSES = """\
class Scale : public torch::autograd::Function<Scale> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, double by = 1.0) {
    ctx->save_for_backward({x}); ctx->saved_data["by"] = by; return mine::scale(x, by);
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    auto saved = ctx->get_saved_variables(); auto by = ctx->saved_data["by"].toDouble();
    return {(grads[0] * by).sum(saved[0].sizes()), Variable()};
  }
};
at::Tensor scale_autograd(const at::Tensor& x, double by) { return Scale::apply(x, by); }
TORCH_LIBRARY(acme, m) { m.def("scale(Tensor x, float by) -> Tensor"); }
TORCH_LIBRARY_IMPL(acme, Autograd, m) { m.impl("scale", &scale_autograd); }
"""
LIBRARIES = [BINDINGS, STABLE, CLASSES]
_CASES = Path(__file__).parents[1] / "libraries" / "porting" / "cases"
KERNELS = [re.sub(r"(?m)^# .*\n", "", path.read_text(encoding="utf-8")) for path in sorted(_CASES.glob("*.case"))]
PROVENANCE = [
    json.dumps(
        {
            "entries": [["/in/ops.yaml", 10, "add"], ["/in/ops.yaml", 20, "mul"]],
            "files": {"/out/a.h": ["functions", [[1, 4, 0], [5, 5, 1]]], "/out/b.h": ["operators", [[2, 3, 1]]]},
        }
    )
]
_FILES = [
    {"path": "acme.yaml", "dialect": "library", "content": {"namespace": "acme", "operators": [{"func": "f() -> ()"}]}},
    {"path": "a/b.yaml", "dialect": "tags", "content": [{"tag": "core", "n": [1, 1.5, None, True, "a\n b"]}, []]},
]
DUMPS = [json.dumps({"format": 1, "kind": "library", "torch": "2.13.0", "files": _FILES, "operators": []})]


@cache
def _pytorch() -> str:
    return open_inputs().read_text(NATIVE_FUNCTIONS).text


def _check_yaml(text: str, path: str) -> None:
    """A file that an import writes is YAML with the keys of an import alone, for both parsers."""
    content: Any = yaml.safe_load(text)
    if content is not None:
        assert "plugins" not in content, text
        load_yaml(SourceFile(path, text))
    text.encode()


def import_cpp(text: str, sink: Diagnostics) -> None:
    """Import a C++ source as a library, with derivatives."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ops.cpp"
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        _import(str(path), sink)


def import_npu(text: str, sink: Diagnostics) -> object:
    """Import a C++ source as a backend."""
    imported = import_backend([SourceFile("ops.cpp", text)], {}, "auto")
    _check_yaml(imported.text, "b.yaml")
    return imported


def import_python(text: str, sink: Diagnostics) -> None:
    """Import a Python source."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ops.py"
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        _import(str(path), sink)


def _import(path: str, sink: Diagnostics) -> None:
    request = ImportRequest((path,), (), {"PREFIX": "acme"}, "o.yaml", "d.yaml" if path.endswith(".cpp") else "")
    try:
        read = read_operators(request)
    except Fault as fault:
        sink.add(fault.diagnostic)
        return
    _check_yaml(library_text(read.imported, read.head), "o.yaml")
    _check_yaml(read.derivatives.text, "d.yaml")


def index_kernels(text: str, sink: Diagnostics) -> object:
    """Read the functions and classes of a source, as the language server does."""
    source = read_cpp("ops.cpp", text)
    return [*[function_of(statement, "ops.cpp") for statement in statements(source)], *autograd_classes(source)]


def port(text: str, sink: Diagnostics) -> object:
    """Port a source, and print the difference."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "ops.cpp").write_bytes(text.encode("utf-8", "surrogatepass"))
        request = PortRequest((folder,), "", "", (2, 10), _pytorch())
        return port_sources(request).difference()


def read_provenance(text: str, sink: Diagnostics) -> object:
    """Read provenance, as the sections of an explanation do."""
    data, target = text.encode("utf-8", "surrogatepass"), "/out/a.h"
    where._file_origin(data, target)
    with suppress(*where.DAMAGED):
        return where._origins_of_entries(data, lambda path, line: True)
    return None


def read_dump(text: str, sink: Diagnostics) -> object:
    """Read a dump, and write its files, whose YAML has the data of the dump."""
    file = SourceFile("dump.json", text)
    texts = [dumped.yaml for dumped in dumped_files(parse_dump(file), file)]
    for own in texts:
        own.encode()
        yaml.safe_load(own)
    return texts


#: Name -> sound texts, and what reads them.
READERS = {
    "cpp import": (LIBRARIES, import_cpp),
    "backend import": ([BACKEND], import_npu),
    "python import": ([PYTHON], import_python),
    "kernel index": ([*LIBRARIES, BACKEND, *KERNELS], index_kernels),
    "port": (KERNELS, port),
    "provenance": (PROVENANCE, read_provenance),
    "dump": (DUMPS, read_dump),
}
