"""What a report says of the operators is what the dispatcher of the installed PyTorch does."""

from __future__ import annotations

import json
import runpy
from functools import cache
from pathlib import Path

import pytest

import opwright
from opwright.backends.dispatch.backward import BackwardFacts
from opwright.backends.dispatch.device_kernels import DeviceKernels, Dispatch, composite_key
from opwright.backends.operator_names import RAISING_COMPOSITES
from opwright.backends.operator_records import BackwardStatus, MetaSupport
from opwright.model.catalog import Catalog
from opwright.model.dispatch_key import key_named
from opwright.schema.function import SchemaKind
from tests.compile.compiler import torch_folder
from tests.tools.coverage.reports import installed_job, report_of
from tests.torch_process import TorchProcess

RUNTIME = Path(__file__).with_name("runtime.py")

#: Keys of backends outside PyTorch, with layouts that other composite kernels serve.
KEYS = (
    "PrivateUse1",
    "XLA",
    "Lazy",
    "HPU",
    "SparsePrivateUse1",
    "SparseCsrPrivateUse1",
    "QuantizedPrivateUse1",
    "NestedTensorPrivateUse1",
)


@cache
def tables(process: TorchProcess, *arguments: str) -> dict[str, dict[str, str]]:
    """What the dispatcher runs, by operator and key."""
    ran = process.run(f"import runpy; runpy.run_path({str(RUNTIME)!r}, run_name='__main__')", arguments)
    assert not ran.returncode, ran.stderr
    table: dict[str, dict[str, str]] = json.loads(ran.stdout.splitlines()[-1])
    return table


@cache
def catalog() -> Catalog:
    """The operators of the installed release."""
    return opwright.load("auto")


def has_cuda() -> bool:
    """Whether the installed PyTorch is a build with CUDA."""
    return runpy.run_path(str(torch_folder() / "version.py"))["cuda"] is not None


@pytest.mark.parametrize("key", KEYS)
def test_composite_kernels_are_those_of_the_dispatcher(key: str, torch_process: TorchProcess) -> None:
    """For each operator, the composite key that serves a device without a kernel is the one that PyTorch chooses."""
    table = tables(torch_process, *KEYS, "Meta")
    wrong = {}
    for function in catalog():
        composite = composite_key(function, key_named(key))
        expected = table[function.name.text][key]
        if ("" if composite is None else composite.name) != expected:
            wrong[function.name.text] = (composite, expected)
    assert not wrong


def test_shapes_are_there_if_the_dispatcher_has_them(torch_process: TorchProcess) -> None:
    """An operator has meta support if and only if a kernel serves Meta, those that PyTorch registers in Python too.

    That holds for builds of PyTorch with CUDA and without: the report names the kernels that depend on the build.
    """
    without = (MetaSupport.missing,) if has_cuda() else (MetaSupport.missing, MetaSupport.cuda_build)
    table = tables(torch_process, *KEYS, "Meta")
    records = report_of("relu").records
    wrong = {
        record.name: record.meta.name
        for record in records
        if (record.meta in without) != (table[record.name]["Meta"] in ("", "backend fallback"))
    }
    assert not wrong


def test_gradients_of_overridden_composites_are_those_of_the_dispatcher(torch_process: TorchProcess) -> None:
    """A kernel for an operator made of others loses the gradient if and only if PyTorch has no kernel for Autograd."""
    table = tables(torch_process, "--override", "AutogradPrivateUse1")
    job = installed_job()
    overridden = frozenset(function for function in job.catalog if function.has_composite_implicit)
    kernels = DeviceKernels(key_named("PrivateUse1"), {}, {}, manual=overridden)
    dispatch = Dispatch(kernels, job.catalog, job.rules)
    facts = BackwardFacts([job.derivatives], job.catalog, dispatch, job.rules)
    statuses = {
        function.name.text: facts.backward(function).status
        for function in overridden
        if function.kind is not SchemaKind.out
    }
    with_kernel = (BackwardStatus.works, BackwardStatus.lacks, BackwardStatus.unimplemented)
    lost = [name for name, status in statuses.items() if status is BackwardStatus.lost]
    assert len(lost) > 300
    assert {table[name]["AutogradPrivateUse1"] for name in lost} == {"backend fallback"}
    differentiable = [name for name, status in statuses.items() if status in with_kernel]
    assert {"linear", "matmul"} <= set(differentiable)
    assert {table[name]["AutogradPrivateUse1"] for name in differentiable} == {"autograd kernel"}


def test_raising_composites_raise(torch_process: TorchProcess) -> None:
    """The composite kernels that a report counts as missing do nothing but raise an error."""
    names = sorted(RAISING_COMPOSITES.in_release(installed_job().rules))
    program = """\
import sys, torch
tensor = torch.ones(1, 1, 1, 1)
values = {"Tensor": tensor, "Optional[Tensor]": None, "List[int]": [1, 1], "bool": False, "int": 1, "float": 0.0}
for name in sys.argv[1:]:
    operator = getattr(torch.ops.aten, name).default
    try:
        operator(*[[True] * argument.N if argument.N else values[str(argument.type)]
                   for argument in operator._schema.arguments if not argument.has_default_value()])
    except NotImplementedError:
        print(name)
    except RuntimeError as error:
        print(name if "not implemented" in str(error) else error)
"""
    done = torch_process.run(program, names)
    assert done.stdout.split() == names, done.stderr
