"""`opwright.torchgen.api.python` gives what `torchgen.api.python` gives, for every function of the release."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.torchgen_interface.conftest import Side
from tests.torchgen_interface.equality import attribute, difference, outcome, said
from tests.torchgen_interface.test_conventions import compare, inside

TYPES = (
    "int", "SymInt", "int[]", "SymInt[]", "SymInt[2]?", "bool[3]", "Tensor[2]?", "Tensor?[]", "float[]?", "str[]",
    "Storage", "Stream", "QScheme", "Layout", "Generator?", "DeviceIndex", "Scalar[]", "__torch__.torch.classes.A.B",
)  # fmt: skip


BOTH = (True, False)


#: Forms of each base type, of which the reference has an annotation for all, maybe an empty one.
FORMS = ("{}", "{}?", "{}[]", "{}[2]", "{}?[]", "{}[]?", "{}[3]?")


def facts_of_signature(python: Any, signature: Any, function: Any) -> Iterator[Any]:
    """What a signature of a function says, with its parameters and the lambda behind it."""
    yield signature
    yield [attribute(signature, name) for name in ("deprecated", "arguments", "arguments_count", "output_idx")]
    yield signature.arguments(skip_outputs=True, skip_tensor_options=True)
    for skip in BOTH:
        yield [outcome(signature.signature_str, skip_outputs=skip, symint=symint) for symint in BOTH]
        yield said(signature.signature_str_pyi, skip_outputs=skip)
        yield said(signature.signature_str_pyi_vararg, skip_outputs=skip)
    for name in ("returns_str_pyi", "returns_structseq_pyi"):
        yield outcome(getattr(python, name), signature)
    yield outcome(python.cpp_dispatch_exprs, function, python_signature=signature)
    for symint in BOTH:
        for name in ("dispatch_lambda_args", "dispatch_lambda_exprs", "arg_parser_output_exprs"):
            yield outcome(getattr(python, name), signature, function, symint=symint)


def function_facts(side: Side, function: Any) -> Iterator[Any]:
    """What `api.python` says of a function and of a method."""
    python = side.module("api.python")
    # The reference fails on methods with `out`, of which Python has none.
    for method in (False,) if function.func.is_out_fn() else (False, True):
        signature = outcome(python.signature, function, method=method)
        if isinstance(signature, str):
            yield signature
            return
        yield from facts_of_signature(python, signature, function)
    yield [outcome(getattr(python, name), function) for name in ("dispatch_lambda_return_str", "cpp_dispatch_target")]
    yield [outcome(python.cpp_dispatch_exprs, function), python.has_tensor_options(function)]
    yield said(python.structseq_fieldnames, function.func.returns)
    yield said(python.signature, function, pyi=True)
    for argument in function.func.arguments.flat_all:
        parameter = python.argument(argument)
        yield parameter
        for choices in ({}, {"method": True}):
            yield outcome(parameter.argument_str, symint=False, **choices)
            for deprecated in BOTH:
                yield outcome(parameter.argument_str_pyi, deprecated=deprecated, **choices)


@pytest.mark.thorough
def test_signatures_are_equal(reference: Side, own: Side) -> None:
    """Signatures of functions and methods with all that is made from them are equal."""
    compare(reference, own, function_facts)


def test_groups_are_equal(reference: Side, own: Side) -> None:
    """So are the groups of a function and its out form."""
    tables = []
    for side in (reference, own):
        python, model = side.module("api.python"), side.module("model")
        rows: list[Any] = []
        for group in side.module("gen").get_grouped_native_functions(side.parsed.native_functions):
            if isinstance(group, model.NativeFunctionsGroup):
                pairs = [
                    python.PythonSignatureNativeFunctionPair(signature=python.signature(member), function=member)
                    for member in (group.functional, group.out)
                ]
                both = python.PythonSignatureGroup.from_pairs(*pairs)
                rows += [both.signature, outcome(both.signature.signature_str)]
                rows.append(python.PythonSignatureGroup.from_pairs(pairs[0], None).outplace)
        tables.append(rows)
    assert len(tables[0]) > 300
    assert not difference(tables[0], tables[1])


def test_deprecated_signatures_are_equal(reference: Side, own: Side, reference_inputs: Path) -> None:
    """So are the signatures of `deprecated.yaml`, with the lambda of each function of the same name."""
    texts = yaml.safe_load((reference_inputs.parent / "autograd" / "deprecated.yaml").read_text(encoding="utf-8"))
    tables = []
    for side in (reference, own):
        python = side.module("api.python")
        rows: list[Any] = []
        for text in texts:
            schema = side.module("model").FunctionSchema.parse(text["name"])
            plain = python.signature_from_schema(schema, category_override=None, method=False)
            names = [field.name for field in dataclasses.fields(plain)]
            fields = {name: getattr(plain, name) for name in names}
            passed = tuple(text["aten"].partition("(")[2].rstrip(")").split(", "))
            made = python.PythonSignatureDeprecated(**fields, deprecated_schema=schema, deprecated_args_exprs=passed)
            for function in side.parsed.native_functions:
                if str(function.func.name.name) == text["aten"].partition("(")[0]:
                    with inside(side, function):
                        rows += facts_of_signature(python, made, function)
        tables.append(rows)
    assert len(tables[0]) > 100
    assert not difference(tables[0], tables[1])


def test_annotations_of_all_types_are_equal(reference: Side, own: Side) -> None:
    """So are the annotations of every base type, and of lists and optionals of it."""
    # Ours has types that only other releases have, too.
    names = {base.name for base in reference.module("model").BaseTy}
    rows = []
    for side in (reference, own):
        python, model = side.module("api.python"), side.module("model")
        types = [model.Type.parse(form.format(name)) for name in sorted(names) for form in FORMS]
        facts = ("argument_type_str_pyi", "return_type_str_pyi", "argument_type_size")
        rows.append([(str(type), *[said(getattr(python, fact), type) for fact in facts]) for type in types])
    assert len(rows[0]) > 100
    assert not difference(rows[0], rows[1])


@pytest.mark.parametrize("text", TYPES)
def test_types_are_equal(reference: Side, own: Side, text: str) -> None:
    """So are the names of types, and the methods that read their values."""
    rows = []
    for side in (reference, own):
        python, type = side.module("api.python"), side.module("model").Type.parse(text)
        facts = [outcome(python.argument_type_str, type, simple_type=plain, symint=not plain) for plain in BOTH]
        facts += [python.argument_type_size(type)]
        facts += [outcome(getattr(python, name), type) for name in ("argument_type_str_pyi", "return_type_str_pyi")]
        facts += [
            outcome(python.arg_parser_unpack_method, type, *defaults, symint=symint)
            for defaults in ((None, None), ("None", None), ("1", None), ("None", "torch::x"))
            for symint in BOTH
        ]
        rows.append(facts)
    assert rows[0] == rows[1]


def test_out_arguments_are_one_parameter(reference: Side, own: Side) -> None:
    """Several outputs are a list of tensors; other types are refused."""
    rows = []
    for side in (reference, own):
        python, parse = side.module("api.python"), side.module("model").Type.parse
        tensor = python.PythonArgument(name="x", type=parse("Tensor"), default=None, default_init=None)
        number = python.PythonArgument(name="y", type=parse("int"), default=None, default_init=None)
        outputs: list[tuple[Any, ...]] = [(), (tensor,), (tensor, tensor), (number,), (tensor, number)]
        rows.append([outcome(python.PythonOutArgument.from_outputs, each) for each in outputs])
        read = python.arg_parser_output_expr(3, tensor)
        rows[-1] += [read, read.is_none_expr, python.SUPPORTED_RETURN_TYPES, python.TENSOR_OPTIONS_FIELDS]
    assert not difference(rows[0], rows[1])
