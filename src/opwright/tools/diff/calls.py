"""Drawn calls of operators: what two forms of an operator, with what they need of their arguments, do with each.

A call is described, not made: its tensors have sizes, strides, a dtype and a device, and no memory. The functions that
are the fakes of an operator judge it, so that a comparison knows no rule of its own.
"""

from __future__ import annotations

import functools
import math
import operator
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Final

from opwright.libraries.declared_outputs import (
    DTYPE_CLASSES,
    TORCH_DTYPES,
    OutputExpression,
    OutputOperation,
    ValueKind,
    dtype_names,
)
from opwright.libraries.dialect.sample_sizes import Unknown, chosen_sizes
from opwright.libraries.emit.drawn_samples import AllowedDtypes
from opwright.libraries.emit.openings import opening_body
from opwright.libraries.emit.python.fakes import check_function, fake_function
from opwright.libraries.entry_fields import library_fields, requirements_of
from opwright.libraries.requirements import DimKind, Requirements
from opwright.model.native_function import NativeFunction
from opwright.schema.function import Argument
from opwright.schema.types import ListType, OptionalType, Type
from opwright.source.records import frozen_fields
from opwright.syntax.python import variable_name

#: Values of arguments by name.
DrawnCall = dict[str, Any]


class Refused(Exception):
    """An operator does not take a call."""


class NotJudged(Exception):
    """Whether an operator takes a call depends on more than a description says."""


@dataclass(frozen=True, slots=True)
class _Dtype:
    """A dtype by its name. It is no tuple, as fakes take tuples for lists of sizes; nor is a device."""

    name: str

    def __str__(self) -> str:
        return f"torch.{self.name}"

    @property
    def is_floating_point(self) -> bool:
        return self.name in _class_names("floating")

    @property
    def is_complex(self) -> bool:
        return self.name in _class_names("complex")


@functools.cache
def _class_names(name: str) -> frozenset[str]:
    return frozenset([TORCH_DTYPES[cpp] for cpp in dtype_names(DTYPE_CLASSES[name]) if cpp in TORCH_DTYPES])


@dataclass(frozen=True, slots=True)
class _Device:
    """A device by its type."""

    type: str

    def __str__(self) -> str:
        return self.type


def _dense(sizes: Sequence[int], order: Sequence[int] | None = None) -> tuple[int, ...]:
    """Strides of a tensor without gaps whose dimensions lie in memory in an order, the last one fastest."""
    strides, step = [0] * len(sizes), 1
    for dim in reversed(range(len(sizes)) if order is None else order):
        strides[dim] = step
        step *= max(sizes[dim], 1)
    return tuple(strides)


@frozen_fields
class DescribedTensor:
    """A tensor without memory, with what fakes ask tensors for."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: _Dtype
    device: _Device

    def dim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    def numel(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    def stride(self, dim: int) -> int:
        """Stride of a dimension."""
        return self.strides[dim]

    def is_contiguous(self, *, memory_format: str = "") -> bool:
        """Whether the tensor is dense in a memory format. Strides of dimensions of size 1 do not matter."""
        order: list[int] | None = None
        if memory_format:
            if len(self.shape) != {"channels_last": 4, "channels_last_3d": 5}.get(memory_format):
                return False
            order = [0, *range(2, len(self.shape)), 1]
        dense = _dense(self.shape, order)
        return 0 in self.shape or all(
            own == wanted or size == 1 for own, wanted, size in zip(self.strides, dense, self.shape, strict=True)
        )

    def __str__(self) -> str:
        layout = "" if self.is_contiguous() else f", strides {list(self.strides)}"
        device = "" if self.device.type == "cpu" else f", on {self.device}"
        return f"{self.dtype.name}{list(self.shape)}{layout}{device}"


def _check(condition: bool, message: Callable[[], str]) -> None:
    if not condition:
        raise Refused(message())


class _Torch(SimpleNamespace):
    """What fakes use of PyTorch. Other attributes are dtypes."""

    Tensor = DescribedTensor
    _check = staticmethod(_check)
    sym_max = staticmethod(max)
    sym_min = staticmethod(min)
    channels_last = "channels_last"
    channels_last_3d = "channels_last_3d"

    def __getattr__(self, name: str) -> _Dtype:
        if name.startswith("_") or name not in TORCH_DTYPES.values():
            raise NotJudged(name)
        return _Dtype(name)

    @staticmethod
    def device(type: str) -> _Device:
        """A device by its type."""
        return _Device(type)

    @staticmethod
    def empty(size: Sequence[int], *, dtype: _Dtype, device: _Device) -> DescribedTensor:
        """A dense tensor."""
        return DescribedTensor(tuple(size), _dense(size), dtype, device)

    @staticmethod
    def empty_like(like: DescribedTensor, *, dtype: _Dtype, device: _Device) -> DescribedTensor:
        """A tensor with the sizes of another. Which strides it has, no report says."""
        return DescribedTensor(like.shape, _dense(like.shape), dtype, device)


class CallJudge:
    """The functions of an overload that judge calls, and say what they give."""

    def __init__(self, function: NativeFunction) -> None:
        outputs = library_fields(function).outputs
        self._names: Final = [argument.name for argument in function.arguments.all]
        self._space: Final[dict[str, Any]] = {
            "_torch": _Torch(),
            "_functools": functools,
            "_operator": operator,
            "_common": None,
            "_maybe_resize_out": lambda *_: None,
        }
        # The text has names, numbers and texts of an entry as literals alone, as the module of fakes has it.
        exec(opening_body("outputs"), self._space)
        exec(check_function(function, "_checked") or "_checked = None", self._space)
        exec(fake_function(function, "_given") if outputs else "_given = None", self._space)

    def refusal(self, call: Mapping[str, Any]) -> str | None:
        """Why a call is refused; None if it is taken. Raises NotJudged."""
        try:
            self._run("_checked", call)
        except Refused as error:
            return str(error)
        return None

    def results(self, call: Mapping[str, Any]) -> tuple[DescribedTensor, ...] | None:
        """What a call gives; None if it is refused or nothing says it. Raises NotJudged."""
        try:
            results = self._run("_given", call)
        except Refused:
            return None
        return results if type(results) is tuple or results is None else (results,)

    def _run(self, name: str, call: Mapping[str, Any]) -> Any:  # noqa: ANN401
        function = self._space[name]
        if function is None:
            return None
        try:
            return function(**{variable_name(key): value for key, value in call.items() if key in self._names})
        except (Refused, NotJudged):
            raise
        except RuntimeError as error:
            # A size that cannot be computed.
            raise Refused(str(error)) from None
        except Exception as error:
            raise NotJudged(f"{type(error).__name__}: {error}") from None


#: Numbers that conditions often draw a line at.
_INTEGERS: Final = (-(1 << 63), -8, -2, -1, 0, 1, 2, 3, 4, 5, 7, 8, 16, 64, 128, (1 << 63) - 1)
_FLOATS: Final = (-math.inf, -1.0, -1e-30, 0.0, 1e-30, 1e-6, 0.1, 0.5, 1.0, 2.0, 1e30, math.inf, math.nan)
_SIZES: Final = (0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 16, 24, 32, 33, 64, 128, 256)
_PACKS: Final = ((), (2,), (3,), (1, 2), (2, 3), (0,), (2, 1, 2))


class Drawing:
    """Calls that are near to what one of some forms of an operator takes, the same for the same forms."""

    def __init__(self, forms: Sequence[NativeFunction]) -> None:
        self._forms: Final = forms
        self._random: Final = random.Random(f"{forms[0]}")
        read: list[OutputExpression] = []
        for form in forms:
            for check in (requirements_of(form) or Requirements()).checks:
                read += _parts(check.condition)
        literals = [part.text for part in read if part.operation is OutputOperation.literal]
        kinds = {part.text: part.kind for part in read if part.operation is OutputOperation.literal}
        choices = [part.text for part in read if part.operation is OutputOperation.text_in]
        self._texts: Final = ["", "mean", "sum", "none", *[line for text in choices for line in text.split("\n")]]
        numbers = [float(text) for text in literals if kinds[text] not in (ValueKind.boolean, ValueKind.none)]
        self._floats: Final = [*_FLOATS, *numbers]
        near = [int(number) + step for number in numbers if math.isfinite(number) for step in (-1, 0, 1)]
        self._integers: Final = [*_INTEGERS, *[number for number in near if abs(number) < 1 << 62]]
        self._sizes: Final = [*_SIZES, *[number for number in near if 0 <= number <= 1 << 16]]

    def calls(self, count: int) -> Iterator[DrawnCall]:
        """So many calls."""
        for number in range(count):
            form = self._forms[number % len(self._forms)]
            yield self._call(form, requirements_of(form) or Requirements())

    def _call(self, form: NativeFunction, requirements: Requirements) -> DrawnCall:
        pick = self._random.choice
        dtypes = AllowedDtypes(requirements)
        names: dict[str, int | tuple[int, ...]] = {}
        patterns = dict(requirements.dims)
        kinds = {name: [item.kind for item in dims.items] for name, dims in patterns.items()}
        for dims in patterns.values():
            for item in dims.items:
                if item.kind is DimKind.pack:
                    names.setdefault(item.text, pick(_PACKS))
                elif item.kind is DimKind.named:
                    names.setdefault(item.text, pick(self._sizes[: len(_SIZES)] if pick((0, 1, 1)) else self._sizes))
        common = _Dtype(pick(_dtype_choice(dtypes, form)))
        device = _Device(pick(("cpu",) * 9 + ("cuda",)))
        call: DrawnCall = {}
        sizes: dict[str, Any] = {}
        tensors = []
        for argument in form.arguments.all:
            if argument.type.is_tensor_like:
                tensors.append(argument)
            else:
                call[argument.name] = sizes[argument.name] = self._value(argument)
        # Patterns with computed sizes come last.
        tensors.sort(key=lambda each: DimKind.size in kinds.get(each.name, ()))
        for argument in tensors:
            try:
                own = chosen_sizes(argument.name, patterns[argument.name], names, sizes)
            except (Unknown, KeyError):
                own = tuple([pick(self._sizes) for _ in range(pick((0, 1, 2, 2, 3, 4)))])
            sizes[argument.name] = own
            allowed = dtypes.of(argument.name)
            call[argument.name] = self._tensors(argument.type, own, common, allowed, device)
        return {argument.name: call[argument.name] for argument in form.arguments.all}

    def _tensors(
        self, type: Type, sizes: Sequence[int], dtype: _Dtype, allowed: tuple[int, ...] | None, device: _Device
    ) -> Any:  # noqa: ANN401
        pick = self._random.choice
        if isinstance(type, OptionalType):
            return None if pick((0, 0, 1)) else self._tensors(type.elem, sizes, dtype, allowed, device)
        if isinstance(type, ListType):
            count = pick((0, 1, 2, 2, 3))
            return [self._tensors(type.elem, sizes, dtype, allowed, device) for _ in range(count)]
        sizes = [*sizes]
        change = pick(("",) * 12 + ("less", "more", "one", "other"))
        if change == "less" and sizes:
            sizes.pop(pick(range(len(sizes))))
        elif change == "more":
            sizes.insert(pick(range(len(sizes) + 1)), pick((1, 2)))
        elif change and sizes:
            sizes[pick(range(len(sizes)))] = 1 if change == "one" else pick(self._sizes)
        own = [TORCH_DTYPES[name] for name in dtype_names(allowed or ()) if name in TORCH_DTYPES]
        if own and dtype.name not in own:
            dtype = _Dtype(pick(own))
        if not pick(range(10)):
            dtype = _Dtype(pick(list(TORCH_DTYPES.values())))
        return DescribedTensor(tuple(sizes), self._strides(sizes), dtype, device)

    def _strides(self, sizes: Sequence[int]) -> tuple[int, ...]:
        pick = self._random.choice
        layout = pick(("dense",) * 4 + ("mixed", "gaps", "channels"))
        if layout == "gaps" and sizes:
            return _dense([*sizes[:-1], sizes[-1] + 3])
        if layout == "mixed":
            return _dense(sizes, self._random.sample(range(len(sizes)), len(sizes)))
        if layout == "channels" and len(sizes) in (4, 5):
            return _dense(sizes, [0, *range(2, len(sizes)), 1])
        return _dense(sizes)

    def _value(self, argument: Argument) -> Any:  # noqa: ANN401
        pick = self._random.choice
        if argument.default is not None and pick((0, 1)):
            default = argument.default_value
            return list(default) if isinstance(default, tuple) else default
        return self._of_type(argument.type)

    def _of_type(self, type: Type) -> Any:  # noqa: ANN401
        pick = self._random.choice
        if isinstance(type, OptionalType):
            return None if pick((0, 0, 1)) else self._of_type(type.elem)
        if isinstance(type, ListType):
            count = pick((0, 1, 2, 3)) if type.size is None else pick((type.size, type.size, 1))
            return [self._of_type(type.elem) for _ in range(count)]
        match type.text:
            case "int" | "SymInt":
                return pick(self._integers)
            case "float":
                return pick(self._floats)
            case "Scalar":
                return pick([*self._integers, *self._floats, True])
            case "bool":
                return pick((False, True))
            case "str":
                return pick(self._texts)
            case _:
                return None


def _parts(expression: OutputExpression) -> Iterator[OutputExpression]:
    waiting = [expression]
    for each in waiting:
        yield each
        waiting += [operand for operand in each.operands if operand is not None]


def _dtype_choice(dtypes: AllowedDtypes, form: NativeFunction) -> list[str]:
    for argument in form.arguments.all:
        codes = dtypes.of(argument.name) if argument.type.is_tensor_like else None
        if codes is not None:
            return [TORCH_DTYPES[name] for name in dtype_names(codes) if name in TORCH_DTYPES] or ["float32"]
    return ["float32", "float32", "float64", "float16", "int64", "bool", "complex64"]


def shown_call(call: Mapping[str, Any]) -> str:
    """A call as a report says it."""
    return f"({', '.join([f'{name}={_shown(value)}' for name, value in call.items()])})"


def _shown(value: Any) -> str:  # noqa: ANN401
    if isinstance(value, list):
        return f"[{', '.join(map(_shown, value))}]"
    return str(value) if isinstance(value, DescribedTensor) else repr(value)
