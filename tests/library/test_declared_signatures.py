"""Kernels that stay as a header of the author's declares them get the values of their arguments, or are refused."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import pytest

from tests.compile.compiler import Compiler
from tests.library.conftest import INCLUDE, GenerateLibrary

HEAD = """\
namespace: declaredly
abi: stable
kernel_namespace: mine
kernel_signatures: declared
includes: [mine.h]
operators:
"""

TENSOR = "torch::stable::Tensor"
LIST = "torch::headeronly::HeaderOnlyArrayRef"

#: Each type of schemas that the stable API has, a type of C++ for it, and a value that has to arrive and to come back.
TAKEN = [
    ("float", "double", 0.1),
    ("float", "float", 0.5),
    ("float", "const float&", -2.5),
    ("float", "float", float("inf")),
    ("float?", "std::optional<float>", 2.5),
    ("float?", "std::optional<float>", None),
    ("float[]", "std::vector<float>", [0.5, -1.5]),
    ("float[]?", "std::optional<std::vector<float>>", [0.25]),
    ("int", "int64_t", 1 << 40),
    ("int", "int", -7),
    ("int", "unsigned", (1 << 32) - 1),
    ("int", "short", -(1 << 15)),
    ("int", "unsigned long", 3),
    ("int?", "std::optional<int>", -1),
    ("int?", "const std::optional<int>&", None),
    ("int[]", "std::vector<int>", [1, -2, 3]),
    ("int[]", "const std::vector<int64_t>&", [1 << 40]),
    ("int[]?", "std::optional<std::vector<int>>", [5]),
    ("int[][]", "std::vector<std::vector<int>>", [[1, -1], []]),
    ("SymInt", "int", 4),
    ("SymInt[]", "std::vector<int>", [4, 5]),
    ("bool", "bool", True),
    ("bool?", "std::optional<bool>", False),
    ("str", "std::string", "text"),
    ("str", "const std::string&", "a longer text, which no small buffer holds"),
    ("str?", "std::optional<std::string>", "text"),
    ("str?", "const std::optional<std::string>&", None),
    ("Device", "torch::stable::Device", "cpu"),
]
#: Kernels that return something else than they take.
READERS = f"""
inline int64_t length(std::string_view x) {{ return x.size(); }}
inline int64_t optional_length(std::optional<std::string_view> x) {{ return x ? x->size() : -1; }}
inline int64_t total({LIST}<int> x) {{ int64_t sum = 0; for (int value : x) sum += value; return sum; }}
inline int64_t optional_total(std::optional<{LIST}<int64_t>> x) {{ return x ? x->size() : -1; }}
inline bool is_double(torch::headeronly::ScalarType x) {{ return x == torch::headeronly::ScalarType::Double; }}
inline bool is_strided(torch::headeronly::Layout x) {{ return x == torch::headeronly::Layout::Strided; }}
inline bool is_last(std::optional<torch::headeronly::MemoryFormat> x) {{
  return x == torch::headeronly::MemoryFormat::ChannelsLast;
}}
inline int ranks({TENSOR} x, const std::vector<{TENSOR}>& more, std::optional<{TENSOR}> last) noexcept {{
  int sum = x.dim();
  for (const auto& tensor : more) sum += tensor.dim();
  return last ? sum + last->dim() : -sum;
}}
inline std::tuple<float, int> pair({TENSOR}& x, float a, int b) {{ return {{a, b}}; }}
inline void nothing(const {TENSOR}&) {{}}
"""
SCHEMAS = """\
length(str x) -> int
optional_length(str? x) -> int
total(int[] x) -> int
optional_total(int[]? x) -> int
is_double(ScalarType x) -> bool
is_strided(Layout x) -> bool
is_last(MemoryFormat? x) -> bool
ranks(Tensor x, Tensor[] more, Tensor? last) -> int
pair(Tensor x, float a, int b) -> (float, int)
nothing(Tensor x) -> ()
"""

HEADER = """\
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/tensor.h>
namespace mine {
"""


def library_text(schemas: Sequence[str]) -> str:
    """A library file in which no kernel needs a tensor."""
    entries = [
        f"- {{func: '{schema}', dispatch: {{CompositeExplicitAutograd: {schema.partition('(')[0]}}}}}"
        for schema in schemas
    ]
    return HEAD + "\n".join(entries) + "\n"


def returned(schema: str) -> str:
    """The type of a result with the value of an argument: no optional list is one."""
    return schema.removesuffix("?") if schema.endswith("]?") else schema


def sources(out: Path, folder: Path, kernels: str) -> list[Path]:
    """The generated source, beside the header of the author's."""
    (folder / "mine.h").write_text(f"{HEADER}{kernels}\n}}  // namespace mine\n")
    return [out / "src/declaredly/register_0.cpp"]


@pytest.mark.thorough
def test_values_arrive(program: str, torch: ModuleType, tmp_path: Path, generate_library: GenerateLibrary) -> None:
    """What PyTorch's dispatcher passes arrives as it is, whatever type the kernel takes it as, and so do results."""
    echoes = [f"echo_{number}({schema} x) -> {returned(schema)}" for number, (schema, _, _) in enumerate(TAKEN)]
    kernels = [
        f"inline auto echo_{number}({type} x) {{ return {'*x' if schema.endswith(']?') else 'x'}; }}"
        for number, (schema, type, _) in enumerate(TAKEN)
    ]
    out = generate_library(library_text([*echoes, *SCHEMAS.splitlines()]))
    compiler = Compiler(program, tmp_path, [out / "include", INCLUDE, tmp_path])
    files = sources(out, tmp_path, "\n".join([*kernels, READERS]))
    torch.ops.load_library(compiler.library("declaredly", files))
    operators = torch.ops.declaredly
    wrong = []
    for number, (schema, type, value) in enumerate(TAKEN):
        given = torch.device(value) if schema == "Device" else value
        result = getattr(operators, f"echo_{number}")(given)
        if result != given:
            wrong.append((schema, type, value, result))
    assert not wrong
    assert (operators.length("four"), operators.optional_length("four"), operators.optional_length(None)) == (4, 4, -1)
    assert (operators.total([3, -5]), operators.optional_total([3, 4]), operators.optional_total(None)) == (-2, 2, -1)
    assert operators.is_double(torch.float64)
    assert not operators.is_double(torch.float32)
    assert operators.is_strided(torch.strided)
    assert operators.is_last(torch.channels_last)
    assert not operators.is_last(None)
    row = torch.ones(1)
    assert operators.ranks(row, [row, torch.ones(1, 1)], torch.tensor(0)) == 4
    assert operators.ranks(row, [], None) == -1
    assert operators.pair(row, 0.5, -3) == (0.5, -3)
    assert operators.nothing(row) is None
    echo = {type: getattr(operators, f"echo_{number}") for number, (_, type, _) in enumerate(TAKEN)}
    for type, value, place in (
        ("int", 1 << 31, "argument 1 is 2147483648"),
        ("unsigned", -1, "argument 1 is -1"),
        ("short", 1 << 15, "argument 1 is 32768"),
        ("unsigned long", -1, "argument 1 is -1"),
        ("float", 1e39, "argument 1 is 9999"),
        ("std::optional<int>", 1 << 40, "argument 1 is 1099511627776"),
        ("std::vector<int>", [1, 1 << 40], "argument 1 is 1099511627776"),
    ):
        with pytest.raises(RuntimeError, match=place):
            echo[type](value)


#: Each type of schemas with a type of C++ that its values do not become.
REFUSED = [
    ("float", "int"),
    ("float", "float*"),
    ("int", "double"),
    ("int", "bool"),
    ("bool", "int"),
    ("float?", "float"),
    ("float", "std::optional<double>"),
    ("int[]", "std::vector<double>"),
    ("int[]?", "std::vector<int64_t>"),
    ("str", "const char*"),
    ("str[]", "std::vector<std::string_view>"),
    ("bool[]", f"{LIST}<bool>"),
    ("ScalarType", "int64_t"),
    ("Layout", "torch::headeronly::MemoryFormat"),
    ("Device", "std::string"),
    ("Tensor", f"{TENSOR}&&"),
    ("Tensor", "int64_t"),
    ("Tensor?", TENSOR),
]


@pytest.mark.thorough
def test_other_types_are_refused(
    program: str, torch: ModuleType, tmp_path: Path, generate_library: GenerateLibrary
) -> None:
    """Where the types of parameters and results or their numbers differ, an error names kernel, operator and types."""
    schemas = [f"wrong_{number}({schema} x) -> int" for number, (schema, _) in enumerate(REFUSED)]
    kernels = [f"int64_t wrong_{number}({type} x);" for number, (_, type) in enumerate(REFUSED)]
    schemas += [
        "few(int a, int b) -> int",
        "result(int a) -> float",
        "results(int a) -> (int, int)",
        "none(int a) -> int",
    ]
    kernels += ["int64_t few(int64_t a);", "int result(int a);", "int results(int a);", "void none(int a);"]
    out = generate_library(library_text(schemas))
    (source,) = sources(out, tmp_path, "\n".join(kernels))
    compiler = Compiler(program, tmp_path, [out / "include", INCLUDE, tmp_path])
    done = subprocess.run(
        [program, *compiler.flags(), "-fsyntax-only", str(source)], capture_output=True, text=True, check=False
    )
    errors = [line.partition("error: ")[2] for line in done.stderr.splitlines() if "error: " in line]
    names = [re.search(r"the kernel `mine::(\w+)` of `declaredly::\1` must (take|give)", error) for error in errors]
    assert all(names), [error for error, match in zip(errors, names, strict=True) if match is None]
    assert [match[1] for match in names if match] == [
        *[f"wrong_{number}" for number in range(len(REFUSED))],
        "few",
        "result",
        "results",
        "none",
    ]
    assert "`x` as `double`" in errors[0]
    if "g++" in program or "c++" in program:
        assert "int64_t(float*)" in done.stderr.replace("long int", "int64_t")


#: Each type of schemas with types of C++ in which PyTorch passes it on the stack, and those in which it cannot.
NATIVE = [
    ("Tensor", ["at::Tensor", "const at::Tensor&", "torch::Tensor"], ["int64_t", "std::vector<at::Tensor>"]),
    ("Tensor?", ["std::optional<at::Tensor>", "const std::optional<at::Tensor>&"], ["const at::Tensor&"]),
    ("Tensor[]", ["at::TensorList", "std::vector<at::Tensor>", "at::ITensorListRef"], ["at::Tensor"]),
    (
        "int",
        ["int64_t", "c10::SymInt", "const c10::SymInt&", "int", "const unsigned&", "long long"],
        ["double", "bool"],
    ),
    ("SymInt", ["c10::SymInt", "const c10::SymInt&", "int64_t"], ["std::optional<int64_t>"]),
    ("int[]", ["at::IntArrayRef", "const std::vector<int64_t>&", "std::vector<int>"], ["std::vector<float>"]),
    ("SymInt[]?", ["at::OptionalSymIntArrayRef", "at::OptionalIntArrayRef"], ["at::IntArrayRef"]),
    ("float", ["double", "float"], ["int", "int64_t"]),
    ("float?", ["std::optional<double>", "const std::optional<float>&"], ["double", "std::optional<int>"]),
    ("bool[2]", ["std::array<bool, 2>"], ["std::array<int64_t, 2>"]),
    ("str", ["std::string", "const std::string&", "std::string_view"], ["int64_t"]),
    ("ScalarType", ["at::ScalarType", "int64_t"], ["std::string"]),
    ("Scalar", ["const at::Scalar&", "at::Scalar"], ["double"]),
    ("Device", ["at::Device"], ["std::string"]),
]


@pytest.mark.thorough
def test_native_types_are_compared(
    program: str, torch: ModuleType, tmp_path: Path, generate_library: GenerateLibrary
) -> None:
    """Without the stable API, types that PyTorch cannot take from its stack, and other numbers of them, are refused."""
    rows = [(schema, type, False) for schema, right, _ in NATIVE for type in right]
    rows += [(schema, type, True) for schema, _, wrong in NATIVE for type in wrong]
    schemas = [f"f_{number}({schema} x) -> int" for number, (schema, _, _) in enumerate(rows)]
    kernels = [f"int64_t f_{number}({type} x);" for number, (_, type, _) in enumerate(rows)]
    schemas += [
        "few(int a, int b) -> int",
        "result(int a) -> float",
        "results(int a) -> (int, int)",
        "none(int a) -> ()",
    ]
    kernels += ["int64_t few(int64_t a);", "int64_t result(int64_t a);", "int64_t results(int64_t a);"]
    kernels += ["int64_t none(int64_t a);"]
    schemas += [
        "pair(int a) -> (int, float)",
        "narrow(int a) -> (int, float)",
        "out(Tensor(a!) x) -> Tensor(a!)",
        "nothing() -> ()",
    ]
    kernels += [
        "std::tuple<int64_t, double> pair(int64_t);",
        "std::pair<int, float> narrow(short);",
        "at::Tensor& out(at::Tensor& x);",
        "void nothing() noexcept;",
    ]
    out = generate_library(library_text(schemas).replace("abi: stable\n", ""))
    (tmp_path / "mine.h").write_text(
        "#pragma once\n#include <torch/library.h>\nnamespace mine {\n" + "\n".join(kernels) + "}\n"
    )
    compiler = Compiler(program, tmp_path, [out / "include", INCLUDE, tmp_path])
    source = out / "src/declaredly/register_0.cpp"
    # What c10 refuses as well is an error of its own behind ours.
    done = subprocess.run(
        [program, *compiler.flags(), "-fsyntax-only", str(source)], capture_output=True, text=True, check=False
    )
    told = re.findall(r"the kernel `mine::(\w+)` of `declaredly::\1` must (?:take|give)", done.stderr)
    refused = [f"f_{number}" for number, (_, _, is_wrong) in enumerate(rows) if is_wrong]
    assert sorted(set(told)) == sorted([*refused, "few", "result", "results", "none"])
