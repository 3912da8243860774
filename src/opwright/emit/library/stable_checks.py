"""What PyTorch's stable C++ API cannot express, found before anything is written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from opwright.convention import stable
from opwright.emit.emitter import Job
from opwright.emit.library.stable import TAGS_SINCE
from opwright.model.library import Autocast
from opwright.model.native_function import NativeFunction
from opwright.source.codes import STABLE_FIELD, STABLE_RELEASE, STABLE_TYPE
from opwright.source.diagnostic import Diagnostics
from opwright.source.named_tuple import NamedTuple
from opwright.source.span import Span

__all__ = ["check_stable"]

#: The first release whose stable API has generators of random numbers.
_GENERATORS_SINCE: Final = (2, 13)

#: The tags that loading gives an entry by the form of its schema; no user asks for them.
_TAGS_BY_FORM: Final = frozenset(("inplace", "out", "generated"))


class _Feature(NamedTuple):
    """Something that needs the native interface: where an entry asks for it, and what it is."""

    word: str
    what: str


def check_stable(job: Job, sink: Diagnostics) -> None:
    """Report what the operators of libraries with the stable interface cannot have."""
    for library in job.libraries:
        if library.is_stable:
            derived = {entry.function for entry in library.derivatives.matched.functions if entry.infos}
            for function in library.catalog.functions:
                _check_function(function, library.oldest_release, sink)
                if function in derived:
                    _report_field(function, _Feature("func", "the derivative of"), sink)


def _check_function(function: NativeFunction, oldest: tuple[int, int], sink: Diagnostics) -> None:
    if function.is_synthesized:
        message = f"`{function.name}` is synthesized from another overload, which needs `abi: native`"
        sink.error(
            STABLE_FIELD, message, word_span(function, "autogen"), help="remove it from `autogen`, or write a kernel"
        )
        return
    for feature in _features(function):
        _report_field(function, feature, sink)
    for argument in function.arguments.all:
        if stable.argument_type(argument.type) is None:
            message = f"the stable C++ API has no type for `{argument.type}`"
            sink.error(
                STABLE_TYPE, message, word_span(function, str(argument)), help=_TYPE_HELP.get(argument.type.text, "")
            )
    for result in function.schema.returns:
        if stable.return_type(result.type) is None:
            message = f"the stable C++ API has no type for a result `{result.type}`"
            sink.error(STABLE_TYPE, message, word_span(function, "func"))
    _check_release(function, oldest, sink)


_TYPE_HELP: Final = {"Scalar": "write `float` or `int`", "Scalar?": "write `float?` or `int?`"}


def _features(function: NativeFunction) -> Iterator[_Feature]:
    fields = function.library_fields
    if function.structured or function.structured_delegate is not None:
        word = "structured_delegate" if function.structured_delegate is not None else "structured"
        yield _Feature(word, "the structured kernel of")
    if fields.autocast != Autocast():
        yield _Feature("autocast", "the autocast policy of")
    if fields.batch_rule:
        yield _Feature("batch_rule", "the batching rule of")
    if function.is_view:
        yield _Feature("func", "the view")


def _report_field(function: NativeFunction, feature: _Feature, sink: Diagnostics) -> None:
    message = f"{feature.what} `{function.name}` needs `abi: native`"
    sink.error(STABLE_FIELD, message, word_span(function, feature.word))


def _check_release(function: NativeFunction, oldest: tuple[int, int], sink: Diagnostics) -> None:
    """Report what came after the oldest release that the library serves."""
    tags = sorted(function.tags - _TAGS_BY_FORM)
    if tags and oldest < TAGS_SINCE:
        message = f"PyTorch {oldest[0]}.{oldest[1]} cannot register tags through the stable C++ API"
        sink.error(STABLE_RELEASE, message, word_span(function, "tags"), help=_since(TAGS_SINCE))
    for argument in function.arguments.all:
        if argument.type.text.startswith("Generator") and oldest < _GENERATORS_SINCE:
            message = f"PyTorch {oldest[0]}.{oldest[1]} has no generators in the stable C++ API"
            sink.error(STABLE_RELEASE, message, word_span(function, str(argument)), help=_since(_GENERATORS_SINCE))


def _since(release: tuple[int, int]) -> str:
    return f'write `torch: ">={release[0]}.{release[1]}"` in the head'


def word_span(function: NativeFunction, word: str) -> Span:
    """The span of a word of an entry; that of the entry if it does not occur."""
    entry = function.entry
    start = entry.text.find(word)
    return entry if start < 0 else Span(entry.file, entry.start + start, entry.start + start + len(word))
