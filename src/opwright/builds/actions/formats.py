"""Descriptions as a file that another Ninja file includes."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterable
from shlex import quote
from typing import Final

from opwright.builds.actions.description import PACKAGES, Action, Description, Word, WordPlace
from opwright.builds.build_files import hash_comment, meson_string, ninja_path, ninja_value, starlark_string
from opwright.dialects.field import TEXT, Field, dialect_schema, list_of_schema, mapping_schema
from opwright.source.codes import NOT_WRITABLE
from opwright.source.diagnostic import Fault, shorten


def bazel_text(description: Description) -> str:
    """A `.bzl` file whose `ACTIONS` are an argument of the macros `opwright_generate` and `opwright_library`."""
    lines = [hash_comment(description.comment), "", "ACTIONS = ["]
    for action in description.actions:
        lines += ["    struct(", f"        name = {starlark_string(action.name)},"]
        lines += _starlark_list("arguments", map(_bazel_argument, action.words))
        lines += _starlark_list("srcs", action.files)
        lines += _starlark_list("torch_srcs", action.torch_files)
        lines += _starlark_list("outs", [path for path in action.outputs if not path.endswith("/")])
        folders = [path[:-1] for path in action.outputs if path.endswith("/")]
        lines += _starlark_list("folders", folders) if folders else []
        lines.append("    ),")
    return "\n".join([*lines, "]", ""])


def _bazel_argument(word: Word) -> str:
    match word.place:
        case WordPlace.FILE:
            return f"$(location {word.text})"
        case WordPlace.FOLDER:
            return f"{{package}}/{word.text}"
        case WordPlace.TORCH:
            return f"{{torch}}/{word.text}"
        case WordPlace.NOWHERE:
            return word.text


def buck_text(description: Description) -> str:
    """A `.bzl` file for Buck: a function that declares a genrule for each action, and the inputs from PyTorch."""
    torch_files = sorted({path for action in description.actions for path in action.torch_files})
    lines = [hash_comment(description.comment), ""]
    lines += _starlark_list("TORCH_INPUTS", torch_files, indent="", end="")
    lines += [
        "",
        "def opwright_genrules(name, opwright, torch, **kwargs):",
        '    """The genrules `NAME-0` and so on; `torch` is the filegroup of TORCH_INPUTS, `opwright` the program."""',
    ]
    for action in description.actions:
        lines += ["    native.genrule(", f'        name = name + "-{action.name}",']
        lines += _starlark_list("srcs", action.files)
        lines += ["        outs = {"]
        lines += [f"            {starlark_string(path)}: [{starlark_string(path)}]," for path in action.outputs]
        lines += ["        },", '        default_outs = ["."],']
        command = [starlark_string("generate --out $OUT")[:-1], *map(_buck_argument, action.words)]
        lines += [f'        cmd = "$(exe " + opwright + ") " + {" ".join(command)}",', "        **kwargs", "    )"]
    return "\n".join([*lines, ""])


def _buck_argument(word: Word) -> str:
    """An argument of a shell command inside a text of Starlark."""
    match word.place:
        case WordPlace.FILE | WordPlace.FOLDER:
            quoted = _shell_word(word.text)
            return _inner(f'"$SRCDIR/{word.text}"' if quoted == word.text else f'"$SRCDIR"/{quoted}')
        case WordPlace.TORCH:
            return f'$(location " + torch + ")/{_inner(_shell_word(word.text))}'
        case WordPlace.NOWHERE:
            return _inner(_shell_word(word.text))


def _shell_word(text: str) -> str:
    """Text as a word of a shell. Raises Fault for a text in which Buck sees a macro, even in quotes (E0619)."""
    if "$(" in text:
        raise Fault.at(NOT_WRITABLE, f"a command of Buck cannot have the text `{shorten(ascii(text)[1:-1])}`")
    return quote(text)


def _inner(text: str) -> str:
    return starlark_string(text)[1:-1]


def _starlark_list(name: str, texts: Iterable[str], indent: str = "        ", end: str = ",") -> list[str]:
    rows = [f"{indent}    {starlark_string(text)}," for text in texts]
    return [f"{indent}{name} = [", *rows, f"{indent}]{end}"] if rows else [f"{indent}{name} = []{end}"]


def meson_files(description: Description, to_source: str) -> dict[str, str]:
    """Text of each `meson.build`, by its path below the folder of the description.

    `to_source` leads from there to the folder whose files the description names. The project sets `opwright`, a
    program, and `opwright_torch`, the folder with PyTorch's inputs, before it calls `subdir`.
    """
    actions = {posixpath.dirname(action.outputs[0]): action for action in description.actions}
    folders = {""}
    for folder in actions:
        while folder not in folders:
            folders.add(folder)
            folder = posixpath.dirname(folder)
    return {
        posixpath.join(folder, "meson.build"): "\n".join(
            [
                hash_comment(description.comment),
                *([] if folder else _head(to_source)),
                *(_target(actions[folder], folder) if folder in actions else []),
                *[
                    f"subdir({meson_string(posixpath.basename(inner))})"
                    for inner in sorted(folders)
                    if inner and posixpath.dirname(inner) == folder
                ],
                # All targets, for the sources of libraries that compile or include their outputs.
                *([] if folder else [f"opwright_targets = [{', '.join(map(_variable, sorted(actions)))}]"]),
                "",
            ]
        )
        for folder in sorted(folders)
    }


def _head(to_source: str) -> list[str]:
    return [
        "# Set before `subdir`: `opwright` is the program, and `opwright_torch` the folder with PyTorch's inputs.",
        f"opwright_source = meson.current_source_dir() / {meson_string(to_source)}",
        "opwright_out = meson.current_build_dir()",
    ]


def _target(action: Action, folder: str) -> list[str]:
    inputs = [f"opwright_source / {meson_string(path)}" for path in action.files]
    inputs += [f"opwright_torch / {meson_string(path)}" for path in action.torch_files]
    command = ["opwright", "'generate'", "'--out'", "opwright_out", *map(_meson_argument, action.words)]
    # The dependency file has Opwright's files.
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


def _meson_argument(word: Word) -> str:
    match word.place:
        case WordPlace.FILE | WordPlace.FOLDER:
            return f"opwright_source / {meson_string(word.text)}"
        case WordPlace.TORCH:
            return f"opwright_torch / {meson_string(word.text)}"
        case WordPlace.NOWHERE:
            return meson_string(word.text)


def _list(name: str, values: Iterable[str]) -> list[str]:
    return [f"  {name}: [", *[f"    {value}," for value in values], "  ],"]


#: The version of the form of descriptions.
FORMAT: Final = 1

_TEXTS: Final = list_of_schema(TEXT)
_ACTION: Final = (
    Field("name", "", TEXT, "The name of the action: the number of the shard.", is_required=True),
    Field(
        "arguments",
        "",
        _TEXTS,
        "The arguments after `opwright`. `{torch}` at the beginning of one stands for the folder with PyTorch's "
        "inputs, and `{out}` for the output folder; other paths are relative to the working folder.",
        is_required=True,
    ),
    Field("files", "", _TEXTS, "The inputs that are relative to the working folder.", is_required=True),
    Field("torch_files", "", _TEXTS, "The inputs that are relative to `{torch}`.", is_required=True),
    Field("outputs", "", _TEXTS, "The outputs, relative to `{out}`. The action writes nothing else.", is_required=True),
)
_DESCRIPTION: Final = (
    Field("format", "", {"enum": [FORMAT]}, "The version of the form of the document.", is_required=True),
    Field("opwright", "", TEXT, "The version of Opwright.", is_required=True),
    Field(
        "python_packages",
        "",
        _TEXTS,
        "The Python packages that an action imports, besides the standard library: inputs of every action.",
        is_required=True,
    ),
    Field(
        "torch", "", {"type": ["string", "null"]}, "The folder that `{torch}` stood for; null if no action needs it."
    ),
    Field("actions", "", list_of_schema({"$ref": "#/$defs/action"}), "The actions.", is_required=True),
)


def json_schema() -> dict[str, object]:
    """Schema of what `opwright generate --describe json` prints."""
    return dialect_schema(
        f"Actions of a generation by Opwright, format {FORMAT}",
        mapping_schema(_DESCRIPTION),
        action=mapping_schema(_ACTION),
    )


def json_text(description: Description) -> str:
    """A description as JSON. `json_schema` is the schema."""
    document = {
        "format": FORMAT,
        "opwright": description.version,
        "python_packages": list(PACKAGES),
        "torch": description.torch_root,
        "actions": [_action(action) for action in description.actions],
    }
    return json.dumps(document, indent=1) + "\n"


def _action(action: Action) -> dict[str, object]:
    texts = [f"{{torch}}/{word.text}" if word.place is WordPlace.TORCH else word.text for word in action.words]
    return {
        "name": action.name,
        "arguments": ["generate", "--out", "{out}", *texts],
        "files": list(action.files),
        "torch_files": list(action.torch_files),
        "outputs": list(action.outputs),
    }


def ninja_text(description: Description) -> str:
    """Rules and edges of Ninja. The file that includes them sets `opwright`, `opwright_out` and `opwright_torch`.

    A file that a run leaves alone does not make anything else run. The dependency file has Opwright's files.
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
