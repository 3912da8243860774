"""`python_functions.h` and its shards: the nodes of the backward graph as Python types, with what they save."""

from __future__ import annotations

from typing import Final

from opwright.emit.autograd.kernels import autograd_emitter
from opwright.emit.autograd.nodes import GraphNode, nodes_of_file
from opwright.emit.autograd.saved import SavedField
from opwright.emit.emitter import AnyEmitter, Emitter, FragmentContext, Job, OneFile, Sharded, Slots

#: How a property reads the field, by the kind of the field: `{op}` is the node, `{name}` the attribute.
_ACCESS: Final = {
    "plain": "  auto prop = static_cast<{op}*>(self->cdata.get())->{name};\n",
    "variable": "  const auto& prop = static_cast<{op}*>(self->cdata.get())->{name}_;\n",
    "variables": """\
  const auto *node = static_cast<{op}*>(self->cdata.get());
  const auto& prop = node->{name}_;
  if (node->{name}_released_) {{
    PyErr_SetString(PyExc_RuntimeError, ERR_BACKWARD_TWICE);
    return nullptr;
  }}
""",
    "scalars": """\
  const auto *node = static_cast<{op}*>(self->cdata.get());
  const auto& prop = node->{name};
  if (node->{name}_released_) {{
    PyErr_SetString(PyExc_RuntimeError, ERR_BACKWARD_TWICE);
    return nullptr;
  }}
""",
    "optional": """\
  auto opt_prop = static_cast<{op}*>(self->cdata.get())->{name};
  if (!opt_prop.has_value()) {{
    Py_RETURN_NONE;
  }}
  auto prop = opt_prop.value();
""",
    "optional_array": """\
  auto opt_prop = static_cast<{op}*>(self->cdata.get())->{name};
  if (!opt_prop.list.has_value()) {{
    Py_RETURN_NONE;
  }}
  auto prop = opt_prop.list.value();
""",
}


def _tuple_of(item: str, *, loop: str = "auto i : c10::irange(prop.size())") -> str:
    """Body that makes a tuple; `item` are the statements for one item."""
    return f"""\
  PyObject* tup = PyTuple_New((Py_ssize_t) prop.size());
  for ({loop}) {{
{item}  }}
  return tup;
"""


#: How a property converts the field to a Python object, by the kind of its value.
_BODIES: Final = {
    "variable": "  return THPVariable_Wrap(prop.unpack(self->cdata));\n",
    "raw_variable": """\
  pybind11::object obj = pybind11::cast(prop, pybind11::return_value_policy::reference);
  return obj.release().ptr();
""",
    "variables": _tuple_of(
        "    PyTuple_SetItem(tup, (Py_ssize_t) i, THPVariable_Wrap(prop[i].unpack(self->cdata)));\n",
        loop="auto i: c10::irange(prop.size())",
    ),
    "raw_variables": _tuple_of(
        """\
    pybind11::object obj = pybind11::cast(prop[i], pybind11::return_value_policy::reference);
    PyTuple_SetItem(tup, (Py_ssize_t) i, obj.release().ptr());
"""
    ),
    "longs": _tuple_of("    PyTuple_SetItem(tup, (Py_ssize_t) i, PyLong_FromUnsignedLong((uint64_t) prop[i]));\n"),
    "doubles": _tuple_of("    PyTuple_SetItem(tup, (Py_ssize_t) i, PyFloat_FromDouble((double) prop[i]));\n"),
    "symints": _tuple_of(
        """\
      auto si = prop[i];
      if (auto m = si.maybe_as_int()) {
        PyTuple_SetItem(tup, (Py_ssize_t) i, PyLong_FromUnsignedLong(*m));
      } else {
        auto py_symint = py::cast(si).release().ptr();
        PyTuple_SetItem(tup, (Py_ssize_t) i, py_symint);
      }
"""
    ),
    "scalars": _tuple_of(
        """\
    if (prop[i].isComplex()) {
      auto cprop = prop[i].to<c10::complex<double>>();
      PyTuple_SetItem(tup, (Py_ssize_t) i, PyComplex_FromDoubles(cprop.real(), cprop.imag()));
    } else if (prop[i].isFloatingPoint()) {
      auto double_prop = prop[i].to<double>();
      PyTuple_SetItem(tup, (Py_ssize_t) i, PyFloat_FromDouble(double_prop));
    } else if (prop[i].isIntegral(/*includeBool=*/false)) {
      auto long_prop = prop[i].to<int64_t>();
      PyTuple_SetItem(tup, (Py_ssize_t) i, PyLong_FromLong(long_prop));
    } else if (prop[i].isBoolean()) {
      if (prop[i].to<bool>()) {
        PyTuple_SetItem(tup, (Py_ssize_t) i, Py_True);
      } else {
        PyTuple_SetItem(tup, (Py_ssize_t) i, Py_False);
      }
    } else {
      PyErr_SetString(PyExc_RuntimeError, "Unknown scalar type");
      return nullptr;
    }
""",
        loop="auto i: c10::irange(prop.size())",
    ),
    "long": "  return PyLong_FromUnsignedLong((int64_t) prop);\n",
    "symint": """\
  if (auto m = prop.maybe_as_int()) {
    return PyLong_FromUnsignedLong(*m);
  } else {
    return py::cast(prop).release().ptr();
  }
""",
    "double": "  return PyFloat_FromDouble((double) prop);\n",
    "bool": """\
  if (prop) {
    Py_RETURN_TRUE;
  } else {
    Py_RETURN_FALSE;
  }
""",
    "string": "  return PyUnicode_FromStringAndSize(prop.data(), prop.size());\n",
    "scalar": """\
  if (prop.isComplex()) {
    auto cprop = prop.to<c10::complex<double>>();
    return PyComplex_FromDoubles(cprop.real(), cprop.imag());
  } else if (prop.isFloatingPoint()) {
    return PyFloat_FromDouble(prop.to<double>());
  } else if (prop.isIntegral(/*includeBool=*/false)) {
    return PyLong_FromLong(prop.to<int64_t>());
  } else if (prop.isBoolean()) {
    if (prop.to<bool>()) {
      Py_RETURN_TRUE;
    } else {
      Py_RETURN_FALSE;
    }
  } else {
    PyErr_SetString(PyExc_RuntimeError, "Unknown scalar type");
    return nullptr;
  }
""",
}


def _getter(op: str, field: SavedField, form: str) -> str:
    return f"""\
static PyObject* THP{op}_{field.name}_{form}getter(THPCppFunction *self, void *_unused) {{
  HANDLE_TH_ERRORS
{_ACCESS[field.getter].format(op=op, name=field.name)}{_BODIES[form + field.body]}  END_HANDLE_TH_ERRORS
}}
"""


def _properties(node: GraphNode) -> list[tuple[SavedField, str]]:
    """Saved attributes with a property, and `raw_` for the one that variables have of their raw form."""
    return [
        (field, form)
        for field in node.saved
        for form, has_property in (("", bool(field.getter)), ("raw_", field.is_output is not None))
        if has_property
    ]


def property_getters(node: GraphNode) -> str:
    """Functions behind the properties of a node's Python type."""
    return "\n".join([_getter(node.name, field, form) for field, form in _properties(node)]).rstrip()


def property_entries(node: GraphNode) -> list[str]:
    """Lines of the table of properties."""
    return [
        f'{{(char*)"_{form}saved_{field.name}", (getter)THP{node.name}_{field.name}_{form}getter, '
        "nullptr, nullptr, nullptr},"
        for field, form in _properties(node)
    ]


def properties(node: GraphNode) -> str:
    """Properties of a node's Python type, with the functions behind them."""
    entries = "".join([f"  {entry}\n" for entry in property_entries(node)]) or "\n"
    return property_table(node.name, property_getters(node), entries)


def property_table(op: str, getters: str, entries: str) -> str:
    """Table of properties of the type of a node's class, with its lines, and the functions before it."""
    return f"""\
{getters}

static struct PyGetSetDef {op}_properties[] = {{
  THP_FUNCTION_DEFAULT_PROPERTIES,
{entries}  {{nullptr}} /* sentinel */
}};

"""


def initializer(op: str) -> str:
    """Statements that make the Python type of a node's class."""
    return f'static PyTypeObject {op}Class;\naddClass<{op}>(module, {op}Class, "{op}", {op}_properties);\n'


def _fragment(node: GraphNode, context: FragmentContext) -> Slots:
    return {
        "py_function_initializers": (initializer(node.name),),
        "py_function_props_and_getters": (properties(node),),
    }


def _header_file_slots(job: Job) -> Slots:
    names = [f"initialize_autogenerated_functions_{number}" for number in range(job.rules.autograd_functions_shards)]
    return {
        "shard_forward_declare": [f"void {name}(PyObject* module);" for name in names],
        "shard_call": [f"{name}(module);" for name in names],
    }


def emitters(job: Job) -> list[AnyEmitter]:
    """Emitters of the header and of the shards."""
    file = "python_functions.cpp"
    return [
        Emitter(
            name="python_functions_header",
            family="python",
            template="autograd/python_functions.h",
            folder="autograd",
            layout=OneFile("python_functions.h"),
            file_slots=_header_file_slots,
        ),
        autograd_emitter(
            "python_functions_source",
            file,
            nodes_of_file,
            _fragment,
            ("py_function_initializers", "py_function_props_and_getters"),
            layout=Sharded[GraphNode](file, job.rules.autograd_functions_shards, lambda unit: unit.info.name),
            family="python",
        ),
    ]
