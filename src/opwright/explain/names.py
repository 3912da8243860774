"""Which overloads a name means."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from opwright.model.catalog import Catalog
from opwright.model.native_function import NativeFunction

__all__ = ["overloads_named", "plain_name", "qualified_name"]

_DOTTED: Final = re.compile(r"(?:torch\.ops\.)?([a-z_]\w*)\.(\w+(?:\.\w+)?)")
_DEFAULT: Final = ".default"


def plain_name(text: str, namespaces: Iterable[str]) -> str:
    """The name of an operator as schemas write it, from any form in which PyTorch prints it.

    A name of two parts may be that of an overload; `namespaces` tell.

    >>> [plain_name(text, ["aten"]) for text in ("torch.ops.aten.add.Tensor", "aten.relu.default", "add.out")]
    ['aten::add.Tensor', 'aten::relu', 'add.out']
    """
    match = _DOTTED.fullmatch(text)
    if match is not None and match[1] in namespaces and "::" not in text:
        text = f"{match[1]}::{match[2]}"
    return text.removesuffix(_DEFAULT)


def overloads_named(name: str, catalog: Catalog) -> Sequence[NativeFunction]:
    """The overload of a full name, else all overloads of the operator of that name.

    >>> import opwright
    >>> catalog = opwright.load()
    >>> [function.name.text for function in overloads_named("aten::sub", catalog)][:3]
    ['sub.out', 'sub.Tensor', 'sub.Scalar']
    """
    if name in catalog:
        return [catalog[name]]
    namespace, _, plain = name.rpartition("::")
    named = [function for function in catalog.functions if function.name.name == plain]
    return [function for function in named if not namespace or function.namespace == namespace]


def qualified_name(function: NativeFunction) -> str:
    """The name of an overload with its namespace."""
    return f"{function.namespace}::{function.name.text}"
