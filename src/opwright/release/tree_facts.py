"""What the generator in a tree between releases shows: its behaviours, and the operators that it lists."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from opwright.model.dispatch_key import KEYS, devices, dispatch_keys, learn_key
from opwright.release.store import GENERATOR
from opwright.source.named_tuple import NamedTuple
from opwright.source.patterns import lazy_pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from opwright.release.view import Inputs

__all__ = ["LISTS", "TreeFacts", "generator_fields", "generator_keys", "generator_lists", "learn_keys"]

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
        "INPLACE_OPS_THAT_DONT_GET_GROUPED_PROPERLY",
    ),
}


_MODEL: Final = "torchgen/model.py"
_KEYS: Final = "dispatch_keys"
#: The function that tells the keys of a device.
_OF_DEVICE: Final = "is_{}_dispatch_key"
_NEXT_STATEMENT: Final = lazy_pattern(r"^[^\s#)\]}]", re.MULTILINE)


class TreeKey(NamedTuple):
    """A dispatch key that entries of a tree may name.

    `is_of` is the device whose keys the generator tells by a function, or empty. `needs_flag` tells that the
    main program names the key, as it does with keys that some runs leave out.
    """

    name: str
    is_of: str
    needs_flag: bool


class TreeFacts(NamedTuple):
    """What a tree between releases shows: the values of behaviours by name, and the names in its lists.

    The names of a dictionary have its values, other names an empty text. `keys` are the dispatch keys that entries may
    name, in the order of their files, and `fields` the fields of entries; both are empty if they cannot be read.
    """

    values: Mapping[str, int]
    lists: Mapping[str, Mapping[str, str]]
    keys: tuple[TreeKey, ...] = ()
    fields: frozenset[str] = frozenset()

    @property
    def digest(self) -> str:
        """A short text that differs from that of other facts."""
        from hashlib import sha256

        lists = {constant: sorted(names.items()) for constant, names in self.lists.items()}
        facts = (sorted(self.values.items()), sorted(lists.items()), self.keys, sorted(self.fields))
        return sha256(repr(facts).encode()).hexdigest()[:16]

    def listed_names(self, constants: Iterable[str]) -> Mapping[str, str] | None:
        """The names in all these lists; None if one of them could not be read."""
        names: dict[str, str] = {}
        for constant in constants:
            if constant not in self.lists:
                return None
            names.update(self.lists[constant])
        return names


def generator_lists(inputs: Inputs) -> dict[str, Mapping[str, str]]:
    """The names in the lists of the generator that can be read."""
    lists: dict[str, Mapping[str, str]] = {}
    for file, constants in LISTS.items():
        source = inputs.read_optional(file)
        if source is not None:
            read = {constant: _names_in(source.text, constant) for constant in constants}
            lists.update({constant: names for constant, names in read.items() if names is not None})
    return lists


def generator_fields(inputs: Inputs) -> frozenset[str]:
    """The fields of entries that the generator takes."""
    source = inputs.read_optional(_MODEL)
    return frozenset(re.findall(r'\be\.pop\(\s*"(\w+)"', source.text)) if source is not None else frozenset()


def generator_keys(inputs: Inputs) -> tuple[TreeKey, ...]:
    """The dispatch keys that entries of a tree may name, in the order of their files."""
    source, program = inputs.read_optional(_MODEL), inputs.read_optional(GENERATOR[0])
    if source is None or program is None:
        return ()
    of_device = {
        key: device.name
        for device in devices()
        for key in _keys_in(source.text, _OF_DEVICE.format(device.name.lower()))
    }
    flagged = frozenset(_keys_in(program.text, None))
    return tuple([TreeKey(name, of_device.get(name, ""), name in flagged) for name in _keys_in(source.text, _KEYS)])


def _keys_in(text: str, name: str | None) -> list[str]:
    """The dispatch keys in the statement that defines a name, or in the whole text."""
    statement = text if name is None else _statement(text, name)
    return re.findall(r"\bDispatchKey\.(\w+)", statement or "")


def learn_keys(facts: TreeFacts) -> None:
    """Add the keys of a tree that Opwright does not know."""
    dispatchable = frozenset([key.name for key in dispatch_keys()])
    for number, key in enumerate(facts.keys):
        if key.name not in dispatchable:
            device = KEYS[key.name].backend if key.name in KEYS else key.is_of
            later = (other.name for other in facts.keys[number + 1 :] if other.name in dispatchable)
            learn_key(key.name, device, needs_flag=key.needs_flag, before=next(later, ""))


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
