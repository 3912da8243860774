"""`torchgen.gen_schema_utils`: schemas of operators that exist only as calls, from the values of one call."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Final

from opwright.torchgen.interface.schema import Argument, Arguments, FunctionSchema, Return
from opwright.torchgen.interface.types import (
    Annotation,
    BaseOperatorName,
    BaseTy,
    BaseType,
    CustomClassType,
    ListType,
    OperatorName,
)

#: The types of values that PyTorch defines, by its names for their classes.
_TORCH_TYPES: Final = {
    path: BaseTy[path.rpartition(".")[2]] for path in ("fx.GraphModule", "Tensor", "SymInt", "SymBool")
}


def _torch_classes(*paths: str) -> Iterator[tuple[str, type]]:
    """Classes of PyTorch by their paths in it; none if the process has not imported it, for then no value has them."""
    for path in paths if "torch" in sys.modules else ():
        value: object = sys.modules["torch"]
        for name in path.split("."):
            value = getattr(value, name, None)
        if isinstance(value, type):
            yield path, value


class TypeGen:
    """Types of values."""

    convert_to_base_ty: Final[Mapping[type, BaseTy]] = {kind: BaseTy[kind.__name__] for kind in (int, float, str, bool)}

    @staticmethod
    def from_example(obj: object) -> BaseType | ListType | CustomClassType:
        """Type of a value. Raises RuntimeError for a value that no argument of an operator can have."""
        for path, kind in _torch_classes(*_TORCH_TYPES):
            if isinstance(obj, kind):
                return BaseType(name=_TORCH_TYPES[path])
        for _, script_object in _torch_classes("ScriptObject"):
            if isinstance(obj, script_object):
                return CustomClassType(class_name=obj._type().name())  # type: ignore[attr-defined]
        if isinstance(obj, (list, tuple)):
            return _list_type([TypeGen.from_example(item) for item in obj])
        base = TypeGen.convert_to_base_ty.get(type(obj))
        if base is None:
            raise RuntimeError(f"unsupported type {type(obj)}: no argument of an operator has such a value")
        return BaseType(name=base)


def _list_type(types: list[BaseType | ListType | CustomClassType]) -> ListType:
    """Type of a list whose items have these types, which must be one."""
    if not types:
        raise AssertionError("an empty list does not tell the type of its items (list/tuple must be non-empty)")
    if any(type != types[0] for type in types):
        names = ", ".join(f"`{type}`" for type in types)
        raise RuntimeError(f"the items of a list have the heterogeneous types {names}: pass them as single arguments")
    return ListType(elem=types[0], size=len(types))


class ReturnGen:
    """Results of schemas."""

    @staticmethod
    def from_example(name: str | None, obj: object, annotation: Annotation | None) -> Return:
        """A result like this value."""
        return Return(name=name, type=TypeGen.from_example(obj), annotation=annotation)


class ArgumentGen:
    """Arguments of schemas."""

    @staticmethod
    def from_example(name: str, obj: object, default: str | None, annotation: Annotation | None) -> Argument:
        """An argument like this value."""
        return Argument(name=name, type=TypeGen.from_example(obj), default=default, annotation=annotation)


class FunctionSchemaGen:
    """Whole schemas."""

    @staticmethod
    def from_example(
        op_name: str, example_inputs: tuple[tuple[str, object], ...], example_outputs: tuple[object, ...]
    ) -> FunctionSchema:
        """Schema of a call with these arguments and results; the name is taken as it is."""
        name = BaseOperatorName(base=op_name, inplace=False, dunder_method=False, functional_overload=False)
        arguments = Arguments(
            pre_self_positional=(),
            self_arg=None,
            post_self_positional=tuple(
                ArgumentGen.from_example(word, value, None, None) for word, value in example_inputs
            ),
            pre_tensor_options_kwarg_only=(),
            tensor_options=None,
            post_tensor_options_kwarg_only=(),
            out=(),
        )
        results = tuple(ReturnGen.from_example(None, value, None) for value in example_outputs)
        return FunctionSchema(name=OperatorName(name=name, overload_name=""), arguments=arguments, returns=results)
