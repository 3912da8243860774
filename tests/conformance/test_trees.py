"""Trees between releases: Opwright writes what the generator in the tree writes, whatever version the tree has."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from opwright.release.inputs import from_source_path
from opwright.release.rules import Rules
from opwright.release.tree import rules_of
from opwright.release.version import parse_version
from opwright.source.diagnostic import Diagnostics
from opwright.source.text import SourceFile
from opwright.workspace.overlay import with_texts
from tests.conformance.inputs import BUILD_PROGRAM, input_folder
from tests.conformance.jobs import FOLDERS, INPUTS, PER_OPERATOR, Job, generate_code
from tests.conformance.release_inputs import RELEASES
from tests.conformance.report import print_result
from tests.conformance.runner import run_job
from tests.conformance.tree_inputs import BEHIND, CHANGES, NEXT, every_mix, mix_name, mixed_files
from tests.release.rule_values import rule_values

pytestmark = pytest.mark.network

#: Trees that together have each combination of the changes that the same files of autograd show, and both values of
#: the others in turns; the first four have each combination of those that ATen's files show.
MIXES = [mix_name(tuple(bit == "1" for bit in bits)) for bits in (
    "000000", "001101", "010010", "011111", "100100", "101001", "110111", "111010",
)]  # fmt: skip


#: Parts of these generators are those of no release: half of a change of a function, or a type that no release has.
TOLERANT = ("--tolerate-generator-edits",)


def tolerant(job: Job) -> Job:
    """The job with that flag."""
    return replace(job, opwright=tuple((*command, *TOLERANT) for command in job.opwright))


def gen_job(name: str) -> Job:
    """The job of the main program, as PyTorch's build runs it in the tree."""
    main = ("--source-path", "{aten}", *FOLDERS, *PER_OPERATOR)
    ours = ("-m", "opwright.torchgen.gen", *main, *TOLERANT)
    return Job(f"{name}-gen", (("{root}/torchgen/gen.py", *main),), (ours,), name)


def autograd_job(name: str) -> Job:
    """The job of the files of autograd, as PyTorch's build runs it in the tree."""
    program = ("{root}/" + BUILD_PROGRAM, *INPUTS, "libtorch")
    return tolerant(generate_code(f"{name}-libtorch", "libtorch", program, inputs=name))


def python_job(name: str) -> Job:
    """The job of the files of Python, as PyTorch's build runs it in the tree."""
    program = ("{root}/" + BUILD_PROGRAM, *INPUTS, "pybindings")
    return tolerant(generate_code(f"{name}-pybindings", "pybindings", program, inputs=name))


JOBS = [
    *[gen_job(name) for name in (BEHIND, NEXT, *MIXES[:4])],
    *[autograd_job(name) for name in (BEHIND, NEXT, *MIXES)],
    python_job(NEXT),
]


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.name)
def test_a_tree_gets_the_files_of_its_generator(job: Job) -> None:
    """Every file is that of the generator in the tree, run as a script."""
    result = run_job(job)
    assert result.is_clean, print_result(result)


@pytest.mark.parametrize("release", RELEASES)
def test_every_row_is_seen_in_the_tree_of_each_release(release: str, tmp_path: Path) -> None:
    """A tree of a release, whose version says no more than `2.15.0a0`, gets each row's value in that release."""
    version = parse_version(release)
    package = input_folder(release)
    (tmp_path / "torchgen").symlink_to(package / "torchgen")
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools/autograd").symlink_to(package / "torchgen/packaged/autograd")
    (tmp_path / "aten/src").mkdir(parents=True)
    (tmp_path / "aten/src/ATen").symlink_to(package / "torchgen/packaged/ATen")
    (tmp_path / "version.txt").write_text(f"{version.series}.0a0\n")
    sink = Diagnostics()
    rules, table = rules_of(from_source_path(tmp_path), sink=sink), Rules(version)
    assert rules.tree is not None
    # Before 2.8, only rows of PyTorch's own files read this mark, and these files are not written.
    unread = set() if table.pytorch_files else {"structured_classes_exported_for_xpu"}
    assert {name for name, value in rule_values(rules) if value != table.value(name)} <= unread
    assert rules.complex_gradients == table.complex_gradients or not table.pytorch_files
    assert not list(sink)


def test_each_change_is_seen_in_every_tree() -> None:
    """The rules of all trees with some of the changes are those of the changes that they have."""
    whole = every_mix()[-1]
    inputs = from_source_path(input_folder(mix_name(whole)))
    complete = mixed_files(whole)
    for mix in every_mix():
        files = mixed_files(mix)
        texts = {
            path.replace("tools/autograd/", "autograd/"): SourceFile(path, content.decode())
            for path, content in files.items()
            if content != complete[path]
        }
        hidden = frozenset(path.removeprefix("aten/src/ATen/") for path in complete.keys() - files.keys())
        rules = rules_of(with_texts(inputs, texts, hidden=hidden))
        values = {**dict(rule_values(rules)), "complex_gradients": "nan_to_num" in rules.complex_gradients}
        assert tuple(bool(values[change.behaviour]) for change in CHANGES) == mix
