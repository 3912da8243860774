"""Which family a generated file belongs to, told from its path."""

from __future__ import annotations

import re

# Read from top to bottom; the first pattern found in the path decides.
FAMILIES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), family)
    for pattern, family in (
        (r"^cases/", "cases"),
        (r"(^|/)backend/", "external backends"),
        (r"(^|/)ops/.*_ops\.h$", "ops/*_ops.h"),
        (r"(^|/)ops/.*_native\.h$", "ops/*_native.h"),
        (r"(^|/)ops/.*_meta\.h$", "ops/*_meta.h"),
        (r"(^|/)ops/.*_dispatch\.h$", "ops/*_dispatch.h"),
        (r"(^|/)ops/", "ops/*.h"),
        (r"(^|/)aoti/", "C shims"),
        (r"(^|/)enum_tag\.h$", "core"),
        (r"(^|/)core/", "core"),
        (r"\.pyi$", "stub files of torch"),
        (r"_docs\.py$", "modules with docstrings"),
        (r"\.cmake$", "dependency lists"),
        (r"(^|/)Declarations\.yaml$", "Declarations.yaml"),
        (r"(^|/)annotated_fn_args\.py$", "annotated arguments"),
        (r"(^|/)ViewMetaClasses", "functionalization"),
        (r"(^|/)RegisterFunctionalization", "functionalization"),
        (r"(^|/)(FunctionalInverses\.h|CompositeViewCopyKernels\.cpp)$", "functionalization"),
        (r"(^|/)Register(Schema|BackendSelect)\.cpp$", "RegisterSchema, RegisterBackendSelect"),
        (r"(^|/)Register\w+(_\d+|Everything)\.cpp$", "Register{Key}"),
        (r"(^|/)Ufunc", "ufunc kernels"),
        (r"(^|/)Unboxing", "unboxing"),
        (r"(^|/)LazyIr\.h$|NonNativeIr\.h$|NativeFunctions\.(h|cpp)$", "lazy tensors"),
        (r"(^|/)Register(Autograd)?(Lazy|XLA)\.cpp$", "lazy tensors"),
        (r"(^|/)(selected_operators|merged)\.yaml$|(^|/)selected_\w+\.h$", "selective builds"),
        (r"(^|/)upgrader_mobile\.cpp$", "upgraders"),
        (r"(^|/)(test_)?generated_ops\.(cpp|cc)$", "static runtime"),
        (r"(^|/)VariableType", "VariableType"),
        (r"(^|/)TraceType", "TraceType"),
        (r"(^|/)ADInplaceOrViewType", "ADInplaceOrViewType"),
        (r"(^|/)python_functions", "python_functions"),
        (r"(^|/)python_", "Python bindings"),
        (r"(^|/)(out|autograd/generated)/", "autograd functions"),
        (r"(^|/)\w*Functions_inl\.h$", "{Key}Functions.h"),
        (r"(^|/)(CPU|CUDA|MPS|XPU|MTIA|Meta|Composite\w+)Functions\.h$", "{Key}Functions.h"),
        (r"(^|/)Operators(_\d+|Everything)\.cpp$", "Operators.cpp"),
        (r"\.h$", "aggregated headers"),
        (r"\.cpp$", "other sources"),
    )
)


def family(path: str) -> str:
    """The family of the file at `path`, which uses forward slashes and starts at the output folder.

    >>> family("aten/src/ATen/ops/add_ops.h")
    'ops/*_ops.h'
    >>> family("aten/src/ATen/RegisterCPU_0.cpp")
    'Register{Key}'
    """
    for pattern, name in FAMILIES:
        if pattern.search(path):
            return name
    return "other"
