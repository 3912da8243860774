"""Strings, comments, paths and conditions are what the languages that they are written for read."""

from __future__ import annotations

import ast
import itertools
import keyword
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from opwright.builds import build_files
from opwright.cpp import text as cpp
from opwright.source.diagnostic import Fault
from opwright.syntax import python

#: Each character that ends or escapes something somewhere, before a digit and at both ends.
CHARACTERS = [*map(chr, range(1, 0x180)), "\u2028", "\u0100", "\ufeff", "\U0001f600", "\0", '"""', "\\n", "$a", "a b"]
TEXTS = ["", *[f"{before}{character}{after}" for character in CHARACTERS for before, after in (("", ""), ("a", "7"))]]


@pytest.mark.parametrize(
    "literal", [cpp.string_literal, build_files.starlark_string, build_files.meson_string, python.string_literal]
)
def test_literals_have_their_texts(literal: Callable[[str], str]) -> None:
    """The escapes of a literal mean in each language what they mean in Python, and none ends the line."""
    written = [literal(text) for text in TEXTS]
    assert [ast.literal_eval(text) for text in written] == TEXTS
    assert not {"\n", "\r", "\0"}.intersection("".join(written))


def test_plain_literals_stay_readable() -> None:
    """Letters of other languages need no escapes, and common escapes have their short forms."""
    assert cpp.string_literal('é\t"') == '"é\\t\\""'
    assert build_files.starlark_string("é") == '"é"'


def test_docstrings_have_their_texts() -> None:
    """Between three double quotes, lines of a docstring are the ones that were given; tabs and letters stay."""
    texts = [text for text in TEXTS if "\r" not in text]
    written = [python.docstring_text(f"{text}\n") for text in texts]
    assert [ast.literal_eval(f'"""{text}"""') for text in written] == [f"{text}\n" for text in texts]
    assert python.docstring_text("a\té\r") == "a\té\\r"
    assert python.docstring_text("\u200b") == "\\u200b"


@pytest.mark.parametrize("text", TEXTS)
def test_comments_are_lines(text: str) -> None:
    """Whatever a comment says, it stays one line that shows its characters or their escapes."""
    comment = build_files.hash_comment(text)
    assert comment.startswith("# ")
    assert comment.isprintable()
    assert comment[2:].encode().decode("unicode_escape" if comment[2:] != text else "utf-8") == text


def test_variables_are_no_keywords() -> None:
    """Keywords become names of variables, and other names stay."""
    names = [python.variable_name(name) for name in (*keyword.kwlist, "self")]
    assert [keyword.iskeyword(name) or not name.isidentifier() for name in names] == [False] * len(names)
    assert names[-1] == "self"


@pytest.mark.skipif(shutil.which("ninja") is None, reason="there is no Ninja")
def test_ninja_reads_paths_and_values(tmp_path: Path) -> None:
    """Ninja reads the path and the value that were written; what it cannot read is refused."""
    texts = [text for text in TEXTS if text and not {"\n", "\r", "\0"}.intersection(text)]
    paths = {f"x{text}" for text in texts if not {"|", "/", "\\"}.intersection(text)}
    edges = "".join([f"build {build_files.ninja_path(path)}: r\n" for path in sorted(paths)])
    values = "".join([f"rule v{n}\n command = :{build_files.ninja_value(text)}:\n" for n, text in enumerate(texts)])
    calls = "".join([f"build out{number}: v{number}\n" for number in range(len(texts))])
    (tmp_path / "build.ninja").write_text(f"rule r\n command = c\n{edges}{values}{calls}", encoding="utf-8", newline="")

    def told(*words: str) -> list[str]:
        done = subprocess.run(["ninja", "-t", *words], cwd=tmp_path, check=True, capture_output=True)
        return done.stdout.decode().removesuffix("\n").split("\n")

    assert set(told("targets", "rule", "r")) == paths
    assert told("commands", *[f"out{number}" for number in range(len(texts))]) == [f":{text}:" for text in texts]


@pytest.mark.parametrize(
    ("write", "text"),
    [
        *[(build_files.ninja_path, text) for text in ("a\nb", "a\rb", "a\0b", "a|b")],
        *[(build_files.ninja_value, text) for text in ("a\nb", "a\rb", "a\0b")],
        *[
            (write, text)
            for write in (cpp.include_line, cpp.quoted_include_line)
            for text in ("", " a.h", "<a.h>", "a>.h", 'a".h', "a\\b.h", "a.h\n", "a\u2028.h")
        ],
    ],
)
def test_what_cannot_be_written_is_refused(write: Callable[[str], str], text: str) -> None:
    """A text that no escape of the language writes is an error, and not another text."""
    with pytest.raises(Fault) as caught:
        write(text)
    assert caught.value.diagnostic.code == "E0619"


def test_conditions_hold_together(tmp_path: Path) -> None:
    """The compiler takes a text behind joined conditions exactly if it takes it behind each of them."""
    conditions = ["A", "", "B > 1 || C", "A ? B : C", "defined(D)", "!C"]
    blocks: list[str] = []
    for number, chosen in enumerate(itertools.product(conditions, repeat=3)):
        blocks += [f"#if {condition or 1}" for condition in chosen] + [f"apart{number}"] + ["#endif"] * 3
        blocks.append(cpp.guard(cpp.joined_conditions(chosen), f"joined{number}\n\n"))
    source = tmp_path / "conditions.h"
    source.write_text("\n".join(blocks) + "\n", encoding="utf-8")
    for values in (["-DA=1", "-DB=2", "-DC=0"], ["-DA=0", "-DB=1", "-DC=1", "-DD"], ["-DA=1", "-DB=0", "-DC=0", "-DD"]):
        command = ["g++", "-E", "-P", "-x", "c++", *values, str(source)]
        kept = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        assert [word for word in kept if word.startswith("apart")] == [
            word.replace("joined", "apart") for word in kept if word.startswith("joined")
        ]
    assert cpp.guard("A", "") == ""
    assert cpp.guard("", "f();\n") == "f();\n"
    assert cpp.joined_conditions(["A", "", "A", "B"]) == "A && B"
