"""After an edit, each emitter makes the fragments of the units that show the edited entry, and no others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from opwright.emit.aten.c_shim import ShimUnit
from opwright.emit.autograd.nodes import GraphNode
from opwright.emit.python.units import PythonBinding
from opwright.emit.registry import emitters
from opwright.incremental.emitter_files import named_emitters
from opwright.incremental.previous_build import PreviousBuild
from opwright.model.derivatives import DifferentiabilityInfo, DifferentiableFunction
from opwright.model.native_function import NativeFunction, NativeFunctionsGroup, ViewGroup
from opwright.run.generation import Generation
from opwright.run.output_writer import Outcome
from tests.engine.project import Edit, WholeProject, generation

ENTRIES: Final = "ATen/native/native_functions.yaml"
DERIVATIVES: Final = "autograd/derivatives.yaml"
SCHEMAS: Final = "sources register_schema_source 1"


class Shown(NamedTuple):
    """What a unit shows: the names of functions, and of those whose formulas it shows."""

    functions: frozenset[str]
    formulas: frozenset[str]


def shown(unit: object) -> Shown:
    """What a unit shows; a function brings the others of its groups."""
    functions: set[str] = set()
    formulas: set[str] = set()
    for part in parts_of(unit):
        if isinstance(part, NativeFunction):
            functions.update([function.name.text for function in linked(part)])
        elif isinstance(part, DifferentiabilityInfo):
            formulas.add(part.function.name.text)
    return Shown(frozenset(functions), frozenset(formulas))


def linked(function: NativeFunction) -> list[NativeFunction]:
    """The functions that groups link with one: the members of its groups, and those of the groups of these."""
    functions = [function]
    for member in functions:
        groups = [group for group in (member.group, member.view_group) if group is not None]
        functions += {other: None for group in groups for other in group.functions() if other not in functions}
    return functions


def parts_of(unit: object) -> list[object]:
    """The functions and derivatives of which a unit is made."""
    inner: list[object] = []
    match unit:
        case NativeFunctionsGroup() | ViewGroup():
            inner = list(unit.functions())
        case DifferentiableFunction():
            inner = [unit.function, *unit.infos.values()]
        case GraphNode():
            inner = [unit.info]
        case DifferentiabilityInfo():
            return [unit, unit.function]
        case PythonBinding():
            inner = [overload.function for overload in unit.overloads]
        case ShimUnit():
            inner = [unit.function]
        case tuple() | list():
            inner = list(unit)
        case dict():
            inner = list(unit.values())
        case _:
            return [unit]
    return [part for item in inner for part in parts_of(item)]


class Builds:
    """Builds of a project one after the other, each from what the one before left."""

    def __init__(self, project: WholeProject) -> None:
        self.project: Final = project
        self.run: Generation = self._loaded()
        self.outcome: Outcome = self.run.write_after(None)

    def _loaded(self) -> Generation:
        return generation(self.project, str(self.project.out))

    def made(self) -> dict[str, int]:
        """How many fragments the next build makes, by emitter; those that make none are left out."""
        self.run = self._loaded()
        self.outcome = self.run.write_after(PreviousBuild(self.outcome.emitters, self.outcome.statuses))
        return {name: counts.made for name, counts in self.outcome.fragments.items() if counts.made}

    def units(self, predicate: Callable[[Shown], bool] = lambda _: True) -> Mapping[str, int]:
        """How many units there are, by emitter, of which holds what is asked; those that have none are left out."""
        job = self.run.job
        counts = {
            name: sum(predicate(shown(unit)) for unit in emitter.units(job))
            for name, emitter in named_emitters(emitters(job, self.project.families))
        }
        return {name: count for name, count in counts.items() if count}


@pytest.fixture(scope="module")
def first_build(tmp_path_factory: pytest.TempPathFactory, reference_inputs: Path) -> Builds:
    """The first build of a project with all families."""
    return Builds(WholeProject(tmp_path_factory.mktemp("builds"), reference_inputs))


@pytest.fixture
def builds(first_build: Builds) -> Builds:
    """Builds of the project, the last of which had no edit."""
    first_build.made()
    return first_build


#: An edit of an entry, and the function that it names.
EDITS: Final = {
    "kernel name": (Edit(ENTRIES, "    CPU: shifted_cpu", "    CPU: shifted_kernel"), "shifted"),
    "kernel of a group": (Edit(ENTRIES, "CUDA: twice_out", "CUDA: twice_kernel"), "twice.out"),
    "schema": (Edit(ENTRIES, "float eps=1e-6", "float eps=1e-5"), "mean_of"),
    "tag": (Edit(ENTRIES, "  python_module: nn", "  tags: pointwise\n  python_module: nn"), "softened"),
    "loop": (Edit(ENTRIES, "(AllAndComplex)", "(AllAndComplex, BFloat16)"), "scaled.out"),
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_entry(builds: Builds, edit: str) -> None:
    """Of each emitter, the units that show the entry's function are made, once each; again when the edit goes."""
    change, name = EDITS[edit]
    with change.made(builds.project):
        made = builds.made()
        expected = {**builds.units(partial(_shows, name))}
        if edit == "tag":
            # The vectors of sets of tags are numbered, and this set is new.
            expected[SCHEMAS] = builds.units()[SCHEMAS]
        assert made == expected
    assert made
    assert builds.made() == made
    assert builds.made() == {}


@pytest.mark.parametrize(("old", "new"), [("self: grad * by", "self: grad / by"), ("self_t * by", "by * self_t")])
def test_an_edited_formula(builds: Builds, old: str, new: str) -> None:
    """The units that show derivatives of the function are made, once each, and no others."""
    with Edit(DERIVATIVES, old, new).made(builds.project):
        made = builds.made()
        assert made == builds.units(lambda shown: "soft" in shown.formulas)
    assert "autograd variable_type_source 1" in made
    assert builds.made() == made


@pytest.mark.parametrize(
    ("path", "emitter"),
    [
        ("ATen/templates/Operators.cpp", "sources operators_source 1"),
        ("ATen/templates/Function.h", "headers function_headers 1"),
        ("autograd/templates/VariableType.cpp", "autograd variable_type_source 1"),
        ("autograd/templates/python_nn_functions.cpp", "python python_nn_functions_source 1"),
    ],
)
def test_an_edited_template(builds: Builds, path: str, emitter: str) -> None:
    """Only fragments of the emitter whose files have the template are made, once each."""
    with Edit(path, "", "// edited\n").made(builds.project):
        assert builds.made() == {emitter: builds.units()[emitter]}
    builds.made()


def _shows(function: str, shown: Shown) -> bool:
    return function in shown.functions


@pytest.mark.thorough
def test_every_emitter_reuses_fragments(builds: Builds) -> None:
    """With each entry edited in turn, every emitter makes fragments at some time, and each time only those it must."""
    entries = [function for function in builds.run.job.catalog.functions if not function.is_synthesized]
    everything = builds.units()
    emitters_at_work: set[str] = set()
    for entry in entries:
        name = entry.name.text
        with Edit(ENTRIES, f"- func: {name}(", f"- category_override: other\n  func: {name}(").made(builds.project):
            made = builds.made()
            assert made == builds.units(partial(_shows, name)), name
        emitters_at_work.update(made)
        builds.made()
    assert emitters_at_work == set(everything)
