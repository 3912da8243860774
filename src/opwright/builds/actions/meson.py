"""Descriptions as files for Meson: a `meson.build` in each folder that has outputs.

An output of a target of Meson is always in the folder of the build that corresponds to the folder of its `meson.build`.
So there is an action for each folder of outputs, and the folders of the description have the names of those.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from opwright.builds.actions.description import WordPlace
from opwright.syntax.build_files import hash_comment, meson_string

if TYPE_CHECKING:
    from collections.abc import Iterable

    from opwright.builds.actions.description import Action, Description, Word


def meson_files(description: Description, to_source: str) -> dict[str, str]:
    """The text of each `meson.build`, by its path below the folder of the description.

    `to_source` leads from there to the folder whose files the description names. The project sets `opwright`, a
    program, and `opwright_torch`, the folder with PyTorch's inputs, before it calls `subdir`.
    """
    actions = {posixpath.dirname(action.outputs[0]): action for action in description.actions}
    folders = {"", *[above for folder in actions for above in _folders_above(folder)]}
    return {
        posixpath.join(folder, "meson.build"): "\n".join(
            [
                hash_comment(description.comment),
                *([] if folder else _head(to_source)),
                *(_target(actions[folder], folder) if folder in actions else []),
                *[
                    f"subdir({meson_string(posixpath.basename(inner))})"
                    for inner in sorted(folders)
                    if _is_in(inner, folder)
                ],
                *([] if folder else _lists(actions)),
                "",
            ]
        )
        for folder in sorted(folders)
    }


def _folders_above(folder: str) -> list[str]:
    """A folder and those above it."""
    parts = folder.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]


def _is_in(inner: str, folder: str) -> bool:
    return bool(inner) and posixpath.dirname(inner) == folder


def _head(to_source: str) -> list[str]:
    return [
        "# Set before `subdir`: `opwright` is the program, and `opwright_torch` the folder with PyTorch's inputs.",
        f"opwright_source = meson.current_source_dir() / {meson_string(to_source)}",
        "opwright_out = meson.current_build_dir()",
    ]


def _lists(actions: Iterable[str]) -> list[str]:
    """The list of all targets, for the sources of libraries that compile or include their outputs."""
    return [f"opwright_targets = [{', '.join([_variable(folder) for folder in sorted(actions)])}]"]


def _target(action: Action, folder: str) -> list[str]:
    inputs = [f"opwright_source / {meson_string(path)}" for path in action.files]
    inputs += [f"opwright_torch / {meson_string(path)}" for path in action.torch_files]
    command = ["opwright", "'generate'", "'--out'", "opwright_out", *map(_argument, action.words)]
    # The dependency file has Opwright's own files.
    command += ["'--depfile'", "'@DEPFILE@'"]
    return [
        f"{_variable(folder)} = custom_target(",
        f"  {meson_string(_variable(folder).replace('_', '-'))},",
        *_list("output", [meson_string(posixpath.basename(path)) for path in action.outputs]),
        *_list("depend_files", inputs),
        f"  depfile: {meson_string(_variable(folder) + '.d')},",
        *_list("command", command),
        ")",
    ]


def _variable(folder: str) -> str:
    return "opwright_in_" + (re.sub(r"\W", "_", folder) or "top")


def _argument(word: Word) -> str:
    match word.place:
        case WordPlace.FILE | WordPlace.FOLDER:
            return f"opwright_source / {meson_string(word.text)}"
        case WordPlace.TORCH:
            return f"opwright_torch / {meson_string(word.text)}"
        case WordPlace.NOWHERE:
            return meson_string(word.text)


def _list(name: str, values: Iterable[str]) -> list[str]:
    return [f"  {name}: [", *[f"    {value}," for value in values], "  ],"]
