"""`test_generated_ops.cc`: a test for each schema with generated code, which runs a script of one call."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from opwright.emit.emitter import AnyEmitter, Emitter, FragmentContext, Job, OneFile, Slots
from opwright.mobile.operator_names import (
    COMPLEX_INPUTS,
    INPUT_SHAPES,
    INPUT_VALUES,
    INTEGER_INPUTS,
    MATRIX_INPUTS,
    NOT_RESIZED,
    VECTOR_INPUTS,
)
from opwright.mobile.static_runtime.support import ArgumentForm, Block, StaticRuntimeFiles, argument_form, file_units
from opwright.model.native_function import NativeFunction, ViewGroup
from opwright.schema.function import Argument

_HEAD: Final = """\
// @lint-ignore-every CLANGTIDY HOWTOEVEN
// AUTO-GENERATED FROM: torchgen/static_runtime/gen_static_runtime_ops.py
#include <gtest/gtest.h>
#include <torch/csrc/jit/runtime/static/impl.h>
#include <torch/torch.h>

#include "test_utils.h"

using namespace caffe2;
using namespace torch;
using namespace torch::jit;
using namespace torch::jit::test;
using c10::IValue;

"""
_TAIL: Final = "\n\n"

#: The extent of each dimension in the first and the second call, by the number of dimensions. The first inputs have
#: about 16 elements and the second ones 64, so that the output must grow.
_EXTENTS: Final = {1: (16, 64), 2: (8, 32), 3: (6, 22)}

#: A part of a value that differs between the two calls.
_ALTERNATIVES: Final = re.compile(r"\[(.*?)\|(.*?)\]")


def _fragment(block: Block | str, context: FragmentContext) -> Slots:
    if isinstance(block, str):
        return {"text": block}
    is_view = isinstance(block[0], ViewGroup)
    functions = [group.view if isinstance(group, ViewGroup) else group.functional for group in block]
    text = "\n".join([_test(function, is_view=is_view) for function in functions])
    return {"text": "\n" + text if is_view else text + "\n"}


def _test(function: NativeFunction, *, is_view: bool) -> str:
    """Test of one schema: a view is called once, others once more with larger inputs."""
    arguments = function.arguments.all
    scripted = [f"%{argument.name}" for argument in arguments]
    declared = ", ".join([f"%{argument.name}: {_form(argument).script_type}" for argument in arguments])
    return f"""
TEST(StaticRuntime, autogen_{function.name.text.replace(".", "_")}) {{
  const std::string script = R"IR(
    graph({declared}):
        %bias: None = prim::Constant()
        %ret = aten::{function.root_name}({", ".join(scripted)})
        %cloned = aten::clone(%ret, %bias)
        return (%cloned)
  )IR";

{_calls(function, is_view=is_view)}}}
"""


def _form(argument: Argument) -> ArgumentForm:
    form = argument_form(argument.type)
    assert form is not None, "operators with other arguments have no test"
    return form


def _calls(function: NativeFunction, *, is_view: bool) -> str:
    resized = "false" if function.name.text in NOT_RESIZED.in_any_release else "true"
    options = f"/*use_allclose=*/false, /*use_equalnan=*/false, /*check_resize=*/{resized}"
    first = f"""\
  {_definitions(function, 0)}
  std::vector<IValue> args{{{_names(function, 0)}}};
"""
    if is_view:
        return f"{first}  testStaticRuntime(script, args);\n"
    return f"""\
{first}  testStaticRuntime(script, args, {{}}, {options});

  {_definitions(function, 1)}
  std::vector<IValue> args2{{{_names(function, 1)}}};
  testStaticRuntime(script, args, args2, {options});

"""


def _names(function: NativeFunction, call: int) -> str:
    return ",".join(f"{argument.name}{call}" for argument in function.arguments.all)


def _definitions(function: NativeFunction, call: int) -> str:
    """Definitions of the inputs of a call, from 0 on.

    PyTorch's tests also define the values of an operator for arguments that the overload lacks.
    """
    tensor = _tensor(function.root_name, call)
    values: dict[str, str] = {}
    for argument in function.arguments.all:
        values[argument.name] = _form(argument).test_value or tensor
    for name, (value, is_conditional) in _listed_values(function.root_name, call).items():
        if name in values or not is_conditional:
            values[name] = value
    return ";\n    ".join(f"auto {name}{call} = {value}" for name, value in values.items()) + ";"


@cache
def _listed_values(root_name: str, call: int) -> Mapping[str, tuple[str, bool]]:
    """Values that a table lists for arguments, and whether each is only for overloads with the argument."""
    listed = {}
    for line in INPUT_VALUES.in_any_release.get(root_name, "").splitlines():
        name, sign, value = line.split(" ", 2)
        listed[name] = _ALTERNATIVES.sub(rf"\{call + 1}", value), sign == "?="
    return listed


def _tensor(root_name: str, call: int) -> str:
    shape = INPUT_SHAPES.in_any_release.get(root_name) or _shape(root_name, call)
    if root_name in INTEGER_INPUTS.in_any_release:
        return f"at::randint(1, 100, {shape}, at::kInt)"
    if root_name in COMPLEX_INPUTS.in_any_release:
        return f"at::randn({shape}, at::kComplexFloat)"
    return f"at::rand({shape})"


def _shape(root_name: str, call: int) -> str:
    if root_name in VECTOR_INPUTS.in_any_release:
        dimensions = 1
    else:
        dimensions = 2 if root_name in MATRIX_INPUTS.in_any_release else 3
    extent = str(_EXTENTS[dimensions][call])
    return f"{{{','.join([extent] * dimensions)}}}"


def emitters(job: Job) -> list[AnyEmitter]:
    """Emitter of the file."""
    return [
        Emitter(
            name="static_runtime_tests",
            family="static_runtime",
            template=None,
            folder="static_runtime_tests",
            units=file_units(_HEAD, _TAIL),
            fragment=_fragment,
            layout=OneFile(job.options.of(StaticRuntimeFiles).tests),
        )
    ]
