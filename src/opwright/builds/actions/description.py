"""A generation as a build system needs to know it: actions, each with its command, its inputs and its outputs.

Nothing in a description depends on where the build runs. Files that are below the working folder have paths relative
to it. PyTorch's inputs are elsewhere, as a rule: they have paths relative to the top of a source tree, or to the folder
of packages, and the build system says where that is.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from enum import Enum
from hashlib import sha256
from typing import Final

from opwright.files.plan import Plan
from opwright.source.codes import OTHER_OUTPUTS
from opwright.source.diagnostic import Fault
from opwright.source.records import NamedTuple

#: The Python packages that hermetic runs import, besides the standard library. `_yaml` is a part of PyYAML; formulas of
#: derivatives are parsed by Tree-sitter.
PACKAGES: Final = ("opwright", "yaml", "_yaml", "tree_sitter", "tree_sitter_cpp")


class WordPlace(Enum):
    """What the text of a word is relative to."""

    NOWHERE = "nowhere"
    """The text is no path."""
    FILE = "file"
    """The path of a file, relative to the working folder."""
    FOLDER = "folder"
    """The path of a folder, relative to the working folder."""
    TORCH = "torch"
    """The path of a folder, relative to the top of PyTorch's inputs."""


class Word(NamedTuple):
    """An argument of a command, or a part of one."""

    text: str
    place: WordPlace = WordPlace.NOWHERE


class Action(NamedTuple):
    """A run that makes some of the outputs.

    `files` are inputs relative to the working folder, and `torch_files` inputs relative to the top of PyTorch's inputs.
    `outputs` are relative to the output folder; a folder, of which all files are outputs, ends in a slash. `words` are
    the arguments after `opwright generate`, without `--out`.
    """

    name: str
    words: tuple[Word, ...]
    files: tuple[str, ...]
    torch_files: tuple[str, ...]
    outputs: tuple[str, ...]


class Description(NamedTuple):
    """Actions of a generation, the version of Opwright, and the folder with PyTorch's inputs at the moment.

    `command` is what gave the description, for comments.
    """

    version: str
    command: tuple[str, ...]
    torch_root: str | None
    actions: tuple[Action, ...]

    @property
    def files(self) -> tuple[str, ...]:
        """Inputs of all actions that are relative to the working folder."""
        return tuple(sorted({path for action in self.actions for path in action.files}))

    @property
    def comment(self) -> str:
        """A sentence about where the text comes from."""
        return f"Made by `opwright generate {' '.join(self.command)}`."


def folders_of(outputs: Iterable[str]) -> tuple[str, ...]:
    """Folders at the top that outputs are in, each with a slash, and the outputs that are in none.

    >>> folders_of(["include/acme/ops.h", "include/acme/kernels.h", "operators.txt"])
    ('include/', 'operators.txt')
    """
    parts = [path.replace(os.sep, "/").partition("/") for path in outputs]
    return tuple(sorted({name + slash for name, slash, _ in parts}))


def outputs_digest(paths: Iterable[str]) -> str:
    """A short text that identifies a set of outputs by their paths below the output folder.

    >>> outputs_digest(["ops.h", "src/register_0.cpp"]) == outputs_digest(["src/register_0.cpp", "ops.h"])
    True
    """
    return sha256("\n".join(sorted(path.replace(os.sep, "/") for path in paths)).encode()).hexdigest()[:16]


def check_declared(digest: str, out: str, plan: Plan) -> None:
    """Raises Fault (E0618) if the outputs below a folder are not those that a build system declares by their digest.

    The digest is that of the files, or of the folders at the top that they are in.
    """
    top = os.path.realpath(out)
    paths = [os.path.relpath(planned.target, top) for planned in plan.outputs]
    actual = outputs_digest(paths)
    if digest not in (actual, outputs_digest(folders_of(paths))):
        noun = "file" if len(paths) == 1 else "files"
        raise Fault.at(
            OTHER_OUTPUTS,
            f"the run makes other files than the build declares: {len(paths):,} {noun} with the digest {actual}",
            help="describe the generation again with `--describe`",
        )
