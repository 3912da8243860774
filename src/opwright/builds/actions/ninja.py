"""Descriptions as a file that another Ninja file includes."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from opwright.builds.actions.description import WordPlace
from opwright.syntax.build_files import hash_comment, ninja_path, ninja_value

if TYPE_CHECKING:
    from opwright.builds.actions.description import Description, Word


def ninja_text(description: Description) -> str:
    """Rules and edges of Ninja. The file that includes them sets `opwright`, `opwright_out` and `opwright_torch`.

    A file that a run leaves alone does not make anything else run. The dependency file has Opwright's own files.
    """
    lines = [
        hash_comment(description.comment),
        "# Set before you include this file: `opwright` is the command, `opwright_out` the output folder, and",
        "# `opwright_torch` the folder with PyTorch's inputs.",
        "rule opwright_generate",
        "  command = $opwright generate --out $opwright_out $arguments --depfile $opwright_out/opwright_$part.d",
        "  depfile = $opwright_out/opwright_$part.d",
        "  deps = gcc",
        "  description = Generating from operators, part $part",
        "  restat = 1",
    ]
    for action in description.actions:
        inputs = [
            *map(ninja_path, action.files),
            *[f"$opwright_torch/{ninja_path(path)}" for path in action.torch_files],
        ]
        lines += [
            _edge_lines(["build", *[f"$opwright_out/{ninja_path(path)}" for path in action.outputs]])
            + ": opwright_generate $",
            "    " + _edge_lines(inputs),
            f"  arguments = {' '.join(map(_argument, action.words))}",
            f"  part = {action.name}",
        ]
    outputs = [f"$opwright_out/{ninja_path(path)}" for action in description.actions for path in action.outputs]
    return "\n".join([*lines, _edge_lines(["build opwright_outputs: phony", *outputs]), ""])


def _edge_lines(words: list[str]) -> str:
    """Words in lines of their own, which Ninja reads as one line."""
    return " $\n    ".join(words)


def _argument(word: Word) -> str:
    """An argument of a command, which a shell reads."""
    text = ninja_value(quote(word.text))
    return f"$opwright_torch/{text}" if word.place is WordPlace.TORCH else text
