"""Sources that PyTorch's build compiles, against the headers that PyTorch ships: each is valid C++ by itself.

Left out are those whose headers are not shipped: `UfuncCPUKernel_add.cpp`, `UfuncCUDA_add.cu`, and in a PyTorch for
CPUs the registrations of CUDA.
"""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from tests.compile.compiler import Compiler
from tests.compile.conftest import Generate

pytestmark = pytest.mark.thorough

#: Of sharded sources the first shard: the others have the same kinds of functions.
ATEN = (
    "CompositeViewCopyKernels",
    "Functions",
    "Operators_0",
    "RegisterBackendSelect",
    "RegisterCPU_0",
    "RegisterCompositeExplicitAutogradNonFunctional_0",
    "RegisterCompositeExplicitAutograd_0",
    "RegisterCompositeImplicitAutograd_0",
    "RegisterFunctionalization_0",
    "RegisterMeta_0",
    "RegisterQuantizedCPU_0",
    "RegisterSchema",
    "RegisterSparseCsrCPU_0",
    "UfuncCPU_add",
    "ViewMetaClasses",
    "core/ATenOpList",
    "core/TensorMethods",
)

AUTOGRAD = (
    "ADInplaceOrViewType_0",
    "Functions",
    "TraceType_0",
    "VariableType_0",
    "ViewFuncs",
    "python_enum_tag",
    "python_fft_functions",
    "python_functions_0",
    "python_return_types",
    "python_torch_functions_0",
    "python_variable_methods",
)

SOURCES = (
    *(f"aten/src/ATen/{name}.cpp" for name in ATEN),
    *(f"torch/csrc/autograd/generated/{name}.cpp" for name in AUTOGRAD),
    "torch/csrc/functionalization/generated/ViewMetaClassesPythonBinding.cpp",
    "torch/csrc/inductor/aoti_torch/generated/c_shim_aten.cpp",
    "torch/csrc/inductor/aoti_torch/generated/c_shim_cpu.cpp",
)

#: Of lean sources a shard each, whose operators alone it includes; the emptier ones show what a shard lacks.
LEAN = (
    "CompositeViewCopyKernels",
    "Operators_9",
    "RegisterCPU_2",
    "RegisterCompositeExplicitAutogradNonFunctional_0",
    "RegisterCompositeExplicitAutograd_2",
    "RegisterCompositeImplicitAutograd_3",
    "RegisterFunctionalization_0",
    "RegisterMeta_2",
    "RegisterSparseCsrCPU_0",
)

#: Operators with lists, optional values, several results, in-place and out overloads.
UNBOXED = ("aten::add", "aten::cat", "aten::clamp", "aten::max", "aten::native_layer_norm", "aten::empty")


@pytest.fixture(scope="module")
def generated(program: str, generate: Generate) -> Path:
    """All that PyTorch's build generates, but the unboxing functions."""
    return generate("--torch", "auto")


@pytest.mark.slow
@pytest.mark.parametrize("source", SOURCES)
def test_source_is_valid(program: str, torch: ModuleType, generated: Path, tmp_path: Path, source: str) -> None:
    """The compiler takes a generated source with the generated headers before those of PyTorch."""
    compiler = Compiler(program, tmp_path, (generated / "aten" / "src", generated))
    compiler.check_syntax(generated / source)


@pytest.fixture(scope="module")
def lean(program: str, generate: Generate) -> Path:
    """The lean sources, with all headers."""
    return generate("--torch", "auto", "--only", "sources", "--only", "headers", "--lean")


@pytest.mark.slow
@pytest.mark.parametrize("name", LEAN)
def test_lean_source_is_valid(program: str, torch: ModuleType, lean: Path, tmp_path: Path, name: str) -> None:
    """A lean source includes all that its own operators need."""
    aten = lean / "aten" / "src"
    Compiler(program, tmp_path, (aten,)).check_syntax(aten / "ATen" / f"{name}.cpp")


@pytest.mark.parametrize("name", ["UnboxingFunctions", "RegisterCodegenUnboxedKernels"])
def test_unboxing_of_selected_operators_is_valid(
    program: str, torch: ModuleType, generate: Generate, tmp_path: Path, name: str
) -> None:
    """The unboxing functions and their registrations compile for a selection, which is how PyTorch's builds use them.

    Not for all operators: some have no C++ function to call, because their entries say `manual_cpp_binding`.
    """
    out = generate("--torch", "auto", "--only", "unboxing", "--op-registration-whitelist", *UNBOXED)
    aten = out / "aten" / "src"
    Compiler(program, tmp_path, [aten]).check_syntax(aten / "ATen" / f"{name}Everything.cpp")
