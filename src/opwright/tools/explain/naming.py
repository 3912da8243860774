"""Overloads that users name: by the names of operators, or by any other that leads to some."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final, TypeAlias

from opwright.backends.dispatch.resolution import (
    Entries,
    Resolution,
    known_names,
    overloads_named,
    plain_name,
    resolve,
)
from opwright.emit.emitter import AnyEmitter, Job, OneFile, Sharded
from opwright.emit.family import Family
from opwright.emit.registry import DEFAULT_FAMILIES, FAMILIES, build_folders, emitters
from opwright.files.plan import file_specs, shard_path
from opwright.model.native_function import NativeFunction
from opwright.release.tree import rules_of
from opwright.source.diagnostic import Diagnostics, did_you_mean
from opwright.tools.explain.gradients import differentiable_function
from opwright.tools.explain.loading import Explained, ExplainRequest, load_jobs, load_part

#: An operator with kernels for most keys: files are planned for it where a name tells no operator.
_ANY: Final = "add"


def resolve_file(text: str, request: ExplainRequest) -> Resolution | None:
    """What a file or a family of PyTorch's build is, from its name or the end of its path; None if it is neither.

    >>> from opwright.release.inputs import open_inputs
    >>> resolution = resolve_file("RegisterCPU_1.cpp", ExplainRequest((), open_inputs("auto")))
    >>> resolution.taken_for
    'a generated file'
    """
    family = FAMILIES.get(text)
    if family is not None:
        return Resolution("a family of generated files", (), about=_family_text(family))
    # Operators whose headers may have the name of a file: `add_native.h`.
    stem = PurePosixPath(text).name.partition(".")[0]
    names = [name for name in Entries(request.inputs).operators if stem == name or stem.startswith(f"{name}_")]
    part = request._replace(names=(_ANY, *names))
    job = load_part(part, rules_of(request.inputs, request.release, Diagnostics()))
    if job is None:
        return None
    files = {emitter.name: _file_text(emitter, path) for emitter, path in _found(text, job)}
    if not files:
        return None
    return Resolution(
        "a generated file" if len(files) == 1 else "the name of generated files", (), about=" ".join(files.values())
    )


_FILE: Final = re.compile(r"(?:.*/)?(\w+)\.(?:cpp|cu|h|py|pyi|yaml|json)")


def file_names(text: str, request: ExplainRequest) -> frozenset[str]:
    """Names of generated files that a name with a suffix of files may have meant."""
    if not _FILE.fullmatch(text):
        return frozenset()
    job = load_part(request._replace(names=(_ANY,)), rules_of(request.inputs, request.release, Diagnostics()))
    if job is None:
        return frozenset()
    families = [name for name in FAMILIES if name in DEFAULT_FAMILIES]
    paths = [path for emitter in emitters(job, families) for path in _paths(emitter, job)]
    return frozenset([PurePosixPath(path).name for path in paths])


def _found(text: str, job: Job) -> Iterator[tuple[AnyEmitter, str]]:
    """Emitters of the files that a name may mean, each with the path of the file in a build."""
    families = [name for name in FAMILIES if name in DEFAULT_FAMILIES]
    folders = build_folders("", families)
    for emitter in emitters(job, families):
        for path in _paths(emitter, job):
            whole = f"{folders[emitter.folder]}/{path}".lstrip("/")
            if f"/{whole}".endswith(f"/{text}") or PurePosixPath(path).stem == text:
                yield emitter, whole


def _paths(emitter: AnyEmitter, job: Job) -> Iterator[str]:
    """Paths of an emitter's files; of a sharded one also that without a number, as people call it."""
    layout = emitter.layout
    if isinstance(layout, OneFile):
        yield layout.path
    elif isinstance(layout, Sharded):
        yield layout.path
        yield from (spec.path for spec in file_specs(emitter, ()))
    else:
        yield from (layout.path(unit) for unit in emitter.units(job))


def _file_text(emitter: AnyEmitter, path: str) -> str:
    layout = emitter.layout
    template = "" if emitter.template is None else f" from the template {emitter.template}"
    command = f"`opwright generate --only {emitter.family} --out DIR`"
    text = f"The emitter `{emitter.name}` writes {path}{template}; {command} writes all of its family."
    if not isinstance(layout, Sharded):
        return text
    files = shard_path(layout.path, "_N")
    return f"{text} The names of operators decide which of the {layout.shards} files {files} has their code."


def _family_text(family: Family) -> str:
    folders = ", ".join(dict.fromkeys([folder for folder in family.folders.values() if folder])) or "the output folder"
    programs = ", ".join([f"opwright.torchgen.{program}" for program in family.programs])
    drop_ins = f" Drop-ins that write it: {programs}." if programs else ""
    return (
        f"It has {family.help}, in {folders}. `opwright generate --only {family.name} --out DIR` writes it alone."
        f"{drop_ins}"
    )


NamedOverload: TypeAlias = "tuple[NativeFunction, Explained]"

#: Names that lead to more operators do not stand for all of them.
_FEW: Final = 12


def named_overloads(
    request: ExplainRequest, sink: Diagnostics
) -> tuple[dict[str, list[NamedOverload]], dict[str, Resolution]]:
    """Overloads that each name means, and what the names were taken for that are not those of operators."""
    matches = _matches(request, sink)
    entries = Entries(request.inputs)
    unknown = [name for name in matches if not matches[name]]
    answers = {name: resolve(name, entries) or resolve_file(name, request) for name in unknown}
    resolutions = {name: answer for name, answer in answers.items() if answer is not None}
    few = {name: answer for name, answer in resolutions.items() if len(answer.operators) <= _FEW}
    operators = dict.fromkeys([operator for resolution in few.values() for operator in resolution.operators])
    if operators:
        by_operator = _matches(request._replace(names=tuple(operators)), sink)
        for name, resolution in few.items():
            for function, explained in [match for operator in resolution.operators for match in by_operator[operator]]:
                formulas = differentiable_function(function, explained.job)
                infos = () if formulas is None else formulas.infos.values()
                if not resolution.node or any(info.node_name == resolution.node for info in infos):
                    matches[name].append((function, explained))
    return matches, resolutions


def _matches(request: ExplainRequest, sink: Diagnostics) -> dict[str, list[NamedOverload]]:
    """Overloads that each name means, with the job that has them."""
    matches: dict[str, list[NamedOverload]] = {name: [] for name in request.names}
    for explained in load_jobs(request, sink):
        for catalog in explained.catalogs:
            namespaces = {function.namespace for function in catalog.functions}
            for name, functions in matches.items():
                if not functions:
                    named = overloads_named(plain_name(name, namespaces), catalog)
                    functions += [(function, explained) for function in named]
        if all(matches.values()):
            break
    return matches


def unknown_name(name: str, request: ExplainRequest) -> str:
    """What to say of a name that leads to nothing, with the nearest name."""
    entries = Entries(request.inputs)
    plain = plain_name(name, ("aten",)).removeprefix("aten::")
    overloads = [operator for operator in entries.texts if operator.partition(".")[0] == plain.partition(".")[0]]
    nearest = did_you_mean(plain, file_names(plain, request) or known_names(plain, entries))
    hint = f"there are {', '.join(overloads)}" if overloads else str(nearest)
    return f"no operator `{name}`{'; ' + hint if hint else ''}"
