"""Checks of what the stub files of torch are made from besides operators."""

from __future__ import annotations

from opwright.convention.python.bound import NN, TENSOR_METHODS, TORCH, PythonModule
from opwright.emit.emitter import Job
from opwright.emit.python.units import bindings
from opwright.emit.torch_stubs.hand_written import written_hints
from opwright.emit.torch_stubs.hints import classes_by_name, docstrings
from opwright.source.codes import BROKEN_DOCSTRING, CLASSES_DIFFER, HINT_WITHOUT_OPERATOR
from opwright.source.diagnostic import Diagnostics, Fault, FaultsFound, Label

__all__ = ["check_result_classes", "check_written_hints"]

#: File of hand-written hints -> the modules whose operators they are of.
_MODULES = {"functions": (TORCH,), "methods": (TENSOR_METHODS,), "nn": (NN, TORCH)}


def check_written_hints(job: Job, sink: Diagnostics) -> None:
    """Warn of hand-written hints without an operator, and of docstrings that end too early."""
    for file, modules in _MODULES.items():
        bound = {name for module in modules for name in _bound_names(job, module)}
        for hint in written_hints(file, job.rules):
            if bound and hint.section == "operators" and hint.name not in bound:
                message = f"the hand-written hint of `{modules[0].name}.{hint.name}` is of no operator"
                sink.warning(HINT_WITHOUT_OPERATOR, message, help="remove the hint from `tools/pyi/gen_pyi.py` too")
                bound.add(hint.name)
    for name, docstring in docstrings(job).items():
        if '"""' in docstring.text:
            message = f"the docstring of `{name}` has three quotation marks in it"
            sink.warning(BROKEN_DOCSTRING, message, docstring.span, help="write single quotation marks")


def check_result_classes(job: Job, sink: Diagnostics) -> None:
    """Report overloads of one function whose named results have different classes."""
    try:
        classes = classes_by_name(job)
    except FaultsFound:
        return
    for texts in classes.values():
        first, *others = texts.values()
        for function in others:
            message = f"the named results of `{function.name}` differ from those of `{first.name}`"
            label = Label(first.entry, "the other", primary=False)
            help = "give the fields the same names and types, or leave the names out"
            sink.add(Fault.at(CLASSES_DIFFER, message, function.entry, also=(label,), help=help).diagnostic)


def _bound_names(job: Job, module: PythonModule) -> set[str]:
    try:
        return {binding.name.name for binding in bindings(job, module)}
    except FaultsFound:
        # Another check reports them.
        return set()
