"""What a request asks for, as values that tell a later run whether it is asked for the same.

They come from the fields of the request themselves: a field that is added is one of them, and a value of a type that
nothing here can tell is an error where the first run meets it.
"""

from __future__ import annotations

import enum
import os
from collections.abc import Callable, Mapping
from functools import partial
from hashlib import sha256
from json import dumps
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Final

from opwright.model.dispatch_key import DispatchKey
from opwright.run.request import Request, run_plugins
from opwright.source.span import SourceText, Span

if TYPE_CHECKING:
    from opwright.release.inputs import Inputs

#: The fields that are part of the kind of a run (see `RunIdentity`).
_OF_KIND: Final = frozenset(("folders", "families", "shard"))


def _told_inputs(inputs: Inputs) -> object:
    return [inputs.origin, inputs.version_text, inputs.root, inputs.paths()]


#: Fields whose values other rooms tell.
_TOLD_ELSEWHERE: Final[Mapping[str, Callable[[Any], object]]] = {
    "inputs": _told_inputs,
    "plugins": lambda plugins: run_plugins().identities(plugins),
}


def request_facts(request: Request) -> dict[str, object]:
    """What a request asks for, by the names of its fields, without those of the kind of its run.

    Raises TypeError for a value of a type that cannot be told.

    >>> import opwright
    >>> facts = request_facts(opwright.Request(opwright.open_inputs(), {}, templates="mine", devices={"xpu", "mps"}))
    >>> facts["templates"], facts["devices"]
    ('mine', ['"mps"', '"xpu"'])
    """
    return {
        name: _TOLD_ELSEWHERE.get(name, _told)(value)
        for name, value in request._asdict().items()
        if name not in _OF_KIND
    }


def kind_facts(request: Request) -> dict[str, object]:
    """What tells the kind of a request's run besides its families and its output folders."""
    return {"shard": _told(request.shard)}


def _told(value: object) -> object:
    """A value as JSON can hold it; another one for every other value."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Span):
        return [value.file.path, value.start, value.end]
    if isinstance(value, SourceText):
        return [value.path, sha256(value.text.encode("utf-8", "surrogatepass")).hexdigest()]
    if isinstance(value, (enum.Enum, DispatchKey)):
        return [type(value).__name__, value.name]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: _told(part) for name, part in zip(value._fields, value, strict=True)}
    if isinstance(value, (tuple, list)):
        return [_told(part) for part in value]
    if isinstance(value, (frozenset, set)):
        return sorted(dumps(_told(part), sort_keys=True) for part in value)
    if isinstance(value, Mapping):
        return sorted([dumps([_told(key), _told(part)], sort_keys=True) for key, part in value.items()])
    if callable(value):
        return _told_function(value)
    raise TypeError(f"no run can be told from another by a `{type(value).__name__}`")


def _told_function(value: Callable[..., object]) -> object:
    """The name of a function of this package; for any other, a text that no run has had.

    What a function of others does may depend on anything, so no run that calls it is taken for one of before.
    """
    if isinstance(value, partial):
        return [_told_function(value.func), _told(value.args), _told(value.keywords)]
    owner = value.__self__ if isinstance(value, MethodType) else None
    is_known = owner is None or isinstance(owner, type)
    if isinstance(value, (FunctionType, MethodType, BuiltinFunctionType)) and is_known:
        module, closure = str(value.__module__), getattr(value, "__closure__", None)
        if module.partition(".")[0] == "opwright" and closure is None:
            return f"{module}.{value.__qualname__}"
    return os.urandom(16).hex()
