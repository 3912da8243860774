"""Cases of `gen_lazy_tensor`, in the form of those of `gen_backend_stubs`.

The header of shape functions is `cases/shapes.h`, unless one of the name of the case is beside it.
"""

from __future__ import annotations

from pathlib import Path

from tests.backend.stub_cases import StubCase, load_case

FOLDER = Path(__file__).parent / "cases"
PROGRAM = "gen_lazy_tensor"

_SHAPES = (FOLDER / "shapes.h").read_text(encoding="utf-8")


def load_cases(prefixes: tuple[str, ...] = ("",)) -> list[StubCase]:
    """The cases whose names begin with one of some texts, by name."""
    cases = [load_case(path, FOLDER, PROGRAM, _SHAPES) for path in sorted(FOLDER.rglob("*.yaml"))]
    return [case for case in cases if case.name.startswith(prefixes)]
