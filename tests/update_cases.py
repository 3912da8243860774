"""Updates what case files expect to what Opwright does now: `make cases`, or `python -m tests.update_cases [PART ...]`.

Look at the difference before you commit it: the tests expect it from then on. Parts are the names of the table below.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from opwright.source.diagnostic import Diagnostics
from tests.backend import mark_cases as backend_marks
from tests.dialects import (
    messages,
    python_formulas,
    test_backend_dialect,
    test_declared_outputs,
    test_deprecated,
    test_library,
)
from tests.dialects import test_derivative_cases as derivatives
from tests.dialects import test_library_derivatives as library_derivatives
from tests.dialects.cases import marked_faults, with_marks, without_marks
from tests.dialects.loading import found_faults, load_text
from tests.lazy import mark_cases as lazy_marks
from tests.libraries.porting import cases as porting
from tests.plugins import mark_cases as plugin_marks
from tests.selective import test_reports as selections
from tests.tools.check.cases import FOLDER as CHECK_FOLDER
from tests.tools.check.cases import load_cases as load_check_cases
from tests.tools.check.cases import outcome
from tests.tools.coverage import test_texts as coverage_texts
from tests.tools.coverage.test_checks import warnings_of
from tests.tools.diff import test_reports
from tests.tools.explain import test_passes, test_texts

TESTS = Path(__file__).parent
DIALECTS = TESTS / "dialects"
SEPARATOR = "\n---\n"

Load = Callable[[str], Diagnostics]


def update_documents(path: Path, load: Load) -> None:
    """Mark the faults in each document of a file. Documents whose marks are right stay as they are."""
    documents = path.read_text(encoding="utf-8").rstrip("\n").split(SEPARATOR)
    marked = []
    for document in documents:
        if found_faults(load(f"{document}\n")) != marked_faults(document):
            plain = without_marks(document)
            document = with_marks(plain, found_faults(load(f"{plain}\n")))
        marked.append(document)
    path.write_text(SEPARATOR.join(marked) + "\n", encoding="utf-8")


def update_check_cases() -> None:
    """Write the reports and the fixed files of the cases of `opwright check`."""
    for case in load_check_cases():
        with tempfile.TemporaryDirectory() as folder:
            (CHECK_FOLDER / f"{case.name}.case").write_bytes(outcome(case, Path(folder)).text().encode())


def update_native_functions() -> None:
    """Mark the cases of `native_functions.yaml`."""
    for path in sorted((DIALECTS / "cases").glob("*.yaml")):
        if path.name != "tags_file.yaml":
            update_documents(path, lambda text: load_text(text)[1])


def update_derivatives() -> None:
    """Mark the cases of `derivatives.yaml`."""
    catalog = derivatives.load_operators()
    for path in sorted(derivatives.FOLDER.glob("*.yaml")):
        if path != derivatives.NATIVE:
            update_documents(path, lambda text: derivatives.loaded(text, catalog))


def update_libraries() -> None:
    """Mark the cases of library files."""
    folder = DIALECTS / "library_cases"
    for name in ("fields.yaml", "heads.yaml", "implementations.yaml", "requirements.yaml"):
        update_documents(folder / name, lambda text: test_library.loaded(text)[1])
    update_documents(folder / "outputs.yaml", lambda text: test_declared_outputs.loaded(text)[1])
    update_documents(folder / "derivatives.yaml", lambda text: library_derivatives.loaded(text)[1])


def update_backends() -> None:
    """Mark the cases of backend files in Opwright's dialect."""
    for path in sorted((DIALECTS / "backend_cases").glob("*.yaml")):
        update_documents(path, lambda text: test_backend_dialect.loaded(text)[1])


def run_program(program: Callable[[], int]) -> None:
    """Run a program that marks cases, on all of them."""
    sys.argv[1:] = []
    program()


def update_porting() -> None:
    """Write what becomes of the sources of the cases of `opwright port`."""
    for case in porting.load_cases():
        with tempfile.TemporaryDirectory() as folder:
            text = porting.outcome(case, Path(folder)).text()
        (porting.FOLDER / f"{case.name}.case").write_text(text, encoding="utf-8")


PARTS: dict[str, Callable[[], None]] = {
    "check": update_check_cases,
    "native_functions": update_native_functions,
    "tags": partial(update_documents, DIALECTS / "cases" / "tags_file.yaml", lambda text: load_text("[]", text)[1]),
    "derivatives": update_derivatives,
    "deprecated": partial(
        update_documents, DIALECTS / "deprecated_cases.yaml", lambda text: test_deprecated.loaded(text)[1]
    ),
    "library": update_libraries,
    "backend": update_backends,
    "messages": messages.update,
    "python_formulas": python_formulas.update,
    "coverage": partial(update_documents, TESTS / "tools" / "coverage" / "cases.yaml", warnings_of),
    "gen_backend_stubs": partial(run_program, backend_marks.main),
    "gen_lazy_tensor": partial(run_program, lazy_marks.main),
    "plugins": partial(run_program, plugin_marks.main),
    "coverage_texts": coverage_texts.update,
    "diff": test_reports.update,
    "explain": test_texts.update,
    "passes": test_passes.update,
    "porting": update_porting,
    "select": selections.update,
}


def main() -> int:
    """Run the program."""
    parser = argparse.ArgumentParser(prog="python -m tests.update_cases", description=__doc__)
    parser.add_argument("parts", metavar="PART", nargs="*", help=f"parts to update (default: all): {', '.join(PARTS)}")
    parts = parser.parse_args().parts or PARTS
    for part in parts:
        PARTS[part]()
    return 0


if __name__ == "__main__":
    sys.exit(main())
