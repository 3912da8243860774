"""The code with which JAX calls kernels over borrowed tensors: handlers for XLA, and typed Python functions."""

from __future__ import annotations

import keyword
from collections.abc import Sequence
from typing import Final

from opwright.convention.dispatcher import returned_arguments
from opwright.emit.emitter import AnyEmitter, Emitter, FilePerUnit, FragmentContext, Job, Slots
from opwright.libraries.emit.python.batch_rules import mapped_loops
from opwright.libraries.entry_fields import library_fields, requirements_of
from opwright.libraries.frameworks.calls import python_default, view_libraries
from opwright.libraries.frameworks.jax_formulas import gradient_texts, module_functions
from opwright.libraries.frameworks.view_convention import (
    ViewLibrary,
    ViewOperator,
    new_results,
    passed_type,
    view_type,
    written_arguments,
)
from opwright.libraries.operator_library import OperatorLibrary, PythonGradient
from opwright.libraries.requirements import Requirements
from opwright.model.native_function import NativeFunction
from opwright.schema.function import Argument
from opwright.schema.types import OptionalType
from opwright.syntax.python import docstring_text, string_literal, variable_name

#: The types of parameters in Python by the words of `opwright::Kind`.
ANNOTATIONS: Final = {
    "tensor": "ArrayLike",
    "tensors": "Sequence[ArrayLike]",
    "integer": "int",
    "real": "float",
    "boolean": "bool",
    "text": "str",
    "integers": "Sequence[int]",
    "reals": "Sequence[float]",
    "booleans": "Sequence[bool]",
}


def jax_units(job: Job) -> Sequence[ViewLibrary]:
    """The libraries that JAX calls."""
    return [unit for unit in view_libraries(job) if "jax" in unit.library.frameworks]


def target_name(unit: ViewLibrary, operator: ViewOperator) -> str:
    """Name by which JAX finds the handler of an operator."""
    return f"opwright_{unit.namespace}_{operator.name}"


def infer_name(unit: ViewLibrary) -> str:
    """Name of the C function that checks a call while JAX traces it."""
    return f"opwright_{unit.namespace}_jax_infer"


def parameters(function: NativeFunction, annotations: dict[str, str]) -> str:
    """Parameters of a Python function, with the names and the defaults of the schema."""
    arguments = function.arguments
    shown = [_parameter(argument, annotations) for argument in arguments.positional]
    rest = [_parameter(argument, annotations) for argument in arguments.all if argument not in arguments.positional]
    return ", ".join([*shown, *(["*", *rest] if rest else [])])


def passed(function: NativeFunction) -> str:
    """The arguments that a Python function passes on, where one number stands for all items of a list of given length.

    >>> import opwright
    >>> passed(opwright.load()["avg_pool2d"]).partition(", [stride]")[0]
    'self, [kernel_size] * 2 if isinstance(kernel_size, int) else kernel_size'
    """
    texts = []
    for argument in function.arguments.all:
        name = variable_name(argument.name)
        form, listed = view_type(argument.type), argument.type.list_like
        word = {"integers": "int", "reals": "float"}.get(form.kind) if form is not None else None
        if word is not None and listed is not None and listed.size is not None:
            name = f"[{name}] * {listed.size} if isinstance({name}, {word}) else {name}"
        texts.append(name)
    return ", ".join(texts)


def _parameter(argument: Argument, annotations: dict[str, str]) -> str:
    optional = " | None" if isinstance(argument.type, OptionalType) else ""
    text = f"{variable_name(argument.name)}: {annotations[passed_type(argument).kind]}{optional}"
    return text if argument.default is None else f"{text} = {python_default(argument)!r}"


def result_order(function: NativeFunction) -> list[tuple[str, int]]:
    """The results of a function in JAX: name, or nothing, and place among new results and then written arguments.

    What is written and not returned comes last, as JAX has no other way to give it.
    """
    written = [argument.name for argument in written_arguments(function)]
    new = len(new_results(function))
    order, count = [], 0
    for name, result in zip(returned_arguments(function.schema), function.schema.returns, strict=True):
        if name is None:
            order.append((result.name or "", count))
            count += 1
        else:
            order.append((name, new + written.index(name)))
    places = {place for _, place in order}
    return order + [(name, new + index) for index, name in enumerate(written) if new + index not in places]


def result_class(operator: ViewOperator, item: str, order: Sequence[tuple[str, int]]) -> tuple[str, str, str]:
    """What makes the results of a function, its annotation, and the class that has them, if they have names."""
    if not order:
        return "_nothing", "None", ""
    if len(order) == 1:
        return "_single", item, ""
    names = [name for name, _ in order]
    are_fields = all(
        name and not keyword.iskeyword(name) and not name.startswith("_") and name not in ("count", "index")
        for name in names
    )
    if not are_fields or len(set(names)) < len(names):
        return "_tuple_of", f"tuple[{', '.join([item] * len(order))}]", ""
    title = "".join([word.capitalize() for word in operator.name.split("_")]) + "Result"
    fields = "".join([f"    {name}: {item}\n" for name in names])
    text = f'class {title}(NamedTuple):\n    """The results of `{operator.name}`."""\n\n{fields}'
    return title, title, text


def docstring(operator: ViewOperator) -> str:
    """Docstring of a Python function of an operator."""
    function = operator.function
    doc = library_fields(function).doc.strip() or f"The operator `{function.namespace}::{function.name}`."
    dims = dict((requirements_of(function) or Requirements()).dims)
    lines = [doc, "", f"Schema: `{function.schema}`."]
    if dims:
        sizes = ", ".join([f"`{name}` `[{pattern.text}]`" for name, pattern in dims.items()])
        lines += ["", f"Sizes: {sizes}."]
    text = docstring_text("\n".join(lines))
    indented = "\n".join([f"    {line}".rstrip() for line in text.split("\n")])
    return f'    """{indented[4:]}\n    """'


def _function(unit: ViewLibrary, operator: ViewOperator, gradients: dict[NativeFunction, PythonGradient]) -> str:
    function = operator.function
    make, annotation, made_class = result_class(operator, "Array", result_order(function))
    rows = [
        (argument.name, passed_type(argument).kind, isinstance(argument.type, OptionalType), argument.is_write)
        for argument in function.arguments.all
    ]
    facts = [
        str(operator.place),
        string_literal(f"{function.namespace}::{function.name}"),
        string_literal(target_name(unit, operator)),
        f"{tuple(rows)!r}",
        str(len(new_results(function))),
        f"{tuple([place for _, place in result_order(function)])!r}",
        f"_runtime{make.replace('_', '.', 1)}" if make.startswith("_") else make,
    ]
    loops = mapped_loops(function)
    if loops is not None:
        places = {name: tuple(place) for name, place in loops.arguments.items()}
        facts.append(
            f"loops=({places!r}, {tuple([None if place is None else place.before for place in loops.results])!r})"
        )
    texts = [made_class] if made_class else []
    gradient = gradients.get(function)
    if gradient is not None and gradient.formulas:
        text, reads = _gradient(unit.library, operator, gradient, functions_of(unit))
        texts.append(text)
        facts += [f"gradient=_gradient_{operator.place}", f"reads={reads!r}"]
        if gradient.left_out:
            facts.append(f"left_out={tuple(gradient.left_out)!r}")
    listed = "".join([f"    {fact},\n" for fact in facts])
    texts.append(f"_operator_{operator.place} = _runtime.Operator(\n{listed})\n")
    texts.append(f"def {operator.name}({parameters(function, ANNOTATIONS)}) -> {annotation}:\n{_body(operator)}\n")
    return "\n\n".join(texts)


#: Tests of the types of values that are no arrays, by the words of `opwright::Kind`.
_EXACT: Final = {"integer": "int", "real": "float", "boolean": "bool", "text": "str"}
_EXACT_LISTS: Final = {"integers": "int", "reals": "float", "booleans": "bool"}


def _body(operator: ViewOperator) -> str:
    """Docstring and statements of a function.

    Before the operator looks at each value, the function looks for the compiled program of a call in which all values
    have the types of the schema: JAX takes some 10 us to call a program, and the operator would add half as much. The
    key has the classes of tensors, which calls before had: to ask one for its dtype takes longer.
    """
    conditions, keys, tensors = [], [], []
    names = [variable_name(argument.name) for argument in operator.function.arguments.all]
    for name, argument in zip(names, operator.function.arguments.all, strict=True):
        kind = passed_type(argument).kind
        condition, key = f"{name}.__class__ is {_EXACT.get(kind)}", name
        if kind == "tensor":
            condition, key = "", f"{name}.__class__"
        elif kind == "tensors":
            condition, key = f"{name}.__class__ is list", f"tuple(map(type, {name}))"
        elif kind in _EXACT_LISTS:
            items = f"all([_item.__class__ is {_EXACT_LISTS[kind]} for _item in {name}])"
            condition, key = f"{name}.__class__ is list and {items}", f"tuple({name})"
        if condition and isinstance(argument.type, OptionalType):
            condition = f"({name} is None or {condition})"
            key = f"None if {name} is None else {key}" if key != name else key
        keys.append(key)
        if condition:
            conditions.append(condition)
        if kind in ("tensor", "tensors"):
            tensors.append(name)
    place = operator.place
    key = f"({', '.join(keys)}{',' if len(keys) == 1 else ''})"
    lines = [
        docstring(operator),
        f"    if {' and '.join(conditions) or 'True'}:",
        f"        _program = _operator_{place}.exact.get({key})",
        "        if _program is not None:",
        f"            return _program({', '.join(tensors)})",
        f"    return _operator_{place}({passed(operator.function)})",
    ]
    return "\n".join(lines)


def functions_of(unit: ViewLibrary) -> dict[tuple[str, str], str]:
    """The functions of the module."""
    return module_functions([operator.function for operator in unit.operators])


def _gradient(
    library: OperatorLibrary,
    operator: ViewOperator,
    gradient: PythonGradient,
    functions: dict[tuple[str, str], str],
) -> tuple[str, tuple[tuple[str, ...], tuple[int, ...]]]:
    """The function that makes gradients, and the arguments and results that it reads."""
    function = operator.function
    names = [variable_name(argument.name) for argument in function.arguments.all]
    count = len(function.schema.returns)
    lines: list[str] = []
    assigned: dict[str, str] = {}
    targets: dict[str, str] = {}
    words: set[str] = set()
    for formula in gradient.formulas:
        text, saved = gradient_texts(formula, library, functions)
        assigned.update(saved)
        variables = [f"_gradient_of_{name}" for name in formula.arguments]
        lines.append(f"    {', '.join(variables)} = {text}")
        targets.update(zip(formula.arguments, variables, strict=True))
        words |= _words(text).union(*map(_words, saved.values()))
    head = [f"    {', '.join(names)}{',' if len(names) == 1 else ''} = _arguments"] if names else []
    head.append(f"    {', '.join([f'_grad_{place}' for place in range(count)])}{',' if count == 1 else ''} = _grads")
    head += [f"    {name} = {value}" for name, value in assigned.items() if name != value]
    items = ", ".join([f"{string_literal(name)}: {variable}" for name, variable in targets.items()])
    text = "\n".join(
        [
            f"def _gradient_{operator.place}(_arguments, _results, _grads):  # type: ignore[no-untyped-def]",
            *head,
            *lines,
            f"    return {{{items}}}\n",
        ]
    )
    read = tuple([argument.name for argument in function.arguments.all if variable_name(argument.name) in words])
    results = tuple([place for place in range(count) if f"_results[{place}]" in text])
    return text, (read, results)


def _words(text: str) -> set[str]:
    return set("".join([c if c.isalnum() or c == "_" else " " for c in text]).split())


def _module(unit: ViewLibrary, context: FragmentContext) -> Slots:
    gradients = {gradient.function: gradient for gradient in unit.library.derivatives.python}
    functions = [_function(unit, operator, gradients) for operator in unit.operators]
    names = [operator.name for operator in unit.operators]
    classes = [result_class(operator, "Array", result_order(operator.function))[0] for operator in unit.operators]
    names += [title for title in classes if not title.startswith("_")]
    exported = sorted(set(names))
    text = "\n\n".join(functions)
    imports = ["import jax.numpy as _jnp"] if "_jnp." in text else []
    imports += ["import math as _math"] if "_math." in text else []
    return {
        "namespace": unit.namespace,
        "imports": imports,
        "exported": "\n".join([f'    "{name}",' for name in exported]),
        "targets": "\n".join(
            [
                f"    {string_literal(target_name(unit, operator))}: {tuple(operator.kernels)!r},"
                for operator in unit.operators
            ]
        ),
        "functions": text,
    }


def _runtime(unit: ViewLibrary, context: FragmentContext) -> Slots:
    return {"namespace": unit.namespace, "package": unit.library.python_package, "infer": infer_name(unit)}


def _source(unit: ViewLibrary, context: FragmentContext) -> Slots:
    handlers = [
        f"OPWRIGHT_JAX_HANDLER({unit.table}, {target_name(unit, operator)}_{device}, {operator.place}, {device})"
        for operator in unit.operators
        for device in operator.kernels
    ]
    return {
        "namespace": unit.namespace,
        "table": unit.table,
        "infer": infer_name(unit),
        "handlers": "\n".join(handlers),
    }


def emitters(job: Job) -> list[AnyEmitter]:
    """Emitters of the source for JAX, of the module, and of what its functions share."""
    return [
        Emitter(
            name="view_library_jax_sources",
            family="library",
            template="frameworks/jax.cpp",
            folder="source",
            units=jax_units,
            fragment=_source,
            layout=FilePerUnit(lambda unit: f"{unit.library.library.headers}/jax.cpp"),
        ),
        Emitter(
            name="view_library_jax_modules",
            family="library",
            template="frameworks/jax.py.in",
            folder="python",
            units=jax_units,
            fragment=_module,
            layout=FilePerUnit(lambda unit: f"{unit.package}/jax.py"),
        ),
        Emitter(
            name="view_library_jax_runtimes",
            family="library",
            template="frameworks/jax_runtime.py.in",
            folder="python",
            units=jax_units,
            fragment=_runtime,
            layout=FilePerUnit(lambda unit: f"{unit.package}/_jax_runtime.py"),
        ),
    ]
