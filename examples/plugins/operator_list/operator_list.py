"""A list of all operators with their schemas, one per line: the smallest plug-in with files of its own."""

from __future__ import annotations

from opwright.plugin import Emitter, Family, FragmentContext, Job, NativeFunction, OneFile, Plugin


def line(function: NativeFunction, context: FragmentContext) -> dict[str, str]:
    """The line of an operator. `text` is the slot of a file without a template."""
    del context
    return {"text": f"{function.namespace}::{function.schema}\n"}


def emitters(job: Job) -> list[Emitter[NativeFunction]]:
    """One emitter, which makes one file from all operators that have an entry of their own."""
    del job
    return [
        Emitter(
            name="operator_list",
            family="operator_list",
            template=None,
            folder="lists",
            units=lambda job: [function for function in job.catalog if not function.is_synthesized],
            fragment=line,
            layout=OneFile("operators.txt"),
        )
    ]


plugin = Plugin(
    "operator_list",
    api=1,
    version="1.0",
    families=[
        Family("operator_list", "a list of all operators", emitters=[emitters], folders={"lists": "lists"}),
    ],
)
