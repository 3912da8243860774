"""Units are spread over shards as the reference spreads them."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opwright.build.shards import is_everything, joined_slots, merged_shards, shard_number, shard_path

REFERENCE = """
import json, sys
from torchgen.utils import string_stable_hash
print(json.dumps([string_stable_hash(key) for key in json.load(sys.stdin)]))
"""

fragments = st.lists(
    st.tuples(
        st.text("abcdef_", min_size=1, max_size=4),
        st.dictionaries(st.sampled_from(["body", "table"]), st.lists(st.text("xyz", max_size=3), max_size=3)),
    ),
    max_size=12,
)


def test_shard_numbers_are_the_reference_s() -> None:
    """Every key has the reference's hash, so every operator is in the same shard."""
    keys = [f"op_{number}" for number in range(300)] + ["", "__and__", "größe"]
    command = [sys.executable, "-c", REFERENCE]
    finished = subprocess.run(command, input=json.dumps(keys), capture_output=True, check=True, text=True)
    hashes = json.loads(finished.stdout)
    for count in (1, 3, 5, 10):
        assert [shard_number(key, count) for key in keys] == [number % count for number in hashes]


def test_a_key_beyond_latin_1_has_a_shard() -> None:
    """A name that the hash has no bytes for still has a shard, always the same."""
    assert shard_number("演算", 7) == shard_number("演算", 7) in range(7)


@pytest.mark.parametrize(
    ("path", "expected"),
    [("Operators.cpp", "Operators_1.cpp"), ("a.b/x", "a.b/x_1"), ("ops/a.b.cpp", "ops/a.b_1.cpp"), (".rc", ".rc_1")],
)
def test_the_shard_stands_before_the_suffix(path: str, expected: str) -> None:
    """Only the last suffix of the file's name is one."""
    assert shard_path(path, "_1") == expected


@given(units=fragments, count=st.integers(1, 4))
def test_shards_split_what_everything_holds(units: list[tuple[str, dict[str, list[str]]]], count: int) -> None:
    """The file with everything has all texts in order; each shard has those of its own units, after the frame's."""
    frame = {"head": "one text", "body": ["first"]}
    everything, *shards = merged_shards(units, count, frame)
    assert everything.shard_id == "Everything"
    assert [shard.shard_id for shard in shards] == [f"_{number}" for number in range(count)]
    assert everything.slots["body"] == ["first", *[text for _, unit in units for text in unit.get("body", [])]]
    for number, shard in enumerate(shards):
        own = [unit for key, unit in units if shard_number(key, count) == number]
        assert shard.slots["body"] == ["first", *[text for unit in own for text in unit.get("body", [])]]
        assert shard.slots.get("table", []) == [text for unit in own for text in unit.get("table", [])]
        assert shard.slots.keys() == everything.slots.keys()
        assert shard.slots["head"] == "one text"
    assert frame == {"head": "one text", "body": ["first"]}


def test_an_empty_text_of_the_frame_is_no_item() -> None:
    """A slot that the frame leaves empty as a text lists only what units add."""
    assert joined_slots({"body": ""}, [{"body": "f();"}]) == {"body": ["f();"]}
    assert joined_slots({"body": ""}, []) == {"body": ""}


def test_only_the_name_makes_the_file_with_everything() -> None:
    """A folder of that name does not."""
    assert is_everything("x/RegisterCPUEverything.cpp")
    assert not is_everything("Everything/RegisterCPU_0.cpp")
