"""Checks of the C shims of operator libraries."""

from __future__ import annotations

from opwright.dialects.nearest import schema_span
from opwright.emit.emitter import Job
from opwright.emit.library.c_shims import library_shims, shim_refusal
from opwright.model.native_function import NativeFunction
from opwright.source.codes import NO_C_FORM, SAME_SYMBOL
from opwright.source.diagnostic import Diagnostics, Label

__all__ = ["check_c_shims"]


def check_c_shims(job: Job, sink: Diagnostics) -> None:
    """Report shims of the same name, and note operators that can have no shim because of a type."""
    owners: dict[str, NativeFunction] = {}
    for shims in library_shims(job):
        for function in shims.functions:
            for device in shims.devices:
                symbol = f"aoti_torch_{device}_{function.name.name}"
                owner = owners.setdefault(symbol, function)
                if owner.library is not function.library:
                    names = f"`{owner.namespace}::{owner.name}` and `{function.namespace}::{function.name}`"
                    message = f"{names} both export `{symbol}`"
                    also = (Label(schema_span(owner), "the first one", False),)
                    help = "rename one of the operators, or remove `c_shims` from one of the libraries"
                    sink.error(SAME_SYMBOL, message, schema_span(function), also=also, help=help)
    for library in job.libraries:
        for function in library.catalog.functions if library.c_shims else ():
            reason = shim_refusal(function)
            if reason and not function.is_synthesized:
                sink.note(NO_C_FORM, f"no C shim for `{function.name}`: {reason}", schema_span(function))
