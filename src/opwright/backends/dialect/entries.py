"""Reads the entries of a section: operators with options. Checks these with each other, the operator and the head."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from opwright.backends import backend_codes
from opwright.backends.dialect.entry_fields import (
    LASTING_FIELDS,
    PYTORCH_KERNELS,
    READERS,
    BackendEntryBuilder,
    SectionContext,
    kernel_of,
    pattern_name,
)
from opwright.backends.dialect.head import OWN_HELP, is_own_dialect
from opwright.backends.dialect.inherited import inherited_kernel, shared_kernel
from opwright.backends.dialect.kernel_families import KernelFamily
from opwright.backends.external_backend import BackendEntry
from opwright.backends.hooks import Implementation
from opwright.dialects.dialect import LoadContext
from opwright.dialects.field import BACKEND_ENTRY
from opwright.dialects.values import RELEASE_FIELDS, check_overlaps
from opwright.model.library import PYTORCH
from opwright.model.native_function import DeviceCheck, NativeFunction
from opwright.release.version_range import ReleaseSpan
from opwright.source.diagnostic import Label, did_you_mean
from opwright.source.expect import check_unique_keys
from opwright.source.nodes import MappingNode, Node, Scalar
from opwright.source.records import NamedTuple
from opwright.source.span import Span

if TYPE_CHECKING:
    from opwright.dialects.dialect import ExtraKeys

#: The options of earlier proposals, with what they are called now.
_RENAMED: Final = {"ext_structured_meta": "define_meta"}
_RELEASE_NAMES: Final = tuple([field.name for field in RELEASE_FIELDS])
_LASTING_NAMES: Final = tuple([field.name for field in LASTING_FIELDS])


class EntryNode(NamedTuple):
    """An entry as nodes: the name of its operator, and its options."""

    name: Scalar
    options: Sequence[tuple[Scalar, Node]] = ()


def refused_entry(name: Scalar) -> MappingNode:
    """Entry of an operator that the head of a file refuses: what its author would write in a section."""
    file, start, end = name.file, name.start, name.end
    option = (Scalar(file, start, end, "fallback"), Scalar(file, start, end, "error"))
    return MappingNode(file, start, end, [(name, MappingNode(file, start, end, [option]))])


def load_entries(items: Iterable[Node], section: SectionContext) -> tuple[BackendEntry, ...]:
    """Entries of a section that the release has; those with faults are left out."""
    nodes = [node for item in items if (node := split_entry(item, section.load)) is not None]
    entries: dict[NativeFunction, BackendEntry] = {}
    for node in _nodes_of_release(nodes, section):
        entry = _load_entry(node, section)
        if entry is None:
            continue
        if entry.function in entries:
            _report_repeated(entries[entry.function], entry, section.load)
        entries.setdefault(entry.function, entry)
    return tuple(entries.values())


def _nodes_of_release(nodes: list[EntryNode], section: SectionContext) -> list[EntryNode]:
    """Entries that the release of the run has. Entries of one operator for the same releases go to the sink."""
    if not any(node.options for node in nodes):
        return nodes
    chosen, places = [], defaultdict[str, list[tuple[ReleaseSpan, Span]]](list)
    for node in nodes:
        fields = {key.value: value for key, value in node.options if key.value in _RELEASE_NAMES}
        releases = section.head.releases.span(fields)
        if releases is None:
            continue
        places[node.name.value].append((releases, node.name.span))
        if releases.includes(section.head.releases.version):
            chosen.append(node)
    repeated = set()
    for name, spans in places.items():
        if any(releases != ReleaseSpan() for releases, _ in spans):
            check_overlaps(spans, f"entries of `{name}`", section.load.sink)
            repeated.add(name)
    # Entries of all releases that repeat each other are reported as such.
    first = {node.name.value: node for node in reversed(chosen)}
    return [node for node in chosen if node.name.value not in repeated or first[node.name.value] is node]


def split_entry(item: Node, context: LoadContext) -> EntryNode | None:
    """Name and the options of an entry. Other shapes go to the sink."""
    if isinstance(item, Scalar) and item.kind == "str":
        return EntryNode(item)
    if not isinstance(item, MappingNode) or not item.entries:
        message = f"the entry is {item.description}, not the name of an operator"
        is_plain = isinstance(item, Scalar) and item.kind != "null"
        help = f'write `"{item.span.text}"` if it is a name' if is_plain else ""
        context.sink.error(backend_codes.BACKEND_ENTRY_SHAPE, message, item.span, help=help)
        return None
    name, options = item.entries[0]
    if context.tolerant:
        message = "PyTorch's generator takes names of operators alone"
        context.sink.error(backend_codes.OWN_DIALECT, message, item.span, help=OWN_HELP)
    elif len(item.entries) > 1:
        return _flat_entry(item, context)
    elif not isinstance(options, MappingNode):
        message = f"the options of `{name.value}` are {options.description}, not a mapping"
        help = f"write `- {name.value}`" if isinstance(options, Scalar) and options.kind == "null" else ""
        at = options.span if options.span.text else name.span
        context.sink.error(backend_codes.BACKEND_ENTRY_SHAPE, message, at, help=help)
    else:
        check_unique_keys(options, context.sink)
        return EntryNode(name, options.entries)
    return None


def _flat_entry(item: MappingNode, context: LoadContext) -> EntryNode | None:
    """Entry whose options stand beside the name of its operator, as earlier proposals had them; None for others."""
    sink = context.sink
    (name, value), *rest = item.entries
    options = {*_RENAMED, *_option_names(context.extra_keys_at(BACKEND_ENTRY))}
    first = rest[0][0]
    if not isinstance(value, Scalar) or value.kind != "null" or first.value not in options:
        message = f"the entry is a mapping with {len(item.entries)} keys, not with the name of an operator alone"
        sink.error(backend_codes.BACKEND_ENTRY_SHAPE, message, first.span)
        return None
    message = f"`{first.value}` is beside `{name.value}`, not one of its options"
    sink.warning(
        backend_codes.EARLIER_FORM, message, first.span, help="indent the options under the name of the operator"
    )
    check_unique_keys(MappingNode(item.file, first.start, item.end, rest), sink)
    return EntryNode(name, rest)


def _load_entry(node: EntryNode, section: SectionContext) -> BackendEntry | None:
    function = section.operators.find(node.name)
    if function is None:
        return None
    entry = BackendEntryBuilder(node.name, function, section)
    releases, extra_keys = section.head.releases, section.extra_keys
    for key, node_value in node.options:
        option = _RENAMED.get(key.value, key.value)
        entry.keys[option] = key
        if option != key.value:
            message = f"`{key.value}` is called `{option}` now"
            entry.warning(backend_codes.EARLIER_FORM, message, key.span, help=f"write `{option}`")
        if option in READERS:
            value = releases.value(node_value, option)
            if value is not None:
                READERS[option](value, entry)
        elif key.value not in _LASTING_NAMES and (extra_keys is None or key.value not in extra_keys):
            help = did_you_mean(key.value, _option_names(extra_keys))
            entry.fault(backend_codes.UNKNOWN_OPTION, f"unknown option `{key.value}`", key.span, help=help)
    if extra_keys is not None:
        values = extra_keys.read(node.options, node.name.span, releases)
        if values is None:
            entry.failed = True
        else:
            entry.set_options(values=values)
    check_entry(entry)
    if entry.failed:
        return None
    kernel = kernel_of(entry)
    return BackendEntry(function, kernel, node.name.span, entry.options)


def _option_names(extra_keys: ExtraKeys | None) -> list[str]:
    return [*READERS, *_LASTING_NAMES, *(() if extra_keys is None else extra_keys.names)]


def _report_repeated(first: BackendEntry, again: BackendEntry, context: LoadContext) -> None:
    also = [Label(first.span, "first here", primary=False)]
    message = f"`{again.function.name}` is in the section twice"
    if context.tolerant:
        context.sink.warning(backend_codes.BACKEND_REPEATED_ENTRY_WARNING, message, again.span, also=also)
    else:
        context.sink.error(backend_codes.BACKEND_REPEATED_ENTRY, message, again.span, also=also)


def check_entry(entry: BackendEntryBuilder) -> None:
    """Report what is wrong between the options of an entry, its operator and the head."""
    if entry.failed:
        return
    is_structured = entry.options.implementation is Implementation.structured
    _check_need(entry, "define_meta", entry.options.define_meta, "structured", is_structured)
    _check_need(entry, "register_meta", entry.options.register_meta, "define_meta", entry.options.define_meta)
    if entry.families and is_structured:
        # Its shape function would run before one is chosen.
        message = f"the structured kernel of `{entry.function.name}` can be in one family only"
        entry.fault(
            backend_codes.FAMILY, message, entry.key_span("family"), help="name one family, or delete `structured`"
        )
    match entry.options.implementation:
        case Implementation.structured | Implementation.stub:
            _check_structured(entry)
        case Implementation.fallback:
            _check_fallback(entry)
        case Implementation.refused:
            pass
        case Implementation.kernel | Implementation.inherited:
            _check_kernel(entry)
    _check_composite(entry)
    if entry.options.policy and entry.section.kind.name != "autocast":
        message = f"`{entry.section.kind.name}` has no policies"
        entry.fault(backend_codes.NEEDS_OPTION, message, entry.key_span("policy"), help="move the entry to `autocast`")
    _check_kernel_names(entry)
    _check_repeated_facts(entry)


def _check_need(entry: BackendEntryBuilder, option: str, has_option: bool, needed: str, has_needed: bool) -> None:
    if has_option and not has_needed:
        message = f"`{option}` needs `{needed}: true`"
        entry.fault(backend_codes.NEEDS_OPTION, message, entry.key_span(option), help=f"add `{needed}: true`")


def _check_structured(entry: BackendEntryBuilder) -> None:
    """Report structured kernels of operators that cannot have one."""
    function, option = entry.function, "stub" if entry.options.implementation is Implementation.stub else "structured"
    at = entry.key_span(option)
    if not function.in_structured_group:
        message = f"`{function.name}` is not structured in PyTorch"
        entry.fault(backend_codes.NOT_STRUCTURED, message, at, help=f"delete `{option}`")
    elif not function.structured:
        message = f"`{function.name}` is made from the structured kernel of `{function.structured_delegate}`"
        help = f"write `{function.structured_delegate}` in place of `{function.name}`"
        entry.fault(backend_codes.NOT_STRUCTURED, message, entry.name.span, help=help)
    elif not entry.section.kind.is_dense:
        message = f"`{entry.section.kind.name}` cannot have structured kernels"
        entry.fault(backend_codes.NOT_STRUCTURED, message, at, help="move the entry to `supported`")
    elif not entry.head.out_is_primary:
        message = f"`{option}` needs `use_out_as_primary: true`"
        help = "add `use_out_as_primary: true` to the head of the file"
        entry.fault(backend_codes.NEEDS_OUT_AS_PRIMARY, message, at, help=help)
    elif option == "stub" and shared_kernel(function) is None:
        message = f"PyTorch has no kernel of `{function.name}` that devices share"
        entry.fault(backend_codes.NO_INHERITED_KERNEL, message, at, help="write `structured: true` and a kernel")


def _check_fallback(entry: BackendEntryBuilder) -> None:
    if entry.function.is_view and not entry.head.options.fallback_copies_views:
        message = f"`{entry.function.name}` is a view, and the CPU's result is a copy"
        help = "write `inherit: shared`" if shared_kernel(entry.function) is not None else "write a kernel"
        entry.fault(backend_codes.FALLBACK_VIEW, message, entry.key_span("fallback"), help=help)


def _check_kernel(entry: BackendEntryBuilder) -> None:
    """Check a kernel that is named or inherited, and mark PyTorch's own."""
    if entry.source:
        entry.set_options(implementation=Implementation.inherited)
        kernel, help = inherited_kernel(entry.function, entry.source, entry.section.kind)
        at = entry.key_span("inherit")
        if kernel is None:
            name, source = entry.function.name, "the CPU and CUDA alike" if entry.source == "shared" else entry.source
            entry.fault(
                backend_codes.NO_INHERITED_KERNEL, f"PyTorch has no kernel of `{name}` for {source}", at, help=help
            )
        elif kernel.structured:
            message = f"PyTorch's kernel of `{entry.function.name}` is structured"
            is_shared = shared_kernel(entry.function) is not None
            help = "write `stub: true`" if is_shared else "write `structured: true` and a kernel"
            entry.fault(backend_codes.NO_INHERITED_KERNEL, message, at, help=help)
    elif entry.kernel.rpartition("::")[0] == PYTORCH_KERNELS and not _is_of_author(entry):
        entry.set_options(implementation=Implementation.inherited)


def _is_of_author(entry: BackendEntryBuilder) -> bool:
    """Whether a function in PyTorch's namespace of kernels is one that the headers of the file declare."""
    if not entry.head.options.includes:
        return False
    name = entry.kernel.rpartition("::")[2]
    return not _has_kernel(entry.function, name) and not any(
        _has_kernel(other, name) for other in entry.section.operators.functions
    )


def _has_kernel(function: NativeFunction, name: str) -> bool:
    return any(kernel.name == name for kernel in function.kernels.values())


def _check_composite(entry: BackendEntryBuilder) -> None:
    """Report kernels that would take the derivative from a composite operator."""
    function, options = entry.function, entry.options
    is_foreign = function.namespace != PYTORCH.namespace
    if not entry.section.kind.is_dense or is_foreign or entry.section.load.only_reports:
        return
    if function.has_composite_implicit and entry.name.value in entry.head.names.get("autograd", ()):
        return
    may_override = options.override_composite or entry.head.options.override_composite
    if is_differentiated_inside(function) and not may_override:
        message = f"`{function.name}` consists of other operators, and loses its derivative with a kernel of its own"
        help = "" if entry.section.load.tolerant else "write `override_composite: true`, or delete the entry"
        if is_own_dialect(entry.head):
            entry.fault(backend_codes.COMPOSITE_OVERRIDE, message, entry.name.span, help=help)
        else:
            entry.warning(backend_codes.COMPOSITE_OVERRIDE_WARNING, message, entry.name.span, help=help)
    elif options.override_composite and not function.has_composite_implicit:
        message = f"`{function.name}` is no composite operator, so `override_composite` has no effect"
        entry.warning(backend_codes.NO_EFFECT, message, entry.key_span("override_composite"))


def is_differentiated_inside(function: NativeFunction) -> bool:
    """Whether PyTorch differentiates the operators that a function consists of, not the function itself.

    If a device of PyTorch's has a kernel, autograd has a formula.
    """
    has_kernels = function.in_structured_group or any(key.is_dense for key in function.kernels)
    return function.has_composite_implicit and not has_kernels


def _check_kernel_names(entry: BackendEntryBuilder) -> None:
    """Warn of names for kernels that are not the backend's own, and of the usual name."""
    reason = "policy" if entry.options.policy else ""
    if entry.way is not None and entry.way.value != "structured":
        reason = entry.way.value
    for option in ("family", "kernel_name"):
        if reason and option in entry.keys:
            message = f"`{option}` has no effect, because `{reason}` says which kernel runs"
            entry.warning(backend_codes.NO_EFFECT, message, entry.key_span(option))
    family = entry.head.families.get(entry.family, KernelFamily())
    if not reason and entry.kernel_name and entry.kernel_name == pattern_name(entry, family):
        _report_repeated_fact("kernel_name", entry)


def _check_repeated_facts(entry: BackendEntryBuilder) -> None:
    """Warn of options that say what holds without them."""
    function, options, head = entry.function, entry.options, entry.head
    if options.device_guard and not head.device_guard:
        message = "`device_guard` has no effect, because the head of the file has no `device_guard: true`"
        entry.warning(backend_codes.NO_EFFECT, message, entry.key_span("device_guard"))
    elif options.device_guard is not None and options.device_guard == (function.device_guard and head.device_guard):
        _report_repeated_fact("device_guard", entry)
    head_checks = head.device_guard if head.options.device_check is None else head.options.device_check
    checks = head_checks and function.device_check is DeviceCheck.ExactSame
    if options.device_check is not None and options.device_check == checks:
        _report_repeated_fact("device_check", entry)
    if options.device_guard and not head.device_guard:
        entry.set_options(device_guard=None)


def _report_repeated_fact(option: str, entry: BackendEntryBuilder) -> None:
    if entry.head.is_rewritten:
        # The author of the file did not write the option.
        return
    message = f"`{option}` repeats what holds for `{entry.function.name}` without it"
    entry.warning(backend_codes.REPEATS_INHERITED, message, entry.key_span(option), help=f"delete `{option}`")
