"""Fields of a library's entries that PyTorch's lack, each with its reader, and the JSON Schema of the files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from opwright.dialects.field import FLAG, TEXT, TEXTS, Field, JsonSchema, choice, list_of_schema, mapping_schema
from opwright.dialects.names import IDENTIFIER, split_kernel
from opwright.dialects.native_functions.entry_builder import EntryBuilder, EntryField, key_span
from opwright.dialects.nearest_key import suggested_key
from opwright.libraries import library_codes
from opwright.libraries.declared_outputs import DeclaredOutputs
from opwright.libraries.dialect.conditions import read_condition
from opwright.libraries.dialect.contracts import CONTRACTS, FIELD, read_contracts, result_schema
from opwright.libraries.dialect.dims import DIMS
from opwright.libraries.dialect.head import HEAD_FIELDS, IMPLEMENTS
from opwright.libraries.dialect.implementations import (
    IMPLEMENTATION_FIELDS,
    check_fields,
    is_python_function,
    read_library_dispatch,
)
from opwright.libraries.dialect.outputs import OUTPUT_FIELDS, load_outputs
from opwright.libraries.dialect.references import REFERENCE, REFERENCE_FIELDS, read_reference
from opwright.libraries.dialect.requirements import (
    DTYPES_FIELD,
    LAYOUT,
    LINEAR,
    REDUCTION,
    REQUIRES,
    read_requirements,
)
from opwright.libraries.dialect.samples import check_sample
from opwright.libraries.dialect.saved import SAVED, read_saved
from opwright.libraries.dialect.sections import COMMON_FIELDS, CONDITION_FIELD, DISPATCH_FIELD, SECTION_FIELDS
from opwright.libraries.dialect.values import VALUES
from opwright.libraries.entry_fields import ARGUMENT_POLICIES, AUTOCAST_DEVICES, CAST_BACK, LIBRARY_POLICIES, Autocast
from opwright.libraries.requirements import Requirements
from opwright.schema.function import FunctionSchema
from opwright.schema.types import Type
from opwright.source.diagnostic import did_you_mean
from opwright.source.expect import check_unique_keys, expect_boolean, expect_strings
from opwright.source.nodes import MappingNode, Node, Scalar


def _read_name(_node: Node, builder: EntryBuilder) -> None:
    """The schema stands for the name already, where another library defines the operators."""
    if builder.context.library.defines_operators:
        message = f"`{NAME}` is for operators that another library defines, which `{IMPLEMENTS}` of the head names"
        builder.fault(
            library_codes.OWNERS_FIELD, message, key_span(builder.node, NAME), help="write the schema in `func`"
        )


def _read_doc(node: Node, builder: EntryBuilder) -> str | None:
    if isinstance(node, Scalar) and node.kind == "str":
        return node.value
    builder.wrong_type(node, "doc", "a text")
    return None


def _read_deprecated(node: Node, builder: EntryBuilder) -> str | None:
    if isinstance(node, Scalar) and node.kind == "str" and (text := " ".join(node.value.split())):
        return text
    builder.wrong_type(node, _DEPRECATED, "a text, such as `since 1.4, use scale2`")
    return None


def _read_outputs(node: Node, builder: EntryBuilder) -> DeclaredOutputs | None:
    entry = builder.node.entry("outputs")
    if builder.schema is None or entry is None:
        return None
    schema = result_schema(builder.schema) if builder.node.get(FIELD) is not None else builder.schema
    outputs = load_outputs(entry[0], node, schema, builder.tags, builder.context.sink)
    builder.failed |= outputs is None
    return outputs


def _read_autocast(node: Node, builder: EntryBuilder) -> Autocast | None:
    if isinstance(node, Scalar):
        return Autocast(_read_policy(node, builder))
    if not isinstance(node, MappingNode):
        builder.wrong_type(node, "autocast", "a policy, or a mapping from devices or arguments to policies")
        return None
    check_unique_keys(node, builder.context.sink)
    types = {argument.name: argument.type for argument in builder.schema.arguments.all} if builder.schema else {}
    if any(key.value in types for key, _ in node.entries):
        return _read_argument_policies(node, types, builder)
    policies: list[tuple[str, str]] = []
    for device, value in node.entries:
        if device.value not in AUTOCAST_DEVICES:
            help = suggested_key(device.value, AUTOCAST_DEVICES, f"the devices are {_name_list(AUTOCAST_DEVICES)}")
            message = f"there is no autocast for `{device.value}`"
            builder.fault(library_codes.AUTOCAST_DEVICE, message, device.span, help=help)
        elif isinstance(value, Scalar):
            policies.append((device.value, _read_policy(value, builder)))
        else:
            builder.wrong_type(value, f"autocast of {device.value}", "a policy")
    return Autocast("", tuple(policies))


def _read_argument_policies(node: MappingNode, types: Mapping[str, Type], builder: EntryBuilder) -> Autocast:
    """Policies of single arguments."""
    policies: dict[str, str] = {}
    for key, value in node.entries:
        if key.value not in types:
            message = f"`{key.value}` is no argument of the operator, as other names here are"
            help = did_you_mean(key.value, types, f"the arguments are {_name_list(types)}")
            builder.fault(library_codes.AUTOCAST_SCHEMA, message, key.span, help=help)
        elif not isinstance(value, Scalar):
            builder.wrong_type(value, f"autocast of {key.value}", "a policy")
        elif value.value not in ARGUMENT_POLICIES:
            help = did_you_mean(value.value, ARGUMENT_POLICIES, f"those are {_name_list(ARGUMENT_POLICIES)}")
            message = f"`{value.value}` is no policy of a single argument"
            builder.fault(library_codes.AUTOCAST_POLICY, message, value.span, help=help)
        else:
            is_second = value.value == CAST_BACK and CAST_BACK in policies.values()
            reason = "results have one dtype" if is_second else _argument_misfit(value.value, key.value, builder)
            policies[key.value] = value.value
            if reason:
                message = f"`{value.value}` does not fit `{key.value}`: {reason}"
                builder.fault(library_codes.AUTOCAST_SCHEMA, message, value.span, help=_policies_of_read(builder))
    return Autocast(by_argument=tuple(policies.items()))


def _argument_misfit(policy: str, name: str, builder: EntryBuilder) -> str:
    """Why an argument cannot have a policy; empty if it can."""
    assert builder.schema is not None, "without a schema there are no arguments"
    argument = next(argument for argument in builder.schema.arguments.all if argument.name == name)
    if not argument.type.is_tensor_like:
        return "it is no tensor"
    if policy == CAST_BACK and argument.type.text != "Tensor":
        return f"its type is `{argument.type}`"
    # What is written to is passed as it is, unless results are cast, which may be what is written to.
    if argument.is_write or policy == CAST_BACK:
        return _misfit(policy, builder.schema)
    return _misfit_of_types(policy, builder.schema)


def _policies_of_read(builder: EntryBuilder) -> str:
    """What an operator that writes to arguments can have instead of a policy for all; empty for one that does not."""
    arguments = builder.schema.arguments if builder.schema else None
    if arguments is None or not arguments.writes:
        return ""
    read = [argument.name for argument in arguments.all if argument.type.is_tensor_like and not argument.is_write]
    if not read:
        return ""
    return f"give the arguments that it only reads policies of their own, such as `autocast: {{{read[0]}: fp32}}`"


def _read_policy(node: Scalar, builder: EntryBuilder) -> str:
    """Policy that a scalar names. Unknown ones, and those that do not fit the schema, are faults of the entry."""
    policy = node.value
    if policy not in LIBRARY_POLICIES:
        help = did_you_mean(policy, LIBRARY_POLICIES, f"the policies are {_name_list(LIBRARY_POLICIES)}")
        builder.fault(library_codes.AUTOCAST_POLICY, f"unknown autocast policy `{policy}`", node.span, help=help)
    elif builder.schema is not None:
        reason = _misfit(policy, builder.schema)
        if not reason and policy.startswith("fp32_") and builder.schema.arguments.all[0].type.text != "Tensor":
            reason = "its first argument is not a tensor"
        if reason:
            message = f"`{policy}` does not fit `{builder.schema.name}`: {reason}"
            builder.fault(library_codes.AUTOCAST_SCHEMA, message, node.span, help=_policies_of_read(builder))
    return policy


def _misfit(policy: str, schema: FunctionSchema) -> str:
    """Why an operator cannot have a policy; empty if it can."""
    written = next((argument.name for argument in schema.arguments.all if argument.is_write), "")
    if written:
        return f"the operator writes to `{written}`, of which autocast would pass a copy"
    return _misfit_of_types(policy, schema)


def _misfit_of_types(policy: str, schema: FunctionSchema) -> str:
    """Why an operator cannot have a policy because of the types in its schema; empty if it can."""
    arguments = schema.arguments.all
    if not any(argument.type.is_tensor_like for argument in arguments):
        return "it takes no tensor"
    if any(argument.type.is_tensor_like and "][" in argument.type.text for argument in arguments):
        return "it takes lists of lists of tensors"
    if policy == "fp32_set_opt_dtype" and not any(argument.type.text == "ScalarType?" for argument in arguments):
        return "it has no argument of type `ScalarType?`"
    if policy == CAST_BACK and not any(result.type.text in ("Tensor", "Tensor[]") for result in schema.returns):
        return "it returns no tensor"
    return ""


def _read_batch_rule(node: Node, builder: EntryBuilder) -> str | None:
    if not isinstance(node, Scalar) or node.kind != "str":
        builder.wrong_type(node, "batch_rule", "the name of a C++ function")
        return None
    if not all(IDENTIFIER.fullmatch(part) for part in node.value.split("::")):
        message = f"`{node.value}` is not the name of a C++ function"
        builder.fault(library_codes.BATCH_RULE, message, node.span, help="write it like `mine::scale_batch_rule`")
        return None
    reason = "" if builder.schema is None else _batch_misfit(builder.schema)
    if reason:
        assert builder.schema is not None
        message = f"`{builder.schema.name}` cannot have a batch rule: {reason}"
        builder.fault(library_codes.BATCH_RULE, message, node.span)
        return None
    return "::".join(split_kernel(node.value, builder.context.library))


def _batch_misfit(schema: FunctionSchema) -> str:
    """Why an operator cannot have a batch rule; empty if it can."""
    arguments = schema.arguments.all
    writes = [argument.is_write for argument in arguments]
    if schema.is_out:
        return "vmap refuses out arguments"
    if schema.returns and any(writes[1:]):
        return "it returns a result and writes to other arguments than the first"
    if not any(argument.type.is_tensor_like for argument in arguments):
        return "it takes no tensor"
    if not all(result.type.is_tensor_like for result in schema.returns):
        return "it returns a value that is not a tensor"
    return ""


def _read_overlap(node: Node, builder: EntryBuilder) -> bool:
    if not isinstance(node, Scalar) or node.value != _ALLOWED:
        value = f"`{node.value}`" if isinstance(node, Scalar) else "this"
        message = f"`{_OVERLAP}` cannot be {value}"
        help = f"write `{_OVERLAP}: {_ALLOWED}`, or leave the field out, so that calls are checked"
        builder.fault(library_codes.OVERLAP, message, node.span, help=help)
    elif builder.schema is not None and not builder.schema.arguments.writes:
        message = f"`{builder.schema.name}` writes to no argument, so nothing is checked"
        builder.fault(library_codes.OVERLAP, message, node.span, help=f"remove `{_OVERLAP}`")
    return True


def _read_alias_analysis(node: Node, builder: EntryBuilder) -> str:
    value = node.value if isinstance(node, Scalar) else ""
    annotations = []
    if builder.schema is not None:
        annotations += [argument.annotation for argument in builder.schema.arguments.all]
        annotations += [result.annotation for result in builder.schema.returns]
    if value not in ALIAS_ANALYSES:
        builder.wrong_type(node, _ALIAS_ANALYSIS, " or ".join([f"`{kind}`" for kind in ALIAS_ANALYSES]))
    elif any(annotation is not None for annotation in annotations):
        # PyTorch refuses these when TorchScript first meets the operator.
        builder.wrong_type(node, _ALIAS_ANALYSIS, "left out, as where the schema says what is written or returned")
    return value


def _read_condition(node: Node, builder: EntryBuilder) -> str | None:
    condition = read_condition(node, builder.context.sink)
    builder.failed |= condition is None
    return condition


def _read_samples(node: Node, builder: EntryBuilder) -> tuple[str, ...]:
    if isinstance(node, MappingNode):
        return _read_sample_fields(node, builder)
    scalars = expect_strings(node, "`samples`", builder.context.sink)
    builder.failed |= scalars is None
    if builder.schema is not None:
        for scalar in scalars or ():
            builder.failed |= not check_sample(scalar, builder.schema, builder.context.sink)
    return tuple([" ".join(scalar.value.split("\n")).strip() for scalar in scalars or ()])


def _read_sample_fields(node: MappingNode, builder: EntryBuilder) -> tuple[str, ...]:
    """The samples of a mapping, which says besides what else tests call."""
    sink = builder.context.sink
    check_fields(node, _SAMPLE_NAMES, library_codes.SAMPLE_SYNTAX, "samples have", builder)
    calls, drawn, generator = (node.get(name) for name in _SAMPLE_NAMES)
    is_drawn = True if drawn is None else expect_boolean(drawn, "`drawn`", sink)
    builder.failed |= is_drawn is None
    builder.set_field("draws_samples", is_drawn is not False)
    if generator is not None:
        if isinstance(generator, Scalar) and is_python_function(generator.value):
            builder.set_field("sample_generator", generator.value)
        else:
            text = f"`{generator.value}`" if isinstance(generator, Scalar) else generator.description
            message = f"{text} names no Python function"
            builder.fault(
                library_codes.SAMPLE_SYNTAX, message, generator.span, help="write it like `acme.samples:rms_norm`"
            )
    return () if calls is None else _read_samples(calls, builder)


def _name_list(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


#: The field with the name of an operator that another library defines.
NAME: Final = "name"
#: The fields of samples, if they are a mapping.
SAMPLE_FIELDS: Final = (
    Field("calls", "text or list of texts", TEXTS, "Arguments of calls."),
    Field("drawn", "boolean", FLAG, "`false` if tests draw no calls of their own."),
    Field(
        "generator",
        "text",
        TEXT,
        "A Python function that takes a seed and gives the arguments of a call, such as `acme.samples:rms_norm`: a "
        "tuple, or a tuple and a mapping.",
    ),
)
_SAMPLE_NAMES: Final = tuple([field.name for field in SAMPLE_FIELDS])
#: The field of operators that callers are to give up.
_DEPRECATED: Final = "deprecated"
#: The field that says whether written arguments may share memory with others, and its only value.
_OVERLAP: Final = "overlap"
_ALLOWED: Final = "allowed"
#: The field that says what TorchScript assumes in place of what the schema says, and its values.
_ALIAS_ANALYSIS: Final = "alias_analysis"
ALIAS_ANALYSES: Final = ("conservative", "pure_function")


def _requirement_field(name: str, values: str, schema: JsonSchema, help: str) -> EntryField:
    """A field of the requirements, which are read together."""

    def read(_node: Node, builder: EntryBuilder) -> Requirements | None:
        return read_requirements(name, builder)

    return EntryField(Field(name, values, schema, help), read, "requirements")


_BY_TENSOR: Final[JsonSchema] = {
    "type": "object",
    "additionalProperties": {"anyOf": [TEXT, {"type": "integer"}, FLAG, list_of_schema(TEXT)]},
}
_POLICY: Final = choice(*LIBRARY_POLICIES)
_DEVICE_POLICIES: Final = mapping_schema(tuple(Field(name, "text", _POLICY, "") for name in AUTOCAST_DEVICES))
_ARGUMENT_POLICIES: Final[JsonSchema] = {"type": "object", "additionalProperties": choice(*ARGUMENT_POLICIES)}
#: The fields of a library's entries that PyTorch's lack, in the order of the documentation.
ROWS: Final = (
    EntryField(
        Field(
            NAME,
            "text",
            TEXT,
            "In place of `func`, the name of an operator of the library that `implements` names: see [operators of "
            "others](#kernels-for-operators-of-others).",
        ),
        _read_name,
    ),
    EntryField(
        Field("doc", "text", TEXT, "What the operator does, for the docstring of its Python function."),
        _read_doc,
        "doc",
    ),
    EntryField(
        Field(
            _DEPRECATED,
            "text",
            TEXT,
            "Since when callers are to use what else, such as `since 1.4, use scale2`: see "
            "[deprecated operators](#deprecated-operators).",
        ),
        _read_deprecated,
        _DEPRECATED,
        "callers are told: {}",
    ),
    EntryField(
        Field(
            "outputs",
            "expressions",
            {"$ref": "#/$defs/outputs"},
            "Size, dtype and device of each result, see [declared outputs](#declared-outputs).",
        ),
        _read_outputs,
        "outputs",
    ),
    _requirement_field(
        DIMS, "mapping", _BY_TENSOR, "The sizes of tensors and results, as patterns: see [requirements](#requirements)."
    ),
    _requirement_field(
        DTYPES_FIELD, "mapping", _BY_TENSOR, "The dtypes of tensors and results, see [dtypes](#dtypes-and-devices)."
    ),
    _requirement_field(
        LAYOUT, "mapping", _BY_TENSOR, "The strides that the kernel needs of tensors, see [layouts](#layouts)."
    ),
    _requirement_field(
        VALUES,
        "mapping",
        {
            "type": "object",
            "additionalProperties": {"anyOf": [TEXT, list_of_schema({"anyOf": [TEXT, {"type": "number"}]})]},
        },
        "Which values tensors and other arguments may have, see [values](#values).",
    ),
    _requirement_field(
        REQUIRES,
        "text or list of texts",
        {"anyOf": [TEXT, {"type": "object"}, list_of_schema({"anyOf": [TEXT, {"type": "object"}]})]},
        "Conditions on the arguments, see [conditions of calls](#conditions-of-calls).",
    ),
    _requirement_field(
        LINEAR,
        "text or list of texts",
        TEXTS,
        "Arguments in which, taken together, the results are linear: see [distributed tensors](#batches-and-distributed"
        "-tensors).",
    ),
    _requirement_field(
        REDUCTION,
        "text or list of texts",
        TEXTS,
        "Results that are sums over the dimensions `*b`, see [distributed tensors](#batches-and-distributed-tensors).",
    ),
    EntryField(
        Field(
            REFERENCE,
            "text or mapping",
            {"anyOf": [TEXT, mapping_schema(REFERENCE_FIELDS)]},
            "A Python function of PyTorch's operators that computes the same, such as `acme.reference:rms_norm`: see "
            "[reference](#reference).",
        ),
        read_reference,
        "reference",
        "it computes what the Python function {} does",
    ),
    EntryField(
        Field(
            FIELD,
            "text or list of texts",
            {"anyOf": [choice(*CONTRACTS), {"type": "array", "items": choice(*CONTRACTS)}]},
            "Overloads that are made from an operator whose kernel writes its results into arguments: see "
            "[contracts](#contracts).",
        ),
        read_contracts,
        "contracts",
        "overloads for the contracts {} call it",
    ),
    EntryField(
        Field(SAVED, "text or list of texts", TEXTS, "Results that the operator does not return, see [saved](#saved)."),
        read_saved,
        "saved",
        "its results {} are for formulas alone",
    ),
    EntryField(
        Field(
            "autocast",
            "text or mapping",
            {"anyOf": [_POLICY, _DEVICE_POLICIES, _ARGUMENT_POLICIES]},
            "The [policy](#autocast) under autocast, or a mapping from devices or arguments to policies.",
        ),
        _read_autocast,
        "autocast",
        "autocast has the policy {}",
    ),
    EntryField(
        Field(
            _OVERLAP,
            "text",
            choice(_ALLOWED),
            "`allowed` if written arguments may share memory with others, see [overlap](#overlap).",
        ),
        _read_overlap,
        "allows_overlap",
        "written arguments may share memory with others",
    ),
    EntryField(
        Field(
            _ALIAS_ANALYSIS,
            "text",
            choice(*ALIAS_ANALYSES),
            "`conservative` if TorchScript is to assume that the operator may write to its arguments and return them, "
            "as of one whose schema PyTorch infers; `pure_function` if it does neither.",
        ),
        _read_alias_analysis,
        "alias_analysis",
        "TorchScript's alias analysis of it is {}",
    ),
    EntryField(CONDITION_FIELD, _read_condition, "condition", "it exists where the preprocessor finds `{}`"),
    EntryField(
        Field("batch_rule", "text", TEXT, "The C++ function that `vmap` calls instead of the operator."),
        _read_batch_rule,
        "batch_rule",
        "`vmap` calls {}",
    ),
    EntryField(
        Field(
            "samples",
            "text, list of texts, or mapping",
            {"anyOf": [TEXT, {"type": "array", "items": TEXT}, mapping_schema(SAMPLE_FIELDS)]},
            "Arguments of calls that generated tests make, such as `torch.randn(3, 4), 2.0`, see [samples](#samples).",
        ),
        _read_samples,
        "samples",
    ),
)

#: The same, by name.
ROWS_BY_NAME: Final = {row.field.name: row for row in ROWS}

#: What reads them, and the kernels of entries, which have more forms than those of PyTorch's.
ENTRY_ROWS: Final = {**ROWS_BY_NAME, DISPATCH_FIELD.name: EntryField(DISPATCH_FIELD, read_library_dispatch)}

#: What documentation says of them.
LIBRARY_FIELDS: Final = tuple([row.field for row in ROWS])


def json_schema() -> dict[str, object]:
    """Schema: a mapping with the fields of a head, or a list of entries.

    It says which fields there are and what their values look like. Schemas, expressions and names are texts for it;
    Opwright checks those.
    """
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Operator library for Opwright",
        "anyOf": [{"$ref": "#/$defs/head"}, list_of_schema({"$ref": "#/$defs/item"})],
        "$defs": {
            "head": mapping_schema(HEAD_FIELDS),
            "item": {"anyOf": [{"$ref": "#/$defs/entry"}, {"$ref": "#/$defs/section"}]},
            # The canonical layout begins with what names the operator.
            "entry": mapping_schema((LIBRARY_FIELDS[0], *COMMON_FIELDS, *LIBRARY_FIELDS[1:])),
            "section": mapping_schema(SECTION_FIELDS),
            "implementation": {"anyOf": [TEXT, mapping_schema(IMPLEMENTATION_FIELDS)]},
            "outputs": _outputs(),
            "output": mapping_schema(OUTPUT_FIELDS),
            "expression": {
                "description": "An expression over the arguments, such as `like(self)`.",
                "anyOf": [TEXT, {"type": "integer"}, list_of_schema({"$ref": "#/$defs/expression"})],
            },
        },
    }


def _outputs() -> JsonSchema:
    """One output, a list with one for each result, or a mapping from the names of results."""
    forms = [{"$ref": "#/$defs/expression"}, {"$ref": "#/$defs/output"}]
    output = {"anyOf": forms}
    return {"anyOf": [*forms, list_of_schema(output), {"type": "object", "additionalProperties": output}]}
