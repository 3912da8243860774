"""Types, schemas and native functions: the names of `torchgen.model`."""

from __future__ import annotations

from opwright.torchgen.interface.functions import (
    BackendIndex,
    BackendMetadata,
    Location,
    NativeFunction,
    NativeFunctionsGroup,
    NativeFunctionsViewGroup,
    Precompute,
    get_view_copy_name,
    gets_generated_out_inplace_wrapper,
    gets_generated_view_copy,
)
from opwright.torchgen.interface.keys import (
    AUTOGRAD_KEYS,
    BACKEND_COMPONENTS,
    DEFAULT_KERNEL_NAMESPACE,
    DTYPE_CLASSES,
    FRAGMENT_NAMESPACES,
    FUNCTIONALITY_KEYS,
    STRUCTURED_DISPATCH_KEYS,
    UFUNC_DISPATCH_KEYS,
    DeviceCheckType,
    DispatchKey,
    ScalarType,
    SchemaKind,
    UfuncInnerLoop,
    UfuncKey,
    Variant,
    ViewSchemaKind,
    _TorchDispatchModeKey,
    codegen_per_backend_entries,
    dispatch_device_map,
    dispatch_keys,
    is_cuda_dispatch_key,
    is_generic_dispatch_key,
    is_structured_dispatch_key,
    is_ufunc_dispatch_key,
    is_xpu_dispatch_key,
)
from opwright.torchgen.interface.schema import (
    Argument,
    Arguments,
    FunctionSchema,
    Return,
    SelfArgument,
    TensorOptionsArguments,
    parse_returns,
)
from opwright.torchgen.interface.types import (
    AUGMENTED_ASSIGNMENT_NAMES,
    Annotation,
    BaseOperatorName,
    BaseTy,
    BaseType,
    CustomClassType,
    ListType,
    OperatorName,
    OptionalType,
    Type,
)

__all__ = [
    "AUGMENTED_ASSIGNMENT_NAMES", "AUTOGRAD_KEYS", "BACKEND_COMPONENTS", "DEFAULT_KERNEL_NAMESPACE", "DTYPE_CLASSES",
    "FRAGMENT_NAMESPACES", "FUNCTIONALITY_KEYS", "STRUCTURED_DISPATCH_KEYS", "UFUNC_DISPATCH_KEYS", "Annotation",
    "Argument", "Arguments", "BackendIndex", "BackendMetadata", "BaseOperatorName", "BaseTy", "BaseType",
    "CustomClassType", "DeviceCheckType", "DispatchKey", "FunctionSchema", "ListType", "Location", "NativeFunction",
    "NativeFunctionsGroup", "NativeFunctionsViewGroup", "OperatorName", "OptionalType", "Precompute", "Return",
    "ScalarType", "SchemaKind", "SelfArgument", "TensorOptionsArguments", "Type", "UfuncInnerLoop", "UfuncKey",
    "Variant", "ViewSchemaKind", "_TorchDispatchModeKey", "codegen_per_backend_entries", "dispatch_device_map",
    "dispatch_keys", "get_view_copy_name", "gets_generated_out_inplace_wrapper", "gets_generated_view_copy",
    "is_cuda_dispatch_key", "is_generic_dispatch_key", "is_structured_dispatch_key", "is_ufunc_dispatch_key",
    "is_xpu_dispatch_key", "parse_returns",
]  # fmt: skip
