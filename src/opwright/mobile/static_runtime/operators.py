"""`generated_ops.cpp`: the code of operators in static runtime.

For each operator, static runtime calls a function with a node of a graph, which returns the code for the node's schema.
Code of operators with an out overload writes into the output of an earlier run, if there is one.
"""

from __future__ import annotations

from typing import Final

from opwright.cpp.text import include_line
from opwright.emit.emitter import AnyEmitter, Emitter, FragmentContext, Job, OneFile, Slots
from opwright.mobile.static_runtime.support import Block, StaticRuntimeFiles, argument_form, file_units, function_name
from opwright.model.native_function import NativeFunction, NativeFunctionsGroup, ViewGroup
from opwright.schema.function import Argument

#: The headers that PyTorch's file includes, besides that of the interpreter.
_INCLUDED: Final = """
ATen/CPUFunctions.h ATen/InferSize.h ATen/NativeFunctions.h ATen/Parallel.h ATen/ScalarOps.h ATen/TensorUtils.h
ATen/cpu/vec/functional.h ATen/cpu/vec/vec.h ATen/native/EmbeddingBag.h ATen/native/Fill.h
ATen/native/IndexingUtils.h ATen/native/NonSymbolicBC.h ATen/native/Resize.h ATen/native/SharedReduceOps.h
ATen/native/TensorAdvancedIndexing.h ATen/native/cpu/SerialStackImpl.h ATen/native/layer_norm.h
ATen/native/quantized/cpu/fbgemm_utils.h ATen/native/quantized/cpu/qembeddingbag.h
ATen/native/quantized/cpu/qembeddingbag_prepack.h ATen/quantized/QTensorImpl.h ATen/quantized/Quantizer.h
c10/core/ScalarType.h c10/core/WrapDimMinimal.h c10/util/irange.h torch/csrc/jit/ir/ir.h
torch/csrc/jit/runtime/static/impl.h torch/csrc/jit/runtime/static/te_wrapper.h
torch/csrc/jit/runtime/vararg_functions.h torch/csrc/jit/tensorexpr/ir.h
torch/csrc/jit/tensorexpr/ir_simplifier.h torch/csrc/jit/tensorexpr/llvm_codegen.h
torch/csrc/jit/tensorexpr/loopnest.h
"""

_HEAD: Final = """\
// @lint-ignore-every CLANGTIDY HOWTOEVEN
// AUTO-GENERATED FROM: torchgen/static_runtime/gen_static_runtime_ops.py
#include <torch/csrc/jit/runtime/static/ops.h>

{includes}

namespace torch {{
namespace jit {{

""".format(includes="\n".join(map(include_line, _INCLUDED.split())))

_TAIL: Final = """\


} // namespace jit
} // namespace torch
"""


def _extractions(arguments: tuple[Argument, ...]) -> str:
    lines = []
    for number, argument in enumerate(arguments):
        form = argument_form(argument.type)
        assert form is not None, "operators with other arguments have no code"
        lines.append(f"{form.declared} {argument.name} = p_node->Input({number}).{form.conversion}")
    return ";\n    ".join(lines) + ";"


def _call(function: NativeFunction, names: list[str], *, structured: bool) -> str:
    return f"{function_name(function, structured=structured)}({','.join(names)})"


def _out_code(group: NativeFunctionsGroup) -> str:
    functional, out = group.functional, group.out
    arguments = functional.arguments.all
    result = out.arguments.out[0].name
    inputs = [argument.name for argument in out.arguments.non_out]
    outputs = [argument.name for argument in out.arguments.out]
    names = [*outputs, *inputs] if group.structured else [*inputs, *outputs]
    functional_call = _call(functional, [argument.name for argument in arguments], structured=group.structured)
    return f"""
      if (n->matches(torch::schema("aten::{functional.schema}"))) {{
        return [](ProcessedNode* p_node) {{
          {_extractions(arguments)}
          if (p_node->Output(0).isNone()) {{
            p_node->Output(0) = {functional_call};
            return;
          }}
          auto& {result} = p_node->Output(0).toTensor();
          fastResizeToZero({result});
          {_call(out, names, structured=group.structured)};
        }};
      }}"""


def _view_code(group: ViewGroup) -> str:
    """Code for the schema of a view, which makes a new view each time."""
    view = group.view
    names = [argument.name for argument in view.arguments.all]
    return f"""
      if (n->matches(torch::schema("aten::{view.schema}"))) {{
        return [](ProcessedNode* p_node) {{
          {_extractions(view.arguments.all)}
            p_node->Output(0) = {_call(view, names, structured=False)};
        }};
      }}"""


def _registration(macro: str, name: str, body: str, close: str) -> str:
    return f"""
{macro}(
    aten::{name},
    aten_{name},
    [](Node* n) -> SROperator {{
      {body}
      LogAndDumpSchema(n);
      return nullptr;
    }}{close}
"""


def _fragment(block: Block | str, context: FragmentContext) -> Slots:
    if isinstance(block, str):
        return {"text": block}
    name = block[0].root_name
    outs = [_out_code(group) for group in block if isinstance(group, NativeFunctionsGroup)]
    if outs:
        return {"text": _registration("REGISTER_OPERATOR_FUNCTOR", name, "\n".join(outs), ")") + "\n"}
    views = [_view_code(group) for group in block if isinstance(group, ViewGroup)]
    return {"text": "\n" + _registration("REGISTER_NATIVE_OPERATOR_FUNCTOR", name, "\n".join(views), ");")}


def emitters(job: Job) -> list[AnyEmitter]:
    """Emitter of the file."""
    return [
        Emitter(
            name="static_runtime_operators",
            family="static_runtime",
            template=None,
            folder="static_runtime",
            units=file_units(_HEAD, _TAIL),
            fragment=_fragment,
            layout=OneFile(job.options.of(StaticRuntimeFiles).operators),
        )
    ]
