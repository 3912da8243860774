"""An entry of a backend file, as the readers of its options fill it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

from opwright.dialects.backend.head_builder import HeadBuilder
from opwright.dialects.backend.operators import OperatorIndex
from opwright.dialects.backend.sections import SectionKind
from opwright.dialects.dialect import LoadContext
from opwright.model.dispatch_key import DispatchKey
from opwright.model.external_backend import NO_ENTRY_OPTIONS, EntryOptions
from opwright.model.native_function import NativeFunction
from opwright.source import codes
from opwright.source.diagnostic import Label, Suggestion
from opwright.source.named_tuple import NamedTuple
from opwright.source.nodes import Node, Scalar
from opwright.source.span import Span

if TYPE_CHECKING:
    from opwright.dialects.extra_key_reader import ExtraKeys

__all__ = ["BackendEntryBuilder", "OptionReader", "SectionContext"]


class SectionContext(NamedTuple):
    """What all entries of a section share.

    `manual` are the operators that the author registers, and `extra_keys` those that plug-ins declare for entries.
    """

    kind: SectionKind
    key: DispatchKey
    head: HeadBuilder
    load: LoadContext
    operators: OperatorIndex
    manual: frozenset[NativeFunction] = frozenset()
    extra_keys: ExtraKeys | None = None


class BackendEntryBuilder:
    """The values of an entry's options.

    `name` is the name of the operator in the file, and `function` the operator. `way` is the option that says how the
    operator is implemented, None if none does. `kernel` is the C++ function that `kernel` names, and `kernel_name` the
    name in place of the usual one. `family` is the family of the kernel, and `families` are those of several kernels.
    `options` has what the model keeps.
    """

    __slots__ = (
        "failed",
        "families",
        "family",
        "function",
        "kernel",
        "kernel_name",
        "keys",
        "name",
        "options",
        "section",
        "source",
        "way",
    )

    def __init__(self, name: Scalar, function: NativeFunction, section: SectionContext) -> None:
        self.name: Final = name
        self.function: Final = function
        self.section: Final = section
        self.keys: Final[dict[str, Scalar]] = {}
        self.way: Scalar | None = None
        self.options: EntryOptions = NO_ENTRY_OPTIONS
        self.kernel = ""
        self.source = ""
        self.kernel_name = ""
        self.family = ""
        self.families: tuple[str, ...] = ()
        self.failed = False

    def fault(
        self, code: str, message: str, at: Span, *, help: str | Suggestion = "", also: tuple[Label, ...] = ()
    ) -> None:
        """Reports a fault; the entry is then left out."""
        self.failed = True
        self.section.load.sink.error(code, message, at, help=help, also=also)

    def warning(self, code: str, message: str, at: Span, *, help: str | Suggestion = "") -> None:
        """Reports a warning."""
        self.section.load.sink.warning(code, message, at, help=help)

    def key_span(self, option: str) -> Span:
        """The span of an option's name; that of the operator if the entry lacks the option."""
        return self.keys.get(option, self.name).span

    def choose_way(self, option: str) -> None:
        """Records the option that says how the operator is implemented. A second one is a fault."""
        key = self.keys[option]
        if self.way is None:
            self.way = key
            return
        message = f"`{self.way.value}` and `{option}` are two ways to implement `{self.name.value}`"
        also = (Label(self.way.span, "the other one", primary=False),)
        self.fault(codes.TWO_WAYS, message, key.span, also=also, help="delete one of them")


OptionReader: TypeAlias = Callable[[Node, BackendEntryBuilder], None]
"""Reads the value of an option."""
