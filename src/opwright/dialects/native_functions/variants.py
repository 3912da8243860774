"""Synthesis of overloads that entries do not write: out forms and functional forms.

An operation (all overloads with one signature) gets an out overload if its `autogen` asks for one, and a functional
overload if it has an out overload but no functional one. Both call an existing overload: see the kernels in
`emit/aten/composite_kernels.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from opwright.dialects.native_functions.operations import Operation
from opwright.dialects.native_functions.report import CrossReport
from opwright.dialects.nearest import nearest_overload
from opwright.model.dispatch_key import COMPOSITE_EXPLICIT, COMPOSITE_IMPLICIT
from opwright.model.native_function import GuestFields, Kernel, UnlinkedFunction
from opwright.release.operator_names.loading import (
    LONE_OUT_OVERLOADS,
    SET_OPERATORS,
)
from opwright.schema.function import (
    Argument,
    FunctionSchema,
    Return,
    SchemaKind,
    argument_list,
    make_argument,
    make_return,
)
from opwright.schema.names import OperatorName
from opwright.schema.signature import plain_argument, signature, signature_key
from opwright.schema.types import TENSOR, annotation
from opwright.source import codes
from opwright.source.nodes import Scalar

_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"

#: Tags that a synthesized overload inherits.
_INHERITED_TAGS: Final = frozenset(("nondeterministic_seeded", "view_copy", "pt2_compliant_tag"))

#: The kinds that a missing form is made from, in order of preference.
_BASES: Final = (SchemaKind.mutable, SchemaKind.inplace, SchemaKind.out, SchemaKind.functional)


def add_variants(
    operation: Operation, tag_by_kind: bool, report: CrossReport, *, of_core_composites: bool = True
) -> list[UnlinkedFunction]:
    """Adds the missing forms of an operation to it and returns them, the out form first.

    With `tag_by_kind`, out forms are tagged as such. Composites with the tag `core` get forms only if
    `of_core_composites`, others never. Reports why a form cannot be made.
    """
    members = operation.members
    base = next(filter(None, map(members.get, _BASES)), None)
    operation.is_left_alone = base is None or _is_left_alone(members, of_core_composites)
    if base is None or operation.is_left_alone or _is_lone(members, report):
        return []
    variants: list[UnlinkedFunction] = []
    has_out = SchemaKind.out in members
    if not has_out and not _can_have_out(base):
        _check_has_tensor(base, report)
    elif not has_out and any("out" in name.text for name in base.autogen):
        variants += _out_form(base, tag_by_kind, report)
        has_out = bool(variants)
        operation.is_left_alone = not variants
    if has_out and SchemaKind.functional not in members:
        variants.append(_synthesize(base, _functional_schema(base.schema), False))
    for function in variants:
        members[function.kind] = function
        if signature_key(function.schema) != operation.key:
            _report_misfit(base, f"its signature would be `{function.schema}`", report)
    return variants


def _is_left_alone(members: dict[SchemaKind, UnlinkedFunction], of_core_composites: bool) -> bool:
    """Whether an operation needs no other forms, because it is bound by hand, a view, or a composite."""
    all_bound_by_hand = all_composite = True
    for overload in members.values():
        if overload.is_view and not is_set_operator(overload):
            return True
        all_bound_by_hand = all_bound_by_hand and overload.manual_cpp_binding
        has_forms = of_core_composites and "core" in overload.tags
        all_composite = all_composite and COMPOSITE_IMPLICIT in overload.kernels and not has_forms
    return all_bound_by_hand or all_composite


def is_set_operator(function: UnlinkedFunction) -> bool:
    """Whether a function is one of PyTorch's that give a tensor another storage, so the result is no view of it."""
    return function.library.known_by_name and function.name.name in SET_OPERATORS.in_any_release


def _is_lone(members: dict[SchemaKind, UnlinkedFunction], report: CrossReport) -> bool:
    """Whether an operation has overloads that match no others, which is allowed for a few only."""
    out = members.get(SchemaKind.out)
    if out is None or len(members) > 1:
        return False
    if not out.library.keeps_conventions:
        return True
    if out.name.text not in LONE_OUT_OVERLOADS.in_any_release and not report.concerns_absent(out.name.base):
        message = f"out overload `{out.name}` has no functional overload of the same signature"
        near = nearest_overload(out, report.index, lambda overload: overload.kind is not SchemaKind.out)
        help = f"add an entry for the functional overload of `{out.name.base}`"
        report.report_alone(codes.LONE_OUT, message, out, near, help)
    return True


def _check_has_tensor(base: UnlinkedFunction, report: CrossReport) -> None:
    if base.library.keeps_conventions and base.name.text not in report.without_tensor:
        message = f"`{base.name}` returns no tensor, so it cannot have an out overload"
        func = report.node(base).get("func")
        assert isinstance(func, Scalar), "the entry has a schema"
        arrow = func.value.rfind(") -> ")
        at = func.span_of(arrow + 5, len(func.value)) if arrow >= 0 else func.span
        help = f"return a tensor, or write `dispatch: {{CompositeImplicitAutograd: {base.name.name}}}`; in a tree of "
        help += "PyTorch, `FUNCTIONAL_OPS_THAT_CANNOT_GET_AN_OUT_VARIANT` lists exceptions"
        report.error(codes.NO_TENSOR_RETURN, message, at, help=help)


def _report_misfit(base: UnlinkedFunction, reason: str, report: CrossReport) -> None:
    message = f"no valid overload can be made from `{base.name}`: {reason}"
    report.error(codes.VARIANT_MISFIT, message, report.name(base))


def _can_have_out(base: UnlinkedFunction) -> bool:
    return base.kind is SchemaKind.inplace or any(result.type.is_tensor_like for result in base.schema.returns)


def _out_form(base: UnlinkedFunction, tag_by_kind: bool, report: CrossReport) -> list[UnlinkedFunction]:
    """Out overload made from another, in a list; empty if there are not enough letters for its alias sets."""
    schema = base.schema
    if base.kind is SchemaKind.inplace:
        return [_synthesize(base, inplace_to_out(schema), tag_by_kind)]
    if not all(result.type.is_tensor_like for result in schema.returns):
        _report_misfit(base, "it returns tensors and other values", report)
        return []
    letters = free_letters(schema)
    if len(letters) < len(schema.returns):
        _report_misfit(base, "it returns more than there are letters for alias sets", report)
        return []
    out_schema = returning_to_out(schema, letters, keep_annotations=base.kind is SchemaKind.mutable)
    return [_synthesize(base, out_schema, tag_by_kind)]


def autogen_names(function: UnlinkedFunction) -> tuple[OperatorName, ...]:
    """Names under which `autogen` makes the other forms of a function that writes; none if it cannot."""
    schema = function.schema
    if (
        function.is_view
        or not _can_have_out(function)
        or not all(result.type.is_tensor_like for result in schema.returns)
    ):
        return ()
    if function.kind is SchemaKind.inplace:
        out = inplace_to_out(schema)
    else:
        letters = free_letters(schema)
        if function.kind is not SchemaKind.mutable or len(letters) < len(schema.returns):
            return ()
        out = returning_to_out(schema, letters, keep_annotations=True)
    forms = _functional_schema(schema), out
    key = signature_key(schema)
    return tuple([form.name for form in forms]) if all(signature_key(form) == key for form in forms) else ()


def out_name(name: OperatorName) -> OperatorName:
    """Name of the out overload made from an overload of this name.

    >>> out_name(OperatorName("add", overload="Tensor")).text, out_name(OperatorName("relu", overload="")).text
    ('add.Tensor_out', 'relu.out')
    """
    overload = f"{name.overload}_out" if name.overload else "out"
    return OperatorName(name.base, overload=overload, dunder=name.dunder)


def inplace_to_out(schema: FunctionSchema) -> FunctionSchema:
    """Out form, which reads `self` and writes to `out` what the in-place form writes to `self`."""
    arguments = schema.arguments
    self_arg = arguments.self_arg
    assert self_arg is not None, "an in-place schema has self"
    positional = tuple(
        plain_argument(parameter) if parameter is self_arg else parameter for parameter in arguments.positional
    )
    out = make_argument("out", self_arg.type, None, self_arg.annotation)
    return FunctionSchema(
        out_name(schema.name), argument_list(positional, arguments.keyword_only, (out,)), schema.returns
    )


def returning_to_out(schema: FunctionSchema, letters: Sequence[str], *, keep_annotations: bool) -> FunctionSchema:
    """Out form, which writes each returned tensor to an out argument."""
    arguments = schema.arguments
    positional, keyword_only = arguments.positional, arguments.keyword_only
    if not keep_annotations:
        keyword_only = arguments.pre_options + arguments.post_options
        if arguments.has_annotations:
            positional = tuple([plain_argument(argument) for argument in positional])
            keyword_only = tuple([plain_argument(option) for option in keyword_only])
    outs, returns = _outs(schema, letters)
    return FunctionSchema(out_name(schema.name), argument_list(positional, keyword_only, outs), returns)


def _outs(schema: FunctionSchema, letters: Sequence[str]) -> tuple[tuple[Argument, ...], tuple[Return, ...]]:
    """Out arguments for what a schema returns, and the returns that go with them.

    They are returned as well if all of them are tensors and none is a list.
    """
    all_tensors = all(result.type is TENSOR for result in schema.returns)
    outs: list[Argument] = []
    returns: list[Return] = []
    for index, result in enumerate(schema.returns):
        alias = annotation((letters[index],), True)
        outs.append(make_argument("out" if len(schema.returns) == 1 else f"out{index}", result.type, None, alias))
        if all_tensors:
            returns.append(make_return(None, result.type, alias))
    return tuple(outs), tuple(returns)


def free_letters(schema: FunctionSchema) -> Sequence[str]:
    """Names for new alias sets.

    Names in use are skipped only as long as they occur in alphabetical order in the schema. PyTorch does the same, and
    its registered schemas must match to the letter.
    """
    used = [
        name
        for argument in schema.arguments.all
        if argument.annotation is not None
        for name in argument.annotation.before
    ]
    if not used:
        return _LETTERS
    free: list[str] = []
    position = 0
    for letter in _LETTERS:
        if letter in used[position:]:
            position = used.index(letter, position) + 1
        else:
            position = len(used)
            free.append(letter)
    return free


def _functional_schema(schema: FunctionSchema) -> FunctionSchema:
    """Functional form, which writes nothing and returns what the other form writes."""
    plain = signature(schema, keep_return_names=True)
    name = schema.name
    mutable = schema.kind is SchemaKind.mutable
    functional_name = OperatorName(name.base, overload=name.overload, dunder=name.dunder, functional_overload=mutable)
    return FunctionSchema(functional_name, plain.arguments, plain.returns)


def _synthesize(base: UnlinkedFunction, schema: FunctionSchema, tag_by_kind: bool) -> UnlinkedFunction:
    kernel = schema.name.unambiguous if schema.kind is SchemaKind.out else schema.name.name
    tags = frozenset(("generated", "out") if tag_by_kind else ("generated",))
    return synthesized(base, schema, kernel, tags, base.guest_fields and base.guest_fields.of_form())


def synthesized(
    base: UnlinkedFunction,
    schema: FunctionSchema,
    kernel: str,
    tags: frozenset[str],
    guest_fields: GuestFields | None,
) -> UnlinkedFunction:
    """An overload made from another one, with a kernel of that name for all devices."""
    if base.schema.has_symint:
        kernel += "_symint"
    called = Kernel(COMPOSITE_EXPLICIT, kernel, base.library.native, False)
    return base.made(schema, called, {"tags": tags | base.tags & _INHERITED_TAGS}, guest_fields)
