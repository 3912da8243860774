"""`Declarations.yaml`: its entries, and its scalars against those of PyYAML's dumpers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from opwright.emit.aten.declarations import default_value, emitters, entry, scalar, text_scalar
from tests.emit.emitting import job_of, slots_of

DUMPERS = [yaml.SafeDumper, getattr(yaml, "CSafeDumper", yaml.SafeDumper)]


def dumped(value: object, dumper: type[Any] = DUMPERS[1]) -> str:
    """What PyYAML writes, as the reference asks it to: in blocks, without folding."""
    return str(yaml.dump(value, Dumper=dumper, default_flow_style=False, sort_keys=False, width=10**9))


#: Texts with what YAML takes for something else: numbers, words, marks at either end.
TRICKY = st.one_of(
    st.sampled_from(
        ["", "~", "null", "no", "On", "=", "<<", "1", "-1", "0x1F", "0b1", "017", "1_0", "1:30", ".5", "1."]
    ),
    st.sampled_from(
        ["1e5", "1.0e+5", ".inf", "-.INF", ".nan", "2001-01-01", "---", "--- a", "...", "-", "- a", "?", ":"]
    ),
    st.text(alphabet=" -?:#,[]{}&*!|>'\"%@`=~.0123456789eExabnosuy\\", max_size=12),
    st.text(alphabet=st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=12),
)


@pytest.mark.parametrize("dumper", DUMPERS)
@given(text=TRICKY)
def test_text_is_quoted_as_pyyaml_does(dumper: type[Any], text: str) -> None:
    """A text on one line is plain, in single or in double quotes exactly where PyYAML's dumpers have it so."""
    assert f"key: {text_scalar(text)}\n" == dumped({"key": text}, dumper)


@given(text=st.text(alphabet="ab \n'", max_size=12))
def test_texts_of_several_lines_are_read_back(text: str) -> None:
    """Where line breaks occur, the scalar stays on one line and YAML reads the same text from it."""
    assert "\n" not in text_scalar(text)
    assert yaml.safe_load(f"key: {text_scalar(text)}") == {"key": text}


@given(value=st.one_of(st.none(), st.booleans(), st.integers(), st.floats()))
def test_values_are_written_as_pyyaml_does(value: bool | int | float | None) -> None:
    """Numbers, booleans and nothing have PyYAML's spelling."""
    assert f"key: {scalar(value)}\n" == dumped({"key": value})


@pytest.mark.parametrize(
    ("text", "value"),
    [("true", True), ("1", 1), ("1e-5", 1e-5), ("-inf", float("-inf")), ("{}", "{}"), ("at::kLong", "at::kLong")],
)
def test_defaults_that_are_literals_become_values(text: str, value: object) -> None:
    """The C++ expression of a default is a value of YAML where it can be one."""
    assert (type(default_value(text)), default_value(text)) == (type(value), value)


ENTRIES = """
- func: pair(Tensor self, int[2] size=1, *, Scalar? by=None) -> (Tensor first, Tensor second)
  dispatch:
    CPU: pair
- func: pair.out(Tensor self, int[2] size=1, *, Scalar? by=None, Tensor(a!) low, Tensor(b!) high) -> (Tensor(a!) first, Tensor(b!) second)
  python_module: linalg
  dispatch:
    CPU: pair_out
- func: make(*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, Generator? generator=None) -> Tensor
  tags: nondeterministic_seeded
  dispatch:
    CPU: make
- func: drop() -> ()
"""  # noqa: E501


def loaded(name: str) -> dict[str, Any]:
    """The entry of an overload as YAML reads it."""
    (items,) = yaml.safe_load(entry(job_of(ENTRIES).catalog[name]))
    assert isinstance(items, dict)
    return items


def test_outs_are_told_from_other_arguments() -> None:
    """Outs come first in the public order and last in the schema's, and know the field that they are returned as."""
    declaration = loaded("pair.out")
    assert [argument["name"] for argument in declaration["arguments"]] == ["low", "high", "self", "size", "by"]
    assert [argument["name"] for argument in declaration["schema_order_arguments"]] == [
        "self",
        "size",
        "by",
        "low",
        "high",
    ]
    assert declaration["arguments"][0] == {
        "allocate": True,
        "annotation": "a!",
        "dynamic_type": "at::Tensor",
        "field_name": "first",
        "is_nullable": False,
        "name": "low",
        "output": True,
        "type": "at::Tensor &",
    }
    assert declaration["arguments"][3]["size"] == 2
    assert declaration["arguments"][3]["default"] == 1
    assert declaration["returns"][1] == {
        "dynamic_type": "at::Tensor",
        "field_name": "second",
        "name": "high",
        "type": "at::Tensor &",
    }


def test_options_are_one_argument_in_public_order() -> None:
    """The packed options stand where the four arguments do, which makes the overload a factory."""
    declaration = loaded("make")
    assert [argument["name"] for argument in declaration["arguments"]] == ["options", "generator"]
    assert declaration["schema_order_arguments"][0]["name"] == "dtype"
    assert declaration["arguments"][0]["default"] == "{}"
    assert declaration["is_factory_method"] is True


def test_empty_lists_and_an_empty_catalog() -> None:
    """A function of nothing has empty lists, and so is a file without functions."""
    declaration = loaded("drop")
    assert (declaration["arguments"], declaration["returns"]) == ([], [])
    assert slots_of(emitters, "Declarations.yaml", job_of("[]\n"))["text"] == "[]\n"


def test_entries_are_what_pyyaml_would_write() -> None:
    """Read by PyYAML and dumped again, each entry is the same text."""
    for function in job_of(ENTRIES).catalog:
        assert dumped(yaml.safe_load(entry(function))) == entry(function)


@pytest.mark.thorough
def test_pytorchs_entries_are_what_pyyaml_would_write(reference_inputs: Path) -> None:
    """The same for a part of PyTorch's operators."""
    native, tags = reference_inputs / "native" / "native_functions.yaml", reference_inputs / "native" / "tags.yaml"
    job = job_of(native.read_text(encoding="utf-8"), tags=tags.read_text(encoding="utf-8"))
    for function in job.catalog.functions[::25]:
        assert dumped(yaml.safe_load(entry(function))) == entry(function)
