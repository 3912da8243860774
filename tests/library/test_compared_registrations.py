"""What a comparison of registrations says of generated code is what the dispatcher says of the compiled code."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from opwright.migrate.importing.comparison import Registered, load_sides
from opwright.migrate.importing.run import generated_side
from opwright.source.diagnostic import Diagnostics
from opwright.source.text import SourceFile
from tests.library.conftest import ACME


@pytest.mark.parametrize("library", ["acme", "graded"])
@pytest.mark.thorough
def test_stubs_answer_where_compiled_kernels_do(
    library: str, torch: ModuleType, request: pytest.FixtureRequest
) -> None:
    """Each key has a kernel of the library, a fallthrough, or what PyTorch does, as in the compiled library."""
    request.getfixturevalue(library)
    path = ACME / "acme.yaml" if library == "acme" else Path(__file__).parent / "graded" / "graded.yaml"
    side, _ = generated_side(SourceFile.read(str(path)), "auto", Diagnostics())
    _, (loaded,) = load_sides([side])
    compared = 0
    for (namespace, name), answers in loaded.tables.items():
        table = torch._C._dispatch_dump_table(f"{namespace}::{name}")
        if not table:
            # Those that only the Python package defines.
            continue
        lines = [line.partition(": ") for line in table.splitlines()]
        own = {key: text for key, _, text in lines if "[backend fallback]" not in text}
        said = {key for key, answer in answers.items() if isinstance(answer, Registered)}
        assert said == own.keys(), name
        assert {key for key in said if getattr(answers[key], "is_fallthrough", False)} == {
            key for key, text in own.items() if text.startswith("fallthrough")
        }
        compared += 1
    assert compared > 10
