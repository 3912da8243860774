"""`TraceType_N.cpp`: the kernels that record calls in the graph that `torch.jit.trace` builds.

A kernel makes a node before the call and gives it the call's results after it. Operators that change their arguments
are recorded as they are, or, where the trace is to have no side effects, as their functional form.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final

from opwright.convention import public_api
from opwright.convention.caching import per_function
from opwright.emit.aten.units import include
from opwright.emit.autograd.kernels import (
    autograd_emitter,
    changes_arguments,
    declared_results,
    is_hand_written,
    kernel_head,
    redispatch,
    registration,
    returned_value,
)
from opwright.emit.emitter import AnyEmitter, FragmentContext, Job, Sharded, Slots
from opwright.model.native_function import NativeFunction
from opwright.release.operator_names.autograd import RECORDED_AS, TRACED_BY_CALLEES
from opwright.schema.function import Argument, Arguments, SchemaKind

_KEYS: Final = "c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, c10::DispatchKey::Tracer)"

#: Types of arguments that a graph has no values for.
_UNTRACEABLE: Final = frozenset(("Storage", "Type"))

#: The inputs that the in-place form has in addition.
_MORE_INPUTS: Final = tuple(
    "          " + line
    for line in (
        'jit::tracer::addInputs(node, "options", ::std::optional<ScalarType>());',
        'jit::tracer::addInputs(node, "options", layout_or_default(::std::nullopt));',
        'jit::tracer::addInputs(node, "options", device_or_default(::std::nullopt));',
        'jit::tracer::addInputs(node, "options", pinned_memory_or_default(::std::nullopt));',
        "::std::optional<MemoryFormat> memory_format = c10::MemoryFormat::Preserve;",
        'jit::tracer::addInputs(node, "memory_format", memory_format);',
    )
)

#: A factory that writes to `out` is recorded as the one that makes a tensor with the options of `out`.
_OPTIONS_OF_OUT: Final = tuple(
    f'      jit::tracer::addInputs(node, "out", {value});'
    for value in (
        "c10::optTypeMetaToScalarType(out.options().dtype_opt())",
        "out.options().layout()",
        "out.options().device()",
        "out.options().pinned_memory()",
    )
)


@per_function
def is_traced(function: NativeFunction) -> bool:
    """Whether calls are recorded: there is a tensor among the results, and the graph can hold all arguments."""
    return (
        not (function.library.known_by_name and function.root_name in TRACED_BY_CALLEES.in_any_release)
        and any(result.type.is_tensor_like for result in function.schema.returns)
        and not any(argument.type.text in _UNTRACEABLE for argument in function.arguments.all)
    )


def _changes_argument(function: NativeFunction) -> bool:
    return changes_arguments(function) and not function.name.dunder


def _choice(condition: str, then: Sequence[str], otherwise: Sequence[str]) -> list[str]:
    return [f"    if ({condition}) {{", *(then or ("",)), "    } else {", *(otherwise or ("",)), "    }"]


def _name_lines(function: NativeFunction) -> list[str]:
    name, library = function.name, function.library

    def line(name: str) -> str:
        recorded = RECORDED_AS.in_any_release.get(name, name) if library.known_by_name else name
        return f'    op_name = c10::Symbol::fromQualString("{library.namespace}::{recorded}");'

    if name.dunder or function.kind in (SchemaKind.functional, SchemaKind.out):
        return [line(name.name)]
    functional, itself = line(name.base), line(public_api.name(function.schema))
    return ["", *_choice("tracer_state->force_outplace", [f"  {functional}"], [f"  {itself}"])]


def _input(name: str) -> str:
    return f'    jit::tracer::addInputs(node, "{name}", {name});'


@cache
def _inputs(arguments: Arguments) -> str:
    """Lines that record all arguments but outs; many overloads have the same."""
    return "\n".join([_input(argument.name) for argument in arguments.non_out])


def _is_factory(function: NativeFunction) -> bool:
    """Whether an out form writes what its functional form makes from tensor options."""
    # Of all overloads named `normal` some are factories; the others are recorded like them.
    if function.category_override == "factory" or (function.library.known_by_name and function.root_name == "normal"):
        return True
    return not any(argument.type.is_tensor_like for argument in function.arguments.non_out)


def _input_lines(function: NativeFunction) -> list[str]:
    arguments = function.arguments
    lines = [_inputs(arguments)] if arguments.non_out else []
    if arguments.out:
        functional = _OPTIONS_OF_OUT if _is_factory(function) else ()
        lines.append("")
        lines += _choice(
            "tracer_state->force_outplace", functional, ["  " + _input(argument.name) for argument in arguments.out]
        )
    is_replaced = function.library.known_by_name and function.root_name in RECORDED_AS.in_any_release
    if is_replaced and _changes_argument(function):
        if arguments.out:
            lines.append("")
        lines += _choice("tracer_state->force_outplace", _MORE_INPUTS, ())
    return lines


def _node(function: NativeFunction) -> str:
    """Part before the call: makes a node, and stops tracing what the call calls."""
    name = "\n".join(_name_lines(function))
    inputs = "\n".join(_input_lines(function))
    guard = ""
    if _changes_argument(function):
        # A changed argument is not recorded under two names.
        changed = function.arguments.out[0].name if function.arguments.out else "self"
        guard = f'    jit::tracer::ensureUniqueIfOutOfPlaced("{public_api.name(function.schema)}", {changed});'
    return f"""  torch::jit::Node* node = nullptr;
  std::shared_ptr<jit::tracer::TracingState> tracer_state;
  if (jit::tracer::isTracing()) {{
    tracer_state = jit::tracer::getTracingState();
    at::Symbol op_name;
{name}
    node = tracer_state->createNode(op_name, /*num_outputs=*/0);
    jit::tracer::recordSourceLocation(node);
{inputs}
    tracer_state->insertNode(node);
{guard}
    jit::tracer::setTracingState(nullptr);
  }}
"""


def _recorded_results(out: tuple[Argument, ...], names: tuple[str, ...]) -> str:
    """Part after the call: gives the node its results, and goes on tracing."""
    written = tuple(argument.name for argument in out)
    added = [f"    jit::tracer::addOutput(node, {name});" for name in names]
    if out and written != names:
        functional = [f"      jit::tracer::addOutput(node, {name});" for name in written]
        added = ["", *_choice("force_outplace", functional, [f"  {line}" for line in added])]
    body = "\n".join(added)
    return f"""  if (tracer_state) {{
    jit::tracer::setTracingState(std::move(tracer_state));
{body}
  }}
"""


def kernel(function: NativeFunction) -> str:
    """The overload's kernel."""
    before = after = ""
    if is_traced(function):
        before = _node(function)
        after = _recorded_results(function.arguments.out, public_api.return_names(function))
    returns = function.schema.returns
    results = ""
    if returns and function.kind in (SchemaKind.functional, SchemaKind.mutable):
        results = f"{declared_results(function)} ="
    returned = f"  return {returned_value(function)};\n" if returns else ""
    return f"{kernel_head(function)} {{\n{before}  {results}{redispatch(function, _KEYS)};\n{after}{returned}}}\n"


def _units(job: Job) -> Sequence[NativeFunction]:
    # Selective builds leave out these files as a whole, so no operator is selected here.
    return [function for function in job.catalog.functions if not is_hand_written(function)]


def _fragment(function: NativeFunction, context: FragmentContext) -> Slots:
    return {
        "ops_headers": (include(function, "_ops"),),
        "trace_method_definitions": (kernel(function),),
        "trace_wrapper_registrations": (registration(function, "TraceType"),),
    }


def emitters(job: Job) -> list[AnyEmitter]:
    """Emitter of the tracing kernels; a run without autograd has none."""
    if job.options.disable_autograd:
        return []
    file = "TraceType.cpp"
    shards = Sharded[NativeFunction](file, job.rules.trace_type_shards, lambda function: function.root_name)
    return [autograd_emitter("trace_type_source", file, _units, _fragment, (), layout=shards)]
