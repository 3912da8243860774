"""The codes of faults in templates, in what emitters ask for, and in writing files."""

from __future__ import annotations

from typing import Final

from opwright.source.codes import Code, register

__all__ = [
    "DUPLICATE_OUTPUT",
    "LEAVES_FOLDER",
    "LINKED_FOLDER",
    "MISSING_SLOT",
    "NOT_A_FILE",
    "NOT_PERMITTED",
    "NO_PROVENANCE",
    "NO_SPACE",
    "NO_SUCH_LINE",
    "NO_UTF8",
    "OUTPUT_DIFFERS",
    "OVERWRITES",
    "UNKNOWN_FOLDER",
    "UNWRITABLE_PATH",
    "WRITE_FAILED",
]


def _code(number: int, title: str, explanation: str) -> str:
    return register(Code(f"E06{number:02}", title, explanation))


MISSING_SLOT: Final = _code(
    1,
    "template slot without a value",
    """
A template has a slot (`$name`, `${name}`, `${,name}` or `${name,}`) for which its emitter has no value. The usual
causes are an edited template, and a template of another release than the one chosen.

    error[E0601]: no value for slot `operator_include` of template `Function.h`

Remove the slot from the template, or spell it as the help says. A `$` without a name after it is plain text.
""",
)
LEAVES_FOLDER: Final = _code(
    2,
    "output path leaves its folder",
    """
Every output is below one of the run's output folders. An emitter requested a path that is absolute, is empty, or has a
part (`..`, `.`, a backslash, a drive) by which it could leave that folder. Opwright wrote nothing.

    error[E0602]: emitter `notes` asks for output path '../notes.h', which is no path below its folder

The path comes from an operator or an emitter of your own: choose a name without such parts.
""",
)
DUPLICATE_OUTPUT: Final = _code(
    3,
    "two outputs with the same path",
    """
Two emitters, or one emitter twice, would write the same file, and one of the outputs would be lost, so Opwright writes
neither. Give the output folders different paths, or rename one of the entries that the files get their names from.

    error[E0603]: emitter `notes` writes `/build/ops/notes.h` twice
""",
)
UNKNOWN_FOLDER: Final = _code(
    4,
    "unknown output folder",
    """
An emitter names an output folder for which this run has no path. The folders of a run come from its options.

    error[E0604]: emitter `notes` writes to output folder `opps`, which this run does not have
      = help: did you mean `ops`?

Name another folder in the emitter, or give the run a path for it: `build_folders` has those of PyTorch's build.
""",
)
NOT_PERMITTED: Final = _code(
    5,
    "output cannot be written: not permitted",
    """
The user who runs the command may not create or replace a file in this folder, or the file system is read-only. Existing
files are unchanged. Choose another output folder, or change the folder's permissions.

    error[E0605]: cannot write `/usr/include/ATen/Functions.h`: Permission denied
""",
)
NO_SPACE: Final = _code(
    6,
    "output cannot be written: no space",
    """
The disk is full, or the user's quota is used up. Existing files are unchanged: a run writes all new contents before it
replaces the first old file, so it needs space for both.

    error[E0606]: cannot write `build/aten/src/ATen/Functions.h`: No space left on device

Free some space, or choose an output folder on another disk.
""",
)
NOT_A_FILE: Final = _code(
    7,
    "something other than a file at the output path",
    """
At the path of an output file there is a folder, a device or a pipe; or at the path of an output folder there is a file
or a symbolic link that leads back to itself. Opwright does not remove it: remove it yourself if it is not needed.

    error[E0607]: cannot write `build/aten/src/ATen/Functions.h`: what is there is not a file
""",
)
WRITE_FAILED: Final = _code(
    8,
    "output cannot be written",
    """
The system reported an error while Opwright wrote a file; the message ends with the system's words. A file that was at
that path before is unchanged.

    error[E0608]: cannot write `build/aten/src/ATen/Functions.h`: Input/output error

Fix what the system reports, and run the command again.
""",
)
NO_UTF8: Final = _code(
    9,
    "output has no UTF-8 form",
    """
All outputs are UTF-8. The text of an emitter contains half of a surrogate pair, from an escape such as `\\ud800` in an
input; UTF-8 cannot encode it.

    error[E0609]: the emitter `Functions.h` gives a text with U+D800, which has no UTF-8 form

Delete the escape, or write the intended character.
""",
)
OUTPUT_DIFFERS: Final = _code(
    10,
    "output on disk differs",
    """
With `--check` a run writes nothing, and reports each file that it would write or remove. Run the same command without
`--check`, and commit the files.

    error[E0610]: `generated/aten/src/ATen/Functions.h` is no longer generated
""",
)
NO_PROVENANCE: Final = _code(
    11,
    "no provenance for the line",
    """
`opwright where` looks a line up in what `opwright generate --provenance FILE` wrote. The run that made this file did
not use it, or no run made this file. Generate again with `--provenance`, or name the provenance file.

    opwright generate --out build --provenance build/provenance.json
    opwright where build/aten/src/ATen/RegisterCPU_0.cpp:1234
""",
)
UNWRITABLE_PATH: Final = _code(
    12,
    "path cannot stand in a dependency file",
    """
`--depfile` writes a rule as Make and Ninja read it. Neither can represent every character of a path, and some
characters work in only one of them. A rule with such a path would name another file, or none, and the build would not
notice a change. Opwright therefore writes no rule.

    error[E0612]: a dependency file cannot name `/build/50% done/gen/done.stamp`: Make and Ninja do not both read `%`

Spaces, `#`, `$` and `:` are possible. These are not: control characters, `"`, `&`, `'`, `*`, `;`, `<`, `=`, `>`, `?`,
`^`, a backquote and `|`; `%` in what depends on the inputs; a backslash before one that needs it, a blank, colon or
backslash at the end, `~` at the start, and `(...)` at the end. Rename the file or its folder. With `--stamp` the rule
names the stamp instead of the outputs.
""",
)
OVERWRITES: Final = _code(
    13,
    "a file named on the command line would overwrite another file of the run",
    """
The file that `--depfile`, `--stamp`, `--provenance` or `--output-dependencies` names is an input of the run, one of its
outputs, another one of these, or a part of Opwright's state. Writing it would destroy that file. Opwright wrote
nothing.

    error[E0613]: `--depfile` names `aten/src/ATen/native/tags.yaml`, which is an input of the run

Choose another name.
""",
)
LINKED_FOLDER: Final = _code(
    14,
    "an output folder is a link",
    """
A folder below the one that the run writes to is a symbolic link that leads out of it. The run follows the link, because
a user put it there, and this note says where the files go. A run removes no outputs behind such a link, even those that
are no longer made. If an output file is a link, the run replaces the link and leaves its target alone.

    note[E0614]: `build/aten/src/ATen/ops` is a link: what belongs there is written to `/scratch/ops`

Nothing is wrong if the link is meant. Otherwise remove it, and run the command again.
""",
)
NO_SUCH_LINE: Final = _code(
    15,
    "a line that the file does not have",
    """
The line is after the end of the file. The file was probably generated again since the compiler reported the line.

    error[E0615]: `ops/add.h` has 53 lines, and no line 99
""",
)
