"""Derivatives of libraries: files like PyTorch's `derivatives.yaml`, which the heads of library files name."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Final

from opwright.convention import public_api
from opwright.dialects.derivatives.entry import NOTHING_SAID, Differentiability, scope_of
from opwright.dialects.derivatives.fields import NAME
from opwright.dialects.derivatives.formula_checks import FormulaChecker
from opwright.dialects.derivatives.formula_helpers import FormulaHelpers, HelperDeclaration
from opwright.dialects.derivatives.functions import FunctionIndex
from opwright.dialects.derivatives.loader import load_entries
from opwright.dialects.derivatives.matching import match_derivatives
from opwright.dialects.dialect import LoadContext
from opwright.dialects.listed_entries import read_entries
from opwright.dialects.nearest import schema_span
from opwright.dialects.table import DERIVATIVES, NATIVE_FUNCTIONS
from opwright.libraries import library_codes
from opwright.libraries.declared_outputs import DTYPE_CLASSES, OutputOperation, dtype_codes
from opwright.libraries.dialect.callable_operators import NONE, CallableOperators, PythonValue
from opwright.libraries.dialect.formula_names import FormulaNames, ForwardNames
from opwright.libraries.dialect.head import Head
from opwright.libraries.dialect.python_formulas import NoPython, PythonTranslator
from opwright.libraries.entry_fields import entry_schema, library_fields, requirements_of
from opwright.libraries.operator_library import (
    LibraryDerivatives,
    OperatorLibrary,
    PythonFormula,
    PythonForward,
    PythonGradient,
    gives_list,
    is_tensor_list,
)
from opwright.libraries.requirements import argument_names
from opwright.model.derivatives import (
    DEFAULT_KEY,
    NO_DERIVATIVES,
    ConstantResult,
    Derivative,
    Derivatives,
    DifferentiabilityInfo,
    DifferentiableFunction,
    ForwardDerivative,
    MatchedDerivatives,
    SavedKind,
)
from opwright.model.native_function import NativeFunction
from opwright.schema.function import FunctionSchema, SchemaKind
from opwright.schema.types import ListType
from opwright.source.codes import DERIVATIVES_FILE_SHAPE
from opwright.source.diagnostic import Diagnostics, did_you_mean
from opwright.source.nodes import MappingNode, Node, Scalar
from opwright.source.records import NamedTuple
from opwright.source.span import Span
from opwright.workspace.named_files import read_named_file

#: The functions of `FunctionsManual.h` that a library can call: PyTorch's shared objects export them, or the header of
#: generated code defines them.
EXPORTED_HELPERS: Final = frozenset(
    ("apply_loss_reduction", "copysign_tensor_self_backward", "not_implemented", "not_implemented_list", "wrap_opt_if")
)

#: A call of a function, which is no method: its qualification and its name.
_CALL: Final = re.compile(r"(?<![\w.:>])((?:\w+::)*)(\w+)\s*\(")


class NamedDerivatives(NamedTuple):
    """Derivatives that the head of a library file names: the path of the library file, and its namespaces.

    Entries that name no namespace are of the first one.
    """

    head: Head
    library_path: str
    namespaces: tuple[str, ...]


def with_derivatives(
    libraries: Sequence[OperatorLibrary], named: Iterable[NamedDerivatives], context: LoadContext
) -> tuple[OperatorLibrary, ...]:
    """Libraries with their derivatives. Faults go to the sink of the context, and the library then has none."""
    files = [derivatives for derivatives in named if derivatives.head.derivatives]
    if not files:
        return tuple(libraries)
    entries = _EntriesByNamespace([library.library.namespace for library in libraries], context.sink)
    for derivatives in files:
        entries.add_file(derivatives, context)
    headers = [header for derivatives in files for header in derivatives.head.derivative_includes]
    callable_from = _Callable(context.rules.operators, tuple(dict.fromkeys(headers)))
    return tuple(
        [
            library.replace(derivatives=_load_entries(library, own_entries, callable_from, context))
            if (own_entries := entries.by_namespace.get(library.library.namespace))
            else library
            for library in libraries
        ]
    )


class _Callable(NamedTuple):
    """What formulas can call: PyTorch's operators, by name, and what the author's headers declare."""

    functions: frozenset[str]
    includes: tuple[str, ...]


class _EntriesByNamespace:
    """Entries of files, each in the namespace that it names."""

    def __init__(self, namespaces: Sequence[str], sink: Diagnostics) -> None:
        self._namespaces: Final = namespaces
        self._sink: Final = sink
        self.by_namespace: Final[dict[str, list[Node]]] = {}

    def add_file(self, named: NamedDerivatives, context: LoadContext) -> None:
        """Read a file. Operators that are in no library of the run are a fault of their entries."""
        at = named.head.derivatives_span
        assert at is not None, "a head that names a file has its position"
        file = read_named_file(named.head.derivatives, named.library_path, at, library_codes.DERIVATIVES_FILE, context)
        if file is None:
            return
        for entry in read_entries(file, DERIVATIVES, DERIVATIVES_FILE_SHAPE, self._sink):
            namespace, span = _namespace_of(entry)
            library_namespace = named.namespaces[0]
            if not namespace or namespace in self._namespaces:
                self.by_namespace.setdefault(namespace or library_namespace, []).append(entry)
            else:
                message = f"the operator is in namespace `{namespace}`, which is not one of this library"
                help = did_you_mean(
                    namespace, self._namespaces, f"operators of this library are in `{library_namespace}`"
                )
                self._sink.error(library_codes.DERIVATIVE_ELSEWHERE, message, span or entry.span, help=help)


def _namespace_of(entry: Node) -> tuple[str, Span | None]:
    """Namespace that the name of an entry begins with, empty if there is none, and its span."""
    name = entry.get(NAME)
    if not isinstance(name, Scalar):
        return "", None
    namespace, separator, _ = name.value.partition("(")[0].rpartition("::")
    return (namespace, name.span_of(0, len(namespace))) if separator else ("", None)


def _load_entries(
    library: OperatorLibrary, entries: Sequence[Node], callable_from: _Callable, context: LoadContext
) -> LibraryDerivatives:
    file_sink = Diagnostics()
    names, catalog = library.library, library.catalog
    functions, includes = callable_from
    helper_names = functions.union(context.rules.formula_helpers, names.api.split("::"))
    # Headers may declare further overloads of the operators' functions.
    declared = {} if includes else _declared_operators(library, functions)
    helpers = FormulaHelpers(helper_names, declared, are_all=not includes)
    checker = FormulaChecker(catalog, helpers, file_sink, strict=context.strict, closed=not includes)
    index = _LibraryFunctions(catalog, namespace=names.namespace, place=f"library `{names.namespace}`")
    derivatives = _with_kept_results(load_entries(entries, index, checker))
    callable_names = functions.difference([function.name.name for function in catalog.functions])
    _check_kernels(derivatives, file_sink)
    if not includes:
        _check_helpers(derivatives, context.rules.formula_helpers - callable_names - EXPORTED_HELPERS, file_sink)
    _check_left_out(derivatives, file_sink)
    matched: MatchedDerivatives = NO_DERIVATIVES
    in_python: tuple[PythonGradient, ...] = ()
    if catalog.is_sound and not file_sink.has_errors:
        matched = match_derivatives(derivatives, catalog.functions, file_sink)
        if library.is_stable:
            pytorch = context.inputs.read_text(NATIVE_FUNCTIONS.inputs[0]).text
            in_python = python_gradients(library, matched, entries, pytorch, file_sink)
    context.sink.extend(file_sink)
    called = {name for formula, _ in _formulas(derivatives) for name in called_functions(formula)}
    operators = [name for name in called if name.removesuffix("_symint") in callable_names]
    return LibraryDerivatives(matched, includes, tuple(sorted(operators)), in_python)


class _LibraryFunctions(FunctionIndex):
    """The functions of a library, which entries name by the schemas of its file."""

    def written_schema(self, function: NativeFunction) -> FunctionSchema | None:
        return entry_schema(function) if library_fields(function).returned_from is None else None

    def unstated(self, function: NativeFunction) -> Differentiability:
        """What an operator saves and does not return gets no gradient."""
        saved = library_fields(function).saved
        if not saved:
            return NOTHING_SAID
        return Differentiability(tuple([result.name not in saved for result in function.schema.returns]), None)


def _with_kept_results(derivatives: Derivatives) -> Derivatives:
    """Derivatives with the results without a gradient of which a formula reads the value."""
    infos = {
        function: {key: info.replace(constant_results=tuple(_kept_results(info))) for key, info in by_key.items()}
        for function, by_key in derivatives.infos.items()
    }
    return derivatives._replace(infos=infos)


def _kept_results(info: DifferentiabilityInfo) -> Iterator[ConstantResult]:
    saved = {saved.name for saved in info.saved_outputs if saved.kind is SavedKind.VALUE}
    function = info.function
    for position, result in enumerate(scope_of(function).results):
        name = result.name
        if not info.has_derivatives or name not in saved or info.differentiable_results[position]:
            continue
        # What a call of `detach` gives is a constant.
        read = re.compile(rf"(?<![\w.]){name}\b(?!\s*\.\s*detach\s*\(\s*\))")
        is_read = any(read.search(derivative.original_formula) for derivative in info.derivatives)
        if is_read and result.source is not None and result.source.type.text in ("Tensor", "Tensor?"):
            message = (
                f"the derivative for {function.namespace}::{entry_schema(function).name} is not implemented with "
                f"respect to its result '{name}', which a formula reads: a second gradient needs it. Let the formulas "
                f"read the gradient of '{name}' too, or '{name}.detach()' if it depends on no argument that has a "
                "gradient."
            )
            yield ConstantResult(name, position, name not in library_fields(function).saved, message)


def _declared_operators(library: OperatorLibrary, others: Container[str]) -> dict[str, tuple[HelperDeclaration, ...]]:
    """The C++ functions of a library's operators, by name; without its namespace only if no other function has it."""
    declared: dict[str, tuple[HelperDeclaration, ...]] = {}
    for function in library.catalog.functions:
        arguments, options = function.arguments.all, function.arguments.options
        least = sum(argument.default is None for argument in arguments)
        parameters = ", ".join([argument.text for argument in arguments])
        # One value can stand for all options of a tensor.
        least = min(least, len(arguments) - 3) if options is not None else least
        helper = HelperDeclaration(parameters, least, len(arguments), schema_span(function))
        for ending in ("", "_symint") if function.schema.has_symint else ("",):
            name = f"{public_api.name(function.schema)}{ending}"
            for spelt in (f"{library.library.api}::{name}", *([] if name in others else [name])):
                declared[spelt] = (*declared.get(spelt, ()), helper)
    return declared


def called_functions(formula: str) -> list[str]:
    """Functions that a formula calls without a namespace, or with PyTorch's.

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
            sink.error(library_codes.DERIVATIVE_HIDDEN, message, span, help="remove one of the two")


def _check_left_out(derivatives: Derivatives, sink: Diagnostics) -> None:
    """Report tensors that the derivatives of an operator leave out."""
    for function, infos in derivatives.infos.items():
        name = entry_schema(function).name
        integral = _integral_arguments(function)
        for info in infos.values():
            for argument in info.left_out if info.has_derivatives else ():
                if argument.name in integral:
                    continue
                message = f"`{name}` has no formula for `{argument.name}`, and then refuses one that needs a gradient"
                help = f"add a formula, or `{argument.name}: non_differentiable` if gradients may end there"
                sink.warning(library_codes.NO_FORMULA, message, info.derivatives[0].span, help=help)


def _integral_arguments(function: NativeFunction) -> frozenset[str]:
    """Arguments whose entry says that they are integers or booleans, which never need a gradient."""
    requirements = requirements_of(function)
    names: set[str] = set()
    for condition in [] if requirements is None else [check.condition for check in requirements.checks]:
        dtypes = [
            operand for operand in condition.operands if operand and operand.operation is OutputOperation.dtype_of
        ]
        read = [argument_names(dtype) for dtype in dtypes]
        is_integral = condition.operation is OutputOperation.dtype_in and not _DIFFERENTIABLE.intersection(
            dtype_codes(condition.text)
        )
        if is_integral or (condition.operation is OutputOperation.equal and len(read) == 2 and read[1] <= names):
            names |= read[0]
    # The items of a list are called by its name.
    return frozenset([name.removeprefix("opwright ").removesuffix(" item") for name in names])


#: The codes of dtypes of which tensors may need a gradient.
_DIFFERENTIABLE: Final = frozenset((*DTYPE_CLASSES["floating"], *DTYPE_CLASSES["complex"]))


def _check_helpers(derivatives: Derivatives, helpers: frozenset[str], sink: Diagnostics) -> None:
    """Report calls of PyTorch's helpers that its shared objects do not export."""
    for formula, span in _formulas(derivatives):
        for name in helpers.intersection(called_functions(formula)):
            help = "write the formula with operators, or with a function of yours from `derivative_includes`"
            sink.error(library_codes.UNEXPORTED_HELPER, f"PyTorch does not export `{name}`", span, help=help)


def python_gradients(
    library: OperatorLibrary,
    matched: MatchedDerivatives,
    entries: Iterable[Node],
    pytorch: str,
    sink: Diagnostics,
) -> tuple[PythonGradient, ...]:
    """Derivatives that the package of a library registers. `pytorch` is the text of PyTorch's entries."""
    names = library.library
    schemas = {names.namespace: [library_function.schema for library_function in library.catalog.functions]}
    operators = CallableOperators(pytorch, schemas, library.oldest_release)
    spaces = dict.fromkeys((names.api, names.namespace, f"::{names.api}"), names.namespace)
    maker = _Maker(operators, spaces, {scalar.span: scalar for entry in entries for scalar in _scalars(entry)}, sink)
    gradients = [maker.gradient(entry) for entry in matched.functions if entry.infos]
    return tuple([gradient for gradient in gradients if gradient is not None])


def _scalars(node: Node) -> Iterator[Scalar]:
    """Texts in an entry, also those for one dispatch key."""
    if isinstance(node, Scalar):
        yield node
    elif isinstance(node, MappingNode):
        for _, value in node.entries:
            yield from _scalars(value)


class _Maker:
    """Makes the gradients of one library's operators."""

    def __init__(
        self,
        operators: CallableOperators,
        spaces: Mapping[str, str],
        scalars: Mapping[Span, Scalar],
        sink: Diagnostics,
    ) -> None:
        self._operators: Final = operators
        self._spaces: Final = spaces
        self._scalars: Final = scalars
        self._sink: Final = sink

    def gradient(self, entry: DifferentiableFunction) -> PythonGradient | None:
        """Gradient of an operator; None if it has a fault, which is reported, or no backward formula."""
        info = entry.infos.get(DEFAULT_KEY, next(iter(entry.infos.values())))
        if entry.function is not info.function or not info.derivatives:
            return None
        reason = _refusal(info, entry)
        if reason:
            at = info.derivatives[0].span
            message = f"{reason}, which needs `abi: native`"
            help = "give the derivative to a functional operator"
            self._sink.error(library_codes.STABLE_FIELD, message, at, help=help)
            return None
        formulas = [self._formula(info, derivative) for derivative in info.derivatives]
        whole = tuple([formula for formula in formulas if formula is not None])
        forward = [self._forward(info, derivative) for derivative in info.forward_derivatives]
        tangents = tuple([formula for formula in forward if formula is not None])
        if len(whole) < len(formulas) or len(tangents) < len(forward):
            return None
        left_out = tuple([argument.name for argument in info.left_out])
        return PythonGradient(
            entry.function, whole, info.differentiable_results, tangents, left_out, info.constant_results
        )

    def _formula(self, info: DifferentiabilityInfo, derivative: Derivative) -> PythonFormula | None:
        names = FormulaNames(info, _results(info), derivative.var_names)
        lists = {argument.name: is_tensor_list(argument) for argument in info.function.arguments.all}
        wanted = ["Tensor[]" if lists[name] else "Tensor" for name in derivative.var_names]
        text = self._translated(derivative.original_formula, derivative.span, names, wanted)
        if text is None:
            return None
        saved = tuple(names.saved.values())
        gradients, asked = frozenset(names.gradients), frozenset(names.asked)
        return PythonFormula(text, derivative.var_names, saved, gradients, asked, derivative.span)

    def _forward(self, info: DifferentiabilityInfo, derivative: ForwardDerivative) -> PythonForward | None:
        positions = _results(info)
        names = ForwardNames(info, positions)
        wanted = ["Tensor[]" if gives_list(info.function) else "Tensor"] * len(derivative.var_names)
        text = self._translated(derivative.formula, derivative.span, names, wanted)
        if text is None:
            return None
        return PythonForward(text, tuple([positions[name] for name in derivative.var_names]), tuple(names.tangents))

    def _translated(self, formula: str, at: Span, names: FormulaNames | ForwardNames, wanted: list[str]) -> str | None:
        """A formula in Python that gives values of the wanted types; None if it has a fault, which is reported."""
        place, help = (0, len(formula)), "give a tensor for each argument"
        try:
            value = PythonTranslator(formula, names, self._operators, self._spaces).translate()
            message = _mismatch(value, wanted)
        except NoPython as fault:
            place, message, help = fault.at, fault.message, fault.help
        if not message:
            return value.text
        scalar = self._scalars.get(at)
        # A formula that is made from another one is no text of the file.
        span = scalar.span_of(*place) if scalar is not None and scalar.value == formula else at
        self._sink.error(library_codes.FORMULA_NOT_PYTHON, message, span, help=help)
        return None


def _results(info: DifferentiabilityInfo) -> dict[str, int]:
    """Positions of the results, by the names that formulas read."""
    return {savable.name: index for index, savable in enumerate(scope_of(info.function).results)}


def _refusal(info: DifferentiabilityInfo, entry: DifferentiableFunction) -> str:
    """What the derivative of an operator needs that Python cannot register; empty if it can."""
    function = info.function
    if function.kind is not SchemaKind.functional:
        return f"the derivative of `{function.name}` is that of an operator that writes to its arguments"
    if function.is_view:
        return f"the derivative of `{function.name}` is that of a view"
    if set(entry.infos) != {DEFAULT_KEY}:
        return f"`{function.name}` has formulas for some dispatch keys"
    if info.output_condition is not None:
        return f"`{function.name}` has an output that is differentiable under a condition"
    if len(function.schema.returns) > 1 and any(
        isinstance(result.type, ListType) and result.type.is_tensor_like for result in function.schema.returns
    ):
        return f"`{function.name}` has derivatives and returns a list beside other results"
    return ""


def _mismatch(value: PythonValue, wanted: list[str]) -> str:
    """Why a value does not have the wanted types; empty if it has."""
    given = value.type.strip("()").split(", ") if value.type.startswith("(") else [value.type]
    if len(wanted) > 1 and value.type == "Tensor[]":
        given = wanted
    plain = [type.replace("?", "").replace(NONE, "Tensor") for type in given]
    if plain == wanted:
        return ""
    return f"the formula gives `{value.type}`, and `{', '.join(wanted)}` is needed"
