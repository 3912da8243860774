"""Writes the backend file of a backend that exists, from the kernels that its sources register for PyTorch's operators.

The wrappers that are generated from it call the same kernels and do no more: devices are neither checked nor set, and
no overload follows from another.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

from opwright.backends.dialect.entry_fields import PYTORCH_KERNELS
from opwright.backends.dialect.sections import DENSE, SECTIONS, SectionKind
from opwright.backends.dispatch.resolution import Entries, resolve
from opwright.backends.dispatch.runtime_keys import runtime_keys
from opwright.backends.external_backend import RunBackends
from opwright.backends.operator_names import STAND_INS
from opwright.dialects.names import AUTOCAST_POLICIES
from opwright.libraries.extension.generated import backend_code
from opwright.migrate.importing.cpp_reader import read_cpp_sources
from opwright.migrate.importing.registration import RegistrationStatement, SourcePlace, no_registrations
from opwright.model.dispatch_key import COMPOSITE_IMPLICIT, DEVICES, META
from opwright.release.inputs import Inputs, open_inputs
from opwright.release.tree import rules_of
from opwright.run.loading import load
from opwright.source.diagnostic import Diagnostics, shorten
from opwright.source.records import NamedTuple
from opwright.source.text import SourceFile
from opwright.syntax.cpp_functions import functions
from opwright.syntax.cpp_source import parse_cpp, read_cpp
from opwright.syntax.cpp_tokens import Macro
from opwright.workspace.yaml_scalar import comment, flow_scalar, scalar


class BackendImport(NamedTuple):
    """The text of a backend file, what its entries register, what they take the place of, and what stays, with reasons.

    `kernels` are the functions by operator and dispatch key, empty for a policy of autocast; `fallbacks` are the keys
    with a kernel for all operators.
    """

    text: str
    kernels: Mapping[tuple[str, str], str]
    fallbacks: frozenset[str]
    taken: tuple[SourcePlace, ...]
    left: tuple[tuple[SourcePlace, str], ...]


_NAMESPACE: Final = "aten"
_KEYS: Final = frozenset([key.name for key in runtime_keys()])
_FALLTHROUGH: Final = "torch::CppFunction::makeFallthrough()"
_CPU_FALLBACK: Final = "at::native::cpu_fallback"
_LIST: Final = "AT_FORALL_"
_AUTOCAST_HEADER: Final = "torch/include/ATen/autocast_mode.h"
_BOXED: Final = re.compile(r"<\s*&\s*(?:\w*::)*(\w+)\s*>")


def import_backend(files: Sequence[SourceFile], macros: Mapping[str, str], torch: str) -> BackendImport:
    """The backend file for what C++ sources register. Raises Fault if they register nothing for a device."""
    inputs = open_inputs(torch)
    read = read_cpp_sources(files, macros, lists=_autocast_lists(files, inputs))
    rows = [row for row in read.statements if row.namespace == _NAMESPACE and row.keys]
    device = _device_of(rows)
    if device is None:
        macro = next((key for row in rows for key in row.keys if key not in _KEYS), None)
        help = "name sources with `TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)`"
        if macro is not None:
            help = f"if `{macro}` is a macro, say what it stands for, such as `-D {macro}=PrivateUse1`"
        message = "no source registers kernels of PyTorch's operators for a device"
        raise no_registrations(message, help, read.unread, files)
    importer = _Importer(device, Entries(inputs), torch)
    for row in read.statements:
        importer.add(row)
    fallbacks = {key: read.fallbacks[key] for key in (device, _autocast_key(device)) if key in read.fallbacks}
    places = {place for place, _ in fallbacks.values()}
    importer.left += [(place, reason) for place, reason in (*read.staying, *read.unread) if place not in places]
    for key, (place, text) in fallbacks.items():
        importer.add_fallback(key, place, text, files)
    return importer.result()


def _autocast_lists(files: Iterable[SourceFile], inputs: Inputs) -> dict[str, Macro]:
    """The lists of operators with a policy that PyTorch has as macros, if a source uses one."""
    if not any(_LIST in file.text for file in files):
        return {}
    text = inputs.read_member(_AUTOCAST_HEADER).decode()
    return {macro.name: macro for macro in parse_cpp(_AUTOCAST_HEADER, text).macros if macro.name.startswith(_LIST)}


def compare_backend(imported: BackendImport, file: SourceFile, sink: Diagnostics) -> tuple[int, tuple[str, ...]]:
    """How many registrations the generated code of a backend file shares with the sources, and what differs.

    A registration is an operator, a dispatch key, and the function that is called.
    """
    with tempfile.TemporaryDirectory() as folder:
        code, job = backend_code(file, folder, sink=sink)
        sources = [SourceFile.read(path) for path in code.sources]
    read = read_cpp_sources(sources, {})
    generated = {(row.name, key) for row in read.statements if row.namespace == _NAMESPACE for key in row.keys}
    # A fallback that is generated also serves operators for which the CPU's kernels are others.
    stand_ins = STAND_INS.in_release(rules_of(open_inputs("auto")))
    extra = {left_over for left_over in generated - imported.kernels.keys() if left_over[0] not in stand_ins}
    differences = [f"`{name}` is not generated for {key}" for name, key in sorted(imported.kernels.keys() - generated)]
    differences += [f"`{name}` is generated for {key}, and not in the sources" for name, key in sorted(extra)]
    callees = {
        (entry.function.name.text, section.key.name): entry.options.callee
        for backend in job.of(RunBackends).backends
        for section in backend.sections
        for entry in section.entries
        if entry.options.callee
    }
    shared = [
        (*key, callees.get(key, ""), imported.kernels[key]) for key in sorted(imported.kernels.keys() & generated)
    ]
    others = [row for row in shared if row[2] != row[3]]
    for name, key, callee, kernel in others:
        how = f"calls `{callee}`" if callee else "calls no function that an entry names"
        wanted = f"`{kernel}`" if kernel else "has a policy"
        differences.append(f"`{name}` for {key} {how}, and {wanted} in the sources")
    for key in sorted(imported.fallbacks ^ read.fallbacks.keys()):
        how = "is not generated" if key in imported.fallbacks else "is generated, and not in the sources"
        differences.append(f"the kernel for all operators of {key} {how}")
    return len(shared) - len(others), tuple(differences)


def _runs_cpu_kernels(kernel: str, files: Sequence[SourceFile]) -> bool:
    """Whether sources define a boxed kernel as a function that calls PyTorch's fallback to the CPU, and no more."""
    boxed = _BOXED.search(kernel)
    if boxed is None:
        return False
    callees = [
        function.forwards_to
        for file in files
        if boxed[1] in file.text
        for function, statement in functions(read_cpp(file.path, file.text))
        if statement.body and function.name.rpartition("::")[2] == boxed[1]
    ]
    return bool(callees) and all(callee.removeprefix("::") == _CPU_FALLBACK for callee in callees)


def _autocast_key(device: str) -> str:
    return f"{SECTIONS['autocast'].prefix}{device}"


def _section_of(key: str) -> tuple[SectionKind, str] | None:
    """The section of a dispatch key, and the device; None for keys of no device."""
    names = {device.name for device in DEVICES}
    for kind in sorted(SECTIONS.values(), key=lambda kind: -len(kind.prefix)):
        if key.startswith(kind.prefix) and key.removeprefix(kind.prefix) in names:
            return DENSE if kind.is_dense else kind, key.removeprefix(kind.prefix)
    return None


def _device_of(rows: Iterable[RegistrationStatement]) -> str | None:
    """The device that most kernels are for; one that PyTorch leaves to others, if there is any."""
    sections = [section for row in rows for key in row.keys if (section := _section_of(key)) is not None]
    counts = Counter([device for _, device in sections if device != META.name])
    by_pytorch = {device.name for device in DEVICES if device.is_known}
    return min(counts, key=lambda name: (name in by_pytorch, -counts[name]), default=None)


class _Importer:
    def __init__(self, device: str, entries: Entries, torch: str) -> None:
        self.left: list[tuple[SourcePlace, str]] = []
        self._device = device
        self._entries = entries
        self._torch = torch
        composites = resolve(COMPOSITE_IMPLICIT.name, entries)
        self._composites = frozenset(composites.operators if composites is not None else ())
        self._sections: dict[str, dict[str, str]] = {}
        self._kernels: dict[tuple[str, str], str] = {}
        self._taken: list[SourcePlace] = []
        self._namespaces: Counter[str] = Counter()
        self._manual: dict[str, str] = {}
        self._symint: dict[str, None] = {}
        self._fallbacks: set[str] = set()

    def add(self, row: RegistrationStatement) -> None:
        """Take a statement as an entry, or leave it with a reason."""
        reason = self._reason(row)
        if reason:
            self.left.append((row.place, reason))
            return
        for key in row.keys:
            section = _section_of(key)
            assert section is not None, "other keys have a reason"
            options = [f"policy: {row.policy}" if row.policy else f"kernel: {flow_scalar(row.kernel)}"]
            # A kernel of the backend takes away the gradient of a composite one.
            if row.name in self._composites and section[0].is_dense:
                options.append("override_composite: true")
            self._sections.setdefault(section[0].name, {})[row.name] = f"{{{', '.join(options)}}}"
            self._kernels[row.name, key] = "" if row.policy else row.kernel
        if row.kernel:
            self._namespaces[row.kernel.rpartition("::")[0]] += 1
        self._taken.append(row.place)
        if any("SymInt" in parameter for parameter in row.parameters):
            self._symint[row.name] = None

    def _reason(self, row: RegistrationStatement) -> str:
        """Why a statement stays in the source; empty if it becomes an entry."""
        if row.namespace != _NAMESPACE:
            return f"`{row.namespace}` is not PyTorch's: `opwright import` without `--backend` writes a library file"
        others = [key for key in row.keys if (section := _section_of(key)) is None or section[1] != self._device]
        if others or not row.keys:
            return f"`{row.name}` is for {', '.join(others) or 'no key'}, and the file is for {self._device}"
        if row.conditions:
            return f"`{row.name}` is registered under `{' && '.join(row.conditions)}`, a condition of the preprocessor"
        if row.name not in self._entries.texts and row.name not in self._synthesized:
            return f"this PyTorch has no operator `{row.name}`"
        if row.policy:
            return "" if row.policy in AUTOCAST_POLICIES else f"autocast has no policy `{row.policy}`"
        hidden = next((note for note in row.notes if "anonymous namespace" in note), "")
        if row.by_hand or hidden:
            what = hidden or f"`{row.by_hand}` has no name that generated code could call"
            if row.keys != (self._device,):
                return f"{what}; `{row.name}` for {', '.join(row.keys)} is not in the file"
            self._manual[row.name] = row.by_hand or row.kernel
            return f"{what}; `{row.name}` is `manual` in the file"
        return ""

    @cached_property
    def _synthesized(self) -> frozenset[str]:
        """The overloads that no entry writes."""
        return frozenset([function.name.text for function in load(self._torch).functions])

    def add_fallback(self, key: str, place: SourcePlace, text: str, files: Sequence[SourceFile]) -> None:
        """Take the kernel for all operators, if it is the CPU's or a fallthrough for autocast, or leave it."""
        is_autocast = key != self._device
        if text == _FALLTHROUGH if is_autocast else _runs_cpu_kernels(text, files):
            self._fallbacks.add(key)
            self._taken.append(place)
        else:
            usual = "a fallthrough" if is_autocast else "PyTorch's fallback to the CPU"
            self.left.append((place, f"`{shorten(text)}` does more than {usual}"))

    def result(self) -> BackendImport:
        """The file with all that was taken."""
        text = "\n".join([*self._lines(), ""])
        return BackendImport(text, self._kernels, frozenset(self._fallbacks), tuple(self._taken), tuple(self.left))

    def _lines(self) -> Iterator[str]:
        paths = dict.fromkeys([os.path.basename(place.path) for place in self._taken])
        yield comment(f"From {', '.join(paths)}." if paths else "The sources register nothing that entries can name.")
        yield f"backend: {self._device}"
        named = [name for name, _ in self._namespaces.most_common() if name]
        namespaces = [*[name for name in named if name != PYTORCH_KERNELS], *named]
        yield f"cpp_namespace: {scalar((*namespaces, f'at::{self._device.lower()}')[0])}"
        yield "# The sources neither check nor set devices, and no overload follows from another."
        yield from ("device_guard: false", "derived_overloads: false")
        if self._device in self._fallbacks:
            yield "fallback: cpu"
        if _autocast_key(self._device) not in self._fallbacks:
            yield "# The sources register no fallthrough for autocast: operators fail under `torch.autocast`."
            yield "autocast_fallthrough: false"
        for name in SECTIONS:
            if name in self._sections:
                yield f"{name}:"
                yield from [f"- {scalar(operator)}: {options}" for operator, options in self._sections[name].items()]
        if self._symint:
            yield f"symint: [{', '.join(map(flow_scalar, self._symint))}]"
        if self._manual:
            yield "# These stay in the sources: generated code cannot name their kernels."
            yield "manual:"
            yield from [f"- {scalar(name)}  {comment(text)}" for name, text in self._manual.items()]
