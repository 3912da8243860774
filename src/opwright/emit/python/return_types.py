"""Types of named results, such as `torch.return_types.max`, and their files; `python_enum_tag.cpp`.

A function has one such type per set of names; each overload with it takes the type from the same C++ function.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from opwright.convention import public_api
from opwright.convention.python.call import field_names, struct_key
from opwright.emit.autograd.kernels import autograd_emitter
from opwright.emit.emitter import AnyEmitter, Emitter, FragmentContext, Job, OneFile, Slots, per_job
from opwright.emit.python.units import bound_functions
from opwright.model.native_function import NativeFunction
from opwright.source.records import NamedTuple


class Struct(NamedTuple):
    """A type of named results; `number` counts those of one Python function."""

    key: str
    name: str
    fields: tuple[str, ...]
    number: int

    @property
    def suffix(self) -> str:
        """Ending that distinguishes the C++ names of several types."""
        return str(self.number) if self.number else ""

    @property
    def variable(self) -> str:
        """Variable that holds the type in the C++ function of the binding."""
        return f"NamedTuple{self.suffix}"

    @property
    def getter(self) -> str:
        """Name of the C++ function that gives the type."""
        return f"get_{self.name}_structseq"


def structs(functions: Iterable[NativeFunction]) -> dict[str, Struct]:
    """Types of the overloads of one Python function, by their keys."""
    by_field: dict[str, Struct] = {}
    for function in functions:
        fields = field_names(function)
        if fields:
            key = struct_key(function)
            if key not in by_field:
                by_field[key] = Struct(key, public_api.name(function.schema), fields, len(by_field))
    return by_field


@per_job
def _functions_with_structs(job: Job) -> Sequence[tuple[NativeFunction, ...]]:
    """Overloads of each Python function whose results have types, by their names; methods count as functions."""
    groups: dict[str, list[NativeFunction]] = {}
    for function in bound_functions(job):
        if len(function.schema.returns) > 1:
            groups.setdefault(function.name.name, []).append(function)
    return [tuple(group) for _, group in sorted(groups.items()) if structs(group)]


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
    """Statement that gives the type to Python's module of such types."""
    return f'addReturnType(return_types_module, "{struct.name}", generated::{struct.getter}());'


def _declarations(functions: Sequence[NativeFunction], _: FragmentContext) -> Slots:
    types = structs(functions).values()
    return {"py_return_types_declarations": [f"PyTypeObject* {struct.getter}();" for struct in types]}


def _definitions(functions: Sequence[NativeFunction], _: FragmentContext) -> Slots:
    types = structs(functions).values()
    return {
        "py_return_types": ["\n".join(map(definition, types))],
        "py_return_types_registrations": list(map(registration, types)),
    }


def _tags(job: Job) -> Slots:
    return {"enum_of_valid_tags": "".join([f'\n.value("{tag}", at::Tag::{tag})' for tag in sorted(job.catalog.tags)])}


def emitters(job: Job) -> list[AnyEmitter]:
    """Emitters of the three files."""
    return [
        autograd_emitter(
            "python_return_types_source",
            "python_return_types.cpp",
            _functions_with_structs,
            _definitions,
            ("py_return_types", "py_return_types_registrations"),
            family="python",
        ),
        autograd_emitter(
            "python_return_types_header",
            "python_return_types.h",
            _functions_with_structs,
            _declarations,
            ("py_return_types_declarations",),
            family="python",
        ),
        Emitter(
            name="python_enum_tag_source",
            family="python",
            template="autograd/python_enum_tag.cpp",
            folder="autograd",
            layout=OneFile("python_enum_tag.cpp"),
            file_slots=_tags,
            line_names=r'\.value\("(?P<tag>\w+)"',
        ),
    ]
