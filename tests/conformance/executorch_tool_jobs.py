"""The jobs of ExecuTorch's tools that need no runtime."""

from __future__ import annotations

from collections.abc import Sequence

from tests.conformance.executorch_jobs import EXECUTORCH, NEWEST
from tests.conformance.jobs import Command, Job
from tests.conformance.selection_jobs import SELECTIVE, merged_selections

#: Writes a file, the first argument, with the other arguments as its words.
_LIST = "import pathlib, sys; pathlib.Path(sys.argv[1]).write_text(' '.join(sys.argv[2:]))"
#: Makes folders.
_FOLDERS = "import os, sys; [os.makedirs(name) for name in sys.argv[1:]]"

_KERNELS = "{root}/executorch/kernels"
#: The selection of a third of all operators.
LARGE_SELECTION = "{selection}/executorch-some.yaml"
_WHOLE = "{selection}/executorch-whole.yaml"

Words = tuple[str, ...]


def tool(name: str, *steps: Words, before: Sequence[Command] = ()) -> Job:
    """A job that runs tools one after the other; the first word of a step is the name of its tool."""
    reference, ours = (
        (*before, *[("-m", f"{package}.{step[0]}", *step[1:]) for step in steps])
        for package in ("executorch.codegen.tools", "opwright.torchgen.executorch")
    )
    return Job(f"executorch-tools-{name}", reference=reference, opwright=ours, inputs=f"{EXECUTORCH}-{NEWEST}")


def big_selection_jobs() -> list[Job]:
    """Merged selections that name a third of all operators, and all of them."""
    inputs = f"{EXECUTORCH}-{NEWEST}"
    return [
        merged_selections("big", LARGE_SELECTION, inputs=inputs),
        merged_selections("big-merged", LARGE_SELECTION, _WHOLE, inputs=inputs),
    ]


def tool_jobs() -> list[Job]:
    """The tools of ExecuTorch, each with all its kinds of inputs."""
    own = ("--ops_schema_yaml_path", f"{_KERNELS}/portable/functions.yaml")
    custom = ("--ops_schema_yaml_path", f"{_KERNELS}/portable/custom_ops.yaml")
    json = '{"aten::add.out": ["Float", "v1/3;0,1|3;0,1", "QUInt4X2"], "aten::mul.out": []}'
    folders: Command = ("-c", _FOLDERS, "a", "b", "c")
    return [
        tool(
            "oplist",
            ("gen_oplist", "--output_path", "portable.yaml", *own),
            ("gen_oplist", "--output_path", "custom.yaml", *custom, "--root_ops", "aten::add.out,aten::mul.out"),
            ("gen_oplist", "--output_path", "names.yaml", "--root_ops", "aten::sub.out aten::mul.out"),
            ("gen_oplist", "--output_path", "json.yaml", "--ops_dict", json),
            ("gen_oplist", "--output_path", "all.yaml", "--include-all-operators"),
            ("gen_oplist", "--output_path", "."),
        ),
        tool(
            "all-oplist",
            ("gen_all_oplist", "--output-dir", "a", "--model-file-list-path", LARGE_SELECTION),
            ("gen_all_oplist", "--output_dir", "b", "--model_file_list_path", "@list", "--check-ops-not-overlapping"),
            before=(folders, ("-c", _LIST, "list", LARGE_SELECTION)),
        ),
        tool(
            "headers",
            ("gen_selected_op_variants", "--yaml-file-path", LARGE_SELECTION, "--output-dir", "a"),
            ("gen_selected_prim_ops", "--op-selection-yaml-path", LARGE_SELECTION, "--output-dir", "a"),
            ("gen_selected_prim_ops", "--prim-op-names", "executorch_prim::et_view.default", "--output-dir", "b"),
            ("combine_prim_ops_headers", "--header_files", "@list", "--output_dir", "c"),
            before=(folders, ("-c", _LIST, "list", "a", "b", "none")),
        ),
        tool(
            "kernel-number",
            (
                *("gen_max_kernel_num", "--oplist-yaml", LARGE_SELECTION, "--oplist-yaml", _WHOLE),
                *("--prim-ops-source", f"{SELECTIVE}/register_prim_ops.cpp", "--output-path", "number.h"),
            ),
        ),
        tool(
            "merge",
            (
                *("merge_yaml", "--functions-yaml-path", f"{_KERNELS}/portable/custom_ops.yaml"),
                *("--fallback-yaml-path", f"{_KERNELS}/portable/functions.yaml", "--output_dir", "a"),
            ),
            (
                *("merge_yaml", "--functions-yaml-path", f"{_KERNELS}/quantized/quantized.yaml"),
                *("--fallback-yaml-path", "a/merged.yaml", "--output_dir", "b"),
            ),
            before=(folders,),
        ),
    ]
