"""Inputs for lazy tensors, which no wheel has: the YAML of the TorchScript backend, rebuilt from generated headers.

A folder of inputs for lazy tensors is one of other inputs with more files: `ts_native_functions.yaml` where PyTorch has
it, other YAML files for the same operators in `lazy`, ATen once more as it is in a source tree, and in `include` the
header that declares shape functions, and a file that defines kernels.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import opwright
from opwright.backends.choices import LazyNames
from opwright.backends.external_backend import BackendEntry, ExternalBackend
from opwright.backends.file_backend import FileBackend
from opwright.backends.lazy.checks import check_lazy
from opwright.backends.lazy_backend import LazyBackend, RunLazyBackends
from opwright.convention import dispatcher
from opwright.dialects.names import default_kernel_name
from opwright.emit.aten.backend import KernelUnit, members
from opwright.emit.emitter import Job, Options
from opwright.model.catalog import Catalog
from opwright.model.dispatch_key import key_named
from opwright.model.native_function import Kernel, NativeFunction
from opwright.release.rules import Rules
from opwright.release.version import parse_version
from opwright.schema.function import SchemaKind
from opwright.source.diagnostic import Diagnostics, Fault, Severity
from opwright.source.span import Span
from tests.conformance.inputs import (
    CACHE,
    LAZY,
    Files,
    files_digest,
    folder_files,
    input_folder,
    installed_headers,
    reference_version,
    write_folder,
)
from tests.conformance.mutate import chance

#: Where the headers of the wheel are, from which the YAML is rebuilt.
NATIVE_HEADER = "torch/csrc/lazy/generated/LazyNativeFunctions.h"
NODE_HEADER = "torch/csrc/lazy/generated/LazyIr.h"
NON_NATIVE_HEADER = "torch/csrc/lazy/generated/LazyNonNativeIr.h"
#: The header that declares shape functions, below the folder of headers.
SHAPE_HEADER = "torch/csrc/lazy/core/shape_inference.h"
HEADERS = (NATIVE_HEADER, NODE_HEADER, NON_NATIVE_HEADER, SHAPE_HEADER)

#: The file that defines the kernels which are not generated, from the folder in which PyTorch's build works.
KERNELS = "torch/csrc/lazy/ts_backend/ts_native_functions.cpp"

_ATEN = "torchgen/packaged/ATen/"
_CLASS = re.compile(r"^class (\w+) :", re.MULTILINE)
_GUARD = b"#if !defined(TORCH_STABLE_ONLY)"

#: The nodes without an operator, which stand in no header in a form that could be read.
NON_NATIVE = """\
non_native:
  - func: scalar(Scalar value, ScalarType type) -> Tensor
    opkind: at::prim::Constant
    properties:
      - ShapeCompute
      - TreatScalarsAsConstants
      - CanBeReusedDeclOnly
  - func: expand(Tensor input, int[] size, bool is_scalar_expand) -> Tensor
  - func: cast(Tensor input, ScalarType dtype, ScalarType? stype) -> Tensor
    opkind: ltc_cast
    properties:
      - ShapeCompute
"""


#: The first lines of a file.
HEAD = "backend: Lazy\ncpp_namespace: torch::lazy\n"


class Sections(NamedTuple):
    """The lists of a backend file for lazy tensors, each with names of operators."""

    full_codegen: Sequence[str]
    supported: Sequence[str] = ()
    autograd: Sequence[str] = ()
    symint: Sequence[str] = ()
    ir_gen: Sequence[str] = ()

    def text(self, head: str = HEAD, end: str = NON_NATIVE) -> str:
        """The text of a file with these lists between its first lines and its last ones."""
        lists = [f"{name}:\n" + "".join([f"  - {item}\n" for item in items]) for name, items in self._asdict().items()]
        return head + "".join([text for text, items in zip(lists, self, strict=True) if items]) + end

    def kept(self, keep: Callable[[str], bool]) -> Sections:
        """The lists without some names."""
        return Sections(*[tuple(filter(keep, names)) for names in self])


def rebuilt_sections(headers: Mapping[str, str], functions: Iterable[NativeFunction]) -> Sections:
    """The file from which PyTorch's generator made these headers."""
    supported, autograd = declared_lines(headers[NATIVE_HEADER])
    lines = {line: (function, symint) for function in functions for symint, line in declarations(function)}
    declared = [lines[line] for line in supported]
    classes = set(_CLASS.findall(headers[NODE_HEADER]))
    nodes = {node_name(function): function for function in functions if function.kind is SchemaKind.functional}
    generated = [function for function, _ in declared if node_name(function) in classes]
    written = {node_name(function) for function in generated}
    return Sections(
        full_codegen=[function.name.text for function in generated],
        supported=[function.name.text for function, _ in declared if function not in generated],
        autograd=[lines[line][0].name.text for line in autograd],
        symint=[function.name.text for function, symint in declared if symint],
        ir_gen=sorted([nodes[name].name.text for name in classes - written]),
    )


def declared_lines(header: str) -> tuple[list[str], list[str]]:
    """The declarations of the dense key and those of its Autograd key, which both are sorted."""
    lines = [line for line in header.splitlines() if line.startswith("static ")]
    end = next((index for index in range(1, len(lines)) if lines[index] < lines[index - 1]), len(lines))
    return lines[:end], lines[end:]


def declarations(function: NativeFunction) -> Iterator[tuple[bool, str]]:
    """How a kernel of a function is declared, without and with symbolic integers."""
    name = default_kernel_name(function.schema)
    yield False, f"static {dispatcher.concrete_signature(function).declaration(name)};"
    if function.schema.has_symint:
        yield True, f"static {dispatcher.signature(function).declaration(f'{name}_symint')};"


def node_name(function: NativeFunction) -> str:
    """The name of a function's class of nodes: its words without underscores, each with a capital letter."""
    words = f"{function.name.name}_{function.name.overload}".lower().split("_")
    return "".join([word.capitalize() for word in words])


def otherwise(sections: Sections) -> str:
    """A file for another backend: some generated operators have kernels of its own, and all are in the other order."""
    moved = [name for name in sections.full_codegen if chance(name) < 1 / 4]
    generated = [name for name in sections.full_codegen if name not in moved]
    lists = Sections(
        generated[::-1],
        (*sections.supported[::-1], *moved),
        sections.autograd,
        sections.symint[::2],
        ("relu", "elu", *sections.ir_gen, "unknown"),
    )
    return lists.text("cpp_namespace: acme\nbackend: XLA\ndevice_guard: true\n", OTHER_NODES)


#: Nodes without an operator that have arguments and properties of all kinds.
OTHER_NODES = """\
non_native:
  - func: device_data(Device device, Generator? generator, str? name, SymInt[] size) -> (Tensor, Tensor)
  - func: number(Scalar? value, str text, Tensor[] others, Layout layout) -> Tensor
    properties: [ShapePrecompute, Lower, CreateFn, CanBeReusedDeclOnly]
  - func: shift_(Tensor(a!) self, SymInt by, bool[2] mask, *, Tensor? to, float? rate=None) -> Tensor(a!)
    properties: [CreateFnDeclOnly, ShapeCompute, ShapeCache, Lower]
    opkind: acme_shift
"""

KEY = key_named("Lazy")


def all_that_work(catalog: Catalog, rules: Rules) -> list[tuple[NativeFunction, bool]]:
    """Every function whose kernel can be generated, some with symbolic integers; those that write have entries too."""
    symint = {
        function: function.schema.has_symint and chance(function.name.text) < 1 / 2
        for function in catalog.functions
        if function.namespace == "aten"
    }
    kernels = {function: lazy_kernel(function, symint=symint[function]) for function in symint}
    spans = {Span(function.entry.file, number, number): function for number, function in enumerate(kernels)}
    entries = [BackendEntry(function, kernels[function], span) for span, function in spans.items()]
    sink = Diagnostics()
    backend = LazyBackend(ExternalBackend(KEY, (), cpp_namespace="acme"), tuple(entries))
    check_lazy(Job(catalog, rules, Options(guests=(LazyNames(),)), guests=[RunLazyBackends((backend,))]), sink)
    faults = {fault.labels[0].span for fault in sink if fault.severity is Severity.ERROR}
    kernels = {function: kernels[function] for span, function in spans.items() if span not in faults}
    left_out = {function for unit in catalog.groups for function in not_copied(unit, kernels)}
    return [(function, symint[function]) for function in kernels if function not in left_out]


def lazy_kernel(function: NativeFunction, *, symint: bool) -> Kernel:
    """The kernel of a function under the key `Lazy`."""
    return Kernel(KEY, default_kernel_name(function.schema) + ("_symint" if symint else ""), "acme", False)


def not_copied(unit: KernelUnit, kernels: Mapping[NativeFunction, Kernel]) -> Iterable[NativeFunction]:
    """The overloads of a unit, if one of them can neither have a kernel nor copy the results of another."""
    try:
        FileBackend(KEY, kernels, out_is_primary=False, external=True).wrapped_overloads(unit)
    except Fault:
        return members(unit)
    return ()


def shape_header(functions: Iterable[tuple[NativeFunction, bool]]) -> str:
    """A header that declares the shape functions of all functions."""
    lines = ["#pragma once", ""]
    for function, symint in functions:
        signature = dispatcher.signature(function) if symint else dispatcher.concrete_signature(function)
        name = default_kernel_name(function.schema) + ("_symint" if symint else "")
        declared = signature.definition(f"compute_shape_{name}").removeprefix(f"{signature.returns.text} ")
        lines.append(f"TORCH_API std::vector<torch::lazy::Shape> {declared};")
    return "\n".join([*lines, ""])


def kernel_definitions(sections: Sections, catalog: Catalog) -> str:
    """A file with a line for each kernel that the lists leave to be written by hand."""
    names = [default_kernel_name(catalog[name].schema) for name in (*sections.supported, *sections.autograd)]
    symint = [default_kernel_name(catalog[name].schema) for name in sections.symint if name in sections.supported]
    lines = [f"void LazyNativeFunctions::{name}{'_symint' if name in symint else ''}() {{}}\n" for name in names]
    return "".join(lines)


def lazy_folder(name: str) -> Path:
    """The folder of the inputs of this name, written on first use."""
    inputs, _, release = name.partition("@")
    made_from = inputs.removeprefix(LAZY).lstrip("-") or "pytorch"
    version = reference_version(release or "pytorch")
    base = input_folder(f"{made_from}@{release}" if release and made_from != "pytorch" else release or made_from)
    files = folder_files(base)
    headers = lazy_headers(version, release)
    texts = {path: text.decode() for path, text in headers.items()}
    catalog = opwright.load(source_path=str(base / _ATEN.rstrip("/")))
    own = opwright.load(source_path=str(input_folder(release or "pytorch") / _ATEN.rstrip("/")))
    rebuilt = rebuilt_sections(texts, own.functions)
    sections = rebuilt.kept(lambda name: name in catalog and catalog[name].namespace == "aten")
    everything = all_that_work(catalog, Rules(parse_version(version)))
    wide = Sections(
        [function.name.text for function, _ in everything],
        symint=[function.name.text for function, symint in everything if symint],
    )
    texts = {
        f"{_ATEN}native/ts_native_functions.yaml": sections.text(),
        "lazy/reduced.yaml": sections.kept(lambda name: chance(name) < 1 / 3).text(end=""),
        "lazy/otherwise.yaml": otherwise(sections),
        "lazy/out_first.yaml": sections.text(f"{HEAD}use_out_as_primary: true\n"),
        "lazy/wide.yaml": wide.text(),
        "lazy/wide.h": shape_header(everything),
        f"include/{KERNELS}": kernel_definitions(sections, catalog),
    }
    files |= {path: text.encode() for path, text in texts.items()}
    files[f"include/{SHAPE_HEADER}"] = headers[SHAPE_HEADER]
    files |= {f"tree/aten/src/ATen/{path.removeprefix(_ATEN)}": text for path, text in files.items() if _ATEN in path}
    folder = CACHE / "inputs" / f"{name}-{files_digest(files)[:12]}"
    if not folder.is_dir():
        write_folder(folder, files)
    return folder


def lazy_headers(version: str, release: str) -> Files:
    """The headers of lazy tensors in a release's wheel, or in the installed one."""
    if not release:
        return {path: (installed_headers() / path).read_bytes() for path in HEADERS}
    from tests.conformance.release_inputs import wheel

    kept = CACHE / "shipped" / f"lazy-{version}"
    if not kept.is_dir():
        members = wheel(release).read_members([f"torch/include/{path}" for path in HEADERS])
        write_folder(kept, {path.removeprefix("torch/include/"): text for path, text in members.items()})
    return {path: (kept / path).read_bytes() for path in HEADERS}
