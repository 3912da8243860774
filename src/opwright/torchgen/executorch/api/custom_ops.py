"""Custom operators of ExecuTorch: the names of `torchgen.executorch.api.custom_ops`."""

from __future__ import annotations

from opwright.mobile.executorch import custom_operators
from opwright.mobile.executorch.custom_operators import stub_result
from opwright.torchgen.executorch.emission import job_of
from opwright.torchgen.executorch.model import model_operator
from opwright.torchgen.interface.faults import Invalid
from opwright.torchgen.interface.functions import NativeFunction
from opwright.torchgen.interface.keys import Variant
from opwright.torchgen.interface.records import Record, record
from opwright.torchgen.interface.schema import model_schema
from opwright.torchgen.selective_build.selector import SelectiveBuilder


@record()
class ComputeNativeFunctionStub(Record):
    """Kernel of an operator that computes nothing, for programs that only export models."""

    def __call__(self, f: NativeFunction) -> str | None:
        """Definition; None for a function that is only a method. Raises AssertionError if no stub can return."""
        if Variant.function in f.variants and stub_result(model_schema(f.func)) is None:
            raise Invalid(f"no stub can return what `{f.func.name}` returns")
        job = job_of([model_operator(f, {}, is_custom=True)], SelectiveBuilder.get_nop_selector())
        stubs = next(emitter for emitter in custom_operators.emitters(job) if emitter.name == "executorch_stubs_source")
        texts = [text for unit in stubs.units(job) for text in stubs.fragment(unit, job).values()]
        return "".join([definition for definitions in texts for definition in definitions]) or None
