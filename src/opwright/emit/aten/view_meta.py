"""Records of views in functionalization: the declarations of inverses, and the `ViewMeta` classes.

`FunctionalInverses.h`, `ViewMetaClasses.h`, `ViewMetaClasses.cpp`, and for Python `ViewMetaClassesPythonBinding.cpp`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from opwright.convention import dispatcher
from opwright.convention.functionalization import (
    BASE,
    HAS_SYMBOLIC_INPUTS,
    MUTATED_VIEW,
    OUT_INDEX,
    REAPPLY_VIEWS,
    RETURN_MODE,
    VIEW_INDEX,
    ViewMetaMembers,
    class_name,
    forward_arguments,
    has_many_outputs,
    inverse_declaration,
    inverse_name,
    reverse_arguments,
    view_meta_members,
)
from opwright.cpp.binding import Binding
from opwright.cpp.translation import translate
from opwright.emit.aten.units import NO_SLOTS, file_emitter, include
from opwright.emit.emitter import AnyEmitter, Emitter, FragmentContext, Job, OneFile, Slots
from opwright.model.native_function import NativeFunction, ViewGroup
from opwright.release.operator_names.functionalization import SINGLE_OUTPUTS
from opwright.release.rules import Rules
from opwright.source.records import NamedTuple

#: The file that offers the classes to Python, and the slot of its template.
PYTHON_FILE: Final = "ViewMetaClassesPythonBinding.cpp"
PYTHON_SLOT: Final = "view_meta_bindings"


class ViewMeta(NamedTuple):
    """Class of one view: the view itself or its in-place form, and its group.

    `single_output` has the statements that make only one of several outputs, with `{}` for the suffix of the operator
    that they call; None if the view has to make all of them.
    """

    name: str
    function: NativeFunction
    group: ViewGroup
    members: ViewMetaMembers
    has_many_outputs: bool
    single_output: str | None
    index_binding: Binding = OUT_INDEX

    @property
    def copy(self) -> NativeFunction:
        """Copying form of the view."""
        assert self.group.view_copy is not None, "a view that is not composite has a copying form"
        return self.group.view_copy

    @property
    def out_index(self) -> str:
        """Expression for the index of the output that the view is."""
        return self.index_binding.name if self.has_many_outputs else "0"


def index_binding(rules: Rules) -> Binding:
    """Index of the output that a view is."""
    return OUT_INDEX if rules.view_meta_classes else VIEW_INDEX


def view_meta(function: NativeFunction, group: ViewGroup, rules: Rules) -> ViewMeta:
    """Class of a view of a group."""
    index = index_binding(rules)
    members = view_meta_members(function, owns_tensors=rules.view_meta_owns_tensors, index=index)
    many = has_many_outputs(function.schema)
    single = None
    if rules.single_output_view_replay and function.library.known_by_name:
        single = SINGLE_OUTPUTS.in_release(rules).get(function.name.text)
    return ViewMeta(class_name(function.schema), function, group, members, many, single, index)


def view_metas(group: ViewGroup, context: FragmentContext) -> list[ViewMeta]:
    """Classes of a group. Composite views have none, and neither have selective builds and older releases."""
    if group.composite or not context.selection.everything or not context.rules.view_meta_classes:
        return []
    views = (group.view, group.view_inplace)
    return [view_meta(view, group, context.rules) for view in views if view is not None]


def _initial(parameter: Binding, field: Binding) -> str:
    if parameter.type.value is field.type:
        return f"{field.name}({parameter.name})"
    (value,) = translate((parameter,), (field,), copies=True)
    return f"{field.name}({value})"


def declaration(meta: ViewMeta) -> str:
    """Class: a constructor, a constructor from the serialized form, and the fields."""
    name = meta.name
    base_parameters, parameters, fields = meta.members
    bindings = base_parameters + fields
    tuple_types = ",\n".join([f"      {binding.type.text} /* {binding.name} */" for binding in bindings])
    taken = ", ".join([f"std::get<{index}>(tpl)" for index in range(len(bindings))])
    taking = ", ".join([parameter.definition for parameter in base_parameters + parameters])
    initial = ",\n".join(
        [f"        {_initial(parameter, field)}" for parameter, field in zip(parameters, fields, strict=True)]
    )
    held = "\n".join([f"  {field.definition};" for field in fields])
    library = meta.function.library
    to_out_index = (
        "  std::shared_ptr<ViewMeta> to_out_index(int64_t out_idx) override;" if meta.has_many_outputs else ""
    )
    names = ", ".join([binding.name for binding in bindings])
    return f"""
struct {library.export} {name} : public ViewMeta {{
  FUNCTIONALIZATION_VIEWMETA_NAME({name})
  FUNCTIONALIZATION_VIEWMETA_SERIALIZABLE_TUPLE(
{tuple_types});

  {name}(const SerializableTuple& tpl)
      : {name}({taken}) {{}}

  {name}({taking})
      : at::functionalization::ViewMeta({HAS_SYMBOLIC_INPUTS.name}, \
/*is_multi_output=*/{_true_if(meta.has_many_outputs)}, /*is_as_strided=*/{_true_if(_is_as_strided(meta))}, \
/*out_index=*/{meta.out_index}),
{initial} {{}}

  Tensor forward(const Tensor& base) override;
  Tensor reverse(const Tensor& base, const Tensor& mutated_view) override;
{to_out_index}

  SerializableTuple to_serializable_tuple() {{
    return std::make_tuple({names});
  }}

{held}
}};
"""


def creation(meta: ViewMeta, out_index: str = "0") -> str:
    """Expression that creates an object of the class from the values in the view's kernel."""
    made_from = meta.members.base_parameters + meta.members.parameters
    arguments = [out_index if binding is OUT_INDEX else binding.name for binding in made_from]
    return f"std::make_shared<{_class(meta)}>({', '.join(arguments)})"


def _is_as_strided(meta: ViewMeta) -> bool:
    return meta.function.library.known_by_name and meta.function.name.text == "as_strided"


def _true_if(condition: bool) -> str:
    return "true" if condition else "false"


def _class(meta: ViewMeta) -> str:
    return f"{meta.function.library.functionalization}::{meta.name}"


def _given_bindings(meta: ViewMeta) -> tuple[Binding, ...]:
    return (BASE, *meta.members.base_parameters, *meta.members.fields)


def replay(meta: ViewMeta, called: NativeFunction) -> str:
    """Statements that apply the view, or its copying form, to a base."""
    if meta.single_output is not None:
        return meta.single_output.format("_copy" if called is meta.copy else "")
    arguments = translate(_given_bindings(meta), forward_arguments(meta.copy.schema, meta.function.style))
    index = f"[{meta.out_index}]" if meta.has_many_outputs else ""
    operator = f"{called.library.operators}::{called.name.unambiguous}"
    return f"    return {operator}::call({', '.join(arguments)}){index};"


def inversion(meta: ViewMeta) -> str:
    """Call that writes a changed view back into its base."""
    wanted = reverse_arguments(meta.copy.schema, meta.function.style, meta.index_binding)
    arguments = translate((*_given_bindings(meta), MUTATED_VIEW), wanted)
    inverse = inverse_name(meta.group.view.schema)
    return f"{meta.function.library.functionalization}::FunctionalInverses::{inverse}({', '.join(arguments)})"


def implementation(meta: ViewMeta) -> list[str]:
    """Definitions of the class's methods."""
    methods = [
        f"""
at::Tensor {meta.name}::forward(const at::Tensor& base) {{
  if (reapply_views) {{
{replay(meta, meta.group.view)}
  }} else {{
{replay(meta, meta.copy)}
  }}
}}""",
        f"""
at::Tensor {meta.name}::reverse(const at::Tensor& base, const Tensor& mutated_view) {{
  return {inversion(meta)};
}}""",
    ]
    if meta.has_many_outputs:
        methods.append(
            f"""
std::shared_ptr<at::functionalization::ViewMeta> {meta.name}::to_out_index(int64_t out_index) {{
  return {creation(meta, OUT_INDEX.name)};
}}
"""
        )
    return methods


def record_type(rules: Rules) -> str:
    """Type of the variable that holds the record of a view."""
    return "auto" if rules.view_meta_classes else "at::functionalization::ViewMeta"


def recorded_view(function: NativeFunction, group: ViewGroup, rules: Rules) -> str:
    """Expression in a view's kernel that makes the record of the view."""
    meta = view_meta(function, group, rules)
    if rules.view_meta_classes:
        return creation(meta)
    flags = [f"/*has_symbolic_inputs=*/{HAS_SYMBOLIC_INPUTS.name}"]
    if "inplace_view" not in function.tags:
        flags += [
            f"/*is_multi_output=*/{_true_if(meta.has_many_outputs)}",
            f"/*is_as_strided=*/{_true_if(_is_as_strided(meta))}",
        ]
    shown = ",\n        ".join(flags)
    return f"""at::functionalization::ViewMeta(
        {_lambda_head(meta, REAPPLY_VIEWS, (BASE, VIEW_INDEX))} {{
          if (reapply_views) {{
        {replay(meta, group.view)}
          }} else {{
        {replay(meta, meta.copy)}
          }}
        }},
        {_lambda_head(meta, RETURN_MODE, (BASE, MUTATED_VIEW, VIEW_INDEX))} {{
          return {inversion(meta)};
        }},
        {shown}
      )"""


def _lambda_head(meta: ViewMeta, mode: Binding, parameters: Iterable[Binding]) -> str:
    """What stands before the body of a lambda, which holds a mode and the arguments of the view by value."""
    modes = (REAPPLY_VIEWS, RETURN_MODE)
    held = (mode, *[field for field in meta.members.fields if field not in modes])
    values = translate(
        (*dispatcher.arguments(meta.group.view.schema, style=meta.function.style), *modes), held, copies=True
    )
    captured = ", ".join([f"{field.name} = {value}" for field, value in zip(held, values, strict=True)])
    return f"[{captured}]({', '.join([parameter.definition for parameter in parameters])}) -> at::Tensor"


def operator_includes(functions: Iterable[NativeFunction]) -> list[str]:
    """Includes of the functions that kernels of functionalization call."""
    return [include(function, ending) for function in functions for ending in ("_native", "_ops")]


def view_group_includes(group: ViewGroup) -> list[str]:
    """Includes of a group's view and its copying form."""
    return operator_includes([group.view] if group.view_copy is None else [group.view, group.view_copy])


def _view_groups(job: Job) -> list[ViewGroup]:
    return [group for group in job.catalog.view_groups if isinstance(group, ViewGroup)]


def _inverses(group: ViewGroup, context: FragmentContext) -> Slots:
    # The inverses are written by hand, so their declarations stay in selective builds too.
    index = index_binding(context.rules)
    return NO_SLOTS if group.composite else {"view_inverse_declarations": [inverse_declaration(group, index)]}


def _declarations(group: ViewGroup, context: FragmentContext) -> Slots:
    return {"view_meta_declarations": [declaration(meta) for meta in view_metas(group, context)]}


def _implementations(group: ViewGroup, context: FragmentContext) -> Slots:
    methods = [method for meta in view_metas(group, context) for method in implementation(meta)]
    return {"view_meta_implementations": methods, "op_headers": view_group_includes(group)}


def python_bindings(group: ViewGroup, context: FragmentContext) -> list[str]:
    """Statements that offer the classes of a group to Python."""
    binding = "  create_binding_with_pickle<{}>(functionalization);".format
    return [binding(_class(meta)) for meta in view_metas(group, context)]


def _python_file_slots(job: Job) -> Slots:
    # Two string literals, so that no tool takes this module for a generated file.
    comment = "@" + f"generated by {job.options.autograd_program} from {PYTHON_FILE}"
    return {"generated_comment": comment, PYTHON_SLOT: ()}


def emitters(job: Job) -> list[AnyEmitter]:
    """Emitters of the four files about views."""
    inverses = file_emitter(
        "functional_inverses_header", "FunctionalInverses.h", _view_groups, _inverses, ("view_inverse_declarations",)
    )
    if not job.rules.view_meta_classes:
        return [inverses]
    implemented = ("view_meta_implementations", "op_headers")
    return [
        inverses,
        file_emitter("view_meta_header", "ViewMetaClasses.h", _view_groups, _declarations, ("view_meta_declarations",)),
        file_emitter("view_meta_source", "ViewMetaClasses.cpp", _view_groups, _implementations, implemented),
        Emitter(
            name="view_meta_python_source",
            family="view_meta",
            template=PYTHON_FILE,
            folder="functionalization",
            units=_view_groups,
            fragment=lambda group, context: {PYTHON_SLOT: python_bindings(group, context)},
            layout=OneFile(PYTHON_FILE),
            file_slots=_python_file_slots,
        ),
    ]
