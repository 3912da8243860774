"""Descriptions in Starlark: for the rules of `opwright.bzl`, and as a list of genrules of Buck."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from opwright.builds.actions.description import WordPlace
from opwright.source.codes import NOT_WRITABLE
from opwright.source.diagnostic import Fault, shorten
from opwright.syntax.build_files import hash_comment, starlark_string

if TYPE_CHECKING:
    from collections.abc import Iterable

    from opwright.builds.actions.description import Description, Word


def bazel_text(description: Description) -> str:
    """A `.bzl` file whose `ACTIONS` are an argument of the macros `opwright_generate` and `opwright_library`."""
    lines = [hash_comment(description.comment), "", "ACTIONS = ["]
    for action in description.actions:
        lines += ["    struct(", f"        name = {starlark_string(action.name)},"]
        lines += _list("arguments", map(_bazel_argument, action.words))
        lines += _list("srcs", action.files)
        lines += _list("torch_srcs", action.torch_files)
        lines += _list("outs", [path for path in action.outputs if not path.endswith("/")])
        folders = [path[:-1] for path in action.outputs if path.endswith("/")]
        lines += _list("folders", folders) if folders else []
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
    lines += _list("TORCH_INPUTS", torch_files, indent="", end="")
    lines += [
        "",
        "def opwright_genrules(name, opwright, torch, **kwargs):",
        '    """The genrules `NAME-0` and so on; `torch` is the filegroup of TORCH_INPUTS, `opwright` the program."""',
    ]
    for action in description.actions:
        lines += ["    native.genrule(", f'        name = name + "-{action.name}",']
        lines += _list("srcs", action.files)
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
    """The text as a word of a shell. Raises Fault for a text in which Buck sees a macro, even in quotes (E0619)."""
    if "$(" in text:
        raise Fault.at(NOT_WRITABLE, f"a command of Buck cannot have the text `{shorten(ascii(text)[1:-1])}`")
    return quote(text)


def _inner(text: str) -> str:
    return starlark_string(text)[1:-1]


def _list(name: str, texts: Iterable[str], indent: str = "        ", end: str = ",") -> list[str]:
    """The lines of a list with a name."""
    rows = [f"{indent}    {starlark_string(text)}," for text in texts]
    return [f"{indent}{name} = [", *rows, f"{indent}]{end}"] if rows else [f"{indent}{name} = []{end}"]
