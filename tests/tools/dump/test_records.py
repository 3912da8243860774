"""Records of operators are what PyTorch's generator reads of their entries."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest
import yaml

from opwright.release.inputs import open_inputs
from opwright.source.diagnostic import Diagnostics
from opwright.tools.dump.document import render_dump
from opwright.tools.dump.dumping import dump_release

if TYPE_CHECKING:
    from torchgen.model import Argument, BackendMetadata, DispatchKey, NativeFunction, OperatorName, Return, Type

    Kernels: TypeAlias = dict[DispatchKey, dict[OperatorName, BackendMetadata]]

model = pytest.importorskip("torchgen.model")

#: Fields of entries that few have; all of these are compared, and of others one in ten.
RARE = (
    *("structured_inherits", "precomputed", "ufunc_inner_loop", "python_module", "category_override"),
    *("cpp_no_default_args", "use_const_ref_for_mutable_tensors", "manual_cpp_binding", "manual_kernel_registration"),
)


@cache
def dumped() -> dict[str, Any]:
    """The dump of the installed release, as a program reads it."""
    document: dict[str, Any] = json.loads(render_dump(dump_release(open_inputs("auto"), None, Diagnostics())))
    return document


@cache
def records() -> dict[str, dict[str, Any]]:
    """The records of operators by their names."""
    return {record["name"]: record for record in dumped()["operators"]}


def expected_fields(function: NativeFunction, kernels: Kernels) -> Iterator[tuple[str, object]]:
    """The fields of a record, from the generator's model of an entry."""
    schema = function.func
    yield "namespace", function.namespace
    yield "kind", schema.kind().name
    arguments = schema.arguments
    kinds = {"positional": arguments.flat_positional, "keyword": arguments.flat_kwarg_only, "out": arguments.out}
    yield "arguments", [argument_record(own, kind) for kind, members in kinds.items() for own in members]
    yield "returns", [argument_record(result) for result in schema.returns]
    yield "variants", sorted(variant.name for variant in function.variants)
    yield "view", function.is_view_op
    yield "structured", function.structured
    yield "device_check", function.device_check is model.DeviceCheckType.ExactSame
    yield "device_guard", function.device_guard
    yield "synthesized", False
    yield "structured_delegate", function.structured_delegate and str(function.structured_delegate)
    yield "structured_inherits", function.structured_inherits
    yield "autogen", list(map(str, function.autogen))
    yield "python_module", function.python_module
    yield "category_override", function.category_override
    yield "cpp_no_default_args", sorted(function.cpp_no_default_args)
    yield "const_ref_mutables", function.use_const_ref_for_mutable_tensors
    yield "manual_cpp_binding", function.manual_cpp_binding
    yield "manual_kernel_registration", function.manual_kernel_registration
    precomputed = function.precomputed
    if precomputed is not None:
        added = [argument_record(argument, "positional") for argument in precomputed.add or ()]
        replaced = {
            name: [argument_record(argument, "positional") for argument in own]
            for name, own in precomputed.replace.items()
        }
        yield "precomputed", {"replace": replaced, "add": added}
    yield (
        "ufunc",
        [
            {"kind": key.name, "name": loop.name, "dtypes": [dtype.name for dtype in loop.supported_dtypes]}
            for key, loop in function.ufunc_inner_loop.items()
        ],
    )
    yield (
        "kernels",
        {
            key.name: (row.kernel, row.cpp_namespace, row.structured)
            for key, rows in kernels.items()
            for row in rows.values()
        },
    )


def argument_record(argument: Argument | Return, kind: str | None = None) -> dict[str, object]:
    """The record of an argument, or of a return, which has no kind."""
    alias = argument.annotation
    fields = {
        "name": argument.name,
        "type": str(argument.type),
        "kind": kind,
        "default": getattr(argument, "default", None),
        "alias": alias
        and {"before": list(alias.alias_set), "write": alias.is_write, "after": list(alias.alias_set_after)},
    }
    return {name: value for name, value in fields.items() if value is not None}


@pytest.mark.thorough
def test_fields_are_those_of_the_entries() -> None:
    """Every field that the generator has too, of each kind of entry."""
    inputs = open_inputs("auto")
    tags = {row["tag"] for row in yaml.safe_load(inputs.read_text("native/tags.yaml").text)}
    entries = yaml.load(inputs.read_text("native/native_functions.yaml").text, yaml.CSafeLoader)
    compared = 0
    for number, entry in enumerate(entries):
        if number % 10 and not any(name in entry for name in RARE):
            continue
        function, kernels = model.NativeFunction.from_yaml(entry, model.Location("f", 1), tags)
        record = records()[str(function.func.name)]
        for name, value in expected_fields(function, kernels):
            own = record.get(name)
            if name == "kernels":
                rows = record["kernels"]
                own = {row["key"]: (row["name"], row["namespace"], row["structured"]) for row in rows}
            assert own == value or (own is None and not value), (record["name"], name)
        assert set(record["tags"]) >= function.tags
        compared += 1
    assert compared > 400


def type_record(parsed: Type) -> dict[str, object]:
    """The record of a type."""
    match parsed:
        case model.OptionalType():
            return {"kind": "optional", "of": str(parsed.elem)}
        case model.ListType():
            size = {} if parsed.size is None else {"size": parsed.size}
            return {"kind": "list", "of": str(parsed.elem), **size}
        case model.CustomClassType():
            return {"kind": "class", "class": parsed.class_name}
    return {"kind": "base"}


def test_types_are_those_of_arguments_and_of_their_parts() -> None:
    """Each type of an argument or a return, and each inside one, has a record, and no other."""
    types: dict[str, dict[str, Any]] = dumped()["types"]
    assert list(types) == sorted(types)
    used = {
        member["type"]
        for record in records().values()
        for field in ("arguments", "returns")
        for member in record[field]
    }
    for text in sorted(used):
        while text is not None:
            used.add(text)
            text = types[text].get("of")
    added = {member["type"] for record in records().values() for member in precomputed_arguments(record)}
    assert set(types) == used | added
    for text, record in types.items():
        assert record == type_record(model.Type.parse(text)), text


def precomputed_arguments(record: dict[str, Any]) -> list[dict[str, str]]:
    """The arguments that `meta` adds."""
    precomputed: dict[str, Any] = record.get("precomputed") or {"add": [], "replace": {}}
    return [*precomputed["add"], *[own for members in precomputed["replace"].values() for own in members]]


def test_groups_have_a_member_of_each_kind() -> None:
    """The members of a group name the same group, by their kinds; those of views are views and copies."""
    seen = set()
    for record in records().values():
        group: dict[str, str] = record.get("group", {})
        for role, name in group.items():
            assert records()[name]["kind"] == role
            assert records()[name]["group"] == group
        assert not group or record["name"] in group.values()
        views: dict[str, str] = record.get("view_group", {})
        for role, name in views.items():
            member = records()[name]
            assert member["view_group"] == views
            assert (member["kind"], member["view"]) == (
                "inplace" if role == "inplace" else "functional",
                role != "copy",
            )
        assert not views or record["name"] in views.values()
        seen |= {*group, *views}
    assert seen == {"functional", "inplace", "out", "mutable", "view", "copy"}
    synthesized = {name for name, record in records().items() if record["synthesized"]}
    assert "add.out" not in synthesized
    assert "view_copy.out" in synthesized
