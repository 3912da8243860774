"""What `opwright explain` says of dispatch is what the dispatcher of the installed PyTorch does."""

from __future__ import annotations

import pytest

from opwright.backends.dispatch.registrations import RegistrationKind, registrations
from opwright.backends.dispatch.resolution import overloads_named
from opwright.backends.dispatch.runtime_keys import runtime_keys
from opwright.backends.operator_names import BY_HAND
from opwright.release.inputs import open_inputs
from opwright.source.diagnostic import Diagnostics
from opwright.tools.explain.explanation import explain
from opwright.tools.explain.loading import ExplainRequest, load_jobs
from tests.tools.explain.agreement import TorchRow, compare, installed_job, report, torch_tables

#: Operators of all kinds: structured, composite, views, factories, of autograd's data, synthesized, for one device.
TWENTY = (
    "add.Tensor",
    "add.out",
    "relu_",
    "zeros",
    "zeros_like",
    "select.int",
    "select_copy.int_out",
    "copy_",
    "detach",
    "resize_",
    "set_.source_Tensor",
    "matmul",
    "conv2d",
    "empty.memory_format",
    "_to_copy",
    "linalg_lu_solve.out",
    "_foreach_mm",
    "normal.Tensor_Tensor",
    "_nested_tensor_storage_offsets",
    "_test_autograd_multiple_dispatch.fullcoverage",
)


@pytest.mark.thorough
def test_twenty_operators_agree_under_every_key() -> None:
    """For operators of all kinds each row is that of the dispatcher, or is listed as registered by hand."""
    agreement = compare(TWENTY)
    print(report(agreement))
    assert not agreement.disagreements
    assert agreement.rows == len(TWENTY) * len(runtime_keys())
    assert agreement.agreeing > 0.97 * agreement.rows


@pytest.mark.thorough
def test_all_operators_agree_under_every_key() -> None:
    """The same holds for every operator that PyTorch registers from its YAML."""
    agreement = compare()
    print(report(agreement))
    assert not agreement.disagreements
    assert agreement.operators == len(installed_job().catalog)
    assert agreement.agreeing > 0.99 * agreement.rows
    # Where a table names the operators with hand-written kernels, it names all of them.
    assert not [key.name for key, _ in agreement.by_hand if key.name in BY_HAND or key.name.startswith("Autograd")]


@pytest.mark.thorough
def test_a_wrong_table_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison fails where the table lacks a kernel that generated code registers."""
    monkeypatch.setattr("opwright.backends.dispatch.registrations.factories", lambda _: [])
    installed_job().cache.clear()
    disagreements = compare(TWENTY).disagreements
    installed_job().cache.clear()
    assert sorted(line.partition(":")[0] for line in disagreements) == [
        "_to_copy under BackendSelect",
        "empty.memory_format under BackendSelect",
        "zeros under BackendSelect",
    ]


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["add.out", "zeros", "select.int", "mul.Tensor"])
def test_kernels_are_registered_in_the_files_that_are_named(name: str) -> None:
    """Each generated file that registers a kernel in PyTorch's build is among the files of the explanation."""
    explained = next(load_jobs(ExplainRequest((name,), open_inputs("auto")), Diagnostics()))
    function = overloads_named(name, explained.job.catalog)[0]
    symbols = explain(function, explained, ("symbols",)).symbols
    assert symbols is not None
    named = {symbol.file.rpartition("/")[2] for symbol in symbols}
    rows: dict[str, TorchRow] = torch_tables(*TWENTY, "mul.Tensor")[name]
    generated = {
        source.rpartition("/")[2]
        for source, _ in rows.values()
        if source.endswith(".cpp") and ("/build/" in source or "/generated/" in source)
    }
    assert len(generated) > 3
    assert generated <= named


def test_kinds_of_kernels_are_all_used() -> None:
    """Every kind of registration occurs, except those that only external backends have."""
    job = installed_job()
    kinds = {registration.kind for function in job.catalog for registration in registrations(job, function).values()}
    of_others = ("out", "functional", "autocast", "batching", "cpu_fallback", "refused")
    assert {kind.name for kind in set(RegistrationKind) - kinds} == set(of_others)
