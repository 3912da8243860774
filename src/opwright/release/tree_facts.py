"""What the generator in a tree between releases shows: its behaviours, and the operators that it lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from opwright.source.named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from opwright.release.view import Inputs

__all__ = ["LISTS", "TreeFacts", "generator_lists"]

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


class TreeFacts(NamedTuple):
    """What a tree between releases shows: the values of behaviours by name, and the names in its lists.

    The names of a dictionary have its values, other names an empty text.
    """

    values: Mapping[str, int]
    lists: Mapping[str, Mapping[str, str]]

    @property
    def digest(self) -> str:
        """A short text that differs from that of other facts."""
        from hashlib import sha256

        lists = {constant: sorted(names.items()) for constant, names in self.lists.items()}
        return sha256(repr((sorted(self.values.items()), sorted(lists.items()))).encode()).hexdigest()[:16]

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


def _names_in(text: str, constant: str) -> Mapping[str, str] | None:
    """The texts in the statement that gives a constant its value; None if there is none that can be read.

    >>> _names_in('OTHER = 1\\nOPS = frozenset(\\n    {"add", "mul"}\\n)\\n', "OPS")
    {'add': '', 'mul': ''}
    >>> _names_in('OPS: dict[str, str] = {"view": "self"}\\n', "OPS")
    {'view': 'self'}
    """
    import ast
    import re

    start = re.search(rf"^{constant}\b", text, re.MULTILINE)
    if start is None:
        return None
    # The statement ends at the first line that is not indented and closes no bracket.
    end = re.compile(r"^[^\s#)\]}]", re.MULTILINE).search(text, start.end())
    statement = text[start.start() : end.start() if end else None]
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
