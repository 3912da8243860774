"""The JSON Schemas of PyTorch's files: they accept the files of every release, and refuse what they can express."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import import_module
from typing import Protocol, cast

import pytest
import yaml

from opwright.cli.schema import DOCUMENTS, described_dialects, schema_text
from opwright.dialects.table import DIALECTS
from opwright.release.inputs import open_inputs

OLDER = ["2.4.1", "2.6.0", "2.8.0", "2.9.1", "2.10.0", "2.11.0", "2.12.1", "2.14.0", "2.15.0"]
RELEASES = ["auto", *[pytest.param(release, marks=pytest.mark.network) for release in OLDER]]
#: The dialects whose files are among the inputs of a release.
OF_RELEASES = ["tags", "native_functions", "derivatives", "deprecated"]

SELECTION = """
include_all_operators: False
debug_info: [model.pt, 1]
operators:
  aten::add.Tensor: {is_root_operator: True, include_all_overloads: False, debug_info: [a]}
kernel_metadata: {add_out: [Float, Int]}
"""
LAZY = """
backend: Lazy
cpp_namespace: torch::lazy
full_codegen: [add.Tensor]
ir_gen: [selu]
non_native:
- func: cast(Tensor input, ScalarType dtype) -> Tensor
  opkind: ltc_cast
  properties: [ShapeCompute]
"""
EXECUTORCH = """
- op: add.out
  type_alias: {T0: [Float, Int]}
  dim_order_alias: {D0: [0, 1]}
  kernels:
  - {arg_meta: {self: [T0, D0], other: [T0, D0], out: [T0, D0]}, kernel_name: mine::add_out}
  - {arg_meta: null, kernel_name: mine::add_any_out}
"""
UPGRADERS = """
upgraders:
  turn_0_3:
    instructions: [[LOADC, 0, 0], [JF, -1, 0], [RET, 0, 0]]
    constants: [trunc, true, null, -7]
    types: ['List[int]']
    operators: [['aten::turn', by, 2]]
    register_size: 2
operators:
  aten::turn.by: {upgraders: [turn_0_3], ranges: [[0, 3]]}
"""
MALFORMED = {
    "an entry without a schema": ("native_functions", "- variants: method"),
    "an unknown field": ("native_functions", "- {func: f() -> (), dispach: {CPU: f}}"),
    "a kernel that is a list": ("native_functions", "- {func: f() -> (), dispatch: {CPU: [f]}}"),
    "an unknown variant": ("native_functions", "- {func: f() -> (), variants: methods}"),
    "a flag that is text": ("native_functions", "- {func: f() -> (), structured: 'True'}"),
    "an unknown device check": ("native_functions", "- {func: f() -> (), device_check: NoChecks}"),
    "a mapping for the list of entries": ("native_functions", "func: f() -> ()"),
    "a tag without a description": ("tags", "- tag: core"),
    "a tag with another field": ("tags", "- {tag: core, desc: d, since: 2.0}"),
    "a derivative without a name": ("derivatives", "- self: grad"),
    "a formula that is a list": ("derivatives", "- {name: f(Tensor self) -> Tensor, self: [grad]}"),
    "a number for a flag of outputs": ("derivatives", "- {name: f() -> Tensor, output_differentiability: [1]}"),
    "formulas of a key that are text": ("derivatives", "- {name: f() -> Tensor, dispatch: {Default: grad}}"),
    "a deprecated signature without a call": ("deprecated", "- name: add(Tensor self) -> Tensor"),
    "an unknown field of a selection": ("selection", "operator: {}"),
    "an unknown field of an operator": ("selection", "operators: {aten::add: {is_root: True}}"),
    "a list of operators": ("selection", "operators: [aten::add]"),
    "an unknown property of a node": ("lazy", LAZY.replace("ShapeCompute", "ShapeComputed")),
    "a node without a schema": ("lazy", LAZY.replace("func:", "function:")),
    "kernels that are texts": ("executorch", "- {op: add.out, kernels: [mine::add_out]}"),
    "an unknown dtype": ("executorch", EXECUTORCH.replace("Float", "float32")),
    "a kernel without a name": ("executorch", EXECUTORCH.replace("kernel_name", "kernel")),
    "an unknown op code": ("upgraders", UPGRADERS.replace("LOADC", "LOAD_C")),
    "an instruction of two": ("upgraders", UPGRADERS.replace("[RET, 0, 0]", "[RET, 0]")),
    "a range of three": ("upgraders", UPGRADERS.replace("[0, 3]]", "[0, 3, 4]]")),
    "a second operand that is too large": ("upgraders", UPGRADERS.replace("[RET, 0, 0]", "[RET, 0, 65536]")),
    "a negative number of registers": ("upgraders", UPGRADERS.replace("register_size: 2", "register_size: -1")),
    "a number with a point as a constant": ("upgraders", UPGRADERS.replace("-7", "0.5")),
    "an upgrader without types": ("upgraders", UPGRADERS.replace("types", "type")),
    "a file without operators": ("upgraders", "upgraders: {}"),
}


class Validator(Protocol):
    """The part of a validator of `jsonschema` that the tests use."""

    def is_valid(self, instance: object) -> bool:
        """Whether a value fits the schema."""

    def check_schema(self, schema: Mapping[str, object]) -> None:
        """Raise an error if the schema is not one."""


def validator(name: str) -> Validator:
    """The validator of the schema that `opwright schema NAME` prints; the test is skipped without `jsonschema`."""
    package = pytest.importorskip("jsonschema")
    schema = json.loads(schema_text(name))
    return cast(Validator, package.Draft202012Validator(schema))


@pytest.mark.parametrize("name", [*described_dialects(), *DOCUMENTS])
def test_each_schema_is_a_json_schema(name: str) -> None:
    """What `opwright schema` prints fits the meta-schema of JSON Schema."""
    checker = validator(name)
    checker.check_schema(json.loads(schema_text(name)))


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("name", OF_RELEASES)
def test_files_of_releases_fit(name: str, release: str) -> None:
    """The schemas accept PyTorch's files."""
    inputs = open_inputs(release)
    dialect = next(dialect for dialect in DIALECTS if dialect.name == name)
    content = yaml.load(inputs.read_text(dialect.inputs[0]).text, yaml.CSafeLoader)
    assert validator(name).is_valid(content)


@pytest.mark.parametrize(
    ("name", "text"),
    [("selection", SELECTION), ("lazy", LAZY), ("executorch", EXECUTORCH), ("upgraders", UPGRADERS)],
)
def test_right_files_fit(name: str, text: str) -> None:
    """The schemas accept the fields that the loaders read."""
    assert validator(name).is_valid(yaml.safe_load(text))


@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_files_do_not_fit(case: str) -> None:
    """The schemas refuse wrong fields and wrong types of values."""
    name, text = MALFORMED[case]
    assert not validator(name).is_valid(yaml.safe_load(text))


@pytest.mark.parametrize(
    ("module", "names"),
    [("selection", "_FIELDS"), ("selection", "_OPERATOR_FIELDS"), ("tags", "_FIELDS")],
)
def test_loaders_read_the_tables(module: str, names: str) -> None:
    """Each field that a loader knows is in the schema."""
    known = getattr(import_module(f"opwright.dialects.{module}"), names)
    text = schema_text(module.partition(".")[0])
    assert all(f'"{name}": {{' in text for name in known)
