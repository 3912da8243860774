"""What the actions of a generation read and write, found out by rendering all of its files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from opwright.incremental.identity import input_files
from opwright.release.store import TREE_VERSION
from opwright.release.view import NATIVE_FUNCTIONS, Inputs
from opwright.run.generation import Generation
from opwright.source.records import NamedTuple
from opwright.workspace.overlay import RecordedInputs

if TYPE_CHECKING:
    from opwright.files.plan import FileSpec, PlannedFile
    from opwright.run.incremental_generation import IncrementalGeneration
    from opwright.run.request import Request
    from opwright.source.diagnostic import Diagnostics

#: The inputs by which Opwright recognises a folder of inputs, whether a run reads them or not.
_MARKS: Final = (NATIVE_FUNCTIONS, "autograd/derivatives.yaml")


class PartFiles(NamedTuple):
    """What one part of a generation reads and writes.

    `inputs` are the paths of PyTorch's inputs, `files` those of other files, and `outputs` those of outputs, all
    absolute.
    """

    inputs: frozenset[str]
    files: frozenset[str]
    outputs: tuple[str, ...]


def collect_parts(
    request: Request,
    incremental: IncrementalGeneration,
    files: Iterable[str],
    part_of: Callable[[PlannedFile, FileSpec], str],
    sink: Diagnostics,
) -> tuple[Generation, dict[str, PartFiles]]:
    """Generation of a request, and what each of its parts reads and writes.

    A part reads what the stamps of `incremental` list, `files` among it, without those of PyTorch's inputs and of the
    user's templates that only other parts read. `part_of` gives the name of the part that an output is in. Raises
    FaultsFound with all faults of the inputs.
    """
    recorded = RecordedInputs(request.inputs)
    named = frozenset(map(os.path.abspath, files))
    incremental.take_stamps(request.inputs, named)
    assert incremental.stamps is not None, "inputs that are not on this machine are refused"
    # Which of PyTorch's inputs a part reads is found out; what is named, such as a wheel, all parts read.
    optional = frozenset(incremental.stamps.files) - named
    generation = incremental.load(recorded, lambda _: request._replace(inputs=recorded), sink)
    generation.check_shims()
    loaded = frozenset(recorded.reads)
    outputs: dict[str, list[str]] = {}
    templates: dict[str, set[str]] = {}
    for planned, spec, template in generation.render_files():
        part = part_of(planned, spec)
        outputs.setdefault(part, []).append(planned.target)
        templates.setdefault(part, set()).update([] if template is None else [template])
    read = _template_sources(generation, recorded, frozenset().union(*templates.values()))
    # Some families check their templates before they make any file.
    shared = loaded | recorded.reads.difference(*[source.inputs for source in read.values()]) | set(_MARKS)
    if generation.job.rules.tree is not None:
        shared |= {TREE_VERSION}
    listed = frozenset(input_files(incremental.stamps))
    own_folder = None if request.templates is None else os.path.abspath(request.templates)
    others = frozenset(path for path in listed - optional if os.path.dirname(path) != own_folder)
    return generation, {
        part: PartFiles(
            listed.intersection(_existing(recorded, shared.union(*[read[name].inputs for name in templates[part]]))),
            others.union(*[read[name].files for name in templates[part]]),
            tuple(outputs[part]),
        )
        for part in sorted(outputs)
    }


class TemplateSource(NamedTuple):
    """What a template is read from: PyTorch's inputs by name, or a file of the user's by its path."""

    inputs: set[str]
    files: list[str]


def _template_sources(
    generation: Generation, recorded: RecordedInputs, templates: Iterable[str]
) -> dict[str, TemplateSource]:
    """What each template is read from. Opwright's templates are read from nothing: they belong to the tool."""
    all_reads = recorded.reads
    read: dict[str, TemplateSource] = {}
    for name in sorted(templates):
        recorded.reads = set()
        path = generation.read_template(name).path
        is_own = not recorded.reads and generation.request.templates is not None
        read[name] = TemplateSource(recorded.reads, [os.path.abspath(path)] if is_own else [])
    recorded.reads = all_reads
    return read


def _existing(inputs: RecordedInputs, names: Iterable[str]) -> frozenset[str]:
    paths = [os.path.abspath(inputs.display_path(name)) for name in names]
    return frozenset(path for path in paths if os.path.isfile(path))


def torch_root(inputs: Inputs) -> str:
    """Absolute path of the folder that PyTorch's inputs are relative to: the top of its tree or its packages."""
    aten = os.path.dirname(os.path.dirname(os.path.abspath(inputs.display_path(NATIVE_FUNCTIONS))))
    root = os.path.dirname(os.path.dirname(os.path.abspath(inputs.display_path("torch/version.py"))))
    return os.path.dirname(aten) if root == aten else root


def path_below(folder: str, path: str) -> str | None:
    """Path of a file seen from a folder above it, with slashes; None if the file is not below the folder.

    >>> path_below("/build", "/build/gen/ops.h"), path_below("/build", "/builds/ops.h")
    ('gen/ops.h', None)
    """
    try:
        relative = os.path.relpath(path, folder).replace(os.sep, "/")
    except ValueError:
        # On Windows: another drive.
        return None
    return None if relative == ".." or relative.startswith("../") else relative
