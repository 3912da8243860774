"""Fingerprints of units with derivatives follow what the entry says."""

from __future__ import annotations

from opwright.emit.autograd.nodes import all_nodes
from opwright.emit.emitter import Job
from opwright.incremental.fingerprints import UnitFingerprints
from tests.emit.test_autograd_kernels import derived_job
from tests.emit.test_variable_type import LISTS, TURNED, TWIST, TWISTED


def fingerprints(job: Job) -> dict[str, bytes]:
    """The fingerprint of each function with its derivatives, and of each node."""
    table = UnitFingerprints()
    fingerprints = {function.function.name.text: table.of(function) for function in job.derivatives.functions}
    return {**fingerprints, **{unit.info.node_name or "": table.of(unit) for unit in all_nodes(job)}}


def changed(before: str, after: str) -> set[str]:
    """What has another fingerprint when derivatives are edited."""
    old, new = fingerprints(derived_job(TWIST + LISTS, before)), fingerprints(derived_job(TWIST + LISTS, after))
    assert old.keys() == new.keys()
    return {name for name in old if old[name] != new[name]}


def test_every_unit_has_a_fingerprint() -> None:
    """Without one, no chunk of it could be reused."""
    assert len(fingerprints(derived_job(TWIST + LISTS, TWISTED + TURNED))) > 6


def test_an_edited_formula_changes_those_that_take_it() -> None:
    """The function's fingerprint changes, those of the forms that take it over, and that of the node."""
    edited = TWISTED.replace("grad * by", "grad / by")
    assert changed(TWISTED + TURNED, edited + TURNED) == {"twist", "twist_", "twist.out", "TwistBackward0"}


def test_an_edited_forward_formula_changes_them_too() -> None:
    """The node does not show forward formulas, but its info does."""
    edited = TWISTED.replace("self_t * by", "self_t / by")
    assert changed(TWISTED + TURNED, edited + TURNED) >= {"twist", "twist_"}


def test_a_moved_entry_changes_nothing() -> None:
    """Where an entry stands is no part of what it says."""
    assert changed(TWISTED + TURNED, "# a comment\n\n" + TWISTED + TURNED) == set()


def test_the_origin_of_forward_formulas_counts() -> None:
    """Fragments of an in-place function show whether its forward formula is that of the functional form."""
    functions = derived_job(TWIST + LISTS, TWISTED + TURNED).derivatives.functions
    unit = next(function for function in functions if function.function.name.text == "twist_")

    def changed_to(*, from_functional: bool) -> bytes:
        forward = {
            key: tuple(formula._replace(from_functional=from_functional) for formula in formulas)
            for key, formulas in unit.forward.items()
        }
        return UnitFingerprints().of(unit._replace(forward=forward))

    without = UnitFingerprints().of(unit._replace(forward=dict.fromkeys(unit.forward, ())))
    assert len({without, changed_to(from_functional=False), changed_to(from_functional=True)}) == 3
