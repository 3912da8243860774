"""Plain words of small programs have the values that argparse gives them, and argparse judges all others."""

from __future__ import annotations

import contextlib
import io
from itertools import chain, product
from operator import attrgetter
from typing import TYPE_CHECKING

import pytest

from opwright.cli.plain_words import PlainOption, _parser, _plain_values, read_words, switch, text, texts

if TYPE_CHECKING:
    from opwright.cli.plain_words import Values

OPTIONS = (
    text("-o", "out-file", metavar="FILE", help="where to write"),
    switch("--all", help="everything"),
    texts("--each", metavar="NAME", help="one name"),
    texts("--many", metavar="NAME", help="some names", kind="several"),
)
REQUIRED = (text("--out", metavar="FILE", help="where to write", is_required=True), OPTIONS[1])
WORDS = ("-o", "--out_file", "--out", "--all", "--each", "--many", "a", "", "-", "--", "--each=b")
#: All short lines, and longer ones of fewer words.
LINES = [
    *chain.from_iterable(product(WORDS, repeat=length) for length in range(4)),
    *product(("--all", "--each", "--many", "a"), repeat=5),
]


def judged(options: tuple[PlainOption, ...], words: tuple[str, ...]) -> Values | None:
    """The values that argparse gives; None if it ends the program."""
    with contextlib.redirect_stderr(io.StringIO()):
        try:
            return vars(_parser("program", None, options).parse(list(words)))
        except SystemExit:
            return None


@pytest.mark.parametrize("options", [OPTIONS, REQUIRED], ids=["options", "with a required one"])
def test_values_are_those_of_argparse(options: tuple[PlainOption, ...]) -> None:
    """Whatever is read without argparse has the values that argparse gives, and that is most of what it accepts."""
    read = {words: values for words in LINES if (values := _plain_values(options, words)) is not None}
    assert {words: judged(options, words) for words in read} == read
    plain = [words for words in LINES if not {"", "-", "--", "--each=b"} & {*words}]
    short = {"--out"} if options is OPTIONS else set()
    spelled = [words for words in plain if not short & {*words}]
    assert [words for words in spelled if words not in read and judged(options, words) is not None] == []
    assert len(read) > 2


def test_words_come_from_the_process(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Without words those of the process are read; help and mistakes end the program."""
    monkeypatch.setattr("sys.argv", ["program", "--many", "a", "b", "--all"])
    assert read_words("program", "Does it.", OPTIONS, None) == {
        "out_file": None,
        "all": True,
        "each": None,
        "many": ["a", "b"],
    }
    for words, status in ((["--help"], 0), (["--none"], 2)):
        with pytest.raises(SystemExit) as ended:
            read_words("program", "Does it.", OPTIONS, words)
        assert ended.value.code == status
    assert "Does it." in capsys.readouterr().out


def test_the_first_long_spelling_is_the_name() -> None:
    """A switch is off unless it is there."""
    assert list(map(attrgetter("name"), OPTIONS)) == ["out_file", "all", "each", "many"]
    assert [option.default for option in OPTIONS] == [None, False, None, None]
