"""The numbers of dtypes in kernel keys are those of PyTorch's header."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

from opwright.mobile.selective.edge_texts import kernel_key_of_dtype, variants_header
from opwright.mobile.selective.files import Files
from opwright.source.diagnostic import Diagnostics

NAMED = "Byte Char Short Int Long Float Double Bool QInt8 QUInt8 QInt32 QUInt4X2 QUInt2X4"


def numbers() -> dict[str, int]:
    """The number of each dtype, from the list of all of them in the installed header."""
    spec = find_spec("torch")
    assert spec is not None
    assert spec.origin is not None
    path = Path(spec.origin).parent / "include" / "torch" / "headeronly" / "core" / "ScalarType.h"
    rows = re.findall(r"^ *_\([\w:<>]+, *(\w+)\) */\* (\d+) \*/", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {name: int(number) for name, number in rows}


def test_keys_have_the_numbers_of_the_header() -> None:
    """A dtype that a user names has its number, and a number in a key has the name of its dtype."""
    declared, sink = numbers(), Diagnostics()
    assert len(declared) > 25
    upper = {name.upper(): number for name, number in declared.items()}
    for name in NAMED.split():
        assert kernel_key_of_dtype(name, Files(sink)) == f"v1/{upper[name.upper()]};"
    for name, number in declared.items():
        if number < 30:
            text = variants_header({"aten::f": [f"v1/{number};0"]}, "f.yaml", Files(sink))
            shown = re.findall(r"ScalarType::(\w+)\)", text)
            assert [own.lower() for own in shown] == [name.lower()]
    assert not len(sink)
