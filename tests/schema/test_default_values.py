"""The value of a default is the one that PyTorch passes when the argument is left out."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

import opwright
from opwright import DefaultValue, NamedConstant
from opwright.schema import parse_type
from opwright.schema.defaults import is_default
from tests.torch_process import TorchProcess

#: The constants that PyTorch's operators have for defaults, as numbers of their enumerations in C++.
CONSTANTS = {"long": 4, "contiguous_format": 0}


def as_json(value: DefaultValue) -> object:
    """A value as JSON has it: constants are numbers, tuples are lists."""
    if isinstance(value, NamedConstant):
        return CONSTANTS[value.name]
    return list(value) if isinstance(value, tuple) else value


def test_values_are_those_of_pytorch(torch_process: TorchProcess) -> None:
    """Each default of PyTorch's operators has the value and the type that the installed PyTorch registered."""
    program = Path(__file__).with_name("runtime_defaults.py")
    ran = torch_process.run(program.read_text(encoding="utf-8"), [])
    assert ran.returncode == 0, ran.stderr
    registered = json.loads(ran.stdout)
    compared = 0
    for function in opwright.load("auto").functions:
        theirs = registered[f"{function.namespace}::{function.name.name}.{function.name.overload}"]
        ours = {
            argument.name: as_json(argument.default_value)
            for argument in function.arguments.all
            if argument.default is not None
        }
        # As text, so that 1, 1.0 and True differ.
        assert json.dumps(ours, sort_keys=True) == json.dumps(theirs, sort_keys=True), str(function)
        compared += len(ours)
    assert compared > 2000


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("int x=-0x1F", -31),
        ("int x=0", 0),
        ("int? x=None", None),
        ("float x=-inf", -math.inf),
        ("Scalar x=True", True),
        ("Scalar x=0x10", 16),
        ("Scalar x=1e2", 100.0),
        ("int[]? x=[]", ()),
        ("int[] x=[1, -2]", (1, -2)),
        ("float[2] x=1", (1.0, 1.0)),
        ("bool[3]? x=True", (True, True, True)),
        ("str x='a\\'b\\n'", "a'b\n"),
        ('str x="\\\\\\x41\\101"', "\\AA"),
        ("Device x=cpu", NamedConstant("cpu")),
        ("Device x='cpu'", "cpu"),
        ("Tensor x={}", None),
        ("Tensor x", None),
    ],
)
def test_values_of_other_spellings(argument: str, value: DefaultValue) -> None:
    """Other numbers, lists, strings and names that the schema language has stand for the values that one expects."""
    parsed = opwright.parse_schema(f"f({argument}) -> Tensor").arguments.all[0]
    assert parsed.default_value == value
    assert type(parsed.default_value) is type(value)


@pytest.mark.parametrize(("name", "bits"), [("int", 64), ("SymInt", 64), ("Scalar", 64), ("DeviceIndex", 8)])
def test_integers_fit_their_types(name: str, bits: int) -> None:
    """The least and the greatest integer of the C++ type are defaults, and those beyond are not."""
    limit = 2 ** (bits - 1)
    type = parse_type(name)
    assert is_default(type, str(-limit))
    assert is_default(type, str(limit - 1))
    assert not is_default(type, str(-limit - 1))
    assert not is_default(type, str(limit))


def test_constants_are_values() -> None:
    """Two constants of one name are equal, also as keys, and their representation says which they are."""
    assert {NamedConstant("long"): 1}[NamedConstant("long")] == 1
    assert NamedConstant("long") != NamedConstant("int")
    assert NamedConstant("long") != "long"
    assert repr(NamedConstant("long")) == "NamedConstant('long')"
