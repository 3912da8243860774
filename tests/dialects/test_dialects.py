"""The table of dialects: what a row says holds, and a new row needs no edit elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from opwright.dialects import table
from opwright.dialects.dialect import Dialect, LoadContext
from opwright.dialects.table import DIALECTS, dialect_of, yaml_names
from opwright.emit.registry import FAMILIES, build_folders, dialects_of
from opwright.release.inputs import from_source_path, open_inputs
from opwright.release.rules import Rules
from opwright.release.version import NEWEST
from opwright.run.generation import Generation, import_modules
from opwright.run.request import Request
from opwright.source.diagnostic import Diagnostics, FaultsFound
from opwright.source.text import SourceFile
from tests.dialects.loading import found_faults
from tests.release.fake_torch import write_source_tree

RENAMES = Dialect(
    "renames",
    inputs=("native/renames.yaml",),
    fields=("renamed_operators",),
    loads_into=dict[str, str],
    package="tests.dialects.renames",
    is_always_loaded=True,
)


@pytest.fixture
def renames(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The table with one more row, and nothing left of it afterwards."""
    for name in [name for name in sys.modules if name.startswith("tests.dialects.renames")]:
        monkeypatch.delitem(sys.modules, name)
    DIALECTS.append(RENAMES)
    yield
    DIALECTS.remove(RENAMES)


def generation(tmp_path: Path, renamed: str | None) -> Generation:
    """A run over a little PyTorch, with or without a `renames.yaml`."""
    tree = write_source_tree(tmp_path / "tree")
    aten = tree / "aten" / "src" / "ATen"
    if renamed is not None:
        (aten / "native" / "renames.yaml").write_text(renamed, encoding="utf-8")
    inputs = from_source_path(str(aten))
    return Generation(Request(inputs, build_folders(str(tmp_path / "out")), ("declarations_yaml",)))


@pytest.mark.usefixtures("renames")
def test_a_row_is_a_dialect(tmp_path: Path) -> None:
    """A new row is recognised by name and by content, and loaded by every run whose inputs have it."""
    assert dialect_of(SourceFile("some/renames.yaml", "")) is RENAMES
    assert dialect_of(SourceFile("mine.yaml", "# Mine.\nrenamed_operators: {}\n")) is RENAMES
    assert yaml_names() == ("native/tags.yaml", "native/native_functions.yaml", "native/renames.yaml")
    assert generation(tmp_path / "with", "double: twice\n").job.more_inputs == {"renames": {"double": "twice"}}
    assert generation(tmp_path / "without", None).job.more_inputs == {"renames": None}


@pytest.mark.usefixtures("renames")
def test_a_family_can_ask_for_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dialect that is not part of every run is imported and loaded for the families that name it."""
    monkeypatch.setattr(RENAMES, "is_always_loaded", False)
    assert generation(tmp_path / "without", "double: twice\n").job.more_inputs == {}
    monkeypatch.setattr(FAMILIES["declarations_yaml"], "dialects", ("renames",))
    import_modules(["declarations_yaml"])
    assert "tests.dialects.renames.loader" in sys.modules
    assert "native/renames.yaml" in yaml_names(dialects_of(["declarations_yaml"]))
    assert generation(tmp_path / "with", "double: twice\n").job.more_inputs == {"renames": {"double": "twice"}}


@pytest.mark.usefixtures("renames")
def test_faults_of_a_row_have_their_place(tmp_path: Path) -> None:
    """A fault in a file of a new dialect stops the run, at its line and column, as any other fault does."""
    with pytest.raises(FaultsFound) as caught:
        generation(tmp_path, "double: twice\nhalf: halve\n")
    (fault,) = caught.value.diagnostics
    assert fault.code == "E9950"
    sink = Diagnostics()
    sink.add(fault)
    assert found_faults(sink) == ((2, 7, 5, "E9950"),)


def test_rows_say_what_they_load() -> None:
    """Every dialect of the table loads its files of an installed PyTorch into the type that its row names."""
    context = LoadContext(Diagnostics(), Rules(NEWEST), open_inputs())
    catalog = table.NATIVE_FUNCTIONS.load_inputs(context)
    assert catalog is not None
    context = context._replace(catalog=catalog, functions=catalog.functions)
    for dialect in DIALECTS:
        files = dialect.files(context.inputs) or [SourceFile("selection.yaml", "{}")]
        loaded = dialect.load(files, context)
        expected = getattr(dialect.model, "__origin__", dialect.model)
        assert isinstance(loaded, expected), dialect


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_rows_have_a_package(dialect: Dialect[object]) -> None:
    """The package of every row has a loader, or is the loader."""
    assert callable(dialect.module("loader").load)


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("aten/src/ATen/native/native_functions.yaml", "", "native_functions"),
        (r"C:\pytorch\tools\autograd\derivatives.yaml", "", "derivatives"),
        ("torchgen/aoti/fallback_ops.py", "", "shim_tables"),
        ("my_ops.yaml", "# Ours.\n\n- func: mine::twice(Tensor self) -> Tensor\n", "native_functions"),
        ("kept.yaml", "include_all_operators: true\n", "selection"),
        ("notes.yaml", "- note: nothing\n", None),
        ("empty.yaml", "", None),
    ],
)
def test_files_are_recognised(path: str, text: str, expected: str | None) -> None:
    """A file's dialect follows from its name, else from the field that it starts with."""
    dialect = dialect_of(SourceFile(path, text))
    assert (dialect and dialect.name) == expected
