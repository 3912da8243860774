"""Hostile words, paths and names of projects in what build systems read: Bazel, Buck, CMake, Meson and Ninja."""

from __future__ import annotations

import re
import shlex
import traceback
from collections.abc import Callable
from random import Random
from typing import Final

from opwright.builds.actions.description import Action, Description, Word, WordPlace
from opwright.builds.actions.formats import bazel_text, buck_text, meson_files, ninja_text
from opwright.cli.depfile import cmake_list
from opwright.libraries.extension.project import project_names
from opwright.source.diagnostic import Fault
from tests.hostile.lexing import tokens_of
from tests.hostile.run import Finding, skeleton
from tests.hostile.values import MARK, hostile_value

#: A path as people have it, which takes the place of a hostile one.
_PLAIN: Final = "ops.yaml"

_PLACES: Final = ("command", "file", "torch file", *[place.value for place in WordPlace])


def _description(place: str, text: str) -> Description:
    """A description that has a text in one place."""
    words = [Word("--library"), *[Word(text, kind) for kind in WordPlace if kind.value == place]]
    action = Action(
        "0",
        tuple(words),
        (text if place == "file" else "acme.yaml",),
        (text if place == "torch file" else "aten/tags.yaml",),
        ("acme/ops.h", "acme/register_0.cpp"),
    )
    return Description("1.0", ("--library", text if place == "command" else "acme.yaml"), None, (action,))


def _meson(place: str, text: str) -> str:
    return "\n".join(meson_files(_description(place, text), text if place == "file" else "..").values())


def _cmake(place: str, text: str) -> str:
    return cmake_list("outputs", [text, "acme/ops.h"])


#: The name of a file of each form, and what makes its text from a place and the text there.
_FORMS: Final[dict[str, Callable[[str, str], str]]] = {
    "bazel.bzl": lambda place, text: bazel_text(_description(place, text)),
    "buck.bzl": lambda place, text: buck_text(_description(place, text)),
    "meson.build": _meson,
    "list.cmake": _cmake,
    "build.ninja": lambda place, text: ninja_text(_description(place, text)),
}
_PROJECTS: Final = ("library", "backend")
_SAFE_NAME: Final = re.compile(r"[A-Za-z0-9_-]+")


def check_description(number: int) -> tuple[bool, Finding | None]:
    """Put a hostile value into a description, or make it the name of a project. Whether it was taken, and a finding."""
    random = Random(number)
    value = hostile_value(random, _PLAIN)
    form, place = random.choice((*_FORMS, *_PROJECTS)), random.choice(_PLACES)
    try:
        fault = _project_fault(form, value) if form in _PROJECTS else _text_fault(form, place, value)
    except Fault:
        return False, None
    except Exception:
        fault = traceback.format_exc()
    return True, Finding(form, place, value, fault) if fault else None


def _project_fault(kind: str, name: str) -> str:
    names = project_names(kind, name).values()
    return "" if all(_SAFE_NAME.fullmatch(text) for text in names) else f"the names {list(names)}"


def _text_fault(form: str, place: str, value: str) -> str:
    make = _FORMS[form]
    text, plain = make(place, value), make(place, _PLAIN)
    if form == "build.ninja":
        return _ninja_fault(text, plain, value if place == WordPlace.NOWHERE.value else None)
    if skeleton(form, text) != skeleton(form, plain):
        return f"other code:\n{text}"
    if any(MARK in token.lower() for kind, token in tokens_of(form, text) if kind == "code"):
        return f"code:\n{text}"
    return _shell_fault(text, value) if form == "buck.bzl" else ""


def _shell_fault(text: str, value: str) -> str:
    """Whether the shell that runs a genrule of Buck takes a value for anything but a part of one word."""
    (line,) = [line for line in text.split("\n") if line.startswith("        cmd = ")]
    parts = [token for kind, token in tokens_of("buck.bzl", line) if kind == "text"]
    words = shlex.split("".join([_starlark_value(part) for part in parts]))
    return f"the command {words}" if MARK in line and not any(MARK in word and value in word for word in words) else ""


def _starlark_value(literal: str) -> str:
    import json

    return str(json.loads(literal))


def _ninja_fault(text: str, plain: str, word: str | None) -> str:
    """Whether a file of Ninja has other statements than another one, or an action another word than the given one."""
    lines, expected = _ninja_lines(text), _ninja_lines(plain)
    if [line.split()[:1] for line in lines] != [line.split()[:1] for line in expected]:
        return f"other statements:\n{text}"
    for line, other in zip(lines, expected, strict=True):
        if line.startswith("build ") and len(_ninja_paths(line)) != len(_ninja_paths(other)):
            return f"other paths:\n{text}"
    arguments = next(line for line in lines if line.startswith("  arguments = "))
    words = shlex.split(re.sub(r"\$(.)", r"\1", arguments.removeprefix("  arguments = ")))
    return f"the words {words}" if word is not None and word not in words else ""


def _ninja_lines(text: str) -> list[str]:
    """The lines as Ninja reads them, without comments."""
    joined = re.sub(r"(?<!\$)((?:\$\$)*)\$\n *", r"\1", text)
    return [line for line in re.split(r"[\n\r\0]", joined) if line and not line.startswith("#")]


def _ninja_paths(line: str) -> list[str]:
    return re.findall(r"(?:\$.|[^ :|$])+|[:|]", line)
