"""The field `ufunc_inner_loop`: the scalar functions that the loops of CPU and CUDA kernels are made from."""

from __future__ import annotations

from typing import Final

from opwright.dialects.names import IDENTIFIER
from opwright.dialects.native_functions.entry_builder import EntryBuilder, dispatch_key_span
from opwright.model.dispatch_key import CPU, CUDA, DispatchKey
from opwright.model.native_function import Kernel, UfuncKey, UfuncLoop
from opwright.schema.function import FunctionSchema
from opwright.source import codes
from opwright.source.codes import KEY_REPEATED
from opwright.source.diagnostic import did_you_mean
from opwright.source.nodes import Mapping, Node, Scalar, did_you_mean_key

_INTEGRAL: Final = ("Byte", "Char", "Int", "Long", "Short")
_FLOATING: Final = ("Float", "Double")
_COMPLEX: Final = ("ComplexFloat", "ComplexDouble")

#: The names that stand for several dtypes.
DTYPE_CLASSES: Final = {
    "Integral": _INTEGRAL,
    "Floating": _FLOATING,
    "Complex": _COMPLEX,
    "All": _INTEGRAL + _FLOATING,
    "AllAndComplex": _INTEGRAL + _FLOATING + _COMPLEX,
    "FloatingAndComplex": _FLOATING + _COMPLEX,
}
DTYPES: Final = (
    "Byte", "Char", "Short", "Int", "Long", "Half", "Float", "Double", "ComplexHalf", "ComplexFloat", "ComplexDouble",
    "Bool", "BFloat16", "Float8_e5m2", "Float8_e5m2fnuz", "Float8_e4m3fn", "Float8_e4m3fnuz", "Float8_e8m0fnu",
)  # fmt: skip

#: The keys for which an entry with loops gets kernels.
_UFUNC_KEYS: Final = (CUDA, CPU)
_LOOP_KEYS: Final = tuple(key.name for key in UfuncKey)
_FORM: Final = "write `name (dtype, dtype class, ...)`, such as `add (AllAndComplex, BFloat16, Half)`"


def read_ufunc(node: Node, builder: EntryBuilder) -> None:
    """Reads one loop for all dtypes, or a mapping from the kind of loop to the loop."""
    loops: dict[UfuncKey, UfuncLoop] = {}
    if isinstance(node, Scalar) and node.kind == "str":
        _read_loop(node, UfuncKey.Generic, loops, builder)
    elif isinstance(node, Mapping):
        for key, value in node.entries:
            if key.value not in UfuncKey.__members__:
                help = did_you_mean_key(key, node, _LOOP_KEYS)
                builder.fault(codes.UFUNC_KEY, f"unknown kind of loop `{key.value}`", key.span, help=help)
            elif UfuncKey[key.value] in loops:
                builder.fault(KEY_REPEATED, f"second loop for `{key.value}`", key.span)
            elif not isinstance(value, Scalar) or value.kind != "str":
                builder.wrong_type(value, key.value, "text")
            else:
                _read_loop(value, UfuncKey[key.value], loops, builder)
    else:
        builder.wrong_type(node, "ufunc_inner_loop", "text or a mapping")
    builder.ufunc = loops


def _read_loop(scalar: Scalar, key: UfuncKey, loops: dict[UfuncKey, UfuncLoop], builder: EntryBuilder) -> None:
    text = scalar.value
    name, _, rest = text.partition(" ")
    if IDENTIFIER.fullmatch(name) is None or not (rest.startswith("(") and rest.endswith(")")):
        builder.fault(codes.UFUNC_LOOP, f"`{text}` is not a loop", scalar.span, help=_FORM)
        return
    dtypes: dict[str, None] = {}
    start = len(name) + 2
    for word in rest[1:-1].split(", "):
        if word in DTYPE_CLASSES:
            dtypes.update(dict.fromkeys(DTYPE_CLASSES[word]))
        elif word in DTYPES:
            dtypes[word] = None
        else:
            help = did_you_mean(word, (*DTYPE_CLASSES, *DTYPES))
            builder.fault(
                codes.UFUNC_DTYPE, f"unknown dtype `{word}`", scalar.span_of(start, start + len(word)), help=help
            )
        start += len(word) + 2
    loops[key] = UfuncLoop(key, name, tuple(dtypes))


def add_ufunc_kernels(kernels: dict[DispatchKey, Kernel], builder: EntryBuilder, schema: FunctionSchema) -> None:
    """Adds the kernels that an entry with loops has."""
    if not builder.structured:
        builder.fault(
            codes.UFUNC_STRUCTURED, "only structured functions have loops", builder.key_span("ufunc_inner_loop")
        )
    for key in _UFUNC_KEYS:
        if key in kernels:
            message = f"the loops already make the kernel for `{key.name}`"
            builder.fault(codes.UFUNC_DISPATCH, message, dispatch_key_span(builder.node, key.name))
        else:
            namespace = builder.context.library.native
            kernels[key] = Kernel(key, f"ufunc_{schema.name.name}_{key.name}", namespace, True)
