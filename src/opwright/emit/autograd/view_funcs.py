"""`ViewFuncs.h` and `ViewFuncs.cpp`: a class for each view, whose objects regenerate the view from a base.

An object holds the view's arguments by value. The tensors and symbolic integers among them can be read and replaced,
for whoever replays a view under other sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from opwright.convention import dispatcher, shared_types
from opwright.cpp import c_types
from opwright.cpp.binding import Binding
from opwright.cpp.c_types import CType
from opwright.cpp.translation import translate
from opwright.emit.aten.units import include
from opwright.emit.autograd.kernels import (
    autograd_emitter,
    changes_arguments,
    class_name,
    gives_list,
    view_base,
)
from opwright.emit.autograd.nodes import functions_with_kernels
from opwright.emit.emitter import AnyEmitter, FragmentContext, Job, Slots, per_job
from opwright.model.native_function import NativeFunction
from opwright.schema.function import Argument
from opwright.schema.types import OptionalType, Type
from opwright.source.records import NamedTuple

#: The additional field of an object for one of several views: the view's index.
_INDEX: Final = "view_idx"


class ViewFunc(NamedTuple):
    """Decisions about the class of one view.

    `parameters` are those of the constructor, without the index, and `fields` the same by value. `view_index` is the
    name of the index where the view is one of several, else empty.
    """

    name: str
    function: NativeFunction
    parameters: tuple[Binding, ...]
    fields: tuple[Binding, ...]
    view_index: str

    @property
    def argument_names(self) -> str:
        """Names of all parameters."""
        names = [parameter.name for parameter in self.parameters]
        return ", ".join([*names, self.view_index] if self.view_index else names)


def view_func(function: NativeFunction) -> ViewFunc:
    """Class of a view, whose base is the first argument."""
    arguments = function.arguments.all[1:]

    def held_type(argument: Argument) -> CType:
        writes, style = argument.is_write, function.style
        return shared_types.argument_type(argument.type, mutable=writes, symint=True, style=style, owning=True)

    return ViewFunc(
        class_name(function),
        function,
        tuple(
            [dispatcher.binding(argument, style=function.style) for argument in arguments if argument.name != "self"]
        ),
        tuple([Binding(argument.name, argument.name, held_type(argument), argument) for argument in arguments]),
        _INDEX if gives_list(function) else "",
    )


def declaration(func: ViewFunc) -> str:
    """Class."""
    name = func.name
    macro = f"{func.function.name.unambiguous}_view_func".upper()
    parameters = [parameter.definition for parameter in func.parameters]
    values = translate(func.parameters, func.fields, copies=True)
    initial = [f"{parameter.name}({value})" for parameter, value in zip(func.parameters, values, strict=True)]
    fields = [f"  {field.type.value.text} {field.name};" for field in func.fields]
    if func.view_index:
        parameters.append(f"int64_t {func.view_index}")
        initial.append(f"{func.view_index}({func.view_index})")
        fields.append(f"  int64_t {func.view_index};")
    initializers = f" : {', '.join(initial)}" if initial else ""
    held = "\n".join(fields)
    return f"""#define {macro}_AVAILABLE
struct {name} : public torch::autograd::ViewFunc {{
  {name}({", ".join(parameters)}){initializers}
  {{}}
  virtual ~{name}() override = default;
  virtual std::vector<c10::SymInt> get_symints() const override;
  virtual size_t num_symints() const override;
  virtual std::vector<at::Tensor> get_tensors() const override;
  virtual size_t num_tensors() const override;
  virtual at::Tensor operator()(const at::Tensor&) const override;
  virtual std::unique_ptr<ViewFunc> clone_and_set(
      std::optional<std::vector<c10::SymInt>> = ::std::nullopt,
      std::optional<std::vector<at::Tensor>> = ::std::nullopt) const override;

protected:
  virtual void set_symints(std::vector<c10::SymInt>) override;
  virtual void set_tensors(std::vector<at::Tensor>) override;

private:
{held}
}};

"""


class _Access(NamedTuple):
    """How the fields of one type are read into a vector and set from it: statements, and the number of items."""

    reading: str
    setting: str
    total: str


def _item(binding: Binding, vector: str) -> _Access:
    """Reads and sets one field, which may be a list, or absent."""
    name, argument = binding.name, binding.argument
    assert isinstance(argument, Argument), "a view's parameters are arguments of its schema"
    if argument.type.list_like is not None:
        count = f"{name}.size()"
        copied = f"std::copy({vector}.begin() + i, {vector}.begin() + i + {count}, {name}.begin());"
        return _Access(f"{vector}.insert({vector}.end(), {name}.begin(), {name}.end());", copied, count)
    if isinstance(argument.type, OptionalType):
        present = f"{name}.has_value()"
        reading = f"if({present}) {vector}.insert({vector}.end(), *({name}));"
        return _Access(reading, f"if({present}) {name} = {vector}[i];", f"({present} ? 1 : 0)")
    return _Access(f"{vector}.push_back({name});", f"{name} = {vector}[i];", "1")


def _access(parameters: Sequence[Binding], vector: str, type: CType) -> _Access:
    items = [_item(parameter, vector) for parameter in parameters]
    declared, returned = f"{type.text} {vector};", f"return {vector};"
    if not items:
        return _Access(f"  {declared}\n  {returned}", "", "0")
    count = " + ".join([access.total for access in items])
    reading = [declared, f"{vector}.reserve({count});", *[access.reading for access in items], returned]
    setting = ["auto i = 0;"]
    for access in items:
        setting += [access.setting, f"i += {access.total};"]
    # Nothing follows the last item.
    setting.pop()
    return _Access("\n".join([f"  {line}" for line in reading]), "\n".join([f"  {line}" for line in setting]), count)


def _holding(func: ViewFunc, trait: Callable[[Type], bool]) -> list[Binding]:
    return [
        parameter
        for parameter in func.parameters
        if isinstance(parameter.argument, Argument) and trait(parameter.argument.type)
    ]


def _call(func: ViewFunc) -> str:
    names = ["input_base", *[parameter.name for parameter in func.parameters]]
    function = func.function
    call = f"{function.library.operators}::{function.name.unambiguous}::call({', '.join(names)})"
    return f"{call}[{func.view_index}]" if func.view_index else call


def definition(func: ViewFunc) -> str:
    """Definitions of the class's methods."""
    name = func.name
    symints = _access(_holding(func, lambda ctype: ctype.is_symint_like), "symints", c_types.vector(c_types.SYMINT))
    tensors = _access(_holding(func, lambda ctype: ctype.is_tensor_like), "tensors", c_types.vector(c_types.TENSOR))
    return f"""std::vector<c10::SymInt> {name}::get_symints() const {{
{symints.reading}
}}

size_t {name}::num_symints() const {{
  return static_cast<size_t>({symints.total});
}}

void {name}::set_symints(std::vector<c10::SymInt> symints) {{
  TORCH_INTERNAL_ASSERT(symints.size() == num_symints());
{symints.setting}
}}

std::vector<at::Tensor> {name}::get_tensors() const {{
{tensors.reading}
}}

size_t {name}::num_tensors() const {{
  return static_cast<size_t>({tensors.total});
}}

void {name}::set_tensors(std::vector<at::Tensor> tensors) {{
  TORCH_INTERNAL_ASSERT(tensors.size() == num_tensors());
{tensors.setting}
}}

at::Tensor {name}::operator()(const at::Tensor& input_base) const {{
  return {_call(func)};
}}

std::unique_ptr<ViewFunc> {name}::clone_and_set(
    std::optional<std::vector<c10::SymInt>> symints,
    std::optional<std::vector<at::Tensor>> tensors) const {{
  auto output = std::make_unique<{name}>({func.argument_names});
  if (symints.has_value()) {{
    output->set_symints(std::move(*(symints)));
  }}
  if (tensors.has_value()) {{
    output->set_tensors(std::move(*(tensors)));
  }}
  return output;
}}

"""


@per_job
def _views(job: Job) -> list[NativeFunction]:
    """Views that have a generated kernel, in-place forms left out."""
    return [
        function.function
        for function in functions_with_kernels(job)
        if view_base(function.function, job.rules) is not None and not changes_arguments(function.function)
    ]


def _declaration_slots(function: NativeFunction, context: FragmentContext) -> Slots:
    return {
        "ops_headers": (include(function, "_ops"),),
        "view_func_declarations": (declaration(view_func(function)),),
    }


def _definition_slots(function: NativeFunction, context: FragmentContext) -> Slots:
    return {"view_func_definitions": (definition(view_func(function)),)}


def emitters(job: Job) -> list[AnyEmitter]:
    """Emitters of the two files."""
    return [
        autograd_emitter(
            "view_funcs_header", "ViewFuncs.h", _views, _declaration_slots, ("ops_headers", "view_func_declarations")
        ),
        autograd_emitter("view_funcs_source", "ViewFuncs.cpp", _views, _definition_slots, ("view_func_definitions",)),
    ]
