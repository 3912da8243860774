"""What the generator in a tree between releases shows: its behaviours, and the operators that it lists."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Final

from opwright.model.dispatch_key import KEYS, Device, DispatchKey, devices, dispatch_keys, learn_key
from opwright.release.generator_files import GENERATOR
from opwright.release.view import Inputs
from opwright.schema.base_types import BaseTypeRow, CShimForm, PythonForm, learn_type
from opwright.schema.types import BASE_TYPES
from opwright.source.lazy import lazy_pattern
from opwright.source.records import NamedTuple

#: The constants of the generator that are read from a tree, by the file that has them.
LISTS: Final = {
    "autograd/gen_variable_type.py": (
        "GRADIENT_IMPLEMENTED_FOR_COMPLEX",
        "GRADIENT_IMPLEMENTED_FOR_SPARSE_COMPLEX",
        "RESET_GRAD_ACCUMULATOR",
        "DONT_ENFORCE_SAME_TENSOR_IMPL_OR_STORAGE",
        "DONT_ENFORCE_TENSOR_IMPL_USE_COUNT",
        "DONT_ENFORCE_STORAGE_IMPL_USE_COUNT",
    ),
    "autograd/gen_inplace_or_view_type.py": ("VIEW_FUNCTIONS", "VIEW_FUNCTIONS_WITH_METADATA_CHANGE"),
    "torchgen/dest/native_functions.py": ("_CPU_DLL_CUDA_KERNELS",),
    "torchgen/gen_functionalization_type.py": (
        "MUTABLE_OPS_NOT_USING_FUNCTIONALIZATION",
        "CUMULATIVE_OUT_OPS_PRESERVING_OUT_DTYPE",
    ),
    "torchgen/native_function_generation.py": (
        "OUT_OPS_THAT_DONT_GET_GROUPED_PROPERLY",
        "MUTABLE_OPS_THAT_CANNOT_GET_AN_OUT_VARIANT",
        "FUNCTIONAL_OPS_THAT_CANNOT_GET_AN_OUT_VARIANT",
        "INPLACE_OPS_THAT_DONT_GET_GROUPED_PROPERLY",
    ),
}


_MODEL: Final = "torchgen/model.py"
_KEYS: Final = "dispatch_keys"
_STRUCTURED: Final = "STRUCTURED_DISPATCH_KEYS"
#: The function that tells the keys of a device.
_OF_DEVICE: Final = "is_{}_dispatch_key"
_NEXT_STATEMENT: Final = lazy_pattern(r"^[^\s#)\]}]", re.MULTILINE)
#: What the sets of the main program say of their keys, as attributes of keys.
_SETS: Final = {"has_functions_header": "functions_keys", "has_c_shim": "aoti_backends"}
#: The keys that some runs leave out.
_IGNORED: Final = "ignore_keys"

_PYTHON: Final = "torchgen/api/python.py"
_CPP_TYPES: Final = "torchgen/api/types/types.py"
_C_SHIM: Final = "torchgen/gen_aoti_c_shim.py"


class TreeKey(NamedTuple):
    """A dispatch key that entries of a tree may name.

    `is_of` is the device whose keys the generator tells by a function, or empty. `needs_flag` tells that some runs
    leave the key out.
    """

    name: str
    is_of: str
    needs_flag: bool


class TreeFacts(NamedTuple):
    """What a tree between releases shows: the values of behaviours by name, and the names in its lists.

    The names of a dictionary have its values, other names an empty text. `keys` are the dispatch keys that entries may
    name, in the order of their files, `fields` the fields of entries, and `types` the base types without a row of ours,
    with the forms that can be read.
    `key_sets` are the keys for which an attribute of keys holds, by its name. Parts that cannot be read are empty.
    """

    values: Mapping[str, int]
    lists: Mapping[str, Mapping[str, str]]
    keys: tuple[TreeKey, ...] = ()
    fields: frozenset[str] = frozenset()
    types: tuple[BaseTypeRow, ...] = ()
    key_sets: Mapping[str, frozenset[str]] = {}

    @property
    def structured_keys(self) -> frozenset[str]:
        """The names of the keys with structured kernels; none if they cannot be read."""
        return self.key_sets.get("has_structured", frozenset())

    @property
    def digest(self) -> str:
        """A short text that differs from that of other facts."""
        lists = {constant: sorted(names.items()) for constant, names in self.lists.items()}
        sets = {name: sorted(keys) for name, keys in self.key_sets.items()}
        facts = (sorted(self.values.items()), sorted(lists.items()), self.keys, sorted(self.fields), self.types, sets)
        return sha256(repr(facts).encode()).hexdigest()[:16]

    def listed_names(self, constants: Iterable[str]) -> Mapping[str, str] | None:
        """The names in all these lists; None if one of them could not be read."""
        names: dict[str, str] = {}
        for constant in constants:
            if constant not in self.lists:
                return None
            names.update(self.lists[constant])
        return names


def read_facts(inputs: Inputs, values: Mapping[str, int]) -> TreeFacts:
    """What the generator in a tree shows besides the values of behaviours."""
    model, program = _text(inputs, _MODEL), _text(inputs, GENERATOR[0])
    return TreeFacts(
        values,
        generator_lists(inputs),
        _keys(model, program) if program else (),
        frozenset(re.findall(r'\be\.pop\(\s*"(\w+)"', model)),
        tuple([_type_row(name, inputs) for name in _new_types(model)]),
        _key_sets(model, program) if program else {},
    )


def _text(inputs: Inputs, name: str) -> str:
    """Text of an input; empty if there is none."""
    source = inputs.read_optional(name)
    return "" if source is None else source.text


def generator_lists(inputs: Inputs) -> dict[str, Mapping[str, str]]:
    """The names in the lists of the generator that can be read."""
    lists: dict[str, Mapping[str, str]] = {}
    for file, constants in LISTS.items():
        text = _text(inputs, file)
        read = {constant: _names_in(text, constant) for constant in constants}
        lists.update({constant: names for constant, names in read.items() if names is not None})
    return lists


def _keys(model: str, program: str) -> tuple[TreeKey, ...]:
    """The dispatch keys that entries of a tree may name, in the order of their files."""
    of_device = {
        key: device.name for device in devices() for key in _keys_in(model, _OF_DEVICE.format(device.name.lower()))
    }
    flagged = _keys_in_set(program, _IGNORED) or frozenset(_keys_of(program))
    return tuple([TreeKey(name, of_device.get(name, ""), name in flagged) for name in _keys_in(model, _KEYS)])


def _key_sets(model: str, program: str) -> dict[str, frozenset[str]]:
    """The keys for which an attribute of keys holds, for each attribute that can be read."""
    sets = {name: _keys_in_set(program, variable) for name, variable in _SETS.items()}
    sets["has_structured"] = frozenset(_keys_in(model, _STRUCTURED))
    return {name: keys for name, keys in sets.items() if keys}


def _keys_in(text: str, name: str) -> list[str]:
    """The dispatch keys in the statement that defines a name at the top of a module."""
    return _keys_of(_statement(text, name) or "")


def _keys_in_set(text: str, name: str) -> frozenset[str]:
    """The dispatch keys in the set of this name inside a function, and those that are added to it.

    >>> added = "  keys.add(DispatchKey.XPU)\\n  keys.update(ALL)\\n  ALL = {DispatchKey.MPS}\\n"
    >>> sorted(_keys_in_set(f"  keys = {{\\n    DispatchKey.CPU,\\n  }}\\n{added}", "keys"))
    ['CPU', 'MPS', 'XPU']
    """
    parts: list[str] = re.findall(rf"\b{name}\.(?:add|update)\(([^)]*)\)", text)
    for variable in (name, *parts):
        if variable.isidentifier():
            parts += re.findall(rf"^ +{variable}(?:: [^=\n]+)? = [{{\[]([^}}\]]*)", text, re.MULTILINE)
    return frozenset(key for part in parts for key in _keys_of(part))


def _keys_of(text: str) -> list[str]:
    return re.findall(r"\bDispatchKey\.(\w+)", text)


def _new_types(model: str) -> list[str]:
    """The base types of schemas that only the generator knows."""
    members = re.findall(r"^ +(\w+) = ", _statement(model, "class BaseTy") or "", re.MULTILINE)
    return [name for name in members if name not in BASE_TYPES]


def _type_row(name: str, inputs: Inputs) -> BaseTypeRow:
    """What the generator's files say of a base type."""
    cpp, python, shim = (_text(inputs, file) for file in (_CPP_TYPES, _PYTHON, _C_SHIM))
    variable = _first_group(rf"\bBaseTy\.{name}: (\w+)", _statement(cpp, "BaseTypeToCppMapping"))
    namespace = _first_group(rf'^{variable} = BaseCppType\(\s*"(\w*)"', cpp)
    spelled = _first_group(rf'^{variable} = BaseCppType\(\s*"\w*",\s*"([^"]+)"', cpp)
    c_type, c_value, c_call = [
        _first_group(rf'\bBaseTy\.{name}: "([^"]*)"', _statement(shim, f"base_type_to_{form}"))
        for form in ("c_type", "aten_type", "callsite_expr")
    ]
    functions = ("argument_type_str", "arg_parser_unpack_method", "argument_type_str_pyi")
    parsed, reader, hint = [_branch_value(_statement(python, function), name) for function in functions]
    return BaseTypeRow(
        name,
        cpp=f"{namespace}::{spelled}" if namespace else spelled,
        python=PythonForm(parsed, hint, reader) if parsed else None,
        c_shim=CShimForm(c_type, c_value, f"{c_call}({{}})" if c_call else "{}") if c_type and c_value else None,
    )


def _first_group(pattern: str, text: str | None) -> str:
    """The first group of a pattern in a text; empty if it is not there."""
    match = re.search(pattern, text or "", re.MULTILINE)
    return match.group(1) if match else ""


def _branch_value(function: str | None, name: str) -> str:
    """The text that a function gives in its branch for a base type; empty if there is none that can be read.

    >>> text = 'def f(t):\\n  if t.name in [BaseTy.Event]:\\n    return t.name.name\\n  elif t.name == BaseTy.Mode:\\n'
    >>> [_branch_value(f"{text}    kind = 'mode'", name) for name in ("Event", "Mode", "Other")]
    ['Event', 'mode', '']
    """
    import ast

    try:
        parsed = ast.parse(function or "")
    except SyntaxError:
        return ""
    for branch in ast.walk(parsed):
        if isinstance(branch, ast.If) and f"BaseTy.{name}" in {ast.unparse(node) for node in ast.walk(branch.test)}:
            value = branch.body[-1].value if isinstance(branch.body[-1], (ast.Return, ast.Assign)) else None
            if isinstance(value, ast.Constant):
                return str(value.value)
            spelled = {"t.name.name": name, "t.name.name.lower()": name.lower()}
            return spelled.get("" if value is None else ast.unparse(value), "")
    return ""


def learn(facts: TreeFacts) -> None:
    """Add the types and the keys of a tree that Opwright does not know."""
    for row in facts.types:
        learn_type(row)
    dispatchable = frozenset([key.name for key in dispatch_keys()])
    for number, key in enumerate(facts.keys):
        if key.name not in dispatchable:
            later = (other.name for other in facts.keys[number + 1 :] if other.name in dispatchable)
            learn_key(_new_key(key, facts), before=next(later, ""))


def _new_key(key: TreeKey, facts: TreeFacts) -> DispatchKey:
    """A key that only a tree has, with the device of a key of this name, or the one that the generator tells."""
    name = KEYS[key.name].backend if key.name in KEYS else key.is_of
    device = next((row for row in devices() if row.name == name), None)
    if device is not None and device.flag and not key.needs_flag:
        device = Device(
            name, has_guard=device.has_guard, guard_headers=device.guard_headers, export_macro=device.export_macro
        )
    functions, shims = (key.name in facts.key_sets.get(name, ()) for name in _SETS)
    is_structured = key.name in facts.structured_keys
    return DispatchKey(key.name, device, has_structured=is_structured, has_functions_header=functions, has_c_shim=shims)


def _names_in(text: str, constant: str) -> Mapping[str, str] | None:
    """The texts in the statement that gives a constant its value; None if there is none that can be read.

    >>> _names_in('OTHER = 1\\nOPS = frozenset(\\n    {"add", "mul"}\\n)\\n', "OPS")
    {'add': '', 'mul': ''}
    >>> _names_in('OPS: dict[str, str] = {"view": "self", "other": None}\\n', "OPS")
    {'view': 'self'}
    """
    import ast

    statement = _statement(text, constant)
    if statement is None:
        return None
    try:
        parsed = ast.parse(statement).body
    except SyntaxError:
        return None
    if not parsed or not isinstance(parsed[0], (ast.Assign, ast.AnnAssign)) or parsed[0].value is None:
        return None
    value = parsed[0].value
    if isinstance(value, ast.Dict):
        try:
            pairs = ast.literal_eval(value).items()
        except ValueError:
            return None
        return {name: base for name, base in pairs if isinstance(name, str) and isinstance(base, str)}
    return {
        node.value: "" for node in ast.walk(value) if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def _statement(text: str, name: str) -> str | None:
    """The statement at the top of a module that gives a name its value, or defines the function of that name."""
    start = re.search(rf"^(?:def )?{name}\b", text, re.MULTILINE)
    if start is None:
        return None
    # The statement ends at the first line that is not indented and closes no bracket.
    end = _NEXT_STATEMENT.search(text, start.end())
    return text[start.start() : end.start() if end else None]
