"""Entries of operators that another library defines: they have its schemas, and kernels of their own.

The schemas come from a library file: the owner's, or one that `opwright import` wrote from its installed package.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import path as os_path
from shlex import quote
from typing import Final

from opwright.dialects.native_functions.entry_builder import dispatch_key_span
from opwright.dialects.native_functions.report import CrossReport
from opwright.libraries import library_codes
from opwright.libraries.dialect.fields import LIBRARY_FIELDS, NAME
from opwright.libraries.dialect.head import IMPLEMENTS, Head
from opwright.libraries.dialect.requirements import FIELDS as REQUIREMENT_FIELDS
from opwright.libraries.dialect.sections import COMMON_FIELDS, CONDITION_FIELD, DISPATCH_FIELD
from opwright.libraries.kernels import implementations_of
from opwright.libraries.operator_library import BUILD_NAMESPACE, OperatorLibrary, Owner
from opwright.model.library import PYTORCH
from opwright.model.native_function import NativeFunction
from opwright.source.diagnostic import Diagnostics, Suggestion, did_you_mean
from opwright.source.nodes import MappingNode, Node, Scalar
from opwright.source.records import NamedTuple

_FUNC: Final = "func"
#: What an entry says of its kernels, and of the calls that these can take. All else is said by the owner.
_FIELDS: Final = (
    *(NAME, "doc", DISPATCH_FIELD.name, CONDITION_FIELD.name, "device_check", "device_guard", "overlap"),
    *("use_const_ref_for_mutable_tensors", *REQUIREMENT_FIELDS),
)
_OWNERS_FIELDS: Final = frozenset(field.name for field in (*COMMON_FIELDS, *LIBRARY_FIELDS)).difference(_FIELDS)
#: Namespaces for which kernels are not written so, and what is wrong.
_NOT_OWNERS: Final = {
    PYTORCH.namespace: "kernels for operators of PyTorch are those of a backend file",
    BUILD_NAMESPACE: "each build of the library gives its operators another namespace",
}
#: The file with the schemas of a module has its name and this ending, and is beside the library file.
_LOCK: Final = ".lock.yaml"
_YAML: Final = (".yaml", ".yml")


class Implemented(NamedTuple):
    """Entries with the schemas of their owner, whose operators are in `functions` by their names."""

    items: list[Node]
    owner: Owner
    functions: Mapping[str, NativeFunction]


def schemas_path(head: Head) -> str:
    """Path of the file with the schemas, relative to the library file.

    >>> schemas_path(Head(implements="vllm._C")), schemas_path(Head(implements="../acme/acme.yaml"))
    ('vllm._C.lock.yaml', '../acme/acme.yaml')
    """
    return head.implements if head.implements.endswith(_YAML) else f"{head.implements}{_LOCK}"


def lock_help(head: Head, library_path: str) -> str:
    """How the file with the schemas comes into being."""
    if head.implements.endswith(_YAML):
        return "name the owner's library file, or the module that defines the operators"
    lock = os_path.join(os_path.dirname(library_path), schemas_path(head))
    return f"where the package is installed, run `opwright import {head.implements} --out {quote(lock)}`"


def implemented(
    items: Iterable[Node], head: Head, libraries: Sequence[OperatorLibrary], sink: Diagnostics
) -> Implemented:
    """Entries with the schemas of the owner, whose libraries are given. Faults go to `sink`.

    Entries with faults are left out. All are in one namespace: the one that the first of them names, or the owner's.
    """
    by_namespace = {
        library.library.namespace: {function.name.text: function for function in library.catalog.functions}
        for library in libraries
    }
    chosen, is_chosen = next(iter(by_namespace), ""), False
    entries: list[Node] = []
    for item in items:
        scalar = item.get(NAME) if isinstance(item, MappingNode) else None
        if not isinstance(item, MappingNode) or not isinstance(scalar, Scalar):
            help = f"write `{NAME}:` and the name of the operator"
            message = f"`{IMPLEMENTS}` is for entries with the names of another library's operators"
            sink.error(library_codes.OWNERS_FIELD, message, item.span, help=help)
            continue
        namespace, separator, name = scalar.value.rpartition("::")
        chosen = namespace if separator and not is_chosen else chosen
        is_chosen = True
        if separator and namespace != chosen:
            message = f"`{namespace}` is another namespace than `{chosen}`, which the operators above are in"
            sink.error(
                library_codes.OWNERS_OPERATOR, message, scalar.span, help="write a library file for each namespace"
            )
            continue
        function = by_namespace.get(chosen, {}).get(name)
        if function is None:
            message = f"`{head.implements}` has no operator `{scalar.value}`"
            sink.error(library_codes.OWNERS_OPERATOR, message, scalar.span, help=_nearest(name, chosen, by_namespace))
        elif _check_fields(item, sink):
            key = next(key for key, _ in item.entries if key.value == NAME)
            # The place of the schema is that of the name.
            schema = Scalar(scalar.file, scalar.start, scalar.end, function.schema.written_text, "'", kind="str")
            func = Scalar(key.file, key.start, key.end, _FUNC)
            entries.append(item.replace(entries=[(func, schema), *item.entries]))
    if chosen in _NOT_OWNERS:
        sink.error(library_codes.OWNERS_FILE, _NOT_OWNERS[chosen], head.spans[IMPLEMENTS])
    module = next((library.python_package for library in libraries if library.library.namespace == chosen), chosen)
    owner = Owner(chosen, module if head.implements.endswith(_YAML) else head.implements)
    return Implemented(entries, owner, by_namespace.get(chosen, {}))


def _nearest(name: str, chosen: str, by_namespace: Mapping[str, Mapping[str, NativeFunction]]) -> str | Suggestion:
    """The operator of the name in another namespace, or the nearest one in that of the file."""
    elsewhere = [f"{namespace}::{name}" for namespace, functions in by_namespace.items() if name in functions]
    return f"write `{elsewhere[0]}`" if elsewhere else did_you_mean(name, by_namespace.get(chosen, ()))


def _check_fields(entry: MappingNode, sink: Diagnostics) -> bool:
    """Whether an entry says what it can say of an operator of others. What is the owner's goes to `sink`."""
    wrong = [key for key, _ in entry.entries if key.value in _OWNERS_FIELDS]
    for key in wrong:
        message = f"`{key.value}` of an operator is said by the library that defines it"
        help = f"remove `{key.value}`; an entry says which kernels there are, and what these need of a call"
        sink.error(library_codes.OWNERS_FIELD, message, key.span, help=help)
    if entry.get(DISPATCH_FIELD.name) is None:
        message = f"`{DISPATCH_FIELD.name}` is missing: an entry of an operator of others has kernels for keys"
        sink.error(
            library_codes.OWNERS_FIELD, message, entry.span, help="write for instance `dispatch: {PrivateUse1: scale}`"
        )
        return False
    return not wrong


def check_implemented(functions: Iterable[NativeFunction], of_owner: Implemented, report: CrossReport) -> None:
    """Report kernels that an operator of others cannot have."""
    namespace = of_owner.owner.namespace
    for function in functions:
        owners = of_owner.functions[function.name.text].kernels
        for key, kernel in function.kernels.items():
            at = dispatch_key_span(report.node(function), key.name)
            if key in owners:
                message = f"`{namespace}` has a kernel for `{key.name}` of `{function.name}`"
                help = "name a key of another device: which of two kernels runs depends on which package is loaded last"
                report.error(library_codes.OWNERS_KERNEL, message, at, help=help)
            elif key.is_composite:
                message = f"`{key.name}` of an operator is for the library that defines it"
                report.error(library_codes.OWNERS_KERNEL, message, at, help="name the key of a device")
            elif implementations_of(kernel):
                message = f"an operator of others has one kernel in C++ for `{key.name}`"
                report.error(library_codes.OWNERS_KERNEL, message, at, help="name one C++ function")
