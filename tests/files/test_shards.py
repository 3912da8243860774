"""Units are spread over shards as the reference spreads them."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from opwright.files.plan import is_everything, shard_number, shard_path

REFERENCE = """
import json, sys
from torchgen.utils import string_stable_hash
print(json.dumps([string_stable_hash(key) for key in json.load(sys.stdin)]))
"""


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


def test_only_the_name_makes_the_file_with_everything() -> None:
    """A folder of that name does not."""
    assert is_everything("x/RegisterCPUEverything.cpp")
    assert not is_everything("Everything/RegisterCPU_0.cpp")
