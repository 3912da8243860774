"""The dispatch table of an explanation as text: keys with the same row share one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from opwright.explain.paint import Painter
from opwright.explain.records import DispatchRecord
from opwright.model.dispatch_key import META
from opwright.model.runtime_keys import KeyKind, runtime_keys

__all__ = ["dispatch_lines"]

_INDENT: Final = "  "
#: More missing keys than this are not listed after `except`.
_MOST_EXCEPTIONS: Final = 6
#: The width of the column with keys; longer lists of keys have lines of their own.
_KEY_COLUMN: Final = 16
_NO_KERNEL: Final = ("fallback", "fallthrough", "error", "missing")


def dispatch_lines(records: Sequence[DispatchRecord], painter: Painter) -> Iterator[str]:
    """The rows of keys of tensors, then those of gradients, then what happens before."""
    kinds = {key.name: key.kind for key in runtime_keys()}
    before = [record for record in records if kinds[record.key] is KeyKind.functionality]
    for kind in (KeyKind.backend, KeyKind.autograd):
        yield from _rows([record for record in records if kinds[record.key] is kind], painter)
    yield from _rows([record for record in before if record.serving not in _NO_KERNEL], painter)
    rest = [record for record in before if record.serving in _NO_KERNEL]
    for lead, by_hand in (("no generated kernel:", False), ("none, unless PyTorch registers one by hand:", True)):
        names = compress_keys([record.key for record in rest if bool(record.by_hand) is by_hand])
        if names:
            yield from painter.wrap(_INDENT, f"{lead} {', '.join(names)}", indent=6, note=True)


def _rows(records: Iterable[DispatchRecord], painter: Painter) -> Iterator[str]:
    """A row for all keys that have the same kernel, kernels of single keys first."""
    groups: dict[DispatchRecord, list[DispatchRecord]] = {}
    for record in records:
        groups.setdefault(_shared_row(record), []).append(record)
    ordered = sorted(groups.items(), key=lambda group: _order(group[0]))
    for shared, members in ordered:
        keys = ", ".join(compress_keys([record.key for record in members]))
        if len(keys) <= _KEY_COLUMN:
            yield from painter.wrap(f"{_INDENT}{keys:<{_KEY_COLUMN}}  ", _what(shared), indent=6)
        else:
            yield from painter.wrap(_INDENT, keys)
            yield from painter.wrap("      ", _what(shared), indent=6)
        hand = sorted({path for record in members for path in record.by_hand})
        if hand and shared.kind == "by_hand":
            yield from painter.wrap("      ", f"in {', '.join(hand)}", note=True)
        if any(record.key == META.name and record.by_hand for record in members):
            yield from painter.wrap("      ", _META_IN_PYTHON, note=True)


_META_IN_PYTHON: Final = "Python may replace the kernel for Meta: see torch/_meta_registrations.py"


def _shared_row(record: DispatchRecord) -> DispatchRecord:
    """What keys must have in common to share a row."""
    registered_for = "" if record.registered_for == record.key else record.registered_for
    return record._replace(
        key="", registered_for=registered_for, by_hand=() if record.kind != "by_hand" else record.by_hand
    )


def _order(record: DispatchRecord) -> int:
    if record.serving in _NO_KERNEL:
        return 2
    return 1 if record.registered_for else 0


def _what(record: DispatchRecord) -> str:
    """What runs, in words."""
    origin = f"{record.registered_for}: " if record.registered_for else ""
    if not record.kind:
        return record.text
    verb = "which calls" if record.serving == "composite" else "of"
    through = f", {verb} {record.through}" if record.through else ""
    text = "" if record.kind == "kernel" else f"; {record.text}"
    return f"{origin}{record.kernel}{through}{text}" if record.kernel else f"{origin}{record.text}{through}"


def compress_keys(names: Sequence[str]) -> list[str]:
    """Names of keys, with those of all devices as one.

    >>> compress_keys([key.name for key in runtime_keys() if key.name.startswith("Quantized")])
    ['Quantized*']
    """
    wanted = dict.fromkeys(names)
    shown: list[str] = []
    for prefix, family in _families().items():
        own = [name for name in family if name in wanted]
        missing = [name.removeprefix(prefix) for name in family if name not in wanted]
        if len(own) > 1 and len(missing) <= min(_MOST_EXCEPTIONS, len(own)):
            every = f"{prefix}*" if prefix else "all devices"
            shown.append(every + (f" except {'/'.join(missing)}" if missing else ""))
            for name in own:
                del wanted[name]
    return [*shown, *wanted]


def _families() -> dict[str, list[str]]:
    """The keys of all devices by the prefix of their names."""
    families: dict[str, list[str]] = {}
    for key in runtime_keys():
        if key.backend and key.name.endswith(key.backend):
            families.setdefault(key.name.removesuffix(key.backend), []).append(key.name)
    families["Autocast"] = [key.name for key in runtime_keys() if key.name.startswith("Autocast")]
    families.pop("Mkldnn", None)
    return families
