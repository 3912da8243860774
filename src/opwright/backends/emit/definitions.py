"""Compares a C++ file with the kernels of a backend by their names, as PyTorch's generator does for `--impl-path`.

It does not parse C++. What looks like the definition of a member counts, in comments too, and arguments are not looked
at. Kernels that operators share, because they are overloads, need as many definitions as there are operators.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from opwright.backends.backend_codes import KERNEL_DEFINITIONS
from opwright.backends.external_backend import BackendEntry, ExternalBackend
from opwright.emit.aten.backend import kernel_signature
from opwright.model.native_function import NativeFunction
from opwright.source.diagnostic import Diagnostics, Label
from opwright.source.span import SourceText, Span


def check_definitions(
    backends: Iterable[ExternalBackend],
    file: SourceText,
    sink: Diagnostics,
    *,
    generated: Collection[NativeFunction] = (),
) -> None:
    """Report kernels that a C++ file does not define as often as the backends' entries need them.

    The kernels of `generated` functions are not looked for.
    """
    for backend in backends:
        definitions = _definitions(file, backend.class_name)
        kernels: dict[str, list[BackendEntry]] = {}
        for entry in backend.entries:
            if entry.function not in generated:
                kernels.setdefault(entry.kernel.name, []).append(entry)
        for name, entries in kernels.items():
            places = definitions.get(name, ())
            if len(places) != len(entries):
                _report(f"{backend.class_name}::{name}", entries, places, file.path, sink)


def _definitions(file: SourceText, class_name: str) -> Mapping[str, Sequence[Span]]:
    """Places that look like definitions of a class's members, by name: on each line, the last one.

    A name with a namespace before the class is taken for a call.
    """
    text = file.text
    last_on_line: dict[int, re.Match[str]] = {}
    for match in re.finditer(rf"{re.escape(class_name)}::\s*(\w*)\(", text):
        last_on_line[text.rfind("\n", 0, match.start()) + 1] = match
    places: dict[str, list[Span]] = {}
    for start, match in last_on_line.items():
        if match.start() == start or text[match.start() - 1] != ":":
            places.setdefault(match[1], []).append(file.span(match.start(), match.end(1)))
    return places


def _report(kernel: str, entries: Sequence[BackendEntry], places: Sequence[Span], path: str, sink: Diagnostics) -> None:
    entry = entries[0]
    needed = "1 operator needs it" if len(entries) == 1 else f"{len(entries)} operators need it"
    defined = {0: "does not define it", 1: "defines it once"}.get(len(places), f"defines it {len(places)} times")
    also = [Label(other.span, "needs it too", primary=False) for other in entries[1:]]
    also += [Label(place, "a definition", primary=False) for place in places]
    signatures = [kernel_signature(entry.function, entry.kernel, external=True) for entry in entries]
    notes = [
        f"the kernel of `{entry.function.name}` is `{signature.definition(kernel)}`"
        for entry, signature in zip(entries, signatures, strict=True)
    ]
    message = f"`{kernel}`: {needed}, and `{path}` {defined}"
    sink.error(KERNEL_DEFINITIONS, message, entry.span, notes=notes, also=also)
