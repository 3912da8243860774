"""The quick reader and the writer of YAML give what PyYAML gives."""

from __future__ import annotations

import json
import random

import pytest
import yaml

from opwright.source.plain_yaml import NotPlain, read_plain
from opwright.source.yaml_writer import write_entries, write_mapping

TEXTS = (
    *("aten::add.Tensor", "v1/6;0,1|6;", "yes", "No", "1.0", "a: b", "x #y", "a b c", "", " a", "a ", "a:", "it's"),
    *("~", "null", "0x1", "-", "- a", "/p/x.yaml", "{a}", "[", "é", "a\nb", "x" * 130, "word " * 30, "_", "a,b", "a#"),
    *("a'", "12", "1_000", "2024-01-01", "=", "<<", "f(Tensor x) -> Tensor", "off", "!x", "&a", "*a", "? a", "%a"),
    *("@a", "`a", "a\tb", '"q"', ".inf", "1:30", json.dumps({"asset_info": {"a b": ["it's", "x"] * 9}, "new": True})),
)

SOURCES = (
    "operators:\n  aten::add.Tensor:\n    is_root_operator: true\n    debug_info:\n    - model_a@1\n    - x\n"
    'kernel_metadata: {}\ncustom_classes: []\n# c\ndebug_info:\n- \'{"a": 1,\n  "b": 2}\'\n',
    "- op: add.out\n  kernels:\n    - arg_meta: null\n      kernel_name: torch::executor::add_out\n\n"
    "- func: a(Tensor x) -> Tensor\n  kernels:\n  - arg_meta: null\n  -   kernel_name: x\n",
    "tags: ['min', core]\nkernels: [Float, 'Int', aten::add.out]\nnone: [a b, c]\n",
    "- name: a\n  depends:\n  - name: b\n  -\n    name: c\n- name: 12\n",
)
EDITS = " \n-:'#[]{}&*!|>a01~\t\"?,._/%@`=<"


def any_value(choice: random.Random, depth: int) -> object:
    """A value such as those of YAML files."""
    kind = choice.random()
    if depth and kind < 0.3:
        return {choice.choice(TEXTS): any_value(choice, depth - 1) for _ in range(choice.randint(0, 3))}
    if depth and kind < 0.6:
        return [any_value(choice, depth - 1) for _ in range(choice.randint(0, 3))]
    return choice.choice([True, False, None, choice.randint(0, 500), *[choice.choice(TEXTS) for _ in range(3)]])


@pytest.mark.parametrize("seed", range(4))
def test_mappings_are_written_as_pyyaml_writes_them(seed: int) -> None:
    """The text of a mapping is that of `safe_dump`, and the quick reader reads it or leaves it alone."""
    choice = random.Random(seed)
    read = 0
    for _ in range(60):
        data = {choice.choice(TEXTS): any_value(choice, 3) for _ in range(choice.randint(0, 3))}
        text = write_mapping(data)
        assert text == yaml.safe_dump(data, default_flow_style=False)
        read += agrees(text)
    assert read > 1


@pytest.mark.parametrize("seed", range(4))
def test_entries_are_written_as_pyyaml_writes_them(seed: int) -> None:
    """The text of a list of entries is that of `safe_dump`, with a blank line before each entry but the first."""
    choice = random.Random(seed)
    read = 0
    for _ in range(60):
        entries = [{choice.choice(TEXTS): any_value(choice, 3)} for _ in range(choice.randint(1, 3))]
        text = write_entries(entries)
        lines = yaml.safe_dump(entries, default_flow_style=False, sort_keys=False, width=1000).split("\n")
        spaced = [f"\n{line}" if line.startswith("- ") and number else line for number, line in enumerate(lines)]
        assert text == "\n".join(spaced)
        read += agrees(text)
    assert read > 1


@pytest.mark.parametrize("seed", range(4))
def test_edited_text_is_read_as_pyyaml_reads_it(seed: int) -> None:
    """Whatever stands in a text, the quick reader gives the value of `safe_load`, or refuses."""
    choice = random.Random(seed)
    read = 0
    for _ in range(400):
        text = choice.choice(SOURCES)
        for _ in range(choice.randint(1, 3)):
            start = choice.randrange(len(text) + 1)
            text = text[:start] + choice.choice(EDITS) + text[start + choice.randint(0, 1) :]
        read += agrees(text)
    assert read > 50


def agrees(text: str) -> bool:
    """Whether the quick reader reads a text; it then has to agree with PyYAML."""
    try:
        value = read_plain(text)
    except NotPlain:
        return False
    assert value == yaml.safe_load(text), text
    return True
