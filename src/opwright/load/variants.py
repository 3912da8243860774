"""Synthesis of the overloads that entries leave to be made: out forms and functional forms.

An operation, that is all overloads with one signature, gets an out overload where its `autogen` asks for one, and a
functional overload where it has an out one and lacks the functional. Both call what is there: see the kernels in the
emitters of composite functions.
"""

from __future__ import annotations

import string
from typing import Final

from opwright.load.operations import Operation
from opwright.model.dispatch_key import COMPOSITE_EXPLICIT
from opwright.model.native_function import NATIVE_NAMESPACE, DeviceCheck, Kernel, NativeFunction
from opwright.schema.annotation import annotation
from opwright.schema.function import Argument, Arguments, FunctionSchema, Return, SchemaKind, argument, returned
from opwright.schema.names import OperatorName, operator_name
from opwright.schema.signature import plain_argument, signature
from opwright.schema.types import TENSOR

#: Out overloads whose other forms have signatures of their own.
_LONE_OUTS: Final = frozenset(("adaptive_avg_pool3d_backward.grad_input", "_slow_conv2d_backward.grad_input"))

#: In-place overloads whose other forms have signatures of their own.
_LONE_INPLACES: Final = frozenset(("polygamma_",))

#: Functions that return no tensor, or nothing, so that there is nothing to write an out form for.
_WITHOUT_OUT: Final = frozenset((
    "_assert_async", "_assert_async.msg", "_assert_scalar", "_assert_tensor_metadata",
    "_chunk_grad_outputs_efficient_attention", "_cslt_sparse_mm_search", "_cummax_helper", "_cummin_helper", "_dimI",
    "_dimV", "_fused_sdp_choice", "_has_same_storage_numel", "_linalg_check_errors", "_local_scalar_dense",
    "_nested_get_ragged_idx", "_nested_tensor_from_mask_left_aligned", "_nested_tensor_storage_offsets", "_nnz",
    "_print", "_sink_tokens", "_use_cudnn_ctc_loss", "_use_cudnn_ctc_loss.Tensor", "_use_miopen_ctc_loss",
    "_use_miopen_ctc_loss.Tensor", "_validate_compressed_sparse_indices", "allclose", "dense_dim", "equal",
    "is_coalesced", "is_pinned", "is_same_size", "is_set_to", "q_per_channel_axis", "q_scale", "q_zero_point",
    "qscheme", "record_stream", "sparse_dim", "sym_constrain_range", "sym_constrain_range_for_size",
))  # fmt: skip

#: Tags that a synthesized overload takes over from the one it is made from.
_INHERITED_TAGS: Final = frozenset(("nondeterministic_seeded", "view_copy", "pt2_compliant_tag"))

#: The forms that a missing one is made from, the most telling first.
_BASES: Final = (SchemaKind.mutable, SchemaKind.inplace, SchemaKind.out, SchemaKind.functional)


def add_variants(operation: Operation, tag_by_kind: bool) -> list[NativeFunction]:
    """Adds the missing forms of an operation to it and gives them, the out form first.

    `tag_by_kind` tells to tag out forms as such.
    """
    members = operation.members
    if _needs_none(operation):
        return []
    made: list[NativeFunction] = []
    base = next(members[kind] for kind in _BASES if kind in members)
    has_out = SchemaKind.out in members
    if not has_out and _can_have_out(base) and any("out" in name.text for name in base.autogen):
        has_out = True
        made.append(_out_form(base, tag_by_kind))
    if has_out and SchemaKind.functional not in members:
        made.append(_synthesized(base, _functional_schema(base.schema), False))
    for function in made:
        members[function.kind] = function
    return made


def _needs_none(operation: Operation) -> bool:
    """Whether an operation is left as it is."""
    members = operation.members
    functions = members.values()
    if not any(kind in members for kind in _BASES):
        return True
    if all(one.manual_cpp_binding for one in functions):
        return True
    if any(one.is_view and one.name.name != "set_" for one in functions):
        return True
    if all(one.has_composite_implicit for one in functions) and not any("core" in one.tags for one in functions):
        return True
    if len(members) == 1 and SchemaKind.out in members:
        return True
    inplace = members.get(SchemaKind.inplace)
    return inplace is not None and inplace.name.text in _LONE_INPLACES


def is_lone_out(operation: Operation) -> bool:
    """Whether an operation has nothing but an out overload, and is none of those that may."""
    out = operation.members.get(SchemaKind.out)
    return out is not None and len(operation.members) == 1 and out.name.text not in _LONE_OUTS


def lacks_out(operation: Operation) -> NativeFunction | None:
    """The function of an operation that an out form cannot be made for although it ought to be possible."""
    members = operation.members
    if SchemaKind.out in members or _needs_none(operation):
        return None
    base = next(members[kind] for kind in _BASES if kind in members)
    return None if _can_have_out(base) or base.name.text in _WITHOUT_OUT else base


def _can_have_out(base: NativeFunction) -> bool:
    return base.kind is SchemaKind.inplace or any(one.type.is_tensor_like for one in base.schema.returns)


def _out_form(base: NativeFunction, tag_by_kind: bool) -> NativeFunction:
    schema = base.schema
    kind = base.kind
    if kind is SchemaKind.inplace:
        made = _inplace_to_out(schema)
    else:
        made = _returning_to_out(schema, keep_annotations=kind is SchemaKind.mutable)
    return _synthesized(base, made, tag_by_kind)


def _out_name(name: OperatorName) -> OperatorName:
    overload = f"{name.overload}_out" if name.overload else "out"
    return operator_name(name.base, overload=overload, dunder=name.dunder)


def _inplace_to_out(schema: FunctionSchema) -> FunctionSchema:
    """The out form that takes `self` unwritten, and writes to `out` what would be written to `self`."""
    arguments = schema.arguments
    self_arg = arguments.self_arg
    assert self_arg is not None, "an in-place schema has self"
    positional = tuple(plain_argument(one) if one is self_arg else one for one in arguments.positional)
    out = argument("out", self_arg.type, None, self_arg.annotation)
    return FunctionSchema(
        _out_name(schema.name), Arguments(positional, arguments.keyword_only, (out,)), schema.returns
    )


def _returning_to_out(schema: FunctionSchema, *, keep_annotations: bool) -> FunctionSchema:
    """The out form that writes each tensor of the returns to an out argument."""
    arguments = schema.arguments
    positional, keyword_only = arguments.positional, arguments.keyword_only
    if not keep_annotations:
        positional = tuple(plain_argument(one) for one in positional)
        keyword_only = tuple(plain_argument(one) for one in arguments.pre_options + arguments.post_options)
    outs, returns = _outs(schema)
    return FunctionSchema(_out_name(schema.name), Arguments(positional, keyword_only, outs), returns)


def _outs(schema: FunctionSchema) -> tuple[tuple[Argument, ...], tuple[Return, ...]]:
    """The out arguments for what a schema returns, and the returns that go with them.

    Tensors are returned again only where all returns are tensors; other values are returned as they were.
    """
    letters = _free_letters(schema)
    all_tensors = all(one.type is TENSOR for one in schema.returns)
    outs: list[Argument] = []
    returns: list[Return] = []
    for index, one in enumerate(schema.returns):
        if not one.type.is_tensor_like:
            returns.append(one)
            continue
        alias = annotation((letters[index],), True)
        outs.append(argument("out" if len(schema.returns) == 1 else f"out{index}", one.type, None, alias))
        if all_tensors:
            returns.append(returned(None, one.type, alias))
    return tuple(outs), tuple(returns)


def _free_letters(schema: FunctionSchema) -> list[str]:
    """The names for new alias sets.

    Names in use are passed over only as far as they stand in alphabetical order in the schema. That is what PyTorch
    does, so that its registered schemas are met to the letter.
    """
    used = [name for one in schema.arguments.all if one.annotation is not None for name in one.annotation.before]
    free: list[str] = []
    position = 0
    for letter in string.ascii_lowercase:
        if letter in used[position:]:
            position = used.index(letter, position) + 1
        else:
            position = len(used)
            free.append(letter)
    return free


def _functional_schema(schema: FunctionSchema) -> FunctionSchema:
    """The functional form: nothing is written, and what was written is returned."""
    plain = signature(schema, keep_return_names=True)
    name = schema.name
    mutable = schema.kind is SchemaKind.mutable
    made = operator_name(name.base, overload=name.overload, dunder=name.dunder, functional_overload=mutable)
    return FunctionSchema(made, plain.arguments, plain.returns)


def _synthesized(base: NativeFunction, schema: FunctionSchema, tag_by_kind: bool) -> NativeFunction:
    kernel = schema.name.unambiguous if schema.kind is SchemaKind.out else schema.name.name
    if base.schema.has_symint:
        kernel += "_symint"
    tags = base.tags & _INHERITED_TAGS | {"generated"}
    return NativeFunction(
        namespace=base.namespace,
        schema=schema,
        entry=base.entry,
        kernels={COMPOSITE_EXPLICIT: Kernel(COMPOSITE_EXPLICIT, kernel, NATIVE_NAMESPACE, False)},
        device_check=DeviceCheck.NoCheck,
        device_guard=False,
        const_ref_mutables=base.const_ref_mutables,
        tags=tags | {"out"} if tag_by_kind else tags,
        is_synthesized=True,
        is_abstract=base.is_abstract,
    )
