"""The comparison itself is right: it finds every kind of difference, and sees none where there is none."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conformance import jobs, mutate, oracle, runner
from tests.conformance.compare import compare, difference
from tests.conformance.families import family
from tests.conformance.inputs import (
    MUTATIONS,
    SHIM_TABLES,
    files_digest,
    input_folder,
    pytorch_files,
    reference_modules,
    write_folder,
)
from tests.conformance.jobs import Job, chosen_jobs, commands, filled, full_jobs, usual_jobs
from tests.conformance.process import run_program
from tests.conformance.report import print_result, print_summary

EXPECTED = {
    "aten/ops/add_ops.h": b"one\ntwo\nthree\n",
    "aten/RegisterCPU_0.cpp": b"kernel\n",
    "Declarations.yaml": b"- name: add\n",
}
WRITE_TWO = "import sys; open('a.h', 'w').write(sys.argv[1]); open('b.h', 'w').write('b')"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with exactly the expected files."""
    write_folder(tmp_path / "ours", EXPECTED)
    return tmp_path / "ours"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of reference outputs."""
    monkeypatch.setattr(oracle, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(oracle, "OUTPUT", tmp_path / "output")
    return tmp_path / "cache"


def fake_job(reference: str, ours: str, code: str = WRITE_TWO) -> Job:
    """A job whose two sides write one given text and one that is always the same."""
    return Job("fake", reference=(("-c", WRITE_TWO, reference),), opwright=(("-c", code, ours),))


def test_equal_folders_are_clean(folder: Path) -> None:
    """Nothing is reported where every byte is equal."""
    outcome = compare(EXPECTED, folder)
    assert outcome.is_clean
    assert outcome.total().identical == outcome.total().files == len(EXPECTED)


@pytest.mark.parametrize(
    ("corrupt", "kind"),
    [
        (lambda root: (root / "Declarations.yaml").write_bytes(b"- name: sub\n"), "different"),
        (lambda root: (root / "Declarations.yaml").write_bytes(b"- name: add"), "different"),
        (lambda root: (root / "Declarations.yaml").write_bytes(b"- name: add\r\n"), "different"),
        (lambda root: (root / "Declarations.yaml").unlink(), "missing"),
        (lambda root: (root / "New.h").write_bytes(b""), "extra"),
    ],
    ids=["byte", "last newline", "line end", "file gone", "empty file more"],
)
def test_each_corruption_is_flagged(folder: Path, corrupt: Callable[[Path], object], kind: str) -> None:
    """A single byte, a newline, a missing or an extra file each make the comparison fail, under their own heading."""
    corrupt(folder)
    outcome = compare(EXPECTED, folder)
    assert not outcome.is_clean
    assert getattr(outcome.total(), kind) == 1
    assert len(getattr(outcome, kind)) == 1


def test_difference_shows_the_place() -> None:
    """The diff names the file, the line, both texts, and nothing far from the place."""
    lines = [f"line {number}\n" for number in range(1000)]
    changed = [*lines[:500], "other\n", *lines[501:]]
    text = difference("a/b.h", "".join(lines).encode(), "".join(changed).encode())
    assert text.startswith("a/b.h:501:")
    assert "-line 500\n+other" in text
    assert "line 490" not in text


@pytest.mark.parametrize(("ours", "clean"), [("same", True), ("else", False)])
def test_job_is_run_and_compared(cache: Path, tmp_path: Path, ours: str, clean: bool) -> None:
    """Both sides of a job run; a difference fails it, is printed, and leaves both texts on disk."""
    result = runner.run_job(fake_job("same", ours), output=tmp_path)
    assert result.is_clean == clean
    assert ("-same\n+else" in print_result(result)) == (not clean)
    assert (tmp_path / "fake" / "expected" / "a.h").exists() == (not clean)
    assert ("1 jobs failed or differ" in print_summary([result])) == (not clean)


def test_failing_program_fails_the_job(cache: Path, tmp_path: Path) -> None:
    """A side of ours that ends with an error is shown with what it said, and counts as a failure."""
    result = runner.run_job(fake_job("same", "", code="raise SystemExit('no such flag')"), output=tmp_path)
    assert not result.is_clean
    assert "no such flag" in print_result(result)


def test_failing_reference_is_an_error(cache: Path, tmp_path: Path) -> None:
    """A job that the reference refuses is a fault of the suite, and nothing is remembered of it."""
    job = Job("fake", reference=(("-c", "raise SystemExit('refused')"),), opwright=())
    with pytest.raises(oracle.ReferenceFailed, match="refused"):
        runner.run_job(job, output=tmp_path)
    assert not list((cache / "oracle").iterdir())


def test_reference_runs_once(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second comparison reads the remembered files; a job with other arguments does not."""
    job = fake_job("same", "same")
    runner.run_job(job, output=tmp_path)
    monkeypatch.setattr(oracle, "run_reference", lambda *_: pytest.fail("the reference ran again"))
    assert runner.run_job(job, output=tmp_path).is_clean
    with pytest.raises(pytest.fail.Exception, match="ran again"):
        runner.run_job(fake_job("other", "other"), output=tmp_path)


def test_checkouts_share_the_files_of_the_reference(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the reference wrote in one checkout is right in another one, also where it has paths of inputs."""
    code = "import os, sys; open('a.h', 'w').write(f'{sys.argv[1]} {os.path.relpath(sys.argv[1])}')"
    step = ("-c", code, "{root}/lazy/wide.h")
    job = Job("fake", reference=(step,), opwright=(step,))
    name = input_folder(job.inputs).name
    for checkout in ("first", "second"):
        inputs = tmp_path / checkout / ".cache" / name
        inputs.mkdir(parents=True)
        for module in (jobs, oracle):
            monkeypatch.setattr(module, "input_folder", lambda _, folder=inputs: folder)
        monkeypatch.setattr(oracle, "OUTPUT", tmp_path / checkout / "build")
        assert runner.run_job(job, output=oracle.OUTPUT).is_clean
        monkeypatch.setattr(oracle, "run_reference", lambda *_: pytest.fail("the reference ran again"))


def test_places_are_filled_in() -> None:
    """A place at the start of an argument is written out, and any other text stays as it is."""
    places = {"{aten}": "/inputs/ATen"}
    assert filled("{aten}/templates", places) == "/inputs/ATen/templates"
    assert filled("--generate", places) == "--generate"
    assert filled("f'{x}'", places) == "f'{x}'"


def test_jobs_have_names_of_their_own() -> None:
    """No two jobs share a name, and a prefix chooses jobs."""
    names = [job.name for job in full_jobs()]
    assert len(names) == len(set(names))
    assert {job.name for job in chosen_jobs(usual_jobs, "headers-r annotated")} == {"headers-rocm", "annotated"}
    parts = [chosen_jobs(full_jobs, "", f"{number}/3") for number in (1, 2, 3)]
    names = sorted([job.name for part in parts for job in part])
    assert names == sorted([job.name for job in full_jobs()])
    assert all(parts)


def test_flags_of_the_reference_are_covered(tmp_path: Path) -> None:
    """Every flag that the reference's help names is used by some job."""
    words = {word for job in full_jobs() for step in job.reference for word in step}
    used = {word.replace("_", "-") for word in words if word.startswith("--")}
    command = commands(usual_jobs()[0], "reference")[0]
    usage = run_program([*command[: command.index("--source-path")], "--help"], tmp_path).output
    short_or_long = set(re.findall(r"\[(--?[\w-]+)", usage))
    assert len(short_or_long) > 15
    assert short_or_long - {"-h", "-s", "-o", "-d"} <= used


def test_families_of_the_default_run() -> None:
    """Paths of each kind of output fall into their own family."""
    assert family("aten/src/ATen/ops/add_cpu_dispatch.h") == "ops/*_dispatch.h"
    assert family("aten/src/ATen/ops/add.h") == "ops/*.h"
    assert family("aten/src/ATen/RegisterFunctionalization_1.cpp") == "functionalization"
    assert family("aten/src/ATen/RegisterSchema.cpp") == "RegisterSchema, RegisterBackendSelect"
    assert family("aten/src/ATen/CompositeExplicitAutogradFunctions_inl.h") == "{Key}Functions.h"
    assert family("aten/src/ATen/Functions.h") == "aggregated headers"
    assert family("aoti/c_shim_cpu.cpp") == "C shims"
    assert family("out/VariableType_3.cpp") == "VariableType"


def test_mutated_inputs_change_what_they_say() -> None:
    """Each mutation gives other texts than PyTorch's, the same in every run."""
    texts = {path: text.decode() for path, text in pytorch_files().items()}
    texts[SHIM_TABLES] = reference_modules()[SHIM_TABLES].decode()
    for name, mutation in MUTATIONS.items():
        changed = mutation(texts)
        assert changed == mutation(texts)
        assert all(text != texts[path] for path, text in changed.items())
        assert bool(changed) == (name != "pytorch")


def test_a_third_keeps_groups_together() -> None:
    """The variants of an operator are kept or dropped together, and so is what delegates to it."""
    entries = [
        "- func: add.Tensor(Tensor self) -> Tensor\n  structured_delegate: plus.out\n",
        "- func: add_.Tensor(Tensor(a!) self) -> Tensor(a!)\n",
        "- func: plus.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n",
        "- func: view_copy(Tensor self) -> Tensor\n",
        "- func: view(Tensor(a) self) -> Tensor(a)\n",
        "- func: sub(Tensor self) -> Tensor\n",
    ]
    leaders = mutate.related_names(entries)
    assert leaders["add"] == leaders["plus"]
    assert leaders["view"] == leaders["view_copy"]
    assert len({leaders["add"], leaders["view"], leaders["sub"]}) == 3


def test_digest_tells_files_apart() -> None:
    """Moving a byte from one file's text to its name or to another file changes the digest."""
    digests = {files_digest(files) for files in ({"a": b"bc"}, {"ab": b"c"}, {"a": b"b", "c": b""}, {"a": b"bcd"})}
    assert len(digests) == 4
