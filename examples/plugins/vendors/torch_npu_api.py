"""torch_npu: what its generator makes besides the header of kernels, and the code around them.

    opwright generate --plugin torch_npu.py --plugin torch_npu_api.py --input torchnpugen/aoti/fallback_ops.py \
        --only backend --only torch_npu_api --backend npu_native_functions_by_codegen.yaml ...

`CustomFunctions.h` and `CustomRedispatch.h` declare C++ functions of the vendor's operators, and `custom_ops.py`
has their Python names. `c_shim_npu.h` has C functions for AOTInductor. `NPUOpApiNativeFunctions.h` and
`NPUStructuredNativeFunctions.h` are headers of kernels.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from opwright.plugin import (
    BackendEntry,
    Dialect,
    Job,
    LoadContext,
    Plugin,
    SourceFile,
    cpp_name,
    device_shims,
    kernel_signature,
    shim_declaration,
    structured_declarations,
    structured_includes,
    text_family,
)

#: Operators without a shim, which the program names in its code.
WITHOUT_SHIM = (
    "aten._scaled_dot_product_fused_attention_overrideable_backward.default",
    "aten._scaled_dot_product_fused_attention_overrideable.default",
    "aten._scaled_mm.default",
    "aten._scaled_grouped_mm.default",
    "aten.scatter_reduce.two_out",
    "aten.repeat_interleave.Tensor",
)
ATEN = ("#pragma once", "#include <ATen/Tensor.h>")
OPENING, CLOSING = '#ifdef __cplusplus\nextern "C" {\n#endif\n', '\n#ifdef __cplusplus\n} // extern "C"\n#endif\n'


def load_tables(files: Sequence[SourceFile], context: LoadContext) -> dict[str, list[str]]:
    """The operators in each table of the module `fallback_ops.py`."""
    del context
    tables = [table for file in files for table in ast.parse(file.text).body if isinstance(table, ast.AnnAssign)]
    return {ast.unparse(table.target): [*ast.literal_eval(table.value)] for table in tables if table.value}


def entries(job: Job, namespace: str) -> list[BackendEntry]:
    """The entries for dense tensors with operators of a namespace."""
    return [entry for entry in job.backends[0].sections[0].entries if entry.function.namespace == namespace]


def custom_functions(job: Job, guard: str, namespace: str, first: str = "") -> str:
    """A header with a function for each own operator."""
    is_exported = job.rules.version >= (2, 10)
    macro, header = ("TORCH_NPU_API ", '\n#include "torch_npu/csrc/core/npu/NPUMacros.h"') if is_exported else ("", "")
    lines = []
    for entry in entries(job, "npu"):
        signature = kernel_signature(entry.function, entry.kernel)
        lines.append(f"{macro}{signature.declaration(cpp_name(entry.function), first=first)};")
    text, guard, includes = "\n".join(lines), f"TORCH_NPU_CSRC_ATEN_{guard}", f"#include <ATen/ATen.h>{header}"
    return f"#ifndef {guard}\n#define {guard}\n\n{includes}\n\nnamespace {namespace} {{\n\n{text}\n\n}}\n\n#endif\n"


def custom_ops(job: Job) -> str:
    """The Python names of own operators."""
    names = dict.fromkeys([entry.function.name.name for entry in entries(job, "npu")])
    imports = ["import warnings", "import torch", "import torch_npu", "", ""]
    return "\n".join([*imports, *[f"torch_npu.{name} = torch.ops.npu.{name}" for name in names], ""])


def c_shims(job: Job) -> str:
    """A C function for each operator of the tables with a kernel of the backend, or with one for all devices."""
    tables = job.more_inputs.get("npu_shims")
    lists = tables if isinstance(tables, dict) else {}
    names = {*job.shim_tables.device, *lists.get("inductor_fallback_ops_npu", ())}
    names -= {*WITHOUT_SHIM, *lists.get("inductor_fallback_ops_npu_not_support", ())}
    includes = ["#include <torch/csrc/inductor/aoti_torch/utils.h>"] if job.rules.version >= (2, 13) else []
    includes.append("#include <torch_npu/csrc/inductor/aoti_torch/c/shim.h>")
    texts = [shim_declaration(shim) for shim in device_shims(job, job.backends[0], "npu", names)]
    return "\n".join(["#pragma once", "", *includes, "", OPENING, *texts, CLOSING])


def op_api_header(job: Job) -> str:
    """The kernels of another library, as members of a class of their own."""
    found = [entry for entry in entries(job, "aten") if entry.options.values.flag("op_api")]
    kernels = [(entry.kernel.name, kernel_signature(entry.function, entry.kernel)) for entry in found]
    members = [f"static {signature.declaration(name)};" for name, signature in kernels]
    head = ("#include <ATen/ATen.h>", "namespace at_npu::native {", "struct NPUNativeOpApiFunctions {")
    return "\n".join([*ATEN, *head, *members, "};", "}"])


def structured_header(job: Job) -> str:
    """The structured kernels."""
    includes = ["#include <ATen/TensorIterator.h>", *structured_includes(job.backends[0])]
    return "\n".join([*ATEN, *includes, *structured_declarations(job.backends[0])])


redispatch = ("CUSTOM_REDISPATCH", "at_npu::redispatch", "c10::DispatchKeySet dispatchKeySet")
family = text_family(
    "torch_npu_api",
    "the headers of torch_npu besides those of its kernels",
    {
        "CustomFunctions.h": lambda job: custom_functions(job, "CUSTOM_FUNCTIONS", "at_npu::native::custom_ops"),
        "CustomRedispatch.h": lambda job: custom_functions(job, *redispatch),
        "custom_ops.py": custom_ops,
        "c_shim_npu.h": c_shims,
        "NPUOpApiNativeFunctions.h": op_api_header,
        "NPUStructuredNativeFunctions.h": structured_header,
    },
    dialects=("shim_tables", "npu_shims"),
    serves_backends=True,
)
tables = Dialect[object]("npu_shims", inputs=("fallback_ops.py",), loads_into=dict, loader=load_tables)
plugin = Plugin("torch_npu_api", api=1, families=[family], dialects=[tables])
