"""Each claim of a page or a message is in the table, with a test or a target that fails if it is false."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from tests.claims.sentences import ROOT, WORDS, claims, messages, plain, sentences
from tests.test_turns import makefile_targets

TABLE = yaml.safe_load((Path(__file__).parent / "table.yaml").read_text(encoding="utf-8"))
_TEST = re.compile(r"(tests/[\w/]+\.py)::(test_\w+)")


class Row(NamedTuple):
    """A sentence or a part of it, the file in which it stands, and what proves it."""

    file: str
    says: str
    proofs: tuple[str, ...]


ROWS = [Row(row["in"], row["says"], tuple(row["proof"])) for row in TABLE["claims"]]
OTHERS = [Row(name, says, ()) for name, parts in TABLE["no_claims"].items() for says in parts]


@cache
def text_of(name: str) -> str:
    """What a reader sees of a file: a page, or the messages of a module."""
    text = (ROOT / name).read_text(encoding="utf-8")
    return plain(text) if name.endswith(".md") else "\n".join(messages(text, with_docstring=True))


@cache
def functions_of(path: str) -> frozenset[str]:
    """The names of the tests of a module; none if there is no such file."""
    file = ROOT / path
    tree = ast.parse(file.read_text(encoding="utf-8") if file.is_file() else "")
    return frozenset([node.name for node in tree.body if isinstance(node, ast.FunctionDef)])


def is_there(proof: str) -> bool:
    """Whether a test or a target of the Makefile exists."""
    if match := _TEST.fullmatch(proof):
        return match[2] in functions_of(match[1])
    return proof.startswith("make ") and proof.removeprefix("make ") in makefile_targets()


def test_sentences_stand_where_the_table_says() -> None:
    """A row whose sentence was changed or deleted is changed or deleted too; none is there twice."""
    assert [row for row in ROWS + OTHERS if plain(row.says) not in text_of(row.file)] == []
    keys = [(row.file, row.says) for row in ROWS + OTHERS]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{Path(row.file).name}: {row.says[:40]}")
def test_proofs_exist(row: Row) -> None:
    """Each claim has a proof, and each proof is a test or a target of the Makefile, which has its turn."""
    assert row.proofs
    assert [proof for proof in row.proofs if not is_there(proof)] == []


def test_every_claim_is_in_the_table() -> None:
    """A sentence with the words of claims is in the table. Add a row with its proof, or say less."""
    known: dict[str, list[str]] = {}
    for row in ROWS + OTHERS:
        known.setdefault(row.file, []).append(plain(row.says))
    # A row may have two sentences, of which the second says what the first is about.
    assert [
        (name, text) for name, text in claims() if not any(says in text or text in says for says in known.get(name, []))
    ] == []


@pytest.mark.parametrize(
    "text",
    [
        "3 operators are registered alike, 0 differences", "No findings.", "It is byte for byte equal.",
        "The kernel never runs.", "It writes nothing else.", "We guarantee\nthe same bytes.",
    ],
)  # fmt: skip
def test_claims_are_found(text: str) -> None:
    """The words of claims are seen in pages and in messages, wherever lines break."""
    assert any(WORDS.search(sentence) for sentence in sentences(f"Some page.\n\n{text}\n"))
    assert any(WORDS.search(message) for message in messages(f"print(f{text!r})\n"))


def test_proofs_that_do_not_exist_are_found() -> None:
    """The oracle is not blind: names of no test and no target are not proofs."""
    assert not is_there("tests/claims/test_claims.py::test_absent")
    assert not is_there("tests/absent.py::test_claims_are_found")
    assert not is_there("make absent")
    assert is_there("make vendor-replay")
