"""The tables of operators with a C shim are an input as others are: edits of them count."""

from __future__ import annotations

import shutil

from tests.engine.project import Project

TABLES = "inductor_fallback_ops = {{{rows}}}\naten_shimified_ops = {{}}\n"
TWICE, SHIFTED = ('"aten.twice.default": {}', '"aten.shifted.default": {}')


def write_tables(project: Project, *rows: str) -> str:
    """Write the tables beside the other inputs, and give their path."""
    path = project.shim_tables
    path.parent.mkdir(exist_ok=True)
    path.write_text(TABLES.format(rows=", ".join(rows)))
    return str(path)


def shims(project: Project) -> set[str]:
    """The names of the functions in the shims of the CPU."""
    path = project.out / "torch/csrc/inductor/aoti_torch/generated/c_shim_cpu.cpp"
    return {line.split("(")[0] for line in path.read_text().splitlines() if line.startswith("AOTITorchError")}


def test_tables_that_come_and_change_are_seen(project: Project) -> None:
    """A run before there are tables, one with them, one after an edit: each makes what the tables then say."""
    # A copy of the folder alone: the tables are those of the installed PyTorch, and these operators are not in them.
    for folder in (project.derivatives.parent, project.shim_tables.parent, project.inputs.parents[2] / "torch"):
        shutil.rmtree(folder)
    project.shim_tables = project.inputs / "aoti" / "fallback_ops.py"
    project.run()
    assert shims(project) == set()
    path = write_tables(project, TWICE)
    project.run()
    assert shims(project) == {"AOTITorchError aoti_torch_cpu_twice"}
    write_tables(project, TWICE, SHIFTED)
    depfile = project.out / "all.d"
    project.run("--depfile", depfile)
    names = {"AOTITorchError aoti_torch_cpu_twice", "AOTITorchError aoti_torch_cpu_shifted"}
    assert shims(project) == names
    assert path in depfile.read_text()


def test_the_shims_of_a_backend(project: Project) -> None:
    """A backend brings its own tables; its shims are those of its operators, and no others."""
    entries = "- func: vend::frob(Tensor self) -> Tensor\n  dispatch:\n    XPU: frob_xpu\n"
    project.yaml.write_text(entries)
    write_tables(project, '"vend.frob.default": {}', '"aten.sin.default": {}')
    done = project.run("--xpu", "--extend-aoti-c-shim", "--update-aoti-c-shim")
    folder = project.out / "torch/csrc/inductor/aoti_torch/generated"
    assert "aoti_torch_xpu_frob(AtenTensorHandle self" in (folder / "c_shim_xpu.h").read_text()
    assert "at::xpu::frob(" in (folder / "c_shim_xpu.cpp").read_text()
    assert "AOTITorchError aoti" not in (folder / "c_shim_cpu.cpp").read_text()
    assert done.stderr == ""


def test_names_that_do_not_exist_are_told(project: Project) -> None:
    """An operator and a new argument that the inputs do not have get a warning at their place, with a suggestion."""
    path = write_tables(project, '"aten.twise.default": {}', '"aten.shifted.default": {"v2": {"new_args": ["alfa"]}}')
    said = project.run().stderr
    assert f"{path}:1:26" in said
    assert "warning[W0805]: no operator `aten.twise.default`: it gets no C shim" in said
    assert "did you mean `aten.twice.default`?" in said
    assert "`aten.shifted.default` has no argument `alfa`, which `v2` of its C shim is to add" in said
