"""`derivatives.yaml` and what follows from it are equal, for every function of the installed release."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from tests.torchgen_interface.conftest import Loaded, Side
from tests.torchgen_interface.equality import difference


def with_sorted_inputs(derivatives: Any) -> Any:
    """Forward formulas with the inputs that they need sorted: PyTorch's generator takes them from sets."""
    names = ("required_inputs_fw_grad", "required_inputs_primal")
    return [
        dataclasses.replace(formula, **{name: sorted(getattr(formula, name)) for name in names})
        for formula in derivatives
    ]


def with_sorted_sets(info: Any) -> Any:
    """A record with what PyTorch's generator takes from sets sorted; of functions over lists also what is saved."""
    changed = {"forward_derivatives": with_sorted_inputs(info.forward_derivatives)}
    for name in ("all_saved_inputs", "all_saved_outputs"):
        saved = getattr(info, name)
        if isinstance(saved, tuple):
            changed[name] = tuple(sorted(saved, key=lambda attribute: str(attribute.nctype.name)))
    return dataclasses.replace(info, **changed)


def info_difference(reference: dict[str, Any], own: dict[str, Any], place: str) -> str:
    """Where the records of a function differ, by dispatch key."""
    sides = [{key: with_sorted_sets(info) for key, info in by_key.items()} for by_key in (reference, own)]
    return difference(sides[0], sides[1], place)


def test_derivatives_are_equal(loaded: tuple[Loaded, Loaded]) -> None:
    """The records of all entries, and those made for functions over lists, are equal and in the same order."""
    theirs, ours = loaded
    assert theirs.keys == ours.keys
    assert list(map(str, theirs.infos)) == list(map(str, ours.infos))
    for (schema, row), same in zip(theirs.infos.items(), ours.infos.values(), strict=True):
        assert not info_difference(row, same, str(schema))


def test_functions_with_derivatives_are_equal(loaded: tuple[Loaded, Loaded]) -> None:
    """So are all functions with the derivatives that they use."""
    for row, same in zip(loaded[0].functions, loaded[1].functions, strict=True):
        place = str(row.func.func)
        assert not difference(row.func, same.func, place)
        assert (row.info is None, row.fw_derivatives is None) == (same.info is None, same.fw_derivatives is None)
        if row.info is not None:
            assert not info_difference(row.info, same.info, place)
            forward = [
                {key: with_sorted_inputs(listed) for key, listed in side.fw_derivatives.items()} for side in (row, same)
            ]
            assert not difference(forward[0], forward[1], place)


def test_one_record_serves_several_functions(loaded: tuple[Loaded, Loaded]) -> None:
    """A function without an entry has the very record of another one."""
    for side in loaded:
        infos = {id(info) for by_key in side.infos.values() for info in by_key.values()}
        used = [info for row in side.functions for info in (row.info or {}).values()]
        assert sum(id(info) in infos for info in used) == len(used)


@pytest.mark.parametrize(
    "text",
    [
        "- name: nope(Tensor self) -> Tensor\n  self: grad\n",
        "- name: abs(Tensor self) -> Tensor\n  self: grad + self.sizes()\n",
    ],
)
def test_mistakes_raise_errors_of_the_same_type(
    reference: Side, own: Side, reference_inputs: Path, tmp_path: Path, text: str
) -> None:
    """Mistakes in the file raise RuntimeError, Opwright's with the place of the mistake."""
    file, native = tmp_path / "derivatives.yaml", reference_inputs / "native"
    file.write_text(text)
    for side, message in ((reference, "ATen function|SymInt"), (own, "derivatives.yaml:")):
        module = side.module("packaged.autograd.load_derivatives")
        with pytest.raises(RuntimeError, match=message):
            module.load_derivatives(str(file), str(native / "native_functions.yaml"), str(native / "tags.yaml"))
