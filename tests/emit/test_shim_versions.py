"""C shims keep their parameters: an operator that gets an argument needs a further version of its shim."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from opwright.cli.main import main
from opwright.dialects.native_functions.loader import load_catalog
from opwright.emit.aten.c_shim import check_versions, headers
from opwright.emit.emitter import Job, Options
from opwright.release.rules import Rules
from opwright.release.tables import ShimOperator, ShimTables, ShimVersion
from opwright.release.version import parse_version
from opwright.source.diagnostic import Diagnostics
from opwright.source.render import render_short
from opwright.source.text import SourceFile

ENTRY = "- func: fill(Tensor self{}) -> Tensor\n  dispatch:\n    CPU: fill\n"


def job_of(arguments: str, *versions: ShimVersion, release: str = "2.14.1", update: bool = False) -> Job:
    """The job of one operator with a shim."""
    entries = SourceFile("ops.yaml", ENTRY.format(arguments))
    catalog = load_catalog(entries, SourceFile("tags.yaml", "- {tag: core, desc: d}"), Diagnostics())
    tables = ShimTables({"aten.fill.default": ShimOperator(None, versions)}, {}, {})
    return Job(catalog, Rules(parse_version(release)), Options(update_c_shim=update), shim_tables=tables)


def faults(old: Job, new: Job) -> list[tuple[str, str, str]]:
    """The diagnostics of a job after the headers of another one: code and place, message, help."""
    kept = dict(headers(old))
    sink = Diagnostics()
    check_versions(new, kept.get, sink)
    places = [line.partition(": ")[0] for line in render_short(sink).splitlines()]
    return [
        (f"{fault.code} {place}", fault.message, str(fault.help))
        for place, fault in zip(places, sink.sorted(), strict=True)
    ]


V2 = ShimVersion("v2", ("n",), None)

CASES = {
    "nothing": ("", (), "", (), None, None),
    "a default": (
        "",
        (),
        ", int n=1",
        (),
        "`fill` has the new argument `n`, and its C shim no version for it",
        'add `"v2": {"new_args": ["n"], "since": "TORCH_VERSION_2_14_0"}` to `aten.fill.default` in `fallback_ops.py`',
    ),
    "with its version": ("", (), ", int n=1", (V2,), None, None),
    "another one": (
        ", int n=1",
        (V2,),
        ", int n=1, bool a=True, bool b=False",
        (V2,),
        "`fill` has the new arguments `a`, `b`, and its C shim no version for it",
        'add `"v3": {"new_args": ["a", "b"], "since": "TORCH_VERSION_2_14_0"}` to `aten.fill.default` in '
        "`fallback_ops.py`",
    ),
    "no default": (
        "",
        (),
        ", int n",
        (),
        "`fill` has the new argument `n`, and its C shim no version for it",
        "give it a default: the older versions of the shim have to leave it out",
    ),
    "another type": (
        ", int n",
        (),
        ", float n",
        (),
        "the C shim of `fill` changes the types of its parameters",
        "restore the schema, or add an overload: compiled code calls the shim as it is",
    ),
    "another name": (", int n", (), ", int m", (), None, None),
}


@pytest.mark.parametrize("case", CASES)
def test_changes_of_shims_need_versions(case: str) -> None:
    """A shim whose parameters change is an error at the schema, which says what to write."""
    old_arguments, old_versions, new_arguments, new_versions, message, help = CASES[case]
    reported = faults(job_of(old_arguments, *old_versions), job_of(new_arguments, *new_versions))
    assert reported == ([] if message is None else [("E0806 ops.yaml:1:9", message, help)])


def test_older_releases_list_names_alone() -> None:
    """Before 2.13, a version is the list of its new arguments."""
    ((_, _, help),) = faults(job_of("", release="2.12.1"), job_of(", int n=1", release="2.12.1"))
    assert help == 'add `"v2": ["n"]` to `aten.fill.default` in `fallback_ops.py`'


def test_updates_of_headers_warn() -> None:
    """A run that updates the headers may change a shim, and says so."""
    ((code, _, _),) = faults(job_of(""), job_of(", int n=1", update=True))
    assert code.startswith("W0806")


LIBRARY = """\
namespace: {name}
c_shims: [cpu]
operators:
- func: {function}
  dispatch:
    CompositeExplicitAutograd: kernel
"""


def generate(folder: Path, *functions: str) -> int:
    """Generate for a library file for each function; gives the exit status."""
    words: list[str] = []
    for number, function in enumerate(functions):
        path = folder / f"lib{number}.yaml"
        path.write_text(LIBRARY.format(name=f"lib{number}", function=function), encoding="utf-8")
        words += ["--library", str(path)]
    return main(["generate", *words, "--out", str(folder / "out")])


def test_two_libraries_cannot_export_one_symbol(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Shims of the same name are an error at both operators."""
    function = "scale(Tensor self, float by) -> Tensor"
    assert generate(tmp_path, function, function) == 1
    errors = capsys.readouterr().err
    assert "error[E0807]: `lib0::scale` and `lib1::scale` both export `aoti_torch_cpu_scale`" in errors
    assert "lib1.yaml:4:9" in errors
    assert "lib0.yaml:4:9" in errors
    assert generate(tmp_path, function, function.replace("scale", "shift")) == 0


def test_types_that_keep_operators_from_shims_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A note says which argument keeps an operator of a library from having a shim."""
    assert generate(tmp_path, "scale(Tensor self, Stream at) -> Tensor") == 0
    assert "note[W0803]: no C shim for `scale`: argument `at` of type `Stream` has no form in C" in (
        capsys.readouterr().err
    )


@pytest.mark.thorough
def test_dumps_have_the_shims_of_a_release(tmp_path: Path) -> None:
    """A dump has each version of a shim with its parameters, and says why operators can have none."""
    path = tmp_path / "dump.json"
    assert main(["dump", "--torch", "2.13.0", "--out", str(path)]) == 0
    operators = {row["name"]: row for row in json.loads(path.read_text(encoding="utf-8"))["operators"]}
    shim = operators["_flash_attention_forward"]["c_shim"]
    assert [version["version"] for version in shim["versions"]] == ["v1", "v2"]
    assert shim["versions"][1]["since"] == "TORCH_VERSION_2_12_0"
    assert "block_table" in shim["versions"][1]["parameters"]
    assert "block_table" not in shim["versions"][0]["parameters"]
    assert operators["record_stream"]["c_shim"] == {
        "versions": [],
        "refusal": "argument `s` of type `Stream` has no form in C",
    }
    assert sum(bool(row.get("c_shim", {}).get("versions")) for row in operators.values()) > 150
