"""`python_return_types.h` and `python_return_types.cpp`: the types of named results; `python_enum_tag.cpp`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from opwright.emit.aten.units import whole_file
from opwright.emit.autograd.kernels import generated_comment
from opwright.emit.emitter import AnyEmitter, Job, Slots, per_job
from opwright.emit.python.structs import Struct, structs
from opwright.emit.python.units import bound_functions
from opwright.model.native_function import NativeFunction


@per_job
def _structs(job: Job) -> list[list[Struct]]:
    """The types of each Python function that has any, by the functions' names; methods count as functions."""
    groups: dict[str, list[NativeFunction]] = {}
    for function in bound_functions(job):
        if len(function.schema.returns) > 1:
            groups.setdefault(function.name.name, []).append(function)
    struct_groups = [list(structs(group).values()) for _, group in sorted(groups.items())]
    return [group for group in struct_groups if group]


def definition(struct: Struct) -> str:
    """The C++ function that gives the type, which it makes when it is first asked for."""
    fields = ", ".join([f'{{"{name}", ""}}' for name in struct.fields])
    type = f"{struct.name}NamedTuple{struct.suffix}"
    described = f'"torch.return_types.{struct.name}", nullptr, NamedTuple_fields, {len(struct.fields)}'
    return f"""PyTypeObject* {struct.getter}() {{
    static PyStructSequence_Field NamedTuple_fields[] = {{ {fields},  {{nullptr}} }};
    static PyTypeObject {type};
    static bool is_initialized = false;
    static PyStructSequence_Desc desc = {{ {described} }};
    if (!is_initialized) {{
        PyStructSequence_InitType(&{type}, &desc);
        {type}.tp_repr = (reprfunc)torch::utils::returned_structseq_repr;
        is_initialized = true;
    }}
    return &{type};
}}
"""


def registration(struct: Struct) -> str:
    """The statement that gives the type to Python's module of such types."""
    return f'addReturnType(return_types_module, "{struct.name}", generated::{struct.getter}());'


def _header(job: Job) -> Slots:
    return {
        "py_return_types_declarations": [
            f"PyTypeObject* {struct.getter}();" for group in _structs(job) for struct in group
        ]
    }


def _source(job: Job) -> Slots:
    groups = _structs(job)
    return {
        "py_return_types": ["\n".join(map(definition, group)) for group in groups],
        "py_return_types_registrations": [registration(struct) for group in groups for struct in group],
    }


def _tags(job: Job) -> Slots:
    return {"enum_of_valid_tags": "".join([f'\n.value("{tag}", at::Tag::{tag})' for tag in sorted(job.catalog.tags)])}


#: The lines that name the function whose results have a type, or a tag.
_GETTER: Final = r".*\bget_(?P<operator>\w+?)_structseq\d*\("
_TAG: Final = r'\.value\("(?P<tag>\w+)"'


def _emitter(name: str, file: str, file_slots: Callable[[Job], Slots], line_names: str) -> AnyEmitter:
    template = f"autograd/{file}"
    return whole_file(
        file,
        name=name,
        family="python",
        template=template,
        folder="autograd",
        file_slots=file_slots,
        line_names=line_names,
    )


def _comment(file: str, file_slots: Callable[[Job], Slots]) -> Callable[[Job], Slots]:
    """File slots with the comment that most of autograd's files have."""
    return lambda job: {"generated_comment": generated_comment(file, job), **file_slots(job)}


def emitters(job: Job) -> list[AnyEmitter]:
    """The emitters of the three files."""
    return [
        _emitter(
            "python_return_types_source",
            "python_return_types.cpp",
            _comment("python_return_types.cpp", _source),
            _GETTER,
        ),
        _emitter(
            "python_return_types_header", "python_return_types.h", _comment("python_return_types.h", _header), _GETTER
        ),
        _emitter("python_enum_tag_source", "python_enum_tag.cpp", _tags, _TAG),
    ]
