"""The scenarios as data: a job of the comparison, and the state of the disk before each run."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

from opwright.mobile.upgraders.torch_bytecode import bytecode_of_torch
from tests.backend.write_large import write_large
from tests.conformance.executorch_jobs import EXECUTORCH, portable
from tests.conformance.executorch_tool_jobs import LARGE_SELECTION, tool
from tests.conformance.inputs import LAZY, STUBS, input_folder, reserve_folder
from tests.conformance.jobs import (
    Job,
    Side,
    autograd,
    chosen_jobs,
    commands,
    environment,
    lazy_program,
    lazy_wide,
    prepare,
    python_bindings,
    static_runtime,
    torch_stubs,
    upgraders,
    usual_jobs,
)


@dataclass(frozen=True)
class Edit:
    """A change to one entry of one input: `text` replaces what `pattern` matches after its first group."""

    path: str
    pattern: re.Pattern[bytes]
    text: str
    """The new text, in which `{number}` differs from run to run."""

    def make(self, inputs: Path, number: int) -> None:
        """Edit the entry below `inputs`, so that each `number` gives another text."""
        path = inputs / self.path
        text = self.text.format(number=number + 1).encode()
        changed, count = self.pattern.subn(lambda match: match.group(1) + text, path.read_bytes())
        assert count == 1, f"the entry that is edited is no longer in {self.path}"
        path.write_bytes(changed)


#: Another default of an argument: it shows in headers, sources, Declarations.yaml and Python signatures.
OPERATOR = Edit(
    "torchgen/packaged/ATen/native/native_functions.yaml",
    re.compile(rb"(- func: cosine_similarity\(.*eps=)[^),]*"),
    "1e-{number:02}",
)
#: Another formula for a gradient: it shows in the backward functions, in those of foreach operators, and, since the
#: forward formula follows from it, in VariableType.
FORMULA = Edit(
    "torchgen/packaged/autograd/derivatives.yaml",
    re.compile(rb"(- name: sinh\(Tensor self\) -> Tensor\n  self: )[^\n]*"),
    "grad * self.cosh().conj() * {number}",
)


class State(Enum):
    """What a measured run finds on disk."""

    COLD = "cold"
    """An empty output folder and no cache."""

    UNCHANGED = "unchanged"
    """The outputs of an earlier run on the same inputs."""

    EDITED = "one edit"
    """The outputs of an earlier run, and one entry of an input edited since."""


@dataclass(frozen=True)
class Scenario:
    """One row of the table."""

    job: Job
    state: State
    edit: Edit = OPERATOR

    @property
    def name(self) -> str:
        """The scenario's name, by which it is chosen."""
        return f"{self.job.name} {self.state.value}"


def everything() -> Job:
    """All files for PyTorch: the reference's programs one after the other, and one process of Opwright."""
    parts = [job for job in usual_jobs() if job.name in ("full", "autograd", "python", "annotated")]
    steps = tuple(step for job in parts for step in job.reference)
    ours = ("-m", "opwright", "generate", "--source-path", "{aten}", "--out", "out")
    return Job("everything", reference=steps, opwright=(ours,))


#: The backend files of the scenarios for external backends, among the inputs.
BACKEND_FILE = "backend.yaml"
SMALL_BACKEND_FILE = "small_backend.yaml"

#: A backend at its beginning: the operators that make tensors and move them, and some to compute with.
SMALL_BACKEND = """\
backend: PrivateUse1
cpp_namespace: acme::native
supported: [empty.memory_format, empty_strided, _copy_from, _copy_from_and_resize, as_strided, view, fill_.Scalar,
  add.Tensor, sub.Tensor, mul.Tensor, div.Tensor, sum.dim_IntList, relu, mm, addmm, bmm, _softmax, _log_softmax,
  max_pool2d_with_indices, convolution_overrideable]
autograd: [max_pool2d]
"""


def external_backend() -> Job:
    """The code of an external backend with kernels for 1,811 operators."""
    return _backend_job("backend", BACKEND_FILE)


def small_backend() -> Job:
    """The code of an external backend with kernels for 21 operators."""
    return _backend_job("small-backend", SMALL_BACKEND_FILE)


def _backend_job(name: str, file: str) -> Job:
    arguments = ("-s", f"{{root}}/{file}", "-o", "out")
    programs = ("torchgen.gen_backend_stubs", "opwright.torchgen.gen_backend_stubs")
    reference, ours = ((("-m", program, *arguments),) for program in programs)
    return Job(name, reference=reference, opwright=ours)


#: The reference's program is in no wheel, so its library alone makes the signatures, which is the most work.
SIGNATURES = ("{tests}/conformance/stub_signatures.py", "{native}", "{tags}", "{autograd}/deprecated.yaml")


def stub_files() -> Job:
    """The stub files of torch; the reference's side makes signatures alone, without docstrings and files."""
    job = torch_stubs()
    return replace(job, reference=(SIGNATURES,), opwright=job.opwright[:1])


#: The bytecode file of the scenarios for upgraders, among the inputs.
BYTECODE_FILE = "upgraders.json"


def upgraders_from_data() -> Job:
    """The upgraders of mobile models: the reference asks PyTorch for bytecode, and Opwright reads a file with it."""
    ours = ("-m", "opwright.torchgen.gen_mobile_upgraders", "--bytecode", f"{{root}}/{BYTECODE_FILE}", "--out", ".")
    return replace(upgraders(), opwright=(ours,))


def selection_tools() -> list[Job]:
    """Three of ExecuTorch's tools for selective builds; two of them read the selection of a third of all operators."""
    return [
        tool("gen_oplist", ("gen_oplist", "--output_path", ".", "--root_ops", "aten::add.out,aten::mul.out")),
        tool("gen_all_oplist", ("gen_all_oplist", "--output-dir", ".", "--model-file-list-path", LARGE_SELECTION)),
        tool(
            "gen_selected_op_variants",
            ("gen_selected_op_variants", "--output-dir", ".", "--yaml-file-path", LARGE_SELECTION),
        ),
    ]


def scenarios(inputs: str = "pytorch") -> list[Scenario]:
    """All scenarios, on the inputs of that name; those of lazy tensors on inputs that are made from them."""
    return [replace(scenario, job=_on_inputs(scenario.job, inputs)) for scenario in _usual_scenarios()]


def _on_inputs(job: Job, inputs: str) -> Job:
    if job.inputs.startswith(EXECUTORCH):
        # Its inputs are those of a version of ExecuTorch, with the installed PyTorch.
        return job
    if job.inputs not in (LAZY, STUBS):
        return replace(job, inputs=inputs)
    return job if inputs == "pytorch" else replace(job, inputs=f"{job.inputs}@{inputs}")


def _usual_scenarios() -> list[Scenario]:
    headers, full = (chosen_jobs(usual_jobs, name)[0] for name in ("headers", "full"))
    return [
        Scenario(headers, State.COLD),
        Scenario(full, State.COLD),
        Scenario(full, State.UNCHANGED),
        Scenario(full, State.EDITED),
        Scenario(autograd(), State.COLD),
        Scenario(autograd(), State.EDITED, FORMULA),
        Scenario(python_bindings(), State.COLD),
        Scenario(python_bindings(), State.EDITED),
        Scenario(everything(), State.COLD),
        Scenario(external_backend(), State.COLD),
        Scenario(external_backend(), State.UNCHANGED),
        Scenario(small_backend(), State.COLD),
        Scenario(small_backend(), State.UNCHANGED),
        Scenario(lazy_program(), State.COLD),
        Scenario(lazy_program(), State.UNCHANGED),
        Scenario(lazy_wide(), State.COLD),
        Scenario(stub_files(), State.COLD),
        Scenario(stub_files(), State.UNCHANGED),
        Scenario(static_runtime(), State.COLD),
        Scenario(static_runtime(), State.UNCHANGED),
        Scenario(upgraders_from_data(), State.COLD),
        Scenario(upgraders_from_data(), State.UNCHANGED),
        Scenario(portable(), State.COLD),
        Scenario(portable(), State.UNCHANGED),
        *[Scenario(job, State.COLD) for job in selection_tools()],
    ]


@dataclass(frozen=True)
class Stage:
    """The folders of one side of a scenario: its own inputs and outputs, and an empty cache."""

    scenario: Scenario
    side: Side
    folder: Path

    @property
    def inputs(self) -> Path:
        """The folder of inputs; the same path in every run, because generators store paths."""
        return self.folder / "inputs"

    @property
    def output(self) -> Path:
        """The folder that the programs run in."""
        return self.folder / "output"

    def environment(self) -> dict[str, str]:
        """The environment of the programs, without the user's caches."""
        return {**environment(self.scenario.job, self.inputs), "XDG_CACHE_HOME": str(self.folder / "cache")}

    def commands(self) -> list[list[str]]:
        """The command lines of one run."""
        return commands(self.scenario.job, self.side, self.inputs)

    def set_up(self) -> None:
        """Lay out inputs and an empty output folder, once, before the first run."""
        reserve_folder(self.folder)
        shutil.copytree(input_folder(self.scenario.job.inputs), self.inputs)
        if self.scenario.job.name == "backend":
            native = self.inputs / "torchgen" / "packaged" / "ATen" / "native" / "native_functions.yaml"
            write_large(native, self.inputs / BACKEND_FILE)
        if self.scenario.job.name == "upgraders":
            bytecode = bytecode_of_torch(sys.executable)
            (self.inputs / BYTECODE_FILE).write_text(bytecode.text, encoding="utf-8")
        if self.scenario.job.name == "small-backend":
            (self.inputs / SMALL_BACKEND_FILE).write_text(SMALL_BACKEND, encoding="utf-8")
        self.empty_output()

    def empty_output(self) -> None:
        """Leave in the output folder only what the job wants there before it runs."""
        reserve_folder(self.output)
        prepare(self.scenario.job, self.output)

    def before_run(self, number: int) -> None:
        """Bring the disk into the state for run `number`."""
        if self.scenario.state is State.COLD:
            self.empty_output()
            shutil.rmtree(self.folder / "cache", ignore_errors=True)
        elif self.scenario.state is State.EDITED:
            self.scenario.edit.make(self.inputs, number)


def sides() -> Iterator[Side]:
    """Both sides, in the order in which they take turns."""
    yield "reference"
    yield "opwright"
