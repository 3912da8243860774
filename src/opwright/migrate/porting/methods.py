"""Methods of tensors, optionals, lists and options, and functions of PyTorch."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from opwright.libraries.dialect.callable_operators import OPTIONS
from opwright.migrate.porting.calls import CallPorter
from opwright.migrate.porting.names import name_within
from opwright.migrate.porting.stable_api import FACTS, METHODS, NAMES, StableName
from opwright.migrate.porting.state import NO_OPTIONS, FileState
from opwright.migrate.porting.values import UNKNOWN, CppValue, OptionTexts
from opwright.source.records import NamedTuple

if TYPE_CHECKING:
    from tree_sitter import Node

_OPS: Final = "torch/csrc/stable/ops.h"
#: Methods that only tensors have, among the values of which nothing is known.
_OF_TENSORS: Final = frozenset(
    (
        "options", "contiguous", "toType", "accessor", "unsqueeze", "squeeze", "index_select", "masked_fill_", "zero_",
        "fill_", "copy_", "narrow", "expand", "permute", "reshape", "cumsum", "argmax", "scalar_type", "data_ptr",
        "itemsize", "mutable_data_ptr", "const_data_ptr",
    )
)  # fmt: skip
_OF_LISTS: Final[Mapping[str, str]] = {"size": "int", "empty": "bool", "vec": "", "slice": "", "equals": "bool"}
_OF_DEVICES: Final[Mapping[str, str]] = {
    "type": "DeviceType", "index": "int", "set_index": "", "has_index": "bool", "is_cuda": "bool", "is_cpu": "bool"
}  # fmt: skip
_FIELDS: Final = ("dtype", "layout", "device", "pin_memory")
_CPU: Final = "torch::stable::Device(torch::headeronly::DeviceType::{})"


class MethodCall(NamedTuple):
    """A call of a method: its object, its name with the arguments of its template, and its arguments.

    `inner` is what stands between the parentheses, and `operator` the `.` or `->` before the name.
    """

    node: Node
    value: CppValue
    name: str
    values: Sequence[CppValue]
    inner: str
    operator: str

    @property
    def base(self) -> str:
        """The name without a template."""
        return self.name.removeprefix("template ").partition("<")[0].strip()

    @property
    def template(self) -> str:
        """The arguments of the template."""
        return self.name.partition("<")[2].strip().removesuffix(">").strip()

    def object(self) -> str:
        """The object as the argument of a function."""
        return self.value.text if self.operator == "." else f"*{self.value.text}"

    def owner(self) -> str:
        """The object with what stands before the name of a method."""
        return f"{self.value.text}{self.operator}"


class MethodPorter:
    """Ports the methods and functions that one file calls."""

    def __init__(self, state: FileState, calls: CallPorter) -> None:
        self._state: Final = state
        self._calls: Final = calls
        self._special: Final[Mapping[str, Callable[[MethodCall], CppValue | None]]] = {
            "data_ptr": self._data,
            "data": self._data,
            "options": self._options,
            "to": self._to,
            "toType": self._to,
            "cpu": self._to_device,
            "cuda": self._to_device,
            "item": self._helper_of_template,
            "accessor": self._helper_of_template,
            "nbytes": lambda called: CppValue(f"({called.owner()}numel() * {called.owner()}element_size())", "int"),
        }

    def method(self, called: MethodCall) -> CppValue | None:
        """The call of a method with `.` or `->`; None if nothing is known of it."""
        value, name, inner = called.value, called.name, called.inner
        if value.options is not None:
            return self._of_options(called, value.options)
        if value.type == OPTIONS:
            self._state.leave(called.node, NO_OPTIONS)
            return None
        if value.type == "stream":
            return self._of_stream(called)
        if value.type == "Device":
            return self._of_device(called)
        is_tensor = value.is_tensor or (value.type == "Tensor?" and called.operator == "->")
        if is_tensor or (
            value.type == UNKNOWN and called.base in _OF_TENSORS and (called.template or called.base != "data_ptr")
        ):
            return self._of_tensor(called)
        if value.type.endswith("?") and called.operator == "." and called.base in ("value", "has_value", "value_or"):
            type = "bool" if called.base == "has_value" else value.type[:-1]
            return CppValue(f"{value.text}.{name}({inner})", type, is_plain=value.is_plain)
        if value.type.endswith("[]") and called.base in (*_OF_LISTS, "front", "back", "at"):
            return CppValue(f"{value.text}.{name}({inner})", _OF_LISTS.get(called.base, value.type[:-2]) or value.type)
        if value.type == UNKNOWN and called.base.endswith("_") and self._calls.is_operator(called.base):
            self._state.leave(called.node, "the type of the object is not known: is it a tensor?")
        return None

    def _of_tensor(self, called: MethodCall) -> CppValue | None:
        special = self._special.get(called.base)
        if special is not None and (called.base != "data" or called.template):
            return special(called)
        base = METHODS.get(called.base, called.base) if not called.values else called.base
        fact = FACTS.get(base)
        if fact is not None:
            if not self._state.has(fact[1]):
                self._state.leave(called.node, f"stable tensors have no `{base}` then", fact[1])
                return None
            if base == "is_contiguous" and called.values:
                self._state.leave(called.node, "stable tensors have `is_contiguous()` without a memory format")
                return None
            template = f"<{called.template}>" if called.template else ""
            return CppValue(
                f"{called.owner()}{base}{template}({called.inner})", fact[0], is_plain=called.value.is_plain
            )
        if called.base == "set_requires_grad" and self._state.has((2, 10)):
            return CppValue(f"{called.owner()}set_requires_grad({called.inner})", "Tensor")
        if self._calls.is_operator(called.base):
            receiver = called.value._replace(text=called.object())
            values = [receiver._replace(type="Tensor"), *called.values]
            return self._calls.operator(called.node, called.base, values, is_method=True, inner=called.inner)
        self._state.leave(called.node, f"stable tensors have no `{called.base}`")
        return None

    def _of_stream(self, called: MethodCall) -> CppValue | None:
        """A method of a stream, which stable code has as CUDA's own."""
        if called.base == "stream":
            return called.value._replace(type="other")
        self._state.leave(called.node, "the stable API has no such part of CUDA's")
        return None

    def _of_device(self, called: MethodCall) -> CppValue | None:
        if called.base == "str":
            return self._shown(called.value)
        if called.base not in _OF_DEVICES:
            self._state.leave(called.node, f"stable devices have no `{called.base}`")
            return None
        return CppValue(f"{called.owner()}{called.base}({called.inner})", _OF_DEVICES[called.base])

    def _data(self, called: MethodCall) -> CppValue:
        element = called.template
        if not element:
            return CppValue(f"{called.owner()}data_ptr({called.inner})", "other")
        if not self._state.has((2, 10)):
            return CppValue(f"static_cast<{element}*>({called.owner()}data_ptr())", "other")
        constant = re.fullmatch(r"const\s+(.*)|(.*?)\s+const", element)
        if constant is None:
            return CppValue(f"{called.owner()}mutable_data_ptr<{element}>()", "other")
        return CppValue(f"{called.owner()}const_data_ptr<{constant[1] or constant[2]}>()", "other")

    def _options(self, called: MethodCall) -> CppValue | None:
        if not called.value.is_plain:
            self._state.leave(called.node, "the tensor with the options has no name")
            return None
        receiver = called.object()
        options = OptionTexts(receiver, f"{called.owner()}scalar_type()", "", f"{called.owner()}device()")
        return CppValue(f"{called.owner()}options()", OPTIONS, options)

    def _of_options(self, called: MethodCall, options: OptionTexts) -> CppValue | None:
        field = {"pinned_memory": "pin_memory"}.get(called.base, called.base)
        text = f"{called.value.text}.{called.base}({called.inner})"
        if called.base == "requires_grad" and called.inner in ("false",):
            return called.value
        if field in _FIELDS and len(called.values) == 1:
            given = _as_device(called.values[0]) if field == "device" else called.inner
            return CppValue(text, OPTIONS, _with_field(options, field, given))
        if field in ("dtype", "device", "layout") and not called.values and getattr(options, field):
            return CppValue(getattr(options, field), {"dtype": "ScalarType"}.get(field, field.title()))
        self._state.leave(called.node, "the stable API has no such option")
        return None

    def _to(self, called: MethodCall) -> CppValue | None:
        values = list(called.values)
        parts = OptionTexts()
        for value in values:
            if value.options is not None:
                parts = value.options
            elif value.type == "ScalarType":
                parts = parts._replace(dtype=value.text)
            elif value.type in ("Device", "DeviceType"):
                parts = parts._replace(device=_as_device(value))
            elif value.is_tensor and value.is_plain:
                other = f"({value.text})" if value.text.startswith("*") else value.text
                parts = OptionTexts("", f"{other}.scalar_type()", "", f"{other}.device()")
            else:
                self._state.leave(called.node, "what the tensor is converted to is not known")
                return None
        return self._converted(called, parts)

    def _converted(self, called: MethodCall, parts: OptionTexts) -> CppValue | None:
        function = StableName("torch::stable::to", _OPS, (2, 10))
        if not self._state.take(function, called.node):
            return None
        receiver = called.object()
        shown = [parts.dtype] if not parts.device else [parts.device]
        if parts.dtype and parts.device:
            shown = [parts.dtype, "std::nullopt", parts.device]
        return CppValue(f"{function.text}({', '.join([receiver, *shown])})", "Tensor")

    def _to_device(self, called: MethodCall) -> CppValue | None:
        return self._converted(called, OptionTexts(device=_CPU.format(called.base.upper())))

    def _helper_of_template(self, called: MethodCall) -> CppValue | None:
        if not called.template:
            self._state.leave(called.node, "name the type of the number: `item<double>()`")
            return None
        name = f"stable_ops::{called.base}"
        if not self._state.take(StableName(name, since=(2, 10)), called.node):
            return None
        receiver = called.object()
        type = {"double": "float", "float": "float", "bool": "bool"}.get(called.template, "int")
        return CppValue(f"{name}<{called.template}>({receiver})", type if called.base == "item" else "other")

    def message(self, node: Node, value: CppValue) -> CppValue:
        """A part of the message of a check, which the stable macro prints with a stream."""
        if value.type in ("int[]", "Device", "DeviceType"):
            return self._shown(value)
        if value.type in ("Tensor", "Layout", "MemoryFormat", "stream", OPTIONS) or value.type.endswith(("[]", "?")):
            self._state.leave(node, "the stable API prints no such value in a message")
        return value

    def _shown(self, value: CppValue) -> CppValue:
        self._state.need_helper("stable_ops::text")
        return CppValue(f"stable_ops::text({value.text})", "str")

    def function(self, node: Node, name: str, values: Sequence[CppValue], inner: str) -> CppValue | None:
        """The call of a function of PyTorch; None if it is none, or stays."""
        plain = name_within(name)
        if plain is None:
            is_open = self._state.has_open_namespace and "::" not in name and name not in self._state.facts.results
            has_tensor = any(value.type in ("Tensor", "Tensor[]", OPTIONS) for value in values)
            if not (is_open and has_tensor and self._calls.is_operator(name)):
                return None
            plain = name
        if plain in NAMES:
            return None
        if plain in ("TensorOptions", "dtype", "device", "layout"):
            return self._made_options(plain, values)
        if plain == "from_blob":
            return self._from_blob(node, values) or CppValue(f"{name}({inner})", "Tensor")
        if plain == "tensor" and name.startswith("torch::"):
            return self._tensor(node, values) or CppValue(f"{name}({inner})", "Tensor")
        if self._calls.is_operator(plain):
            return self._calls.operator(node, plain, values, inner=inner) or CppValue(f"{name}({inner})", "Tensor")
        return None

    def _made_options(self, name: str, values: Sequence[CppValue]) -> CppValue | None:
        if not values:
            return CppValue("torch::TensorOptions()", OPTIONS, OptionTexts())
        value = values[0]
        kind = {"ScalarType": "dtype", "Device": "device", "DeviceType": "device", "Layout": "layout"}.get(value.type)
        field = name if name in _FIELDS else kind
        if field is None or len(values) > 1:
            return None
        text = _as_device(value) if field == "device" else value.text
        return CppValue(f"torch::{name}({value.text})", OPTIONS, _with_field(OptionTexts(), field, text))

    def _from_blob(self, node: Node, values: Sequence[CppValue]) -> CppValue | None:
        options = values[-1].options if values else None
        if len(values) == 3 and values[2].type == "ScalarType":
            options = OptionTexts(dtype=values[2].text)
        given = values if options is None else values[:-1]
        if len(given) != 2:
            self._state.leave(node, "`torch::stable::from_blob` has other parameters")
            return None
        helper = StableName("stable_ops::from_blob", since=(2, 10))
        if not self._state.take(helper, node):
            return None
        parts = options or OptionTexts()
        dtype = parts.dtype or ("std::nullopt" if parts.device else "")
        texts = [*[value.text for value in given], *filter(None, [dtype, parts.device])]
        return CppValue(f"{helper.text}({', '.join(texts)})", "Tensor")

    def _tensor(self, node: Node, values: Sequence[CppValue]) -> CppValue | None:
        helper = StableName("stable_ops::tensor_of", since=(2, 10))
        if len(values) != 1 or values[0].type != "int[]" or not self._state.take(helper, node):
            self._state.leave(node, "the stable API makes no tensors of values: fill one")
            return None
        return CppValue(f"{helper.text}<int64_t>({values[0].text})", "Tensor")


def _with_field(options: OptionTexts, field: str, text: str) -> OptionTexts:
    """OptionTexts with another text of one field, which are no longer all those of a tensor."""
    return options._replace(**{"tensor": "", field: text})


def _as_device(value: CppValue) -> str:
    """A device as a device, also if it is given by its type."""
    return value.text if value.type == "Device" else f"torch::stable::Device({value.text})"
