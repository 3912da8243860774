"""The code of lazy tensors is that of PyTorch's generator, also where a backend overrides methods of its classes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from opwright.torchgen.api.lazy import LazyIrProperties
from tests.conformance.compare import compare as compare_files
from tests.conformance.compare import files_below
from tests.lazy.lazy_cases import FOLDER
from tests.lazy.test_own_style import YAML
from tests.torchgen_interface.conftest import Side
from tests.torchgen_interface.equality import difference, outcome, trimmed
from tests.torchgen_interface.test_conventions import compare

PARTS = ("lazy_tensor_decls", "metrics", "get_device", "shape_inference", "build_ir_node", "return_aten_tensor")
NAMES = ("get_list", "get_tensor", "try_get", "COUNT", "Make")


@pytest.fixture(autouse=True)
def value_class(reference: Side, own: Side) -> None:
    """Both sides use PyTorch's class of values."""
    for side in (reference, own):
        side.module("api.lazy").setValueT(side.module("api.types").BaseCppType("torch::lazy", "Value"))


def index(side: Side, function: Any) -> Any:
    """An index with a kernel of a function, which takes symbolic integers if it can."""
    model = side.module("model")
    name = side.module("api.dispatcher").name(function.func) + ("_symint" if function.func.has_symint() else "")
    return model.BackendIndex(
        dispatch_key=model.DispatchKey["XLA"],
        use_out_as_primary=False,
        external=True,
        device_guard=False,
        index={function.func.name: model.BackendMetadata(kernel=name, structured=False, cpp_namespace="acme")},
    )


def argument_facts(argument: Any) -> Any:
    """What an argument of a node says of itself."""
    return {name: value for name, value in vars(argument).items() if name != "_origin"}


def schemas(side: Side, function: Any) -> Iterator[Any]:
    """What the schema of a node says of itself and of its arguments."""
    lazy = side.module("api.lazy")
    for symint, properties in ((False, None), (True, ("TreatScalarsAsConstants", "ShapeCache"))):
        schema = outcome(
            lazy.LazyIrSchema, function.func, properties and lazy.LazyIrProperties(*properties), symint=symint
        )
        if isinstance(schema, str):
            yield schema
            continue
        yield [schema.node_name, schema.aten_name, schema.base_name, schema.opkind, schema.generator_arg, schema.name]
        yield schema.properties.properties
        for chosen in (
            schema.filtered_args(generator=False),
            schema.positional_values,
            schema.positional_scalars,
            schema.keyword_values,
            schema.keyword_scalars,
        ):
            yield list(map(argument_facts, chosen))
        for argument in schema.filtered_args():
            yield lazy.isValueType(argument.lazy_type, schema.properties)
            yield lazy.isSymIntType(argument.orig_type)


def nodes(side: Side, function: Any) -> Iterator[Any]:
    """The classes of nodes, and their parts."""
    lazy_ir, kernels = side.module("dest.lazy_ir"), index(side, function)
    schema = outcome(side.module("api.lazy").LazyIrSchema, function.func, symint=True)
    for generator in (
        lazy_ir.GenLazyIR(kernels, "XLA", "Node", True),
        lazy_ir.GenTSLazyIR(kernels, "XLA", "Base", False),
    ):
        yield trimmed(outcome(generator, function))
        if not isinstance(schema, str):
            yield trimmed(generator.lowering_function(schema))
            yield trimmed(outcome(generator.node_base_ctor_call, schema))
    if not isinstance(schema, str):
        yield outcome(lazy_ir.node_ctor_inputs, schema)
        yield lazy_ir.aten_symbol(schema)


def kernels(side: Side, function: Any) -> Iterator[Any]:
    """The kernels of nodes, their parts, and their shape functions."""
    lazy_ir, own_index = side.module("dest.lazy_ir"), index(side, function)
    yield outcome(lazy_ir.GenLazyShapeInferenceDefinition(own_index, "Tensor"), function)
    for flag in (True, False):
        generator = lazy_ir.GenLazyNativeFuncDefinition(
            "AcmeFunctions", own_index, "Tensor", flag, "acme", *NAMES, not flag, "to", "to_all", "Pointer", "device"
        )
        definition = trimmed(outcome(generator, function))
        yield definition
        if isinstance(definition, list):
            metadata = own_index.get_kernel(function)
            schema = side.module("api.lazy").LazyIrSchema(function.func, symint=metadata.supports_symint())
            yield [trimmed(getattr(generator, part)(function, schema)) for part in PARTS]
            signature = side.module("api.types").kernel_signature(function, own_index)
            yield trimmed(generator.force_eager_fallback(function, schema, metadata, signature))


@pytest.mark.thorough
@pytest.mark.parametrize("facts", [schemas, nodes, kernels])
def test_facts_are_equal(reference: Side, own: Side, facts: Any) -> None:
    """They are equal for every function."""
    compare(reference, own, facts)


def test_nodes_of_groups_and_of_entries_are_equal(reference: Side, own: Side) -> None:
    """A group has the node of its functional member; an entry of a backend file has a node of its own."""
    entries = [
        {"func": "scalar(Scalar value, ScalarType type) -> Tensor", "opkind": "at::prim::Constant"},
        {"func": "cast(Tensor v, ScalarType? type) -> Tensor", "properties": ["ShapeCompute", "CreateFn", "Lower"]},
    ]
    texts = []
    for side in (reference, own):
        groups = side.module("gen").get_grouped_native_functions(side.parsed.native_functions)
        generator = side.module("dest").GenTSLazyIR if hasattr(side.module("dest"), "GenTSLazyIR") else None
        generator = side.module("dest.lazy_ir").GenTSLazyIR(
            index(side, side.parsed.native_functions[0]), "XLA", "N", True
        )
        texts.append(trimmed([outcome(generator, group) for group in groups]))
        texts[-1] += trimmed(side.module("dest").generate_non_native_lazy_ir_nodes(entries, generator))
    assert not difference(*texts)


def test_properties_exclude_each_other(own: Side) -> None:
    """A node has one property of each row; others are refused."""
    properties = LazyIrProperties("Lower", "ShapeCache")
    assert (properties.Lower, properties.LowerDeclOnly, properties.CanBeReused) == (True, False, False)
    properties.LowerDeclOnly = True
    assert (properties.Lower, properties.LowerDeclOnly) == (False, True)
    with pytest.raises(KeyError, match="no property `Other`"):
        LazyIrProperties("Other")
    with pytest.raises(AttributeError, match="no property `Other`"):
        properties.Other  # noqa: B018
    with pytest.raises(AssertionError, match="assign True"):
        properties.Lower = False
    generator = own.module("dest.lazy_ir").GenLazyNativeFuncDefinition(
        "F", index(own, own.parsed.native_functions[0]), "T", False, "n", *NAMES, True, "to", "all", "P", "d"
    )
    with pytest.raises(AssertionError, match="`Make` is a member of the first tensor"):
        generator.create_lazy_tensor()


@pytest.mark.thorough
def test_a_program_with_classes_of_its_own_writes_the_same_files(reference_inputs: Path, tmp_path: Path) -> None:
    """A program that overrides methods of both generators writes the bytes that it writes with PyTorch's."""
    header = tmp_path / "torch" / "csrc" / "lazy" / "core" / "shape_inference.h"
    header.parent.mkdir(parents=True)
    header.write_bytes((FOLDER / "shapes.h").read_bytes())
    (tmp_path / "acme.yaml").write_text(YAML + "autograd:\n  - max_pool2d\nir_gen:\n  - selu\n")
    program = str(FOLDER.parent / "reference_style.py")
    for hook, out in (([], "theirs"), (["-m", "opwright.torchgen.run"], "ours")):
        command = [sys.executable, *hook, program, str(reference_inputs), "acme.yaml", out]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    texts = {path: (tmp_path / "theirs" / path).read_bytes() for path in files_below(tmp_path / "theirs")}
    # Headers are included by the path of the output folder.
    expected = {path: text.replace(b"theirs/", b"ours/") for path, text in texts.items()}
    comparison = compare_files(expected, tmp_path / "ours")
    assert comparison.is_clean, comparison.first_difference
    assert len(expected) == 6


def test_mistakes_are_refused(own: Side, reference_inputs: Path, tmp_path: Path) -> None:
    """A backend file with mistakes is an AssertionError with their places."""
    path = tmp_path / "acme.yaml"
    path.write_text("backend: XLA\ncpp_namespace: acme\nfull_codegen:\n  - tahn\n")
    run = own.module("gen_lazy_tensor").run_gen_lazy_tensor
    with pytest.raises(AssertionError, match=r"acme\.yaml:4:5: error\[E1306\]: there is no operator `tahn`"):
        run(str(reference_inputs), str(path), str(tmp_path), True, None, shape_inference_hdr=str(FOLDER / "shapes.h"))
