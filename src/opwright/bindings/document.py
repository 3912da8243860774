"""From the inputs of a release to a dump for bindings."""

from __future__ import annotations

from opwright.bindings.data import binding_data, cpp_types_data, docstring_data
from opwright.bindings.fields import FORMAT, KIND
from opwright.dialects.dialect import LoadContext
from opwright.dialects.table import DOCSTRINGS
from opwright.dump.data import JsonValue
from opwright.explain.loading import ExplainRequest, load_pytorch
from opwright.explain.signatures import python_signatures
from opwright.release.inputs import Inputs
from opwright.release.rules import Rules
from opwright.release.tree import rules_of
from opwright.source.diagnostic import Diagnostics

__all__ = ["dump_for_bindings"]


def dump_for_bindings(inputs: Inputs, release: str | None, sink: Diagnostics) -> dict[str, JsonValue]:
    """The dump of PyTorch's operators for bindings.

    Raises FaultsFound with every mistake in the files.

    >>> from opwright.release.inputs import open_inputs
    >>> document = dump_for_bindings(open_inputs("auto"), None, Diagnostics())
    >>> relu = next(operator for operator in document["operators"] if operator["name"] == "relu")
    >>> [call["declaration"] for call in relu["cpp"]]
    ['at::Tensor at::relu(const at::Tensor & self)', 'at::Tensor at::Tensor::relu() const']
    """
    rules = rules_of(inputs, release, sink)
    job = load_pytorch(ExplainRequest((), inputs, release), inputs, rules, sink)
    functions = job.catalog.functions
    docstrings = _docstrings(inputs, rules)
    names = {name for function in functions for name, _ in python_signatures(function, job)}
    docstrings = {name: text for name, text in docstrings.items() if name in names}
    return {
        "format": FORMAT,
        "kind": KIND,
        "torch": str(rules.version),
        "types": cpp_types_data(functions),
        "docstrings": docstrings,
        "operators": [binding_data(function, job, docstrings) for function in functions],
    }


def _docstrings(inputs: Inputs, rules: Rules) -> dict[str, JsonValue]:
    """The docstrings of the release; none if its inputs have none, or some that only running them would tell."""
    return docstring_data(DOCSTRINGS.load_inputs(LoadContext(Diagnostics(), rules, inputs)) or {})
