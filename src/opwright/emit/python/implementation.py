"""The C++ functions behind Python functions and methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from opwright.convention import public_api
from opwright.convention.python.bound import TORCH
from opwright.convention.python.call import call_arguments, dispatch_lambda, result_type, struct_key
from opwright.convention.python.overloads import Pair
from opwright.convention.python.signature import PythonSignature
from opwright.cpp.text import string_literal
from opwright.emit.autograd.trace_type import is_traced
from opwright.emit.python.return_types import Struct, structs
from opwright.emit.python.units import PythonBinding
from opwright.model.native_function import NativeFunction
from opwright.release.rules import Rules
from opwright.schema.function import SchemaKind


def _without_result(function: NativeFunction, indent: str) -> str:
    if function.kind is SchemaKind.inplace and function.name.is_foreach:
        # In-place operators over lists return the caller's list to Python.
        return (
            f"{indent}PyObject* self_tensorlist = _r.args[0];\n"
            f"{indent}Py_INCREF(self_tensorlist);\n"
            f"{indent}return self_tensorlist;\n"
        )
    return f"{indent}Py_RETURN_NONE;\n"


class _Writer:
    """Writes the calls of one binding; `types` are those of its named results."""

    __slots__ = ("guards_device", "types")

    def __init__(self, types: Mapping[str, Struct], rules: Rules) -> None:
        self.types: Final = types
        self.guards_device: Final[bool] = rules.devices_initialized_only_for_dispatched_calls

    def call(self, signature: PythonSignature, function: NativeFunction, indent: str) -> str:
        """Statements that call an overload with what the parser gives, and return its result."""
        called = dispatch_lambda(signature, function)
        prepared, passed, requires_grad = call_arguments(
            signature, function, called.names, guards_device=self.guards_device
        )
        name, result = f"dispatch_{public_api.name(function.schema)}", result_type(function)
        call, done = f"{name}({', '.join(passed)})", f"{called.target}({', '.join(called.passed)})"
        if requires_grad is not None:
            call += f".set_requires_grad({requires_grad})"
        if result == "void":
            returned = f"{indent}{call};\n{_without_result(function, indent)}"
        else:
            done = f"return {done}"
            struct = self.types.get(struct_key(function)) if self.types else None
            returned = f"{indent}return wrap({f'{struct.variable}, ' if struct else ''}{call});\n"
        namespace = function.library.namespace
        schema = f"{namespace}::{function.schema}"
        if signature.deprecated:
            schema = f"[deprecated] {namespace}::{signature.schema}"
        lines = [line for statement in prepared for line in statement.split("\n")] or [""]
        before = "".join([f"{indent}{line}\n" if line else "\n" for line in lines])
        return f"""{indent}// {schema}
{before}{indent}auto {name} = []({", ".join(called.parameters)}) -> {result} {{
{indent}  pybind11::gil_scoped_release no_gil;
{indent}  {done};
{indent}}};
{returned}"""

    def pair(self, pair: Pair, indent: str) -> str:
        """Statements for one signature of the parser."""
        signature = pair.signature
        if pair.out is None:
            return self.call(signature, pair.base, indent)
        inner = f"{indent}  "
        return f"""{indent}if (_r.isNone({len(signature.inputs) + len(signature.keywords)})) {{
{self.call(signature, pair.base, inner)}{indent}}} else {{
{self.call(signature, pair.out, inner)}{indent}}}
"""

    def choice(self, pairs: Sequence[Pair]) -> str:
        """Statements for each signature, under the number that the parser gives it."""
        if len(pairs) == 1:
            return self.pair(pairs[0], "  ")
        cases = [f"    case {number}: {{\n{self.pair(pair, '      ')}    }}\n" for number, pair in enumerate(pairs)]
        return f"  switch (_r.idx) {{\n{''.join(cases)}  }}\n"


def _torch_function_check(binding: PythonBinding, rules: Rules) -> str:
    self_name = "self_" if binding.is_method else "nullptr"
    if not binding.takes_nothing:
        module = binding.module
        handled = f'_r, {self_name}, args, kwargs, {module.variable}, "{module.name}"'
        return f"  if(_r.has_torch_function()) {{\n    return handle_torch_function({handled});\n  }}\n"
    if not binding.is_method:
        return "\n"
    asked = "if(check_has_torch_function(self_)) {"
    if rules.argumentless_methods_ask_has_torch_function:
        asked = "if (has_torch_function(self_)) {"
    return f'  {asked}\n    return handle_torch_function(self_, "{binding.name.name}");\n  }}\n'


def _parsing(binding: PythonBinding) -> str:
    overloads = binding.overloads
    traceable = "true" if all(is_traced(overload.function) for overload in overloads) else "false"
    most = max([len(overload.signature.parameters) for overload in overloads])
    signatures = "".join([f"    {string_literal(pair.signature.text)},\n" for pair in binding.pairs])
    return f"""  static PythonArgParser parser({{
{signatures}  }}, /*traceable=*/{traceable});

  ParsedArgs<{most}> parsed_args;
  auto _r = parser.parse({"self_" if binding.is_method else "nullptr"}, args, kwargs, parsed_args);
"""


def implementation(binding: PythonBinding, rules: Rules) -> str:
    """The C++ function of a binding."""
    types = structs([overload.function for overload in binding.overloads])
    opening = "".join(
        [f"  static PyTypeObject* {type.variable} = generated::{type.getter}();\n" for type in types.values()]
    )
    if binding.is_method:
        opening += "  const Tensor& self = THPVariable_Unpack(self_);\n"
    keywords = closing = ""
    if not binding.takes_nothing:
        opening += _parsing(binding)
        keywords = ", PyObject* kwargs"
        closing = "  Py_RETURN_NONE;\n"
    # Where there are several signatures, PyTorch's files have a stray backslash before the function.
    lead = "\\\n" if len(binding.pairs) > 1 else ""
    return f"""{lead}// {binding.name.name}
static PyObject * {binding.c_name}(PyObject* self_, PyObject* args{keywords})
{{
  HANDLE_TH_ERRORS
{opening}{_torch_function_check(binding, rules)}{_Writer(types, rules).choice(binding.pairs)}{closing}\
  END_HANDLE_TH_ERRORS
}}

"""


def forward_declaration(binding: PythonBinding) -> str:
    """Declaration of the C++ function."""
    keywords = "" if binding.takes_nothing else ", PyObject* kwargs"
    return f"static PyObject * {binding.c_name}(PyObject* self_, PyObject* args{keywords});\n"


def table_entry(binding: PythonBinding, rules: Rules) -> str:
    """Entry of the binding in its module's table of functions."""
    function, flags = binding.c_name, "METH_VARARGS | METH_KEYWORDS"
    if binding.name.dunder:
        # Python asks the other operand's class where an operator is not implemented.
        function = f"TypeError_to_NotImplemented_<{function}>"
    if not binding.takes_nothing:
        function = f"castPyCFunctionWithKeywords({function})"
    elif binding.is_method:
        flags = "METH_NOARGS"
    if binding.module is TORCH:
        flags += " | METH_STATIC"
    return f'{{"{binding.name.name}", {function}, {flags}, nullptr}},'
