"""Declared outputs in C++: the shape function with numbers and the Meta kernel with symbols give the same results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

import pytest

from opwright.convention import dispatcher, structured
from opwright.cpp.translation import translate
from opwright.libraries.declared_outputs import DeclaredOutputs
from opwright.libraries.dialect.outputs import load_outputs
from opwright.libraries.emit.declared_outputs import (
    OUTPUTS_HEADER,
    allocation,
    inplace_check,
    out_resize,
    shape_function,
)
from opwright.model.native_function import TypeStyle
from opwright.schema import parse_schema
from opwright.schema.function import FunctionSchema
from opwright.source.diagnostic import Diagnostics
from opwright.source.nodes import MappingNode
from opwright.source.text import SourceFile
from opwright.source.yaml import load_yaml
from tests.compile.compiler import Compiler

if TYPE_CHECKING:
    from torch import Tensor

pytestmark = pytest.mark.thorough

INCLUDE = Path(__file__).parents[2] / "src" / "opwright" / "libraries" / "include"


class Row(NamedTuple):
    """An operator: its schema and declared outputs, the Python text of a call's arguments, and the results' types."""

    schema: str
    outputs: str
    arguments: str
    results: tuple[tuple[tuple[int, ...], str], ...]


ROWS = (
    Row("alike(Tensor self) -> Tensor", "like(self)", "randn(4, 3).t()", (((3, 4), "float32"),)),
    Row(
        "test(Tensor self) -> Tensor",
        "{like: self, dtype: bool}",
        "randn(2, 4, 3)[:, ::2].transpose(0, 1)",
        (((2, 2, 3), "bool"),),
    ),
    Row(
        "plus(Tensor self, Tensor other) -> Tensor",
        "broadcast(self, other)",
        "ones(3, 1), tensor([1, 2], dtype=int64)",
        (((3, 2), "float32"),),
    ),
    Row(
        "linear(Tensor self, Tensor weight) -> Tensor",
        "self.sizes()[:-1] + [weight.size(0)]",
        "randn(2, 5, 3), randn(4, 3)",
        (((2, 5, 4), "float32"),),
    ),
    Row("whole(Tensor self) -> Tensor", "[]", "ones(3)", (((), "float32"),)),
    Row(
        "extremes(Tensor self, int dim, bool keepdim=False) -> (Tensor min, Tensor max, Tensor place)",
        "{min: {size: reduce(self, dim, keepdim)}, max: {size: reduce(self, dim, not keepdim)},"
        " place: {size: [self.numel()], dtype: int64}}",
        "randn(2, 3, 4), 1, True",
        (((2, 1, 4), "float32"), ((2, 4), "float32"), ((24,), "int64")),
    ),
    Row(
        "reduced(Tensor self, int[1]? dim=None) -> Tensor",
        "reduce(self, dim, True)",
        "randn(2, 3, 4), [-1, 0]",
        (((1, 3, 1), "float32"),),
    ),
    Row("total(Tensor self, int[1]? dim=None) -> Tensor", "reduce(self, dim, False)", "ones(2, 3)", (((), "float32"),)),
    Row(
        "join(Tensor[] tensors, int dim=0) -> Tensor",
        "{size: 'cat(tensors, dim)', dtype: promote(tensors)}",
        "[ones(2, 3), ones(2, 1, dtype=float64)], -1",
        (((2, 4), "float64"),),
    ),
    Row(
        "pad(Tensor self, SymInt[] pads, SymInt? least=None) -> Tensor",
        "'[*self.shape[:-1], max(self.size(-1) + pads[0] * 2 - 1, len(pads), least or 0) // (self.dim() % 3 + 1)]'",
        "ones(2, 7), [4, 1], 5",
        (((2, 4), "float32"),),
    ),
    Row(
        "numbers(Tensor self, int step, int[] more) -> Tensor",
        "'[-7 // step + 10, -7 % step, self.size(0) // 2, min(step, 9), max(2 * 3, step)] + more + more[:1]'",
        "ones(5), 2, [3, 1]",
        (((6, 1, 2, 2, 6, 3, 1, 3), "float32"),),
    ),
    Row(
        "bias(Tensor self, Tensor? bias=None, Scalar alpha=1, *, ScalarType? dtype=None) -> Tensor",
        "{size: 'broadcast(self, bias) if bias is not None else self.sizes()',"
        " dtype: 'dtype or promote(self, bias or self, alpha)'}",
        "ones(2, 1, dtype=int32), ones(3, dtype=int64), 1.5",
        (((2, 3), "float32"),),
    ),
    Row(
        "bias_dtype(Tensor self, Tensor? bias=None, Scalar alpha=1, *, ScalarType? dtype=None) -> Tensor",
        "{size: 'broadcast(self, bias) if bias is not None else self.sizes()',"
        " dtype: 'dtype or promote(self, bias or self, alpha)'}",
        "ones(2, 1, dtype=int32), None, 1, dtype=float64",
        (((2, 1), "float64"),),
    ),
    Row(
        "chosen(Tensor self, SymInt[]? sizes=None, bool flip=False, float scale=1.0) -> Tensor",
        "{size: 'sizes or (self.sizes()[1:] if flip and self.dim() >= 2 or self.size(0) == 3 else [1])',"
        " dtype: 'promote(float16 if self.dtype == float32 else int8, scale, True, 2)'}",
        "ones(2, 5), None, True",
        (((5,), "float16"),),
    ),
    Row(
        "chosen_sizes(Tensor self, SymInt[]? sizes=None) -> Tensor",
        "sizes or self.sizes()",
        "ones(2, 5), [3, 4]",
        (((3, 4), "float32"),),
    ),
    Row(
        "scaled(Tensor[] tensors, Tensor? mask=None, Scalar? factor=None) -> Tensor",
        "{size: 'broadcast(tensors[0], mask or tensors[1], [2, 1])', dtype: 'promote(tensors, factor or 1.0)'}",
        "[ones(3, dtype=int32), ones(1)], None, 2",
        (((2, 3), "float32"),),
    ),
    Row("first(Tensor[] tensors) -> Tensor", "like(tensors[-1])", "[ones(1), ones(2, 2)]", (((2, 2), "float32"),)),
)


def row_outputs(row: Row) -> DeclaredOutputs:
    """The declared outputs of a row."""
    file = SourceFile("ops.yaml", f"outputs: {row.outputs}\n")
    root = load_yaml(file)
    assert isinstance(root, MappingNode)
    key, node = root.entries[0]
    sink = Diagnostics()
    outputs = load_outputs(key, node, parse_schema(row.schema), frozenset(), sink)
    assert outputs is not None, [(diagnostic.message, str(diagnostic.span)) for diagnostic in sink]
    return outputs


def _parameters(schema: FunctionSchema, *, symint: bool, more: str = "") -> str:
    return ", ".join(
        [*(binding.definition for binding in dispatcher.arguments(schema, symint=symint)), *filter(None, [more])]
    )


def _functional(name: str, schema: FunctionSchema, outputs: DeclaredOutputs) -> str:
    """A CPU kernel that runs the shape function, as a structured kernel does, and a Meta kernel with symbols."""
    given = dispatcher.arguments(schema, symint=False, style=TypeStyle.ILIST_REF)
    wanted = tuple([structured.binding(argument) for argument in schema.arguments.non_out])
    if "SymInt[]?" in str(schema):
        wanted = given  # A structured kernel has no parameter for this type.
    shape_parameters = ", ".join([binding.definition for binding in wanted])
    passed = ", ".join(translate(given, wanted))
    results = ", ".join([f"kernel.results[{index}]" for index in range(len(outputs))])
    made = ", ".join([allocation(output, "f", meta=True) for output in outputs])
    type = "at::Tensor" if len(outputs) == 1 else f"std::tuple<{', '.join(['at::Tensor'] * len(outputs))}>"
    return f"""
struct {name}_kernel : Results {{
  void meta({shape_parameters}) {{
    {shape_function(outputs, "f")}
  }}
}};
{type} {name}_cpu({_parameters(schema, symint=False)}) {{
  {name}_kernel kernel;
  kernel.meta({passed});
  return {{{results}}};
}}
{type} {name}_meta({_parameters(schema, symint=True)}) {{
  return {{{made}}};
}}
"""


def _out(name: str, schema: FunctionSchema, outputs: DeclaredOutputs) -> str:
    out, more = outputs[0], "at::Tensor & out"
    return f"""
at::Tensor & {name}_out_cpu({_parameters(schema, symint=True, more=more)}) {{
  {out_resize(out, "out", "f")}
  {inplace_check(out, "f").replace("self", "out", 1)}
  return out;
}}
at::Tensor & {name}_out_meta({_parameters(schema, symint=True, more=more)}) {{
  {out_resize(out, "out", "f", meta=True)}
  {inplace_check(out, "f", meta=True).replace("self", "out", 1)}
  return out;
}}
"""


def source_text() -> str:
    """A library of all operators of the table, with out overloads of those with one result."""
    texts, schemas, registrations = [], [], {"CPU": "", "Meta": ""}
    for row in ROWS:
        schema, outputs = parse_schema(row.schema), row_outputs(row)
        name = schema.name.name
        schemas.append(row.schema)
        texts.append(_functional(name, schema, outputs))
        forms = [(name, name)]
        if len(outputs) == 1:
            keyword = ", " if schema.arguments.keyword_only else ", *, "
            schemas.append(
                row.schema.replace("(", ".out(", 1).replace(") -> Tensor", f"{keyword}Tensor(a!) out) -> Tensor(a!)")
            )
            texts.append(_out(name, schema, outputs))
            forms.append((f"{name}.out", f"{name}_out"))
        for key in registrations:
            for operator, function in forms:
                registrations[key] += f'  m.impl("{operator}", TORCH_FN({function}_{key.lower()}));\n'
    listed = "".join([f'  m.def("{schema}");\n' for schema in schemas])
    implementations = "\n".join(
        [f"TORCH_LIBRARY_IMPL(declared, {key}, m) {{\n{lines}}}" for key, lines in registrations.items()]
    )
    return f"""
#include <{OUTPUTS_HEADER}>
#include <ATen/ops/empty_strided.h>
#include <torch/library.h>

struct Results {{
  std::vector<at::Tensor> results;
  void set_output_raw_strided(int64_t, c10::IntArrayRef sizes, c10::IntArrayRef strides, at::TensorOptions options) {{
    auto result = strides.empty() ? at::empty(sizes, options) : at::empty_strided(sizes, strides, options);
    results.push_back(result.zero_());
  }}
}};
{"".join(texts)}
TORCH_LIBRARY(declared, m) {{
{listed}}}
{implementations}
"""


@pytest.fixture(scope="session")
def declared(program: str, torch: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """`torch.ops.declared`, with the operators of the table."""
    folder = tmp_path_factory.mktemp("declared")
    source = folder / "declared.cpp"
    source.write_text(source_text(), encoding="utf-8")
    torch.ops.load_library(Compiler(program, folder, [INCLUDE]).library("declared", [source]))
    operators: ModuleType = torch.ops.declared
    return operators


def _arguments(torch: ModuleType, row: Row, device: str = "cpu") -> tuple[tuple[object, ...], dict[str, object]]:
    """The positional and keyword arguments of a row's call, on a device."""
    namespace = {**vars(torch), "arguments": lambda *positional, **keywords: (positional, keywords)}
    with torch.device(device):
        positional, keywords = eval(f"arguments({row.arguments})", namespace)
    return positional, keywords


def _overloads(operators: ModuleType, row: Row) -> ModuleType:
    overloads: ModuleType = getattr(operators, row.schema.partition("(")[0])
    return overloads


def _results(result: Tensor | Sequence[Tensor]) -> Sequence[Tensor]:
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.schema.partition("(")[0])
def test_results_have_the_declared_size_and_dtype(declared: ModuleType, torch: ModuleType, row: Row) -> None:
    """The shape function with numbers gives the expected results; the Meta kernel gives the same for all sizes."""
    overload = _overloads(declared, row).default
    positional, keywords = _arguments(torch, row)
    results = _results(overload(*positional, **keywords))
    assert [(tuple(result.shape), str(result.dtype).removeprefix("torch.")) for result in results] == list(row.results)
    torch.library.opcheck(
        overload, positional, keywords, test_utils=("test_schema", "test_faketensor", "test_aot_dispatch_dynamic")
    )


@pytest.mark.parametrize(
    "row", [row for row in ROWS if len(row.results) == 1], ids=lambda row: row.schema.partition("(")[0]
)
def test_out_arguments_are_checked_and_resized(declared: ModuleType, torch: ModuleType, row: Row) -> None:
    """An out argument gets the declared size, also as a meta tensor; one of another dtype is refused."""

    overload = _overloads(declared, row).out
    ((size, dtype),) = row.results
    for device in ("cpu", "meta"):
        positional, keywords = _arguments(torch, row, device)
        out = torch.empty(0, dtype=getattr(torch, dtype), device=device)
        assert overload(*positional, **keywords, out=out) is out
        assert tuple(out.shape) == size
        with pytest.raises(RuntimeError, match="Expected out tensor to have dtype"):
            overload(*positional, **keywords, out=torch.empty(0, dtype=torch.complex128, device=device))
