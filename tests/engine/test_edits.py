"""Edits: a run that starts from what an earlier run left makes the files, and the messages, of a fresh run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine import project
from tests.engine.project import Edit, WholeProject, files_of

ENTRIES = "ATen/native/native_functions.yaml"
DERIVATIVES = "autograd/derivatives.yaml"
DEPRECATED = "autograd/deprecated.yaml"

MEAN_OF = "- func: mean_of(Tensor[] tensors, float eps=1e-6) -> Tensor\n"
TWICE = "- func: twice(Tensor self) -> Tensor\n"
BLANK = project.ENTRIES[project.ENTRIES.index("- func: blank(") :]
ROWS = "- func: rows(Tensor(a) self, int dim) -> Tensor(a)\n  variants: function"
ROWS_COPY = "CompositeExplicitAutogradNonFunctional: rows_copy\n  tags: "
SHIFTED = (
    "- name: shifted(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor\n  self: grad\n  other: grad * alpha\n"
)
ZETA = "\n- func: zeta(Tensor self, int[2] size) -> (Tensor first, Tensor second)\n"
BY_KEY = "  dispatch:\n    AutogradCUDA:\n      self: grad\n      other: grad * alpha\n"


EDITS = {
    "default": Edit(ENTRIES, "eps=1e-6", "eps=1e-5"),
    "comment": Edit(ENTRIES, "- func: rows(", "# of a matrix\n- func: rows("),
    "new kernel": Edit(ENTRIES, "    CPU: shifted_cpu", "    CPU: shifted_cpu\n    CUDA: shifted_cuda"),
    "new key": Edit(ENTRIES, "    CPU: shifted_cpu", "    CPU: shifted_cpu\n    MkldnnCPU: shifted_m"),
    "no kernel left": Edit(ENTRIES, "CPU, CUDA: twice_out", "CPU: twice_out"),
    "group": Edit(ENTRIES, "    CPU, CUDA: twice_out", "    CPU, CUDA: twice_out_kernel"),
    "function only": Edit(ENTRIES, f"{ROWS}, method", ROWS),
    "removed": Edit(ENTRIES, MEAN_OF, ""),
    "renamed": Edit(ENTRIES, "- func: mean_of(", "- func: average_of("),
    "added first": Edit(ENTRIES, TWICE, f"- func: a(Tensor self) -> Tensor\n\n{TWICE}"),
    "added last": Edit(ENTRIES, "", ZETA),
    "moved": Edit(ENTRIES, f"{MEAN_OF}\n{BLANK}", f"{BLANK}\n{MEAN_OF}"),
    "tag": Edit(ENTRIES, f"{ROWS_COPY}view_copy\n", f"{ROWS_COPY}[view_copy, pointwise]\n"),
    "autogen": Edit(ENTRIES, "  autogen: shifted.out\n", ""),
    "results": Edit(ENTRIES, "(Tensor first, Tensor second)", "(Tensor left, Tensor second)"),
    "another module": Edit(ENTRIES, "  python_module: nested", "  python_module: sparse"),
    "first of a module": Edit(ENTRIES, "  python_module: sparse", "  python_module: special"),
    "formula": Edit(DERIVATIVES, "self: grad * by", "self: grad * (by + 1)"),
    "forward formula": Edit(DERIVATIVES, "self_t * by", "by * self_t"),
    "one formula less": Edit(DERIVATIVES, "  other: grad * self\n", ""),
    "no derivatives": Edit(DERIVATIVES, SHIFTED, ""),
    "derivatives by key": Edit(DERIVATIVES, "  self: grad\n  other: grad * alpha\n", BY_KEY),
    "deprecated": Edit(DEPRECATED, "soft(Tensor self, float by, ", "soft(Tensor self, float by=2.0, *, "),
    "no longer deprecated": Edit(DEPRECATED, project.DEPRECATED, "[]\n"),
    "tags": Edit("ATen/native/tags.yaml", "", "- tag: zzz\n  desc: |\n    A new one.\n"),
    "template": Edit("ATen/templates/Operators.cpp", "", "// edited\n"),
    "template of many": Edit("ATen/templates/Function.h", "", "// edited\n"),
    "template of autograd": Edit("autograd/templates/VariableType.cpp", "", "// edited\n"),
    "template of a module": Edit("autograd/templates/python_nn_functions.cpp", "", "// edited\n"),
    "shims": Edit("../aoti/fallback_ops.py", '"aten.shifted.default": {}', '"aten.mean_of.default": {}'),
}


HALVES = "- name: halves(Tensor self, int dim) -> (Tensor first, Tensor second)\n"

#: Edits that functions of several files do not bear, with the code of the error. Which of these files a run makes
#: depends on what the run before left.
FAULTS = {
    "formula without tangents": ("E0997", Edit(DERIVATIVES, "self_t * by", "self_p * by")),
    "ignored formula": (
        "E0995",
        Edit(DERIVATIVES, "", f"\n{HALVES}  output_differentiability: [False, False]\n  self: first\n"),
    ),
    "another number of outputs": (
        "E0993",
        Edit(DERIVATIVES, "  result: self_t", "  output_differentiability: [False]\n  result: self_t"),
    ),
    "unknown type": ("E0202", Edit(ENTRIES, "eps=1e-6", "eps=1e-6, Tensr other")),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, reference_inputs: Path) -> WholeProject:
    """A project with inputs for all families, and what is generated from them."""
    project = WholeProject(tmp_path_factory.mktemp("edits"), reference_inputs)
    project.run()
    return project


@pytest.fixture(scope="module")
def unedited(made: WholeProject) -> dict[str, bytes]:
    """What is generated from the inputs without edits."""
    return files_of(made.out)


# `tests/edits` finds most of what this finds, in less time.
@pytest.mark.thorough
@pytest.mark.parametrize("edit", EDITS)
def test_edits_give_what_a_fresh_run_gives(
    made: WholeProject, unedited: dict[str, bytes], edit: str, tmp_path: Path
) -> None:
    """After an edit the outputs are those of a run into an empty folder, and after taking it back those before it."""
    with EDITS[edit].made(made):
        messages = made.run().stderr
        assert messages == made.run(out=tmp_path).stderr
        assert files_of(made.out) == files_of(tmp_path)
    made.run()
    assert files_of(made.out) == unedited


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_reported_as_by_a_fresh_run(
    made: WholeProject, unedited: dict[str, bytes], fault: str, tmp_path: Path
) -> None:
    """After an edit with a fault a run reports it as often, and in the words, as one into an empty folder."""
    code, edit = FAULTS[fault]
    with edit.made(made):
        messages = faults_of(made, made.out)
        assert messages == faults_of(made, tmp_path)
    assert messages.count(f"error[{code}]") == 1
    assert files_of(made.out) == unedited


def faults_of(project: WholeProject, out: Path) -> str:
    """What a run says that fails."""
    process = project.start(out=out)
    _, messages = process.communicate()
    assert process.returncode == 1, messages
    return messages
