"""`opwright.torchgen.model` gives what `torchgen.model` gives, for every function of the installed release."""

from __future__ import annotations

import copy
import dataclasses
import gc
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from opwright.torchgen import model
from opwright.torchgen.interface.generator import parse_native_yaml
from tests.torchgen_interface.conftest import Side
from tests.torchgen_interface.equality import attribute, difference, outcome

FUNCTION = ("has_composite_kernel", "is_view_op", "view_schema_kind", "root_name", "part_of_structured_group")
SCHEMA = (
    "is_mutable", "modifies_arguments", "schema_order_arguments", "returns_are_aliased", "is_functional_fn",
    "is_out_fn", "kind", "aliased_return_names", "signature", "view_signature", "has_symint", "__str__",
)  # fmt: skip
ARGUMENTS = (
    "flat_non_out", "flat_positional", "post_self_positional_mutable", "flat_kwarg_only", "flat_all", "non_out",
    "positional", "kwarg_only", "all", "mutable_arg_names", "has_tensor_arg", "has_symint_arg", "has_generator_arg",
    "signature", "remove_self_annotation", "__str__",
)  # fmt: skip
ARGUMENT = ("alias_info", "is_write", "__str__")
TYPE = ("is_tensor_like", "is_generator_like", "is_symint_like", "is_nullable", "is_list_like", "__str__", "__repr__")
NAME = ("unambiguous_name", "remove_inplace", "__str__", "__repr__")


def compare(reference: Any, own: Any, names: tuple[str, ...]) -> None:
    """Fail if an attribute of two values differs."""
    for name in names:
        assert not difference(attribute(reference, name), attribute(own, name), f"{reference}.{name}")


def test_functions_are_equal(reference: Side, own: Side) -> None:
    """Every field of every function is equal, in the same order, down to types, names and places."""
    assert not difference(reference.parsed.native_functions, own.parsed.native_functions)


@pytest.mark.thorough
def test_properties_are_equal(reference: Side, own: Side) -> None:
    """So is every property of functions, schemas, arguments, returns, types and names."""
    rows = zip(reference.parsed.native_functions, own.parsed.native_functions, strict=True)
    seen = set()
    for function, same in rows:
        compare(function, same, FUNCTION)
        compare(function.func, same.func, SCHEMA)
        if str(function.func.arguments) not in seen:
            compare(function.func.arguments, same.func.arguments, ARGUMENTS)
            seen.add(str(function.func.arguments))
        compare(function.func.name, same.func.name, NAME)
        parts = zip([*function.func.arguments.flat_all, *function.func.returns], _parts(same.func), strict=True)
        for part, same_part in parts:
            if str(part) not in seen:
                compare(part, same_part, ARGUMENT)
                compare(part.type, same_part.type, TYPE)
                seen.add(str(part))


def _parts(schema: Any) -> list[Any]:
    return [*schema.arguments.flat_all, *schema.returns]


def test_signatures_are_equal(reference: Side, own: Side) -> None:
    """So is what schemas have in common, under each choice."""
    choices = ({"strip_default": True}, {"keep_return_names": True}, {"strip_view_copy_name": True})
    for function, same in zip(reference.parsed.native_functions, own.parsed.native_functions, strict=True):
        for choice in choices:
            assert str(function.func.signature(**choice)) == str(same.func.signature(**choice))


def test_kernels_are_equal(reference: Side, own: Side) -> None:
    """The kernels of each dispatch key are equal, and the keys stand in the same order."""
    assert list(map(str, reference.parsed.backend_indices)) == list(map(str, own.parsed.backend_indices))
    assert not difference(dict(reference.parsed.backend_indices), dict(own.parsed.backend_indices))
    missing = [own.parsed.backend_indices.copy(), reference.parsed.backend_indices.copy()]
    texts = [
        str(indices[side.module("model").DispatchKey.HPU])
        for indices, side in zip(missing, (own, reference), strict=True)
    ]
    assert texts[0] == texts[1]


@pytest.mark.parametrize("group", ["get_grouped_native_functions", "get_grouped_by_view_native_functions"])
def test_groups_are_equal(reference: Side, own: Side, group: str) -> None:
    """Functions are in the same groups, in the same order."""
    sides = (reference, own)
    groups = [list(getattr(side.module("gen"), group)(side.parsed.native_functions)) for side in sides]
    assert not difference(groups[0], groups[1])
    for members, same in zip(*groups, strict=True):
        names = [name for name in ("structured", "root_name", "composite", "signature") if hasattr(members, name)]
        compare(members, same, tuple(names))


def test_facts_of_functions_are_equal(reference: Side, own: Side) -> None:
    """The functions of the module say the same of views, and of out and in-place wrappers."""
    tables = []
    for side in (reference, own):
        module, functions = side.module("model"), side.parsed.native_functions
        groups = side.module("gen").get_grouped_native_functions(functions)
        index = side.parsed.backend_indices[module.DispatchKey.CPU]
        functional_first = dataclasses.replace(index, use_out_as_primary=False, external=True)
        rows = [str(outcome(module.get_view_copy_name, function)) for function in functions]
        rows += [str(module.gets_generated_view_copy(function)) for function in functions]
        for group in groups:
            if isinstance(group, module.NativeFunctionsGroup):
                rows += [
                    str(module.gets_generated_out_inplace_wrapper(member, group, functional_first))
                    for member in group.functions()
                ]
                rows.append(str(functional_first.get_kernel(group)))
        tables.append([*rows, functional_first.native_function_class_name()])
    assert tables[0] == tables[1]


@pytest.mark.parametrize(
    "name",
    [
        "AUGMENTED_ASSIGNMENT_NAMES", "AUTOGRAD_KEYS", "BACKEND_COMPONENTS", "DEFAULT_KERNEL_NAMESPACE",
        "DTYPE_CLASSES", "FRAGMENT_NAMESPACES", "FUNCTIONALITY_KEYS", "STRUCTURED_DISPATCH_KEYS",
        "UFUNC_DISPATCH_KEYS", "dispatch_keys",
    ],
)  # fmt: skip
def test_tables_are_equal(reference: Side, own: Side, name: str) -> None:
    """The tables of the module are equal."""
    assert not difference(getattr(reference.module("model"), name), getattr(own.module("model"), name))


@pytest.mark.parametrize(
    "name",
    [
        "DispatchKey", "ScalarType", "SchemaKind", "UfuncKey", "Variant", "ViewSchemaKind", "DeviceCheckType",
        "_TorchDispatchModeKey",
    ],
)  # fmt: skip
def test_enumerations_are_equal(reference: Side, own: Side, name: str) -> None:
    """The members of enumerations have the same names and numbers."""
    tables = [getattr(side.module("model"), name).__members__ for side in (reference, own)]
    numbers = [{key: member.value for key, member in table.items()} for table in tables]
    assert numbers[0] == numbers[1]


def test_base_types_are_equal(reference: Side, own: Side) -> None:
    """Base types have the same numbers; Opwright also has the one that older releases have."""
    numbers = [
        {key: member.value for key, member in side.module("model").BaseTy.__members__.items()}
        for side in (reference, own)
    ]
    assert numbers[1].pop("Dimname") == len(numbers[1]) + 1
    assert numbers[0] == numbers[1]


@pytest.mark.parametrize(
    "name",
    [
        "is_cuda_dispatch_key",
        "is_xpu_dispatch_key",
        "is_generic_dispatch_key",
        "is_structured_dispatch_key",
        "is_ufunc_dispatch_key",
    ],
)
def test_facts_of_keys_are_equal(reference: Side, own: Side, name: str) -> None:
    """The functions of the module say the same of each dispatch key."""
    facts = []
    for side in (reference, own):
        module = side.module("model")
        facts.append({str(key) for key in module.DispatchKey if getattr(module, name)(key)})
    assert facts[0] == facts[1] != set()


def test_lines_of_the_enumeration_are_equal(reference: Side, own: Side) -> None:
    """The keys that every device has are printed the same."""
    texts = [side.module("model").codegen_per_backend_entries() for side in (reference, own)]
    assert texts[0] == texts[1]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("Return", "Tensor(a!)"),
        ("Return", "Tensor(a) values"),
        ("Arguments", "*, Tensor(a!) out"),
        ("Arguments", "Tensor(a) self, *, Tensor(b!) first, Tensor(c!) second"),
        ("Annotation", "a! -> a|b"),
    ],
)
def test_parts_need_no_schema_around_them(reference: Side, own: Side, kind: str, text: str) -> None:
    """What is parsed alone need not fit the other parts of a schema."""
    parsed = [getattr(side.module("model"), kind).parse(text) for side in (reference, own)]
    assert not difference(*parsed)
    assert str(parsed[0]) == str(parsed[1])


TEXT = "add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)"


def test_records_are_values(own: Side) -> None:
    """Records can be compared, hashed, copied, pickled and replaced, and cannot be changed."""
    schema = model.FunctionSchema.parse(TEXT)
    assert schema == model.FunctionSchema.parse(TEXT)
    assert hash(schema) == hash(model.FunctionSchema.parse(TEXT))
    assert pickle.loads(pickle.dumps(schema)) == copy.deepcopy(schema) == schema
    renamed = dataclasses.replace(schema, name=model.OperatorName.parse("mul_.Tensor"))
    assert str(renamed) == TEXT.replace("add", "mul")
    assert renamed != schema
    with pytest.raises(dataclasses.FrozenInstanceError):
        schema.name = renamed.name  # type: ignore[misc]
    with pytest.raises(AttributeError):
        schema.label  # type: ignore[attr-defined]  # noqa: B018


def test_functions_are_values(own: Side) -> None:
    """So can functions and groups; a replaced function answers for its own fields."""
    functions = own.parsed.native_functions
    assert pickle.loads(pickle.dumps(functions[:50])) == functions[:50]
    add = next(function for function in functions if str(function.func.name) == "add.Tensor")
    plain = dataclasses.replace(add, tags=set(), structured_delegate=None)
    assert plain != add
    assert not plain.part_of_structured_group
    assert hash(plain) == hash(add)
    assert dataclasses.replace(plain, tags=add.tags, structured_delegate=add.structured_delegate) == add


def test_values_of_a_loader_are_read(reference: Side, own: Side) -> None:
    """Functions are also made from what a YAML loader gave, with the lines of the file."""
    import yaml

    tags = {"core", "generated", "out", "pt2_compliant_tag", "inplace"}
    text = (
        "- func: f(Tensor self, *, Scalar x=1) -> Tensor\n  variants: function, method\n  tags: [core]\n"
        "  dispatch:\n    CPU, CUDA: f_kernel_symint\n  autogen: f.out\n"
        "- func: g(Tensor a) -> (Tensor, int)\n  python_module: nn\n  manual_cpp_binding: True\n"
    )
    parsed = []
    for side in (reference, own):
        module = side.module("gen")
        entries = yaml.load(text, module.LineLoader)
        parsed.append(module.parse_native_yaml_struct(entries, tags, path="ops.yaml"))
        single = side.module("model").NativeFunction.from_yaml(
            {key: value for key, value in entries[0].items() if key != "__line__"},
            side.module("model").Location("ops.yaml", 1),
            tags,
            {side.module("model").DispatchKey.CUDA},
        )
        parsed.append(single)
    assert not difference(parsed[0].native_functions, parsed[2].native_functions)
    assert not difference(dict(parsed[0].backend_indices), dict(parsed[2].backend_indices))
    assert not difference(parsed[1], parsed[3])


#: Texts that are no schemas.
MISTAKES = (
    "f", "f(", "f()", "f(Tensor) -> Tensor", "f(Tenso x) -> Tensor", "f(Tensor x) -> Tenso",
    "f(Tensor x, *) -> Tensor", "f_(Tensor x) -> Tensor", "f_(Tensor(a!) self) -> Tensor",
    "f.out(Tensor x, *, Tensor(a!) out) -> Tensor", "f.out(Tensor x, *, Tensor(a!) out) -> Tensor(b!)",
    "f(Tensor x)->Tensor", "__i__(Tensor x) -> Tensor", "f_out(Tensor x) -> Tensor", "_(Tensor x) -> Tensor",
    "f.(Tensor x) -> Tensor", "f(*, *, int x) -> Tensor", "f(Tensor x, *, Tensor(a!) out, int y) -> Tensor", "",
    "f(Tensor(a!) x) -> Tensor(a!)", "f(Tensor x) -> Tensor(a!)", "__ior__(Tensor x) -> Tensor",
)  # fmt: skip


@pytest.mark.parametrize("text", MISTAKES)
def test_mistakes_raise_the_same(reference: Side, own: Side, text: str) -> None:
    """A text that is no schema raises an exception that callers of PyTorch's generator catch."""
    with pytest.raises((AssertionError, RuntimeError)) as raised:
        reference.module("model").FunctionSchema.parse(text)
    with pytest.raises(raised.type, match=r"\[E0\d\d\d\]"):
        own.module("model").FunctionSchema.parse(text)


def test_mistakes_in_entries_have_their_place(own: Side) -> None:
    """The exception for entries has all mistakes with their lines."""
    module = own.module("gen")
    entries = [{"func": "f(Tenso x) -> Tensor", "__line__": 7}, {"func": "g() -> Tensor", "fun": 1, "__line__": 9}]
    with pytest.raises(AssertionError, match=r"(?s)ops.yaml:7:.*E0202.*ops.yaml:9:.*unknown field `fun`"):
        module.parse_native_yaml_struct(entries, set(), path="ops.yaml")


@pytest.fixture
def collections() -> Iterator[None]:
    """Collections of garbage as in a new process: earlier tests may have turned them off, as runs do."""
    were_on = gc.isenabled()
    gc.unfreeze()
    gc.enable()
    yield
    if not were_on:
        gc.disable()


@pytest.mark.usefixtures("collections")
def test_collections_skip_the_functions_of_a_file(tmp_path: Path) -> None:
    """The next collection of garbage does not search what stays to the end, and collections go on."""
    native, tags = tmp_path / "native_functions.yaml", tmp_path / "tags.yaml"
    native.write_text("- func: turn(Tensor self) -> Tensor\n")
    tags.write_text("- tag: core\n  desc: text\n")
    functions = parse_native_yaml(str(native), str(tags)).native_functions
    assert gc.isenabled()
    assert not gc.get_freeze_count()
    assert not any(value is functions for value in gc.get_objects(generation=0))
