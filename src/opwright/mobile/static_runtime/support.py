"""Which operators static runtime gets generated code for, in what blocks, and what keeps the others from it.

How static runtime calls them: the arguments out of the values of an interpreter, those of its tests, and the functions.
Types that are not in the table cannot be arguments. Static runtime runs on the CPU only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import groupby
from operator import attrgetter
from typing import Final, TypeAlias, TypeVar

from opwright.convention import public_api
from opwright.emit.emitter import Job, per_job
from opwright.mobile import mobile_codes
from opwright.mobile.operator_names import HAND_WRITTEN, LEFT_OUT
from opwright.model.catalog import Catalog
from opwright.model.dispatch_key import CPU
from opwright.model.native_function import Kernel, NativeFunction, NativeFunctionsGroup, ViewGroup
from opwright.schema.base_types import BASE_TYPE_ROWS
from opwright.schema.function import Argument, FunctionSchema
from opwright.schema.signature import base_of_operation
from opwright.schema.types import BASE_TYPES, TENSOR, OptionalType, Type, base, optional
from opwright.source.diagnostic import Diagnostics, did_you_mean
from opwright.source.records import NamedTuple
from opwright.source.span import Span


class StaticRuntimeFiles(NamedTuple):
    """Names of the two files of a run: that with the operators, and that with their tests."""

    operators: str = "generated_ops.cpp"
    tests: str = "test_generated_ops.cc"


class ArgumentForm(NamedTuple):
    """What generated code has for arguments of one type.

    `declared` begins the declaration of the C++ variable, `conversion` is the call that takes the argument out of an
    `IValue`, `script_type` its type in TorchScript, and `test_value` what tests pass; that of tensors is not here.
    """

    declared: str
    conversion: str
    script_type: str
    test_value: str


def _forms() -> dict[Type, ArgumentForm]:
    forms: dict[Type, ArgumentForm] = {}
    for row in BASE_TYPE_ROWS:
        form = row.interpreter
        if form is not None:
            plain, value = base(row.name), form.test_value
            declared = "const auto&" if plain.is_tensor_like else "const auto"
            taken = f"toOptional<{form.optional}>()"
            forms[plain] = ArgumentForm(declared, f"{form.conversion}()", form.script, value)
            forms[optional(plain)] = ArgumentForm("const auto", taken, f"{form.script}?", value)
    return forms


_FORMS: Final = _forms()


def argument_form(type: Type) -> ArgumentForm | None:
    """What generated code has for an argument of a type; None if static runtime cannot pass such an argument.

    >>> argument_form(base("ScalarType")).conversion, argument_form(base("SymInt"))
    ('toScalarType()', None)
    """
    return _FORMS.get(type)


def taken_types() -> list[str]:
    """Names of the types that arguments may have, without the optionals of these.

    >>> taken_types()[:2]
    ['ScalarType', 'Tensor']
    """
    return [type.text for type in _FORMS if not isinstance(type, OptionalType)]


#: The namespace in which generated code calls kernels.
KERNEL_NAMESPACE: Final = "at::native"
#: The namespace of the functions around structured kernels.
STRUCTURED_NAMESPACE: Final = f"at::{CPU.name.lower()}"


def own_kernel(function: NativeFunction) -> Kernel | None:
    """Kernel of an overload for the device of static runtime, None if it has only kernels for others."""
    return function.kernels.get(CPU)


def function_name(function: NativeFunction, *, structured: bool) -> str:
    """The C++ function that computes an overload, with its namespace.

    A structured kernel is called by the function around it, which has the overload's public name. An overload without
    a kernel of its own has one of that name in the namespace of kernels.
    """
    kernel = None if structured else own_kernel(function)
    name = public_api.name(function.schema) if kernel is None else kernel.name
    return f"{STRUCTURED_NAMESPACE if structured else KERNEL_NAMESPACE}::{name}"


#: How the schemas of out overloads end that may be kernels written by hand.
_PLAIN_OUT: Final = "Tensor(a!) out) -> Tensor(a!)"


#: What no schema of an operator with code has: lists, and other types than those that can be passed.
_UNFIT: Final = re.compile(rf"\[|(?<!\w)(?:{'|'.join(sorted(set(BASE_TYPES).difference(taken_types())))})(?!\w)")

#: Schemas that return a tensor which shares memory: those of out overloads, views and in-place overloads.
_ALIASING: Final = re.compile(r"-> *Tensor\(")


def obstacle(group: NativeFunctionsGroup) -> str:
    """The first thing that keeps a group with an out overload from generated code; empty if it gets some."""
    out, functional = group.out.schema, group.functional.schema
    return (
        _table_entry(group.root_name)
        or _unfit_argument((*out.arguments.all, *functional.arguments.all))
        or ("" if group.structured else _unfit_out(group.out))
        or _unfit_result(group.out)
        or _alias(out)
    )


def obstacle_of_view(group: ViewGroup) -> str:
    """The first thing that keeps a view from generated code; empty if it gets some."""
    schema = group.view.schema
    first = _table_entry(group.root_name) or _unfit_argument(schema.arguments.all)
    if first or _returns_tensor(schema, is_write=False):
        return first
    return f"it returns {_results(schema)}, not one tensor that views another"


def _table_entry(root_name: str) -> str:
    for table, lead in ((HAND_WRITTEN, ""), (LEFT_OUT, "PyTorch leaves it out. ")):
        if root_name in table.in_any_release:
            return lead + next(row.reason for row in table.rows if root_name in row.names)
    return ""


def _unfit_argument(arguments: Iterable[Argument]) -> str:
    for argument in arguments:
        if argument_form(argument.type) is None:
            types = ", ".join(f"`{name}`" for name in taken_types())
            return (
                f"argument `{argument.name}` is a `{argument.type}`; only {types} and optionals of these can be passed"
            )
    return ""


def _unfit_out(out: NativeFunction) -> str:
    if str(out.schema).endswith(_PLAIN_OUT) and out.name.overload == "out":
        return ""
    wanted = f"without a structured kernel, it must be `{out.name.name}.out` with one argument `Tensor(a!) out`"
    return f"its out overload is `{out.schema}`; {wanted}"


def _unfit_result(out: NativeFunction) -> str:
    if out.const_ref_mutables:
        return "its out overload returns a `const Tensor &`, which cannot be written"
    if _returns_tensor(out.schema, is_write=True):
        return ""
    return f"its out overload returns {_results(out.schema)}, not one written tensor"


def _returns_tensor(schema: FunctionSchema, *, is_write: bool) -> bool:
    returns = schema.returns
    return len(returns) == 1 and returns[0].type is TENSOR and returns[0].is_write is is_write


def _results(schema: FunctionSchema) -> str:
    shown = ", ".join(result.text for result in schema.returns)
    return f"`{shown}`" if shown else "nothing"


def _alias(schema: FunctionSchema) -> str:
    # PyTorch's program does not look at `self`.
    for argument in schema.arguments.non_out:
        if argument.annotation is not None and argument is not schema.arguments.self_arg:
            return f"argument `{argument.name}` is a `{argument.text}`, which shares memory with another value"
    return ""


def may_have_code(entry: str) -> bool:
    """Whether an entry may give its operation generated code; the text of the entry begins with its schema.

    >>> may_have_code("sinh.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\\n  structured: True")
    True
    >>> may_have_code("relu(Tensor self) -> Tensor"), may_have_code("mm.out(Tensor(a!) out, float a) -> Tensor(a!)")
    (False, False)
    """
    schema, _, fields = entry.partition("\n")
    name, _, rest = schema.partition("(")
    root_name = base_of_operation(name.partition(".")[0])
    if root_name in HAND_WRITTEN.in_any_release or root_name in LEFT_OUT.in_any_release:
        return False
    # Code needs an out overload, which may be synthesized, or a view.
    if "autogen" not in fields and not _ALIASING.search(schema):
        return False
    # Defaults in quotes may contain anything.
    return "'" in rest or '"' in rest or (_UNFIT.search(rest) is None and ") -> (" not in rest)


Group = TypeVar("Group", NativeFunctionsGroup, ViewGroup)

Block: TypeAlias = "tuple[NativeFunctionsGroup, ...] | tuple[ViewGroup, ...]"
"""Groups that follow each other and share a name, all with an out overload or all views."""

#: What stands between the operators with out overloads and the views.
_BETWEEN: Final = "\n\n"

_root_name: Final = attrgetter("root_name")


def _blocks(groups: Iterable[Group]) -> list[tuple[Group, ...]]:
    return [tuple(block) for _, block in groupby(groups, key=_root_name)]


@per_job
def blocks(job: Job) -> Sequence[tuple[NativeFunctionsGroup, ...]]:
    """Blocks of operators with an out overload, in the order of the catalog."""
    groups = [group for group in job.catalog.groups if isinstance(group, NativeFunctionsGroup)]
    return _blocks(group for group in groups if not obstacle(group))


@per_job
def view_blocks(job: Job) -> Sequence[tuple[ViewGroup, ...]]:
    """Blocks of views, in the order of the catalog."""
    groups = [group for group in job.catalog.view_groups if isinstance(group, ViewGroup)]
    return _blocks(group for group in groups if not obstacle_of_view(group))


def file_units(head: str, tail: str) -> Callable[[Job], Sequence[Block | str]]:
    """Units of a file with all blocks: texts stand for themselves."""
    return lambda job: [head, *blocks(job), _BETWEEN, *view_blocks(job), tail]


def explanations(catalog: Catalog, names: Sequence[str], sink: Diagnostics) -> Iterator[str]:
    """A line for each overload with one of some names, with or without overload; patterns such as `conv*` name several.

    Names that no operator has are reported.
    """
    for name in names:
        wanted = name.removeprefix("aten::")
        chosen = [function for function in catalog.functions if _has_name(function, wanted)]
        if not chosen:
            operators = [function.name.text for function in catalog.functions]
            sink.error(mobile_codes.NO_OPERATOR, f"there is no operator `{name}`", help=did_you_mean(wanted, operators))
        for function in chosen:
            yield f"{function.namespace}::{function.name}: {explanation(function)}"


def _has_name(function: NativeFunction, wanted: str) -> bool:
    return any(fnmatchcase(name, wanted) for name in (function.name.text, function.name.name))


def explanation(function: NativeFunction) -> str:
    """Whether an overload has generated code, and why not.

    >>> import opwright
    >>> catalog = opwright.load()
    >>> explanation(catalog["sinh"])
    'has code, which calls `at::cpu::sinh`'
    >>> explanation(catalog["conv1d"])
    'has no code: it has no out overload, and is no view of one tensor'
    """
    group, views = function.group, function.view_group
    if views is not None and function is views.view:
        reason, structured = obstacle_of_view(views), False
    elif group is not None:
        if function is not group.functional:
            return f"only its functional overload `{group.functional.name}` can have code"
        reason, structured = obstacle(group), group.structured
    else:
        return "has no code: it has no out overload, and is no view of one tensor"
    if reason:
        return f"has no code: {reason}"
    return f"has code, which calls `{function_name(function, structured=structured)}`"


_HELP: Final = "give the out overload another name than `out`, and the operator gets no code in static runtime"


def check_static_runtime(job: Job, sink: Diagnostics) -> None:
    """Report operators whose code would have the wrong name or call the wrong kernel."""
    for block in blocks(job):
        for group in block:
            _check_name(group.functional, sink)
            if not group.structured:
                _check_kernel(group.functional, sink)
                _check_kernel(group.out, sink)
    for views in view_blocks(job):
        for view_group in views:
            _check_name(view_group.view, sink)
            _check_kernel(view_group.view, sink)


def _check_name(function: NativeFunction, sink: Diagnostics) -> None:
    """Report an operator whose schema would be registered under another name."""
    name, base = function.name, function.root_name
    if name.dunder:
        message = f"static runtime would register `{name}` as `aten::{base}`"
        sink.error(mobile_codes.UNNAMED_TEST, message, _place(function, name.name), help=_HELP)
    elif function.namespace != "aten" or name.name != base:
        full_name = f"{function.namespace}::{name}"
        message = f"static runtime registers `{full_name}` as `aten::{base}`, where nothing looks for it"
        sink.warning(mobile_codes.OTHER_NAME, message, _place(function, name.name), help=_HELP)


def _check_kernel(function: NativeFunction, sink: Diagnostics) -> None:
    kernel = own_kernel(function)
    if kernel is not None and kernel.namespace != KERNEL_NAMESPACE:
        called, own = f"{KERNEL_NAMESPACE}::{kernel.name}", f"{kernel.namespace}::{kernel.name}"
        message = f"static runtime calls `{called}` for `{function.name}`, but its kernel is `{own}`"
        sink.warning(
            mobile_codes.OTHER_NAMESPACE, message, _place(function, kernel.name, after="dispatch:"), help=_HELP
        )


def _place(function: NativeFunction, word: str, after: str = "func:") -> Span:
    """The first place of a word in the entry of a function, after another word; the whole entry if it is not there."""
    entry = function.entry
    match = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)").search(entry.text, max(entry.text.find(after), 0))
    if match is None:
        return entry
    return Span(entry.file, entry.start + match.start(), entry.start + match.end())
