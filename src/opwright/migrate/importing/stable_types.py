"""What the types of a kernel of the stable interface are beside those of its schema."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from opwright.libraries import stable_convention as stable
from opwright.schema.function import FunctionSchema
from opwright.syntax.cpp_types import CppType, read_type

#: The numbers that are converted, by the number that the dispatcher passes.
_NARROWED: Final = {"double": frozenset(("float",)), "long": frozenset(("int", "unsigned", "short", "size"))}
#: Types that are read alike.
_OWNERS: Final = {"HeaderOnlyArrayRef": "vector", "string_view": "string", "stable Tensor": "Tensor"}

_SAME: Final = 0
_CONVERTED: Final = 1
_OTHER: Final = 2


def type_notes(schema: FunctionSchema, parameters: Sequence[str]) -> Iterator[str]:
    """What to say of parameters that have other types than `TORCH_BOX` reads for the arguments of a schema.

    >>> from opwright.schema import parse_schema
    >>> schema = parse_schema("f(Tensor x, float scale, int[] sizes) -> Tensor")
    >>> list(type_notes(schema, ["const Tensor&", "float", "std::vector<double>"]))[0]
    'the kernel takes `scale` as `float`, which generated code converts; `TORCH_BOX` passes something else'
    """
    arguments = schema.arguments.all
    parameters = [text for text in parameters if text != "void"]
    if len(arguments) != len(parameters):
        yield f"the kernel takes {len(parameters)} arguments, and does not compile: the schema has {len(arguments)}"
        return
    for argument, text in zip(arguments, parameters, strict=True):
        wanted = stable.argument_type(argument.type)
        relation = _SAME if wanted is None else _relation(read_type(wanted.text), read_type(text))
        if relation == _CONVERTED:
            yield (
                f"the kernel takes `{argument.name}` as `{text}`, which generated code converts; "
                "`TORCH_BOX` passes something else"
            )
        elif relation == _OTHER:
            what = f"the kernel takes `{argument.name}` as `{text}`"
            yield f"{what}, and does not compile: no `{argument.type}` becomes that"


def _relation(wanted: CppType | None, wanted_type: CppType | None) -> int:
    if wanted is None or wanted_type is None:
        return _SAME
    meanings = {_OWNERS.get(meaning, meaning) for meaning in wanted_type.meanings}
    if wanted_type.reference == "*":
        return _OTHER
    if not meanings.isdisjoint([_OWNERS.get(meaning, meaning) for meaning in wanted.meanings]):
        return max(map(_relation, wanted.arguments, wanted_type.arguments), default=_SAME)
    narrowed = [_NARROWED.get(meaning, frozenset[str]()) for meaning in wanted.meanings]
    return _CONVERTED if any(not meanings.isdisjoint(numbers) for numbers in narrowed) else _OTHER
