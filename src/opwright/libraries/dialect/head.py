"""Head of a library file: what it says once for all its entries."""

from __future__ import annotations

import keyword
from collections.abc import Mapping, Sequence
from typing import Final

from opwright.cpp.text import is_header
from opwright.dialects.field import (
    OPERATORS,
    OWN_OPERATOR_FIELDS,
    PLUGINS,
    TEXT,
    TEXTS,
    Field,
    choice,
    mapping_schema,
    report_plugins,
)
from opwright.dialects.names import CPP_WORDS, FOREIGN_NAMESPACES, IDENTIFIER, namespace_conflict
from opwright.files.plan import has_windows_device
from opwright.libraries import library_codes
from opwright.libraries.dialect.sections import section_entries
from opwright.libraries.operator_library import BUILD_NAMESPACE
from opwright.model.dispatch_key import dispatch_keys
from opwright.release.tables import cpp_macros
from opwright.release.version_range import RangeFault, VersionRange, parse_version_range
from opwright.source.diagnostic import Diagnostics, Fault, did_you_mean, shorten
from opwright.source.expect import check_unique_keys, expect_sequence, expect_string, expect_strings
from opwright.source.nodes import MappingNode, Node, Scalar, SequenceNode, did_you_mean_key
from opwright.source.records import NamedTuple
from opwright.source.span import Span
from opwright.syntax.python import is_module_name

#: The C++ interfaces of PyTorch that a library can use, with their help.
ABIS: Final = {
    "native": "All of PyTorch's C++ API. A binary is for one release of PyTorch.",
    "stable": "PyTorch's stable C++ API. A binary is for the release that it was built with, and later ones.",
    "dlpack": "Kernels over borrowed tensors, which PyTorch, JAX and callers of TVM FFI share.",
}

#: The frameworks for which a library whose kernels take borrowed tensors can have code, with what each is.
FRAMEWORKS: Final = {"torch": "PyTorch", "jax": "JAX", "tvm_ffi": "TVM FFI"}

#: The global namespace of C++, as `kernel_namespace`.
GLOBAL: Final = "::"

#: Where the C++ signatures of kernels come from, with their help.
KERNEL_SIGNATURES: Final = {
    "schema": "Kernels have the C++ signatures that follow from their schemas.",
    "declared": "Kernels have the C++ signatures with which headers of the author declare them.",
}

#: The field that names the library whose operators this one has kernels for.
IMPLEMENTS: Final = "implements"

#: The key of a namespace that a macro of the build names.
FROM: Final = "from"

_NAMESPACE, _DOC, _PYTHON_PACKAGE, _DERIVATIVES, _DERIVATIVE_INCLUDES, _OPERATORS = OWN_OPERATOR_FIELDS

#: The fields of a head, in the order of the documentation.
HEAD_FIELDS: Final = (
    _NAMESPACE._replace(
        values="text or mapping",
        schema={"anyOf": [TEXT, mapping_schema((Field(FROM, "text", choice(BUILD_NAMESPACE), "", is_required=True),))]},
        help=f"{_NAMESPACE.help} `{{from: {BUILD_NAMESPACE}}}` leaves it to the build.",
    ),
    _DOC,
    Field(
        IMPLEMENTS,
        "text",
        TEXT,
        "The library that defines the operators: the path of its library file, or its module, such as `vllm`: see "
        "[operators of others](#kernels-for-operators-of-others).",
    ),
    Field("torch", "text", TEXT, "The releases of PyTorch that the library is for, such as `>=2.10,<2.15`."),
    Field(
        "abi",
        "text",
        choice(*ABIS),
        "The C++ interface that the kernels use: PyTorch's `native` or `stable` one, or `dlpack` for borrowed tensors.",
    ),
    Field(
        "frameworks",
        "list of texts",
        TEXTS,
        "The frameworks that call kernels with `abi: dlpack`: `torch`, `jax` and `tvm_ffi`; without it, all of them.",
    ),
    Field("cpp_namespace", "text", TEXT, "The C++ namespace of the library; without it, that of the operators."),
    Field(
        "kernel_namespace",
        "text",
        TEXT,
        "The C++ namespace of kernels whose names have none, `::` for the global one; without it, `native` in that of "
        "the library.",
    ),
    Field(
        "kernel_signatures",
        "text",
        choice(*KERNEL_SIGNATURES),
        "Where the C++ signatures of kernels come from: `schema`, or `declared`, for those in `includes`.",
    ),
    _PYTHON_PACKAGE,
    Field("includes", "list of texts", TEXTS, "Headers that declare the kernels, as `#include` names them."),
    _DERIVATIVES,
    _DERIVATIVE_INCLUDES,
    Field("c_shims", "list of texts", TEXTS, "The devices, such as `cpu`, for which AOTInductor gets C shims."),
    _OPERATORS,
)
#: Their names.
HEAD_NAMES: Final = [field.name for field in HEAD_FIELDS]
#: Those that say something of the operators themselves, and values that are for libraries with operators of their own.
_OF_DEFINITIONS: Final = ("derivatives", "derivative_includes", "c_shims", "frameworks")
_NOT_OF_OTHERS: Final = {"abi": ("dlpack",), "kernel_signatures": ("declared",)}
_HEADERS: Final = ("includes", "derivative_includes")
_LISTS: Final = [field.name for field in HEAD_FIELDS if field.schema is TEXTS]


class Head(NamedTuple):
    """Head of a library file. A file that is a list of entries has none, and its entries name their namespaces.

    `torch` are the releases that the library is for. `spans` has the span of each field's value.
    """

    namespace: str = ""
    cpp_namespace: str = ""
    python_package: str = ""
    doc: str = ""
    abi: str = ""
    torch: VersionRange = VersionRange()
    includes: tuple[str, ...] = ()
    derivatives: str = ""
    derivative_includes: tuple[str, ...] = ()
    c_shims: tuple[str, ...] = ()
    kernel_namespace: str = ""
    kernel_signatures: str = ""
    frameworks: tuple[str, ...] = ()
    implements: str = ""
    spans: Mapping[str, Span] = {}

    @property
    def derivatives_span(self) -> Span | None:
        """Span of the path of the file with the derivatives."""
        return self.spans.get("derivatives")


def read_head(root: Node, sink: Diagnostics) -> tuple[Head, Sequence[Node]]:
    """Head and the entries of a file. Raises Fault if the file is neither a list of entries nor a mapping."""
    if isinstance(root, SequenceNode):
        return Head(), section_entries(root.items, sink)
    if not isinstance(root, MappingNode) or (root.get(OPERATORS) is None and root.get("func") is not None):
        description = "a single entry" if isinstance(root, MappingNode) else root.description
        message = f"the file is {description}, not a list of entries or a mapping with `{OPERATORS}`"
        raise Fault.at(library_codes.LIBRARY_FILE_SHAPE, message, root.span)
    check_unique_keys(root, sink)
    texts: dict[str, Scalar] = {}
    lists: dict[str, tuple[str, ...]] = {}
    for key, value in root.entries:
        if key.value == PLUGINS:
            report_plugins(key.span, sink)
        elif key.value not in HEAD_NAMES:
            help = did_you_mean_key(key, root, HEAD_NAMES)
            sink.error(library_codes.HEAD_KEY, f"unknown key `{key.value}`", key.span, help=help)
        elif key.value in _LISTS:
            items = expect_strings(value, f"`{key.value}`", sink) or ()
            lists[key.value] = tuple([item.value for item in items])
            if key.value == "c_shims":
                _check_shim_devices(items, sink)
            elif key.value in _HEADERS:
                _check_headers(items, sink)
            elif key.value == "frameworks":
                _check_frameworks(items, value.span, root, sink)
        elif key.value == "namespace" and isinstance(value, MappingNode):
            macro = _macro(value, sink)
            if macro is not None:
                texts[key.value] = macro
        elif key.value != OPERATORS:
            text = expect_string(value, f"`{key.value}`", sink)
            if text is not None:
                texts[key.value] = text
    if IMPLEMENTS in texts:
        _check_implements(texts, root, sink)
    return _head(texts, lists, sink), _entries(root, sink)


def _check_implements(texts: dict[str, Scalar], root: MappingNode, sink: Diagnostics) -> None:
    """Report what a library that defines no operators cannot say, and an owner that is neither a file nor a module."""
    owner = texts[IMPLEMENTS]
    if not is_module_name(owner.value) and not owner.value.endswith((".yaml", ".yml")):
        message = f"`{shorten(owner.value)}` is neither a module nor the path of a library file"
        help = "write it like `vllm`, or like `../acme/acme.yaml`"
        sink.error(library_codes.OWNERS_FILE, message, owner.span, help=help)
        del texts[IMPLEMENTS]
    namespace = texts.get("namespace")
    if namespace is None or namespace.value == BUILD_NAMESPACE:
        message = f"a library with `{IMPLEMENTS}` has a name of its own for its code and its package"
        at = owner.span if namespace is None else namespace.span
        sink.error(library_codes.OWNERS_FIELD, message, at, help="write for instance `namespace: acme_npu`")
    for key, value in root.entries:
        is_refused = isinstance(value, Scalar) and value.value in _NOT_OF_OTHERS.get(key.value, ())
        if is_refused or key.value in _OF_DEFINITIONS:
            what = f"`{key.value}: {value.value}`" if isinstance(value, Scalar) and is_refused else f"`{key.value}`"
            message = f"{what} is not for operators that another library defines"
            sink.error(library_codes.OWNERS_FIELD, message, key.span, help=f"remove `{key.value}`")


def _macro(node: MappingNode, sink: Diagnostics) -> Scalar | None:
    """Macro of a namespace that the build decides. Other ones go to `sink`."""
    value = node.get(FROM)
    if isinstance(value, Scalar) and value.value == BUILD_NAMESPACE and len(node.entries) == 1:
        return value
    help = f"write `{{{FROM}: {BUILD_NAMESPACE}}}`"
    sink.error(
        library_codes.NAMESPACE_NAME, "the mapping does not say which namespace the build gives", node.span, help=help
    )
    return None


def _check_build_namespace(
    texts: Mapping[str, Scalar], lists: Mapping[str, tuple[str, ...]], sink: Diagnostics
) -> None:
    """Report what a library cannot say whose namespace only the build knows."""
    at = texts["namespace"].span
    if "cpp_namespace" not in texts:
        help = "add a `cpp_namespace` to the head"
        sink.error(
            library_codes.NAMESPACE_NAME, "a library that the build names has a C++ namespace of its own", at, help=help
        )
    if "c_shims" in lists:
        message = "C shims have names without a namespace, so that two builds of the library could not be loaded"
        sink.error(library_codes.NAMESPACE_NAME, message, at, help="delete `c_shims`, or name the namespace")


def _entries(root: MappingNode, sink: Diagnostics) -> Sequence[Node]:
    node = root.get(OPERATORS)
    if node is None:
        sink.error(library_codes.LIBRARY_FILE_SHAPE, f"the file has no `{OPERATORS}`", root.span)
        return ()
    if isinstance(node, Scalar) and node.kind == "null":
        return ()
    entries = expect_sequence(node, f"`{OPERATORS}`", sink)
    return () if entries is None else section_entries(entries.items, sink)


def _head(texts: Mapping[str, Scalar], lists: Mapping[str, tuple[str, ...]], sink: Diagnostics) -> Head:
    """Head of these fields; values with faults are left out."""
    values = {name: scalar.value for name, scalar in texts.items()}
    if values.get("namespace") == BUILD_NAMESPACE:
        _check_build_namespace(texts, lists, sink)
    elif "namespace" in texts and not check_namespace(values["namespace"], texts["namespace"].span, sink):
        del values["namespace"]
    for name, is_sound in (
        ("cpp_namespace", _check_cpp_namespace),
        ("python_package", _check_python_package),
        ("kernel_namespace", _check_kernel_namespace),
    ):
        if name in texts and not is_sound(texts[name], sink):
            del values[name]
    if values.get("abi", "native") not in ABIS:
        _report_abi(texts["abi"], sink)
    if values.get("kernel_signatures", "schema") not in KERNEL_SIGNATURES:
        at, name = texts["kernel_signatures"].span, values.pop("kernel_signatures")
        help = did_you_mean(name, KERNEL_SIGNATURES, "write `schema` or `declared`")
        sink.error(library_codes.KERNEL_SIGNATURES, f"there are no signatures `{name}`", at, help=help)
    values.pop("torch", None)
    spans = {name: scalar.span for name, scalar in texts.items()}
    return Head(**values, **lists, torch=_torch_range(texts.get("torch"), sink), spans=spans)  # type: ignore[arg-type]


def check_namespace(name: str, at: Span, sink: Diagnostics) -> bool:
    """Whether operators can have a namespace: it is one name, and no macro of C++. Other ones go to `sink`.

    `check_outermost_namespace` has more rules for a namespace of C++.
    """
    if IDENTIFIER.fullmatch(name) is None:
        message = f"`{name}` is not the name of a namespace"
        help = "write a single name; `cpp_namespace` can be a nested one" if "::" in name else ""
    elif conflict := namespace_conflict(name, is_outermost=False):
        message, help = f"`{name}` is {conflict}", "choose another name"
    elif has_windows_device(name):
        message, help = f"`{name}` is a device of Windows, which can have no folder of that name", "choose another name"
    else:
        return True
    sink.error(library_codes.NAMESPACE_NAME, message, at, help=help)
    return False


def check_outermost_namespace(name: str, at: Span | None, sink: Diagnostics) -> bool:
    """Whether a namespace of operators can be one of C++, for a library without `cpp_namespace`."""
    conflict = namespace_conflict(name)
    if conflict:
        help = f"choose another name, or write for instance `cpp_namespace: {name}_ops`"
        sink.error(library_codes.NAMESPACE_NAME, f"`{name}` is {conflict}", at, help=help)
    return not conflict


def _check_cpp_namespace(scalar: Scalar, sink: Diagnostics) -> bool:
    name, start = scalar.value, 0
    for part in name.split("::"):
        at = scalar.span_of(start, start + len(part)) if part else scalar.span
        if IDENTIFIER.fullmatch(part) is None or part in CPP_WORDS:
            sink.error(library_codes.NAMESPACE_NAME, f"`{part}` is not the name of a C++ namespace", at)
            return False
        # A library may have a namespace inside one of PyTorch's.
        is_foreign = part in FOREIGN_NAMESPACES and part != name
        conflict = "" if is_foreign else namespace_conflict(part, is_outermost=not start)
        if conflict:
            help = "" if part in cpp_macros() else f"write for instance `mine::{name}`"
            sink.error(library_codes.NAMESPACE_NAME, f"`{part}` is {conflict}", at, help=help)
            return False
        start += len(part) + len("::")
    return True


def _check_kernel_namespace(scalar: Scalar, sink: Diagnostics) -> bool:
    name = scalar.value
    if name == GLOBAL or all(IDENTIFIER.fullmatch(part) and part not in CPP_WORDS for part in name.split("::")):
        return True
    message, help = f"`{shorten(name)}` is not a C++ namespace", "write it like `acme::ops`, or `::`"
    sink.error(library_codes.OWN_KERNEL_NAMESPACE, message, scalar.span, help=help)
    return False


def _check_python_package(scalar: Scalar, sink: Diagnostics) -> bool:
    name = scalar.value
    if has_windows_device(name.replace(".", "/")):
        message = f"`{name}` has a device of Windows, which can have no folder of that name"
        sink.error(library_codes.PYTHON_PACKAGE, message, scalar.span, help="choose another name")
        return False
    if all(part.isidentifier() and not keyword.iskeyword(part) for part in name.split(".")):
        return True
    help = f"write `{name.replace('-', '_')}`" if name.replace("-", "_").isidentifier() else ""
    sink.error(library_codes.PYTHON_PACKAGE, f"`{name}` is not the name of a Python package", scalar.span, help=help)
    return False


def _report_abi(scalar: Scalar, sink: Diagnostics) -> None:
    help = did_you_mean(scalar.value, ABIS, "write `native`, `stable` or `dlpack`")
    sink.error(library_codes.UNKNOWN_ABI, f"there is no interface `{scalar.value}`", scalar.span, help=help)


def _check_shim_devices(items: Sequence[Scalar], sink: Diagnostics) -> None:
    devices = [key.lower for key in dispatch_keys() if key.has_c_shim]
    for item in items:
        if item.value not in devices:
            help = did_you_mean(item.value, devices, f"there are: {', '.join(devices)}")
            sink.error(
                library_codes.C_SHIM_DEVICE, f"AOTInductor has no C shims for `{item.value}`", item.span, help=help
            )


def _check_frameworks(items: Sequence[Scalar], at: Span, root: MappingNode, sink: Diagnostics) -> None:
    for item in items:
        if item.value not in FRAMEWORKS:
            help = did_you_mean(item.value, FRAMEWORKS, f"there are: {', '.join(FRAMEWORKS)}")
            sink.error(library_codes.UNKNOWN_FRAMEWORK, f"there is no framework `{item.value}`", item.span, help=help)
    abi = root.get("abi")
    if not isinstance(abi, Scalar) or abi.value != "dlpack":
        message = "`frameworks` are those that call kernels over borrowed tensors"
        sink.error(library_codes.UNKNOWN_FRAMEWORK, message, at, help="write `abi: dlpack`, or remove `frameworks`")


def _check_headers(items: Sequence[Scalar], sink: Diagnostics) -> None:
    for item in items:
        if not is_header(item.value):
            help = f"write `{item.value[1:-1]}`" if is_header(item.value[1:-1]) else "write it like `acme/kernels.h`"
            message = f"`{shorten(item.value)}` is not the path of a header"
            sink.error(library_codes.HEADER_PATH, message, item.span, help=help)


def _torch_range(scalar: Scalar | None, sink: Diagnostics) -> VersionRange:
    if scalar is None:
        return VersionRange()
    try:
        return parse_version_range(scalar.value)
    except RangeFault as fault:
        message = f"`{scalar.value[fault.start : fault.end]}` is not a range of releases"
        at = scalar.span_of(fault.start, fault.end) if fault.end > fault.start else scalar.span
        sink.error(library_codes.LIBRARY_TORCH_RANGE, message, at, help=fault.help(scalar.value))
        return VersionRange()
