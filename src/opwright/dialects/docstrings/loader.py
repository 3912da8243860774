"""Loads docstrings from the modules of PyTorch that give them to functions. The modules are parsed and never run."""

from __future__ import annotations

from collections.abc import Sequence

from opwright.dialects.dialect import LoadContext
from opwright.dialects.docstrings.evaluation import Evaluator, Value
from opwright.dialects.python_source import parse_module
from opwright.model.docstring import Docstring
from opwright.release.store import DOCSTRING_MODULES
from opwright.source.codes import INPUT_MISSING, NO_DOCSTRINGS, UNKNOWN_FORM
from opwright.source.diagnostic import Fault
from opwright.source.text import SourceFile

__all__ = ["load"]


def load(_files: Sequence[SourceFile], context: LoadContext) -> dict[str, Docstring]:
    """The docstrings by the full names of functions, such as `torch.abs` and `torch._C.TensorBase.abs`."""
    files = {}
    for name in DOCSTRING_MODULES:
        try:
            files[name] = context.inputs.read_text(name)
        except Fault as fault:
            if fault.diagnostic.code != INPUT_MISSING:
                context.sink.add(fault.diagnostic)
                return {}
            message = f"there is no `{name}`, so the stub files of torch have no docstrings"
            context.sink.warning(NO_DOCSTRINGS, message, help="run the program at the top of PyTorch's source tree")
            return {}
    docstrings: dict[str, Docstring] = {}
    modules: dict[str, dict[str, Value]] = {}
    for name, file in files.items():
        try:
            tree = parse_module(file, UNKNOWN_FORM)
        except Fault as fault:
            context.sink.add(fault.diagnostic)
            continue
        evaluator = Evaluator(file, modules, docstrings, context.sink)
        evaluator.run(tree.body)
        modules[name.removesuffix(".py").replace("/", ".")] = evaluator.names
    return docstrings
