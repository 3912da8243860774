"""The derivatives of libraries: files like PyTorch's `derivatives.yaml`, which the heads of library files name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from opwright.dialects.derivatives.fields import NAME
from opwright.dialects.derivatives.formula_checks import FormulaChecker
from opwright.dialects.derivatives.formula_helpers import FormulaHelpers
from opwright.dialects.derivatives.functions import FunctionIndex
from opwright.dialects.derivatives.loader import load_entries, read_entries
from opwright.dialects.derivatives.matching import match_derivatives
from opwright.dialects.dialect import LoadContext
from opwright.dialects.library.head import Head
from opwright.dialects.library.python_gradients import python_gradients
from opwright.dialects.named_files import read_named_file
from opwright.dialects.nearest import schema_span
from opwright.dialects.table import NATIVE_FUNCTIONS
from opwright.model.derivatives import NO_DERIVATIVES, Derivatives, DifferentiabilityInfo, MatchedDerivatives
from opwright.model.operator_library import LibraryDerivatives, OperatorLibrary, PythonGradient
from opwright.source import codes
from opwright.source.diagnostic import Diagnostics, did_you_mean
from opwright.source.named_tuple import NamedTuple
from opwright.source.nodes import Mapping, Scalar
from opwright.source.span import Span

__all__ = ["EXPORTED_HELPERS", "NamedDerivatives", "called_functions", "with_derivatives"]

#: The functions of `FunctionsManual.h` that a library can call: PyTorch's shared objects export them, or the header of
#: generated code defines them.
EXPORTED_HELPERS: Final = frozenset(
    ("apply_loss_reduction", "copysign_tensor_self_backward", "not_implemented", "not_implemented_list", "wrap_opt_if")
)

#: A call of a function, which is no method: its qualification and its name.
_CALL: Final = re.compile(r"(?<![\w.:>])((?:\w+::)*)(\w+)\s*\(")


class NamedDerivatives(NamedTuple):
    """The derivatives that the head of a library file names: the path of the library file, and its namespaces.

    Entries that name no namespace are of the first one.
    """

    head: Head
    library_path: str
    namespaces: tuple[str, ...]


def with_derivatives(
    libraries: Sequence[OperatorLibrary], named: Iterable[NamedDerivatives], context: LoadContext
) -> tuple[OperatorLibrary, ...]:
    """The libraries with their derivatives. Faults go to the sink of the context, and the library then has none."""
    files = [derivatives for derivatives in named if derivatives.head.derivatives]
    if not files:
        return tuple(libraries)
    entries = _EntriesByNamespace([library.library.namespace for library in libraries], context.sink)
    for derivatives in files:
        entries.add_file(derivatives, context)
    headers = [header for derivatives in files for header in derivatives.head.derivative_includes]
    callable_from = _Callable(context.rules.operators, tuple(dict.fromkeys(headers)))
    return tuple([_with_entries(library, entries.by_namespace, callable_from, context) for library in libraries])


class _Callable(NamedTuple):
    """What formulas can call: PyTorch's operators, by name, and what the author's headers declare."""

    functions: frozenset[str]
    includes: tuple[str, ...]


class _EntriesByNamespace:
    """The entries of files, each in the namespace that it names."""

    def __init__(self, namespaces: Sequence[str], sink: Diagnostics) -> None:
        self._namespaces: Final = namespaces
        self._sink: Final = sink
        self.by_namespace: Final[dict[str, list[Mapping]]] = {}

    def add_file(self, named: NamedDerivatives, context: LoadContext) -> None:
        """Read a file. Operators that are in no library of the run are a fault of their entries."""
        at = named.head.derivatives_span
        assert at is not None, "a head that names a file has its position"
        file = read_named_file(named.head.derivatives, named.library_path, at, codes.DERIVATIVES_FILE, context)
        if file is None:
            return
        for entry in read_entries(file, self._sink):
            namespace, span = _namespace_of(entry)
            own = named.namespaces[0]
            if not namespace or namespace in self._namespaces:
                self.by_namespace.setdefault(namespace or own, []).append(entry)
            else:
                message = f"the operator is in namespace `{namespace}`, which is not one of this library"
                help = did_you_mean(namespace, self._namespaces, f"operators of this library are in `{own}`")
                self._sink.error(codes.DERIVATIVE_ELSEWHERE, message, span or entry.span, help=help)


def _namespace_of(entry: Mapping) -> tuple[str, Span | None]:
    """The namespace that the name of an entry begins with, empty if there is none, and its span."""
    name = entry.get(NAME)
    if not isinstance(name, Scalar):
        return "", None
    namespace, separator, _ = name.value.partition("(")[0].rpartition("::")
    return (namespace, name.span_of(0, len(namespace))) if separator else ("", None)


def _with_entries(
    library: OperatorLibrary, by_namespace: dict[str, list[Mapping]], callable_from: _Callable, context: LoadContext
) -> OperatorLibrary:
    entries = by_namespace.get(library.library.namespace)
    return library.with_derivatives(_load_entries(library, entries, callable_from, context)) if entries else library


def _load_entries(
    library: OperatorLibrary, entries: Sequence[Mapping], callable_from: _Callable, context: LoadContext
) -> LibraryDerivatives:
    own = Diagnostics()
    names, catalog = library.library, library.catalog
    functions, includes = callable_from
    helper_names = functions.union(context.rules.formula_helpers, names.api.split("::"))
    helpers = FormulaHelpers(helper_names, {}, are_all=not includes)
    checker = FormulaChecker(catalog, helpers, own, strict=context.strict)
    index = FunctionIndex(catalog, own=names.namespace, place=f"library `{names.namespace}`")
    derivatives = load_entries(entries, index, checker, own, strict=context.strict)
    callable_names = functions.difference([function.name.name for function in catalog.functions])
    _check_kernels(derivatives, own)
    if not includes:
        _check_helpers(derivatives, context.rules.formula_helpers - callable_names - EXPORTED_HELPERS, own)
    matched: MatchedDerivatives = NO_DERIVATIVES
    in_python: tuple[PythonGradient, ...] = ()
    if catalog.is_sound and not own.has_errors:
        matched = match_derivatives(derivatives, catalog.functions, own)
        if library.is_stable:
            pytorch = context.inputs.read_text(NATIVE_FUNCTIONS.inputs[0]).text
            in_python = python_gradients(library, matched, entries, pytorch, own)
    context.sink.extend(own)
    called = {name for formula, _ in _formulas(derivatives) for name in called_functions(formula)}
    operators = [name for name in called if name.removesuffix("_symint") in callable_names]
    return LibraryDerivatives(matched, includes, tuple(sorted(operators)), in_python)


def called_functions(formula: str) -> list[str]:
    """The functions that a formula calls without a namespace, or with PyTorch's.

    >>> called_functions("at::cat({grad, acme::scale(self.neg(), 2)}) + where(mask, grad, 0)")
    ['cat', 'where']
    """
    return [name for namespace, name in _CALL.findall(formula) if namespace in ("", "at::")]


def _formulas(derivatives: Derivatives) -> Iterator[tuple[str, Span]]:
    for infos in derivatives.infos.values():
        for info in infos.values():
            yield from _formulas_of(info)


def _formulas_of(info: DifferentiabilityInfo) -> Iterator[tuple[str, Span]]:
    for derivative in info.derivatives:
        yield derivative.formula, derivative.span
    for forward in info.forward_derivatives:
        yield forward.formula, forward.span


def _check_kernels(derivatives: Derivatives, sink: Diagnostics) -> None:
    """Report derivatives of operators whose author wrote a kernel for autograd."""
    for function, infos in derivatives.infos.items():
        keys = [key.name for key in function.kernels if key.name.startswith("Autograd")]
        if keys:
            formulas = [span for info in infos.values() for _, span in _formulas_of(info)]
            span = formulas[0] if formulas else schema_span(function)
            message = f"`{function.name}` has derivatives, and a kernel under `{keys[0]}`, which would hide them"
            sink.error(codes.DERIVATIVE_HIDDEN, message, span, help="remove one of the two")


def _check_helpers(derivatives: Derivatives, helpers: frozenset[str], sink: Diagnostics) -> None:
    """Report calls of PyTorch's own helpers that its shared objects do not export."""
    for formula, span in _formulas(derivatives):
        for name in helpers.intersection(called_functions(formula)):
            help = "write the formula with operators, or with a function of yours from `derivative_includes`"
            sink.error(codes.UNEXPORTED_HELPER, f"PyTorch does not export `{name}`", span, help=help)
