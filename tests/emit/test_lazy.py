"""Nodes and kernels of lazy tensors."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from opwright.backends import backend_codes
from opwright.backends.choices import LazyNames
from opwright.backends.external_backend import BackendEntry, ExternalBackend
from opwright.backends.lazy.checks import check_lazy
from opwright.backends.lazy.kernel import DEFAULT, LazyKernel, has_meta_function, kernel_definition, shape_declaration
from opwright.backends.lazy.node import PLAIN, TORCHSCRIPT, node_class, node_of
from opwright.backends.lazy_backend import LazyBackend, NodeEntry, RunLazyBackends
from opwright.dialects.names import default_kernel_name
from opwright.dialects.native_functions.loader import load_catalog
from opwright.emit.emitter import Job, Options
from opwright.model.catalog import Catalog
from opwright.model.dispatch_key import key_named
from opwright.model.native_function import Kernel, NativeFunction
from opwright.source.diagnostic import Diagnostics, Severity
from opwright.source.text import SourceFile
from tests.dialects.loading import TAGS, load_text
from tests.emit.emitting import RULES

PROGRAM = Path(__file__).with_name("reference_lazy.py")

KEY = key_named("Lazy")
BACKEND = ExternalBackend(KEY, (), cpp_namespace="acme::native")
USUAL = LazyNames(node_base="TsNode", forced_fallback=True)
PLAIN_NAMES = LazyNames(takes_shapes=False)
OWN = LazyNames(
    namespace="acme::lazy",
    get_tensor_list="tensor_list",
    get_tensor="tensor",
    try_get_tensor="try_tensor",
    counter="ACME_COUNT()",
    create_tensor="New",
    create_from_tensor=True,
    to_aten="acme::to_aten",
    to_aten_tuple="acme::to_aten_tuple",
    tensor_pointer="acme::Pointer",
    get_device="acme::device",
)
#: The names that each kind of text is made with.
NAMES = {"node": USUAL, "plain node": PLAIN_NAMES, "kernel": USUAL, "own kernel": OWN}


@pytest.fixture(scope="module")
def reference(reference_inputs: Path) -> list[dict[str, str | None]]:
    """What the reference's program says, a record per overload."""
    command = [sys.executable, str(PROGRAM), str(reference_inputs)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [json.loads(line) for line in printed.splitlines()]


@pytest.fixture(scope="module")
def catalog(reference_inputs: Path) -> Catalog:
    """PyTorch's operators."""
    native = reference_inputs / "native"
    functions, tags = [SourceFile.read(str(native / name)) for name in ("native_functions.yaml", "tags.yaml")]
    return load_catalog(functions, tags, Diagnostics())


def is_refused(kind: str, kernel: LazyKernel, catalog: Catalog) -> bool:
    """Whether our checks keep a run from making a node or a kernel."""
    function, sink = kernel.function, Diagnostics()
    entry = BackendEntry(function, Kernel(KEY, kernel.name, "acme::native", False), function.entry)
    backend = LazyBackend(BACKEND, (entry,))
    if kind.endswith("node"):
        backend = LazyBackend(BACKEND, (), (NodeEntry(function, function.entry),))
    check_lazy(Job(catalog, RULES, Options(guests=(NAMES[kind],)), guests=[RunLazyBackends((backend,))]), sink)
    return any(diagnostic.severity is Severity.ERROR for diagnostic in sink)


def our_text(kind: str, kernel: LazyKernel) -> str:
    """What we make of a function."""
    function, symint = kernel.function, kernel.symint
    match kind:
        case "node":
            return node_class(node_of(function, USUAL.value, symint=symint), TORCHSCRIPT, USUAL, RULES)
        case "plain node":
            return node_class(node_of(function, USUAL.value, symint=symint), PLAIN, PLAIN_NAMES, RULES)
        case "shape":
            return "" if has_meta_function(function) else shape_declaration(kernel.name, kernel.signature)
    return kernel_definition(kernel, "LazyNativeFunctions", DEFAULT, NAMES[kind])


def lines(text: str) -> list[str]:
    """The lines as templates write them, without blanks at their ends."""
    return [line.rstrip() for line in text.splitlines()]


def kernel_of(function: NativeFunction, *, symint: bool) -> LazyKernel:
    """The kernel of a function."""
    return LazyKernel(function, default_kernel_name(function.schema) + ("_symint" if symint else ""), symint)


@pytest.mark.thorough
def test_every_node_and_kernel_of_every_operator_is_the_reference_s(
    catalog: Catalog, reference: list[dict[str, str | None]]
) -> None:
    """Nodes, kernels and shape functions have the reference's text, and we refuse exactly those on which it fails."""
    compared = refused = 0
    assert len(reference) == len(catalog) > 3000
    for function, record in zip(catalog, reference, strict=True):
        for key, text in record.items():
            kind, _, symint = key.rpartition(" ")
            if not kind:
                continue
            kernel = kernel_of(function, symint=symint == "True")
            # A node that takes symbolic integers is only made beside a kernel.
            if kind in NAMES and (not kernel.symint or kind.endswith("kernel")):
                assert is_refused(kind, kernel, catalog) == (text is None), (key, function)
            if text is not None:
                assert lines(our_text(kind, kernel)) == lines(text), (key, function)
                compared += 1
            refused += text is None
    assert (compared > 9000, refused > 500) == (True, True)


ENTRIES = """\
- func: make_pair(Device? device) -> (Tensor, Tensor)
- func: frob(Tensor(a) self) -> Tensor(a)
- func: frob_copy(Tensor self) -> Tensor
  tags: view_copy
"""


@pytest.mark.parametrize(
    ("name", "names", "code"),
    [
        ("make_pair", USUAL, backend_codes.RESULTS_WITHOUT_TENSOR),
        ("make_pair", OWN, backend_codes.RESULTS_WITHOUT_TENSOR),
        ("frob_copy", USUAL, backend_codes.LAZY_COPY_WITHOUT_KERNEL),
    ],
)
def test_kernels_that_cannot_be_generated_are_refused(name: str, names: LazyNames, code: str) -> None:
    """Several results need a tensor, and view copies a kernel for their shapes; no operator of PyTorch lacks these."""
    catalog, sink = load_text(ENTRIES, TAGS)
    sink.raise_if_errors()
    function = catalog[name]
    entry = BackendEntry(function, Kernel(KEY, name, "acme", False), function.entry)
    check_lazy(
        Job(catalog, RULES, Options(guests=(names,)), guests=[RunLazyBackends((LazyBackend(BACKEND, (entry,)),))]), sink
    )
    assert [fault.code for fault in sink if fault.severity is Severity.ERROR] == [code]
