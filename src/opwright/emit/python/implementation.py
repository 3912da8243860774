"""The C++ functions behind Python functions and methods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from opwright.convention import cpp
from opwright.convention.python.bound import TORCH
from opwright.convention.python.call import call_arguments, dispatch_lambda
from opwright.convention.python.overloads import Pair
from opwright.convention.python.results import result_type, struct_key
from opwright.convention.python.signature import PythonSignature
from opwright.cpp.text import string_literal
from opwright.emit.autograd.trace_type import is_traced
from opwright.emit.python.structs import Struct, structs
from opwright.emit.python.units import Binding
from opwright.model.native_function import NativeFunction
from opwright.release.rules import Rules
from opwright.schema.function import SchemaKind


def _indented(lines: Iterable[str], indent: str) -> list[str]:
    return [f"{indent}{line}" if line else line for line in lines]


def _without_result(function: NativeFunction) -> list[str]:
    """What follows the call of an operator that returns nothing."""
    if function.kind is SchemaKind.inplace and function.name.name.startswith("_foreach_"):
        # In-place operators over lists give Python the list that it passed.
        return [
            "PyObject* self_tensorlist = _r.args[0];",
            "Py_INCREF(self_tensorlist);",
            "return self_tensorlist;",
        ]
    return ["Py_RETURN_NONE;"]


def call_lines(
    signature: PythonSignature, function: NativeFunction, types: Mapping[str, Struct], rules: Rules
) -> list[str]:
    """The statements that call an overload with what the parser gives, and return its result."""
    called = dispatch_lambda(signature, function)
    guards_device = rules.devices_initialized_only_for_dispatched_calls
    prepared, passed, requires_grad = call_arguments(signature, function, called.names, guards_device=guards_device)
    mark = "[deprecated] " if signature.deprecated else ""
    schema = signature.schema if signature.deprecated else function.schema
    name, result = f"dispatch_{cpp.name(function.schema)}", result_type(function)
    flag = f".set_requires_grad({requires_grad})" if requires_grad is not None else ""
    call, done = f"{name}({passed}){flag}", f"{called.target}({called.passed});"
    if result == "void":
        returned = [f"{call};", *_without_result(function)]
    else:
        done = f"return {done}"
        struct = types.get(struct_key(function)) if types else None
        returned = [f"return wrap({f'{struct.variable}, ' if struct else ''}{call});"]
    return [
        f"// {mark}aten::{schema}",
        *(prepared or ("",)),
        f"auto {name} = []({called.parameters}) -> {result} {{",
        "  pybind11::gil_scoped_release no_gil;",
        f"  {done}",
        "};",
        *returned,
    ]


def _pair_lines(pair: Pair, types: Mapping[str, Struct], rules: Rules) -> list[str]:
    """The statements for one signature of the parser."""
    signature = pair.signature
    lines = call_lines(signature, pair.base, types, rules)
    if pair.out is None:
        return lines
    place = len(signature.inputs) + len(signature.keywords)
    return [
        f"if (_r.isNone({place})) {{",
        *_indented(lines, "  "),
        "} else {",
        *_indented(call_lines(signature, pair.out, types, rules), "  "),
        "}",
    ]


def _torch_function_check(binding: Binding, rules: Rules) -> list[str]:
    """The statements that give classes like tensors their say."""
    own = "self_" if binding.is_method else "nullptr"
    if not binding.takes_nothing:
        module = binding.module
        handled = f'_r, {own}, args, kwargs, {module.variable}, "{module.name}"'
        return ["if(_r.has_torch_function()) {", f"  return handle_torch_function({handled});", "}"]
    if not binding.is_method:
        return [""]
    asked = "if(check_has_torch_function(self_)) {"
    if rules.argumentless_methods_ask_has_torch_function:
        asked = "if (has_torch_function(self_)) {"
    return [asked, f'  return handle_torch_function(self_, "{binding.name.name}");', "}"]


def _parsing(binding: Binding, pairs: Sequence[Pair]) -> list[str]:
    """The statements that parse the arguments."""
    overloads = binding.overloads
    traceable = "true" if all(is_traced(one.function) for one in overloads) else "false"
    most = max(len(one.signature.parameters) for one in overloads)
    own = "self_" if binding.is_method else "nullptr"
    return [
        "static PythonArgParser parser({",
        *[f"  {string_literal(pair.signature.text)}," for pair in pairs],
        f"}}, /*traceable=*/{traceable});",
        "",
        f"ParsedArgs<{most}> parsed_args;",
        f"auto _r = parser.parse({own}, args, kwargs, parsed_args);",
    ]


def _choice(pairs: Sequence[Pair], types: Mapping[str, Struct], rules: Rules) -> list[str]:
    """The statements for each signature, under the number that the parser gives it."""
    if len(pairs) == 1:
        return _pair_lines(pairs[0], types, rules)
    lines = ["switch (_r.idx) {"]
    for number, pair in enumerate(pairs):
        lines += [f"  case {number}: {{", *_indented(_pair_lines(pair, types, rules), "    "), "  }"]
    return [*lines, "}"]


def implementation(binding: Binding, rules: Rules) -> str:
    """The C++ function of a binding."""
    pairs = binding.pairs
    types = structs([one.function for one in binding.overloads])
    lines = ["HANDLE_TH_ERRORS"]
    lines += [f"static PyTypeObject* {one.variable} = generated::{one.getter}();" for one in types.values()]
    if binding.is_method:
        lines.append("const Tensor& self = THPVariable_Unpack(self_);")
    keywords = ""
    if not binding.takes_nothing:
        lines += _parsing(binding, pairs)
        keywords = ", PyObject* kwargs"
    lines += _torch_function_check(binding, rules)
    lines += _choice(pairs, types, rules)
    if not binding.takes_nothing:
        lines.append("Py_RETURN_NONE;")
    lines.append("END_HANDLE_TH_ERRORS")
    body = "\n".join(_indented(lines, "  "))
    # Where there are several signatures, PyTorch's own files have a stray backslash before the function.
    lead = "\\\n" if len(pairs) > 1 else ""
    head = f"static PyObject * {binding.c_name}(PyObject* self_, PyObject* args{keywords})"
    return f"{lead}// {binding.name.name}\n{head}\n{{\n{body}\n}}\n\n"


def forward_declaration(binding: Binding) -> str:
    """The declaration of the C++ function."""
    keywords = "" if binding.takes_nothing else ", PyObject* kwargs"
    return f"static PyObject * {binding.c_name}(PyObject* self_, PyObject* args{keywords});\n"


def table_entry(binding: Binding) -> str:
    """The entry of the binding in its module's table of functions."""
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
