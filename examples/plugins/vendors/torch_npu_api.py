"""torch_npu: what its generator makes besides the header of kernels, and the code around them.

    opwright generate --plugin torch_npu.py --plugin torch_npu_api.py --input torchnpugen/aoti/fallback_ops.py \
        --only backend --only torch_npu_api --backend npu_native_functions_by_codegen.yaml ...

`CustomFunctions.h` and `CustomRedispatch.h` declare C++ functions of the vendor's own operators, and `custom_ops.py`
has their Python names. `c_shim_npu.h` has C functions for AOTInductor. `NPUOpApiNativeFunctions.h` and
`NPUStructuredNativeFunctions.h` are headers of kernels.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from opwright.convention import native, public_api
from opwright.emit.aten.c_shim import ShimUnit, Target
from opwright.emit.backend.structured_classes import free_classes, header_lines
from opwright.model.dispatch_key import key_named
from opwright.model.external_backend import BackendEntry
from opwright.plugin import (
    Dialect,
    Emitter,
    Family,
    FragmentContext,
    Job,
    LoadContext,
    OneFile,
    Plugin,
    operator_key,
    shim_declaration,
    shim_kernel_key,
)
from opwright.release.tables import ShimOperator
from opwright.release.version import parse_version
from opwright.source.text import SourceFile

#: Operators without a shim, which the program names in its code.
WITHOUT_SHIM = (
    "aten._scaled_dot_product_fused_attention_overrideable_backward.default",
    "aten._scaled_dot_product_fused_attention_overrideable.default",
    "aten._scaled_mm.default",
    "aten._scaled_grouped_mm.default",
    "aten.scatter_reduce.two_out",
    "aten.repeat_interleave.Tensor",
)


def load_tables(files: Sequence[SourceFile], context: LoadContext) -> object:
    """The operators in each table of the module `fallback_ops.py`."""
    del context
    statements = [statement for file in files for statement in ast.parse(file.text).body]
    tables = [statement for statement in statements if isinstance(statement, ast.AnnAssign)]
    return {ast.unparse(table.target): [*ast.literal_eval(table.value)] for table in tables if table.value}


def entries(job: Job, namespace: str) -> Iterator[BackendEntry]:
    """The entries for dense tensors with operators of a namespace."""
    for backend in job.backends:
        yield from [entry for entry in backend.sections[0].entries if entry.function.namespace == namespace]


def custom_functions(guard: str, namespace: str, first: str, job: Job) -> str:
    """A header with a function for each own operator."""
    is_exported = job.rules.version >= parse_version("2.10")
    macro, header = ("TORCH_NPU_API ", '\n#include "torch_npu/csrc/core/npu/NPUMacros.h"') if is_exported else ("", "")
    lines = []
    for entry in entries(job, "npu"):
        signature = (native.symint_signature if entry.kernel.symint else native.signature)(entry.function)
        lines.append(f"{macro}{signature.declaration(public_api.name(entry.function.schema), first=first)};")
    text, guard, includes = "\n".join(lines), f"TORCH_NPU_CSRC_ATEN_{guard}", f"#include <ATen/ATen.h>{header}"
    return f"#ifndef {guard}\n#define {guard}\n\n{includes}\n\nnamespace {namespace} {{\n\n{text}\n\n}}\n\n#endif\n"


def custom_ops(job: Job) -> str:
    """The Python names of own operators."""
    names = dict.fromkeys([entry.function.name.name for entry in entries(job, "npu")])
    lines = [f"torch_npu.{name} = torch.ops.npu.{name}" for name in names]
    return "\n".join(["import warnings", "import torch", "import torch_npu", "", "", *lines, ""])


def c_shims(job: Job) -> str:
    """A C function for each operator of the tables with a kernel of the backend, or with one for all devices."""
    key, tables = key_named("PrivateUse1"), job.more_inputs.get("npu_shims")
    if not isinstance(tables, dict):
        tables = {}
    table = {
        **dict.fromkeys(tables.get("inductor_fallback_ops_npu", ()), ShimOperator(None, ())),
        **job.shim_tables.device,
    }
    by_name = {operator_key(function): function for function in job.catalog.functions}
    own, texts = {entry.function for entry in entries(job, "aten")}, []
    left_out = {*WITHOUT_SHIM, *tables.get("inductor_fallback_ops_npu_not_support", ())}
    for name in sorted(table.keys() & by_name.keys() - left_out):
        called = key if by_name[name] in own else shim_kernel_key(by_name[name], key, own_only=False)
        if called is not None:
            shim = ShimUnit(by_name[name], table[name], Target("npu", key), called).shim
            texts += [shim_declaration(version) for version in shim.functions]
    headers = ["torch_npu/csrc/inductor/aoti_torch/c/shim.h"]
    if job.rules.version >= parse_version("2.13"):
        headers.insert(0, "torch/csrc/inductor/aoti_torch/utils.h")
    includes = "\n".join([f"#include <{header}>" for header in headers])
    opening, closing = '#ifdef __cplusplus\nextern "C" {\n#endif\n', '\n#ifdef __cplusplus\n} // extern "C"\n#endif\n'
    return "\n".join(["#pragma once", "", includes, "", opening, *texts, closing])


def op_api_header(job: Job) -> str:
    """The kernels of another library, as members of a class of their own."""
    found = [entry for entry in entries(job, "aten") if entry.options.values.flag("op_api")]
    members = [f"static {native.signature(entry.function).declaration(entry.kernel.name)};" for entry in found]
    return "\n".join([*OP_API_HEAD, *members, "};", "}"])


def structured_header(job: Job) -> str:
    """The structured kernels."""
    backend = job.backends[0]
    headers = [line for line in header_lines(backend) if "_meta.h" in line]
    return "\n".join(
        [
            "#pragma once",
            "#include <ATen/Tensor.h>",
            "#include <ATen/TensorIterator.h>",
            *headers,
            *free_classes(backend, ""),
        ]
    )


OP_API_HEAD = (
    "#pragma once",
    "#include <ATen/Tensor.h>",
    "#include <ATen/ATen.h>",
    "namespace at_npu::native {",
    "struct NPUNativeOpApiFunctions {",
)
FILES: dict[str, Callable[[Job], str]] = {
    "CustomFunctions.h": partial(custom_functions, "CUSTOM_FUNCTIONS", "at_npu::native::custom_ops", ""),
    "CustomRedispatch.h": partial(
        custom_functions, "CUSTOM_REDISPATCH", "at_npu::redispatch", "c10::DispatchKeySet dispatchKeySet"
    ),
    "custom_ops.py": custom_ops,
    "c_shim_npu.h": c_shims,
    "NPUOpApiNativeFunctions.h": op_api_header,
    "NPUStructuredNativeFunctions.h": structured_header,
}


def fragment(text: str, context: FragmentContext) -> dict[str, list[str]]:
    """The text of a file."""
    del context
    return {"text": [text]}


def emitters(job: Job) -> list[Emitter[str]]:
    """The emitters of all files."""
    del job
    return [emitter(path, text) for path, text in FILES.items()]


def emitter(path: str, text: Callable[[Job], str]) -> Emitter[str]:
    """The emitter of one file."""
    return Emitter(
        name=path,
        family="torch_npu_api",
        template=None,
        folder="torch_npu_api",
        units=lambda job: [text(job)],
        fragment=fragment,
        layout=OneFile(path),
    )


FAMILY = Family(
    "torch_npu_api",
    "the headers of torch_npu besides those of its kernels",
    emitters=[emitters],
    folders={"torch_npu_api": ""},
    dialects=("shim_tables", "npu_shims"),
    serves_backends=True,
    by_default=False,
)
TABLES: Dialect[object] = Dialect("npu_shims", inputs=("fallback_ops.py",), loads_into=dict, loader=load_tables)
plugin = Plugin("torch_npu_api", api=1, families=[FAMILY], dialects=[TABLES])
