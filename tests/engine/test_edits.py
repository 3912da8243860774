"""Edits: files made from what an earlier run left are those that a fresh run makes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from opwright.build.previous_build import PreviousBuild
from opwright.emit.registry import build_folders
from opwright.release.inputs import from_source_path
from opwright.run.generation import Generation
from opwright.run.request import Request
from tests.engine.project import Project, files_of

EDITS: dict[str, Callable[[Project], object]] = {
    "default": lambda project: project.edit("eps=1e-6", "eps=1e-5"),
    "comment": lambda project: project.edit("- func: rows(", "# of a matrix\n- func: rows("),
    "new kernel": lambda project: project.edit("    CPU: shifted_cpu", "    CPU: shifted_cpu\n    CUDA: shifted_cuda"),
    "new key": lambda project: project.edit("    CPU: shifted_cpu", "    CPU: shifted_cpu\n    MkldnnCPU: shifted_m"),
    "no kernel left": lambda project: project.edit("CPU, CUDA: twice_out", "CPU: twice_out"),
    "group": lambda project: project.edit("    CPU, CUDA: twice_out", "    CPU, CUDA: twice_out_kernel"),
    "function only": lambda project: project.edit(
        "- func: rows(Tensor(a) self, int dim) -> Tensor(a)\n  variants: function, method",
        "- func: rows(Tensor(a) self, int dim) -> Tensor(a)\n  variants: function",
    ),
    "removed": lambda project: project.edit("- func: mean_of(Tensor[] tensors, float eps=1e-6) -> Tensor\n", ""),
    "renamed": lambda project: project.edit("- func: mean_of(", "- func: average_of("),
    "added first": lambda project: project.edit("- func: twice(", "- func: a(Tensor self) -> Tensor\n\n- func: twice("),
    "added last": lambda project: project.yaml.write_text(
        project.yaml.read_text() + "\n- func: zeta(Tensor self, int[2] size) -> (Tensor first, Tensor second)\n"
    ),
    "moved": lambda project: project.yaml.write_text(
        "- func: mean_of(Tensor[] tensors, float eps=1e-6) -> Tensor\n\n"
        + project.yaml.read_text().replace("- func: mean_of(Tensor[] tensors, float eps=1e-6) -> Tensor\n", "")
    ),
    "tag": lambda project: project.edit("  tags: view_copy\n", "  tags: [view_copy, pointwise]\n"),
    "autogen": lambda project: project.edit("  autogen: shifted.out\n", ""),
    "template": lambda project: edit_template(project, "Operators.cpp"),
    "template of many": lambda project: edit_template(project, "Function.h"),
    "tags": lambda project: project.inputs.joinpath("native/tags.yaml").write_text(
        project.inputs.joinpath("native/tags.yaml").read_text() + "- tag: zzz\n  desc: |\n    A new one.\n"
    ),
}  # fmt: skip


def edit_template(project: Project, name: str) -> None:
    """Add a comment to a template."""
    path = project.inputs / "templates" / name
    path.write_text(path.read_text() + "// edited\n")


def generation(project: Project, out: str) -> Generation:
    """A run over the project, loaded."""
    families = ("headers", "sources", "declarations_yaml")
    inputs = from_source_path(str(project.inputs))
    return Generation(Request(inputs=inputs, folders=build_folders(out), families=families, release="2.13"))


@pytest.mark.parametrize("edit", EDITS)
def test_edits_give_what_a_fresh_run_gives(project: Project, edit: str) -> None:
    """After an edit the outputs are those of a run into an empty folder, and after taking it back those before it."""
    original = project.yaml.read_text()
    project.run()
    first = files_of(project.out)
    EDITS[edit](project)
    project.run()
    fresh = project.out.with_name("fresh")
    project.run(out=fresh)
    assert files_of(project.out) == files_of(fresh)
    if edit not in ("template", "template of many", "tags"):
        project.yaml.write_text(original)
        project.run()
        assert files_of(project.out) == first


def test_only_what_an_edit_touches_is_made_again(project: Project) -> None:
    """After an edit of one entry, each emitter makes one fragment at most, or none if it has none of that operator."""
    first = generation(project, str(project.out)).write_after(None)
    project.edit("eps=1e-6", "eps=1e-5")
    second = generation(project, str(project.out)).write_after(PreviousBuild(first.emitters, first.statuses))
    assert max(counts.made for counts in second.fragments.values()) == 1
    assert sum(counts.made for counts in first.fragments.values()) > 100
    assert second.fragments["sources operators_source 1"].made == 1
    assert second.fragments["sources operators_source 1"].reused == 10
