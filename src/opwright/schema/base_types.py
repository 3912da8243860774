"""Base types of the schema language: a row for each, with all that Opwright knows about it.

Lists, optionals and their rules are those of the modules that read the rows: a convention, say, knows how its lists
are spelt. A form that a row lacks does not exist: what needs it reports the entry.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal, TypeAlias, TypeVar

from opwright.source.records import NamedTuple

TypeForm = TypeVar("TypeForm")


#: The kinds of values that defaults have; `schema/defaults.py` has the form of each. A reduction is an integer too.
DefaultKind: TypeAlias = Literal[
    "integer", "reduction", "number", "scalar", "complex", "boolean", "string", "device", "undefined", "word"
]


class PythonForm(NamedTuple):
    """A type in Python bindings: its name in the language of the argument parser, and the parser's methods.

    `list` is the name of a list, if it has one. `reader`, `list_reader` and `optional_reader` are the methods that read
    a value, a list and an optional; an optional without one of its own is read by the `reader`. `takes_default` says
    that there is a method which takes a C++ expression as default. `hint` is the annotation of an argument in PyTorch's
    own stub files; that of `Scalar` depends on the release.
    """

    name: str
    hint: str = ""
    reader: str = ""
    list: str = ""
    list_reader: str = ""
    optional_reader: str = ""
    takes_default: bool = False


class CShimForm(NamedTuple):
    """A type in C shims: the C type, the C++ type, and the C++ expression of a C value.

    `result` is the C value of a C++ result that is not one already. `is_exact` says that the C value has all that the
    C++ value has; libraries have no shim otherwise.
    """

    c: str
    cpp: str
    expression: str = "{}"
    result: str = "{}"
    is_exact: bool = True


class InterpreterForm(NamedTuple):
    """A type in static runtime: the method of `IValue` that gives a value, and the C++ type in an optional.

    `script` is the type in TorchScript, and `test_value` what tests pass; that of tensors is not here.
    """

    conversion: str
    optional: str
    script: str
    test_value: str


class BaseTypeRow(NamedTuple):
    """All that Opwright knows about a base type.

    An empty text is a form that the type does not have.

    - `in_files`, `in_dispatcher`: whether PyTorch's files, and schemas that the dispatcher parses, have the type.
    - `is_integer`: the dispatcher reads its defaults as those of integers. `is_integer_in_programs`: saved programs
      pass it as one. `is_key`: keys of dictionaries may have it.
    - `default`, `bits`, `words`: the kind of its defaults, the bits of an integer, and the words among its defaults
      that have a form in C++.
    - `expression`: the kind of a value in declared outputs and requirements, a name of `ValueKind`.
    - `cpp`: the C++ type of a value. `is_held`: whether the dispatcher holds values in lists and dictionaries; `held`
      is their type if it is another one.
    - `python`: Python bindings. `stub`: the annotation for calls as `torch.ops.NAMESPACE.OPERATOR`, with the names that
      each stub module defines; `stub_result` is that of a result if it is another one.
    - `is_node_field`: whether a node of a graph of lazy tensors keeps values of the type.
    - `executorch`, `executorch_list`: the C++ type, and the function of `EValue` that gives a list.
    - `stable`: the C++ type in PyTorch's stable API, and `stable_result` that of a result if it is another one.
    - `c_shim`, `interpreter`: C shims, and static runtime.
    """

    name: str
    in_files: bool = True
    in_dispatcher: bool = True
    is_integer: bool = False
    is_integer_in_programs: bool = False
    is_key: bool = False
    default: DefaultKind = "word"
    bits: int = 0
    words: tuple[str, ...] = ()
    expression: str = ""
    cpp: str = ""
    is_held: bool = True
    held: str = ""
    python: PythonForm | None = None
    stub: str = "_Any"
    stub_result: str = ""
    is_node_field: bool = False
    executorch: str = ""
    executorch_list: str = ""
    stable: str = ""
    stable_result: str = ""
    c_shim: CShimForm | None = None
    interpreter: InterpreterForm | None = None

    @property
    def cpp_name(self) -> str:
        """The C++ type without its namespace.

        >>> [row.cpp_name for row in BASE_TYPE_ROWS[:4]]
        ['Generator', 'ScalarType', 'Tensor', 'int64_t']
        """
        return (self.cpp or self.held).rpartition("::")[2]

    @property
    def is_inferred(self) -> bool:
        """Whether the dispatcher infers the type from the C++ type of a kernel; it takes enumerations for `int`."""
        return self.in_dispatcher and bool(self.cpp_name) and (not self.is_integer or self.bits == 64)


#: The rows in the order in which PyTorch's generator numbers the types.
BASE_TYPE_ROWS: Final = (
    BaseTypeRow(
        "Generator",
        cpp="at::Generator",
        python=PythonForm("Generator", "Generator", optional_reader="generator"),
        stub="_Generator",
        is_node_field=True,
        stable="torch::stable::Generator",
        c_shim=CShimForm("AtenGeneratorHandle", "at::Generator", "*generator_handle_to_generator_pointer({})"),
    ),
    BaseTypeRow(
        "ScalarType",
        is_integer=True,
        is_integer_in_programs=True,
        is_key=True,
        words=("long",),
        expression="dtype",
        cpp="at::ScalarType",
        python=PythonForm("ScalarType", "_dtype", "scalartype", takes_default=True),
        stub="_dtype",
        stub_result="_int",
        is_node_field=True,
        executorch="torch::executor::ScalarType",
        stable="torch::headeronly::ScalarType",
        c_shim=CShimForm("int32_t", "c10::ScalarType", "static_cast<c10::ScalarType>({})"),
        interpreter=InterpreterForm("toScalarType", "at::ScalarType", "int", "at::ScalarType::Float"),
    ),
    BaseTypeRow(
        "Tensor",
        is_key=True,
        default="undefined",
        expression="tensor",
        cpp="at::Tensor",
        python=PythonForm("Tensor", "Tensor", "tensor", "TensorList", "tensorlist", "optionalTensor"),
        stub="_Tensor",
        executorch_list="toTensorList",
        stable="torch::stable::Tensor",
        c_shim=CShimForm(
            "AtenTensorHandle", "at::Tensor", "resolve_tensor_dispatch_flags({})", "new_tensor_handle(std::move({}))"
        ),
        interpreter=InterpreterForm("toTensor", "at::Tensor", "Tensor", ""),
    ),
    BaseTypeRow(
        "int",
        is_integer=True,
        is_integer_in_programs=True,
        is_key=True,
        default="reduction",
        bits=64,
        words=("Mean",),
        expression="integer",
        cpp="int64_t",
        python=PythonForm("int64_t", "_int", "toInt64", "IntArrayRef", "intlist"),
        stub="_int",
        is_node_field=True,
        executorch="int64_t",
        executorch_list="toIntList",
        stable="int64_t",
        c_shim=CShimForm("int64_t", "int64_t"),
        interpreter=InterpreterForm("toInt", "int64_t", "int", "1"),
    ),
    # Dimname left the language with PyTorch 2.13; older releases still use it.
    BaseTypeRow(
        "Dimname",
        in_dispatcher=False,
        cpp="at::Dimname",
        is_held=False,
        python=PythonForm("Dimname", "str | EllipsisType | None", "dimname", "DimnameList", "dimnamelist"),
        stub="_str",
    ),
    BaseTypeRow(
        "DimVector",
        in_dispatcher=False,
        cpp="at::DimVector",
        is_held=False,
        stub="_Sequence[_int]",
        stub_result="_list[_int]",
    ),
    BaseTypeRow(
        "float",
        is_key=True,
        default="number",
        expression="number",
        cpp="double",
        python=PythonForm("double", "_float", "toDouble", list_reader="doublelist"),
        stub="_float",
        is_node_field=True,
        executorch="double",
        executorch_list="toDoubleList",
        stable="double",
        c_shim=CShimForm("double", "double"),
    ),
    BaseTypeRow(
        "str",
        is_key=True,
        default="string",
        cpp="c10::string_view",
        held="::std::string",
        python=PythonForm("c10::string_view", "str", "stringView"),
        stub="_str",
        is_node_field=True,
        executorch="std::string_view",
        stable="::std::string_view",
        stable_result="::std::string",
        # A text ends at its first zero, and AOTInductor writes it without escapes.
        c_shim=CShimForm("const char*", "::std::string_view", is_exact=False),
        interpreter=InterpreterForm("toStringView", "c10::string_view", "str", '"floor"'),
    ),
    BaseTypeRow(
        "bool",
        is_key=True,
        default="boolean",
        words=("True", "False"),
        expression="boolean",
        cpp="bool",
        python=PythonForm("bool", "_bool", "toBool", takes_default=True),
        stub="_bool",
        is_node_field=True,
        executorch="bool",
        stable="bool",
        c_shim=CShimForm("int32_t", "bool"),
        interpreter=InterpreterForm("toBool", "bool", "bool", "false"),
    ),
    BaseTypeRow(
        "Layout",
        is_integer=True,
        is_integer_in_programs=True,
        is_key=True,
        cpp="at::Layout",
        python=PythonForm("Layout", "_layout", "layout", takes_default=True),
        stub="_layout",
        stub_result="_int",
        is_node_field=True,
        stable="torch::headeronly::Layout",
        c_shim=CShimForm("int32_t", "c10::Layout", "static_cast<c10::Layout>({})"),
    ),
    # A device is two values in C shims, so `convention/c_shim.py` has its form.
    BaseTypeRow(
        "Device",
        is_key=True,
        default="device",
        expression="device",
        cpp="at::Device",
        python=PythonForm("Device", "DeviceLikeType | None", "device", takes_default=True),
        stub="_device | _str",
        stub_result="_device",
        is_node_field=True,
        stable="torch::stable::Device",
    ),
    BaseTypeRow(
        "DeviceIndex",
        is_integer=True,
        is_key=True,
        default="integer",
        bits=8,
        cpp="at::DeviceIndex",
        is_held=False,
        python=PythonForm("DeviceIndex", "_int", "toInt64"),
        stub="_int",
        c_shim=CShimForm("int32_t", "c10::DeviceIndex", "static_cast<c10::DeviceIndex>({})"),
    ),
    BaseTypeRow(
        "Scalar",
        default="scalar",
        bits=64,
        words=("True", "False"),
        expression="number",
        cpp="at::Scalar",
        python=PythonForm("Scalar", "Number | _complex", "scalar", "ScalarList", "scalarlist"),
        stub="_Number",
        # A double has no complex numbers, no truth values, and not all integers.
        c_shim=CShimForm("double", "c10::Scalar", result="{}.toDouble()", is_exact=False),
        interpreter=InterpreterForm("toScalar", "at::Scalar", "int", "2"),
    ),
    BaseTypeRow(
        "MemoryFormat",
        is_integer=True,
        is_integer_in_programs=True,
        is_key=True,
        words=("contiguous_format",),
        cpp="at::MemoryFormat",
        python=PythonForm("MemoryFormat", "memory_format", "memoryformat"),
        stub="_memory_format",
        stub_result="_int",
        is_node_field=True,
        executorch="torch::executor::MemoryFormat",
        stable="torch::headeronly::MemoryFormat",
        c_shim=CShimForm("int32_t", "c10::MemoryFormat", "static_cast<c10::MemoryFormat>({})"),
    ),
    BaseTypeRow(
        "QScheme",
        cpp="at::QScheme",
        python=PythonForm("QScheme", "_qscheme"),
        stub="_qscheme",
        stub_result="_int",
    ),
    BaseTypeRow(
        "Storage",
        cpp="at::Storage",
        python=PythonForm("Storage", "Storage | UntypedStorage", "storage"),
        stub="_Storage",
    ),
    BaseTypeRow(
        "Stream",
        cpp="at::Stream",
        python=PythonForm("Stream", "Stream", "stream"),
        stub="_Stream",
    ),
    BaseTypeRow(
        "SymInt",
        is_integer=True,
        is_integer_in_programs=True,
        is_key=True,
        default="integer",
        bits=64,
        expression="size",
        cpp="c10::SymInt",
        python=PythonForm("SymInt", "_int | SymInt", "toSymInt", "SymIntArrayRef", "symintlist"),
        stub="_int | _SymInt",
        executorch="int64_t",
        executorch_list="toIntList",
        stable="int64_t",
        c_shim=CShimForm("int64_t", "c10::SymInt", result="{}.expect_int()"),
    ),
    BaseTypeRow(
        "SymBool",
        default="boolean",
        words=("True", "False"),
        cpp="c10::SymBool",
        stub="_bool | _SymBool",
    ),
    BaseTypeRow("GraphModule", in_dispatcher=False),
    BaseTypeRow("Any", in_files=False, is_key=True, held="c10::IValue"),
    BaseTypeRow("AnyClassType", in_files=False),
    BaseTypeRow("AnyEnumType", in_files=False),
    BaseTypeRow("Capsule", in_files=False),
    BaseTypeRow("ConstQuantizerPtr", in_files=False, is_integer=True, is_key=True),
    BaseTypeRow("NoneType", in_files=False),
    BaseTypeRow("Quantizer", in_files=False),
    BaseTypeRow(
        "complex",
        in_files=False,
        is_key=True,
        default="complex",
        held="c10::complex<double>",
        stub="_complex",
    ),
)


def names_where(field: str) -> frozenset[str]:
    """Names of the types that have a field, or for which it is true.

    >>> sorted(names_where("bits"))
    ['DeviceIndex', 'Scalar', 'SymInt', 'int']
    """
    return frozenset([row.name for row in BASE_TYPE_ROWS if getattr(row, field)])


#: The types that the generators of source trees have and no row has, with the forms that could be read there.
LEARNED_TYPES: Final[dict[str, BaseTypeRow]] = {}
_TABLES: Final[list[Callable[[BaseTypeRow], None]]] = []


def forms_of(form: Callable[[BaseTypeRow], TypeForm | None]) -> dict[str, TypeForm]:
    """Form of each base type that has it, by name. Types that a tree teaches join this table.

    >>> forms_of(lambda row: row.bits or None)
    {'int': 64, 'DeviceIndex': 8, 'Scalar': 64, 'SymInt': 64}
    """
    table: dict[str, TypeForm] = {}

    def add(row: BaseTypeRow) -> None:
        value = form(row)
        if value is not None:
            table[row.name] = value
        else:
            table.pop(row.name, None)

    for row in (*BASE_TYPE_ROWS, *LEARNED_TYPES.values()):
        add(row)
    _TABLES.append(add)
    return table


def row_help(name: str) -> str:
    """What to do about a form that a type lacks; empty unless a tree between releases has taught the type."""
    if name not in LEARNED_TYPES:
        return ""
    return (
        f"add a row `{name}` to `BASE_TYPE_ROWS` in `opwright/schema/base_types.py` (docs/contributing.md, Add a type)"
    )


def learn_type(row: BaseTypeRow) -> None:
    """Add a type that schemas of a source tree may name."""
    if LEARNED_TYPES.get(row.name) != row:
        LEARNED_TYPES[row.name] = row
        for add in _TABLES:
            add(row)
