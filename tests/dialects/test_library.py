"""Library files: every mistake has a case, and what the fields say is in the model."""

from __future__ import annotations

from pathlib import Path

import pytest

from opwright.dialects.dialect import LoadContext
from opwright.dialects.library.loader import load
from opwright.model.library import Autocast
from opwright.model.native_function import NativeFunction
from opwright.model.operator_library import OperatorLibrary
from opwright.release.inputs import open_inputs
from opwright.release.rules import Rules
from opwright.release.version import parse_version
from opwright.source.diagnostic import Diagnostics
from opwright.source.text import SourceFile
from tests.dialects.cases import Case, load_cases
from tests.dialects.loading import found_faults

FOLDER = Path(__file__).with_name("library_cases")
CASES = [case for name in ("fields.yaml",) for case in load_cases(name, FOLDER)]


def loaded(*texts: str) -> tuple[tuple[OperatorLibrary, ...], Diagnostics]:
    """The libraries of some files, and their faults."""
    sink = Diagnostics()
    context = LoadContext(sink, Rules(parse_version("2.13.0")), open_inputs("auto"))
    files = [SourceFile(f"ops{index}.yaml", text) for index, text in enumerate(texts)]
    return load(files, context), sink


def function_of(text: str, name: str) -> NativeFunction:
    """An operator of a file without faults."""
    libraries, sink = loaded(text)
    assert not len(sink), [str(diagnostic) for diagnostic in sink]
    return next(function for function in libraries[0].catalog.functions if function.name.text == name)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_faults_stand_at_their_places(case: Case) -> None:
    """What is found in a document is what its comments mark, to the column."""
    _, sink = loaded(case.text)
    assert found_faults(sink) == case.faults, [str(diagnostic) for diagnostic in sink.sorted()]


def test_fields_are_in_the_model() -> None:
    """Each operator has the values of its entry's fields."""
    scale = function_of(CASES[0].text, "scale").library_fields
    assert scale.doc == "Scales a tensor."
    assert scale.autocast == Autocast("lower_precision_fp")
    assert scale.batch_rule == "acme::native::scale_batch_rule"
    assert scale.samples[0] == "torch.randn(3, 4), 2.0"
    norm = function_of(CASES[0].text, "norm").library_fields
    assert norm.autocast == Autocast("", (("CPU", "fp32_set_opt_dtype"), ("CUDA", "promote")))
    assert norm.batch_rule == "rules::norm"


def test_the_overloads_of_an_operation_share_declared_outputs() -> None:
    """Outputs that the functional overload declares are those of the out overload, and the other way round."""
    assert len(function_of(CASES[0].text, "norm.out").declared_outputs) == 1
    lines = CASES[0].text.replace("  outputs: []\n", "").splitlines()
    lines.insert(lines.index("  samples: torch.ones(1), dtype=torch.float64"), "  outputs: []")
    assert len(function_of("\n".join(lines), "norm").declared_outputs) == 1
