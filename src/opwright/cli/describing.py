"""Actions by which a build system would run `opwright generate` with the same arguments."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Final

import opwright
from opwright.builds.actions.collected import PartFiles, collect_parts, path_below, torch_root
from opwright.builds.actions.description import Action, Description, Word, WordPlace, folders_of, outputs_digest
from opwright.builds.actions.formats import bazel_text, buck_text, json_text, meson_files, ninja_text
from opwright.cli.parts import OutputShard
from opwright.cli.runs import WITHOUT_EFFECT
from opwright.files.writer import Writer, check_links
from opwright.release.view import NATIVE_FUNCTIONS
from opwright.run.request import Request
from opwright.source.codes import NOT_DESCRIBABLE, NOT_HERMETIC
from opwright.source.diagnostic import Diagnostics, Fault
from opwright.source.terminal import print_document

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from opwright.files.plan import FileSpec, PlannedFile
    from opwright.release.inputs import Inputs
    from opwright.run.incremental_generation import IncrementalGeneration

#: Arguments whose values are paths.
_PATHS: Final = {
    "library": WordPlace.FILE,
    "backend": WordPlace.FILE,
    "operators": WordPlace.FILE,
    "plugin": WordPlace.FILE,
    "executorch": WordPlace.FILE,
    "executorch_custom": WordPlace.FILE,
    "op_selection_yaml_path": WordPlace.FILE,
    "native_aot_ops_dir": WordPlace.FOLDER,
    "templates": WordPlace.FOLDER,
    "input": WordPlace.FILE,
    "allow_path": WordPlace.FOLDER,
}

#: Arguments that actions do not have, or that are added to all of them.
_NOT_REPEATED: Final = WITHOUT_EFFECT | frozenset(
    ["depfile", "help", "in_folder", "out", "provenance", "release", "shard", "source_path", "stamp", "torch"]
)

#: The end of the names of formats in which the outputs of actions are folders.
_FOLDERS: Final = "-folders"


def check_hermetic(arguments: argparse.Namespace) -> None:
    """Check that a run can be hermetic.

    Raises Fault (E0616) unless its inputs are in a folder or in a wheel that is named, and if it writes files about it
    besides a dependency file.
    """
    for name in ("provenance", "stamp", "watch"):
        if getattr(arguments, name):
            raise Fault.at(
                NOT_HERMETIC,
                f"a hermetic run cannot have `--{name}`",
                help=f"leave out `--{name}`: `--describe` prints the inputs and the outputs of a hermetic run",
            )
    spec = arguments.torch
    if arguments.source_path is not None or (spec is not None and spec.endswith(".whl")):
        return
    what = "the installed PyTorch" if spec in (None, "auto") else f"PyTorch {spec} from the package index"
    raise Fault.at(
        NOT_HERMETIC, f"a hermetic run cannot read {what}", help="name a folder with `--source-path`, or a wheel"
    )


def describe(
    arguments: argparse.Namespace,
    parser: argparse.ArgumentParser,
    request: Request,
    incremental: IncrementalGeneration,
    files: Iterable[str],
    sink: Diagnostics,
) -> None:
    """Print the actions of a generation, or write them to the path that the arguments name.

    `parser` has the arguments, `files` are those that they name, and `incremental` notes what is read. Raises
    FaultsFound with all faults of the inputs, and Fault for inputs that a build system cannot have (E0616, E0617).
    """
    description = _description(arguments, parser, request, incremental, files, sink)
    target = arguments.describe_to
    if arguments.describe == "meson":
        folder = target or os.curdir
        files_below = meson_files(description, os.path.relpath(os.curdir, folder).replace(os.sep, "/"))
        named = {os.path.join(folder, *path.split("/")): text for path, text in files_below.items()}
    else:
        texts = {"bazel": bazel_text, "buck": buck_text, "json": json_text, "ninja": ninja_text}
        named = {target or "": texts[arguments.describe.removesuffix(_FOLDERS)](description)}
    if target is None:
        print_document("\n".join([f"# {path}\n{text}" if path else text for path, text in named.items()]))
    else:
        for path in named:
            check_links(path)
        with Writer() as writer:
            for path, text in named.items():
                writer.write(os.path.abspath(path), text.encode())


def _description(
    arguments: argparse.Namespace,
    parser: argparse.ArgumentParser,
    request: Request,
    incremental: IncrementalGeneration,
    files: Iterable[str],
    sink: Diagnostics,
) -> Description:
    if request.shard is not None:
        raise Fault.at(
            NOT_DESCRIBABLE,
            "`--describe` describes all parts of a generation, not one",
            help="leave out `--shard` and `--in-folder`; `--actions N` describes N parts",
        )
    has_folders = arguments.describe.endswith(_FOLDERS)
    if has_folders and arguments.actions not in (None, 1):
        raise Fault.at(
            NOT_DESCRIBABLE,
            "several actions cannot have the same folders as their outputs",
            help="leave out `--actions`, or write `--describe bazel`",
        )
    inputs = request.inputs
    wheel = arguments.torch if arguments.torch is not None and arguments.torch.endswith(".whl") else None
    if inputs.paths() is None:
        check_hermetic(arguments)
    root = None if wheel is not None else torch_root(inputs)
    count, out = arguments.actions or 1, os.path.realpath(arguments.out)

    def part_of(planned: PlannedFile, spec: FileSpec) -> str:
        if arguments.describe == "meson":
            return path_below(out, os.path.dirname(planned.target)) or os.curdir
        return str(OutputShard.number_of(spec, count))

    named = {*files, *([] if wheel is None else [wheel])}
    generation, parts = collect_parts(request, incremental, named, part_of, sink)
    words = [*_common_words(arguments, parser, root), *_torch_words(inputs, wheel, root)]
    # The version of a tree between releases does not say which rules the generator in it follows.
    if generation.job.rules.tree is None:
        words += [Word("--release"), Word(arguments.release or str(generation.version))]
    words += [Word("--hermetic")]
    actions = [
        _declared(_action(name, part, [*words, *_part_words(arguments, name, count)], root, out), has_folders)
        for name, part in parts.items()
    ]
    return Description(opwright.__version__, tuple(sys.argv[2:]), root, tuple(actions))


def _part_words(arguments: argparse.Namespace, name: str, count: int) -> list[Word]:
    """Words by which a run makes only one part."""
    if arguments.describe == "meson":
        return [Word("--in-folder"), Word(name)]
    return [Word("--shard"), Word(f"{name}/{count}")] if count > 1 else []


def _action(name: str, part: PartFiles, words: Iterable[Word], root: str | None, out: str) -> Action:
    files: set[str] = set()
    torch_files: set[str] = set()
    for path in part.files:
        word = _path_word(path, WordPlace.FILE, root)
        (torch_files if word.place is WordPlace.TORCH else files).add(word.text)
    for path in part.inputs:
        # The inputs in a wheel have no paths.
        below = None if root is None else path_below(root, path)
        if below is None:
            raise _not_describable(path)
        torch_files.add(below)
    outputs = tuple(sorted(str(path_below(out, path)) for path in part.outputs))
    return Action(name, tuple(words), tuple(sorted(files)), tuple(sorted(torch_files)), outputs)


def _declared(action: Action, has_folders: bool) -> Action:
    """Action that fails if it does not make its outputs, which are folders or files."""
    outputs = folders_of(action.outputs) if has_folders else action.outputs
    digest = [Word("--declared"), Word(outputs_digest(outputs))]
    return action._replace(words=(*action.words, *digest), outputs=outputs)


def _common_words(arguments: argparse.Namespace, parser: argparse.ArgumentParser, root: str | None) -> Iterator[Word]:
    """Arguments that differ from their defaults and that all actions have."""
    for action in parser._actions:
        value = getattr(arguments, action.dest, action.default)
        if action.dest == "plugin":
            _check_plugins(value)
        if action.dest in _NOT_REPEATED or value == action.default:
            continue
        flag = action.option_strings[0]
        place = _PATHS.get(action.dest)
        values = [] if isinstance(value, bool) else [value] if isinstance(value, str) else list(value)
        words = [Word(str(text)) if place is None else _path_word(str(text), place, root) for text in values]
        if action.nargs == 0 or action.nargs == "*":
            yield from [Word(flag), *words]
        else:
            yield from [part for word in words for part in (Word(flag), word)]


def _check_plugins(names: Iterable[str]) -> None:
    """Raises Fault (E0617) for a plug-in that is not named by its path: other machines may not have it installed."""
    for name in names:
        if not os.path.exists(name):
            raise Fault.at(
                NOT_DESCRIBABLE,
                f"the plug-in `{name}` is not named by its path",
                help="name the file of the plug-in with `--plugin`, below the working folder",
            )


def _torch_words(inputs: Inputs, wheel: str | None, root: str | None) -> list[Word]:
    """Words that name PyTorch's inputs."""
    if wheel is not None:
        return [Word("--torch"), _path_word(wheel, WordPlace.FILE, None)]
    aten = os.path.dirname(os.path.dirname(os.path.abspath(inputs.display_path(NATIVE_FUNCTIONS))))
    return [Word("--source-path"), Word(str(path_below(str(root), aten)), WordPlace.TORCH)]


def _path_word(path: str, place: WordPlace, root: str | None) -> Word:
    """A path relative to the working folder, or to PyTorch's inputs. An empty path is none."""
    if not path:
        return Word(path)
    absolute = os.path.abspath(path)
    local = path_below(os.getcwd(), absolute)
    if local is not None:
        return Word(local, place)
    from_torch = None if root is None else path_below(root, absolute)
    if from_torch is None:
        raise _not_describable(path)
    return Word(from_torch, WordPlace.TORCH)


def _not_describable(path: str) -> Fault:
    return Fault.at(
        NOT_DESCRIBABLE,
        f"`{path}` is neither below the working folder nor among PyTorch's inputs",
        help="run the command in the folder of the build that has the file, or copy the file there",
    )
