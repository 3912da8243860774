"""The quick check of a file's shape agrees with the one that reports mistakes with their places."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from opwright.selective.placed_files import PlacedFiles
from opwright.selective.shapes import GRAPH, MODELS, NAMES, Shape, fits
from opwright.source.diagnostic import Diagnostics, FaultsFound

MODEL = {
    "model": {"name": "net", "version": 2, "asset": "a", "backend": "CPU", "md5_hash": "1f"},
    "root_operators": ["aten::add"],
    "traced_operators": ["aten::add"],
    "train": True,
    "kernel_metadata": {"add": ["Float"]},
    "custom_classes": [],
}
VALUES: dict[str, tuple[object, Shape]] = {
    "names": (["aten::add", "aten::mul"], NAMES),
    "graph": ([{"name": "a", "depends": [{"name": "b"}]}, {"name": "c"}], GRAPH),
    "models": ([MODEL], MODELS),
    "model": (MODEL, MODELS),
}
#: Numbers with a point and flags in place of texts are left to the slower check, which takes some of them.
OTHERS = ("text", 1, ["a"], {"a": "b"})


def changed(value: object) -> Iterator[object]:
    """A value with one part replaced, left out or added."""
    yield value
    yield from OTHERS
    if isinstance(value, dict):
        yield {**value, "unknown": 1}
        for key, part in value.items():
            yield {name: own for name, own in value.items() if name != key}
            yield from ({**value, key: own} for own in changed(part))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            for own in changed(part):
                copied = copy.copy(value)
                copied[index] = own
                yield copied


@pytest.mark.parametrize("name", VALUES)
def test_both_checks_agree(name: str, tmp_path: Path) -> None:
    """What fits has no mistake, and what does not has one."""
    whole, shape = VALUES[name]
    path = tmp_path / "value.yaml"
    verdicts = []
    for value in changed(whole):
        path.write_text(yaml.safe_dump(value))
        sink = Diagnostics()
        with contextlib.suppress(FaultsFound):
            PlacedFiles(sink).value(str(path), shape, "a file")
        verdicts.append(not len(sink))
        assert fits(value, shape) == verdicts[-1], value
    assert verdicts[0]
    assert False in verdicts
