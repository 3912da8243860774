"""Operators as classes: `call` calls the dispatcher, `redispatch` continues with a given key set.

PyTorch's operators are in `at::_ops`.

`ops/{op}_ops.h` and `Operators.cpp`; in builds without per-operator headers `MethodOperators.h` has the classes that
`Tensor` needs, `Operators.h` all others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from opwright.convention import dispatcher
from opwright.cpp.text import string_literal
from opwright.emit.aten.static_dispatch import STATIC_BACKENDS, extra_headers, static_call
from opwright.emit.aten.units import (
    KEY_SET,
    RootOverloads,
    include,
    includes,
    key_set_parameter,
    methods,
    overloads,
    own_name,
    roots,
    shard_count,
)
from opwright.emit.emitter import AnyEmitter, Emitter, FilePerUnit, FragmentContext, Job, OneFile, Sharded, Slots
from opwright.model.native_function import NativeFunction


def declaration(function: NativeFunction) -> str:
    """The operator's class."""
    signature = dispatcher.signature(function)
    name, library = function.name, function.library
    return f"""
struct {library.export} {name.unambiguous} {{
  using schema = {signature.type};
  using ptr_schema = schema*;
  // See Note [static constexpr char* members for windows NVCC]
  static constexpr const char* name = "{library.namespace}::{name.name}";
  static constexpr const char* overload_name = "{name.overload}";
  static constexpr const char* schema_str = {string_literal(str(function.schema))};
  static {signature.definition("call")};
  static {signature.definition("redispatch", first=key_set_parameter(function))};
}};"""


def definition(function: NativeFunction, context: FragmentContext) -> str:
    """Members of the operator's class, and the handle that they call."""
    signature = dispatcher.signature(function)
    name = function.name.unambiguous
    comment = f"// {function.library.namespace}::{function.schema}"
    arguments = signature.arguments
    handle = f"create_{name}_typed_handle"
    operator, keys = own_name(function, "op"), own_name(function, KEY_SET)
    backends = context.read(STATIC_BACKENDS)
    if backends:
        body = f"    {static_call(function, backends)}"
    else:
        body = f"""
    static auto {operator} = {handle}();
    return {operator}.call({arguments});"""
    return f"""
{comment}
static C10_NOINLINE c10::TypedOperatorHandle<{name}::schema> {handle}() {{
  return c10::Dispatcher::singleton()
      .findSchemaOrThrow({name}::name, {name}::overload_name)
      .typed<{name}::schema>();
}}

{comment}
{signature.definition(name + "::call")} {{
{body}
}}

{comment}
{signature.definition(name + "::redispatch", first=key_set_parameter(function))} {{

    static auto {operator} = {handle}();
    return {operator}.redispatch({f"{keys}, {arguments}" if arguments else keys});
}}
"""


#: Leaves the namespaces of the template for an include.
_METHOD_CLASSES: Final = """
}} // namespace at::_ops
#include <ATen/MethodOperators.h>
namespace at { namespace _ops {"""


def _root_header(root: RootOverloads, context: FragmentContext) -> Slots:
    _, functions = root
    if not context.options.own_headers or not functions[0].library.in_libtorch or not any(map(_is_method, functions)):
        return {"declarations": [declaration(function) for function in functions]}
    others = [declaration(function) for function in functions if not _is_method(function)]
    return {"declarations": [_METHOD_CLASSES, *others]}


def _shard(function: NativeFunction, context: FragmentContext) -> Slots:
    return {
        "operator_headers": (include(function, ""),),
        "definitions": (definition(function, context),),
    }


def _without_methods(job: Job) -> Sequence[NativeFunction]:
    return [function for function in job.catalog.functions if not function.method]


def _is_method(function: NativeFunction) -> bool:
    return function.method


def _collect(
    name: str,
    file: str,
    headers: Callable[[Job], Sequence[str]],
    units: Callable[[Job], Sequence[NativeFunction]] = lambda _: (),
) -> AnyEmitter:
    declarations = f"{file}_declarations"

    def fragment(function: NativeFunction, context: FragmentContext) -> Slots:
        return {declarations: (declaration(function),)}

    return Emitter(
        name=name,
        family="headers",
        template=f"{file}.h",
        units=units,
        fragment=fragment,
        layout=OneFile(f"{file}.h"),
        file_slots=lambda job: {f"{file}_includes": headers(job), declarations: ()},
    )


def _method_classes() -> AnyEmitter:
    """Header with the classes of methods, which every source reads.

    In lean runs, the headers of their operators include it and have the other overloads: such an overload is new to the
    sources that include its operator, and to no others.
    """
    return _collect("method_operators_header", "MethodOperators", lambda job: (), methods)


def _headers(job: Job) -> list[AnyEmitter]:
    if not job.options.per_operator_headers:
        return [
            _method_classes(),
            _collect(
                "operators_header", "Operators", lambda job: ("#include <ATen/MethodOperators.h>",), _without_methods
            ),
        ]
    return [
        Emitter(
            name="operator_headers",
            family="headers",
            template="Operator.h",
            folder="ops",
            units=roots,
            fragment=_root_header,
            layout=FilePerUnit(lambda root: f"{root[0]}_ops.h"),
        ),
        _method_classes()
        if job.options.own_headers
        # The reference sorts these lines as text, and all other lists of includes by root name.
        else _collect(
            "method_operators_header", "MethodOperators", lambda job: sorted(includes("_ops", _is_method, job))
        ),
        _collect("operators_header", "Operators", lambda job: includes("_ops", None, job)),
    ]


def emitters(job: Job) -> list[AnyEmitter]:
    """Emitters of the classes and of their members."""
    return [
        *_headers(job),
        Emitter(
            name="operators_source",
            family="sources",
            template="Operators.cpp",
            units=overloads,
            fragment=_shard,
            reads=(STATIC_BACKENDS,),
            layout=Sharded(
                "Operators.cpp",
                shard_count(job.rules.operators_shards, lambda: len(job.catalog.functions), job),
                lambda function: function.root_name,
            ),
            file_slots=lambda job: {
                "operator_headers": (),
                "static_dispatch_extra_headers": extra_headers(job.static_backends),
                "definitions": (),
            },
        ),
    ]
