"""Catalog: everything loaded for one run, linked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from opwright.model.dispatch_key import DispatchKey
from opwright.model.native_function import Kernel, NativeFunction, NativeFunctionsGroup, ViewGroup
from opwright.schema.signature import base_of_operation
from opwright.source.diagnostic import did_you_mean
from opwright.source.records import Frozen


class PartialCatalog(Exception):
    """Raised where only all operators of the release can answer, and the run has loaded a part of them."""


class Catalog(Frozen):
    """All native functions of a run with their groups.

    `functions` has the entries in file order, then the synthesized overloads. `groups` has each function once, either
    in its group or alone, and so has `view_groups`. `keys` are the dispatch keys of the run (flags leave some out), in
    the order of their files. `tags` maps tags to their descriptions. `absent` has the base names of operators whose
    entries have faults and are left out; it is None if the file could not be read. `is_sound` says that no entry and no
    rule between entries has a fault. One that `is_partial` has only the operators that the run can reach.

    >>> import opwright
    >>> catalog = opwright.load()
    >>> print(catalog["relu"].schema)
    relu(Tensor self) -> Tensor
    >>> any(function.name.text == "relu" for function in catalog)
    True
    """

    __slots__ = (
        "_by_name",
        "absent",
        "functions",
        "groups",
        "is_partial",
        "is_sound",
        "kernels",
        "keys",
        "tags",
        "view_groups",
    )

    def __init__(
        self,
        functions: tuple[NativeFunction, ...],
        groups: tuple[NativeFunction | NativeFunctionsGroup, ...],
        view_groups: tuple[NativeFunction | ViewGroup, ...],
        keys: tuple[DispatchKey, ...],
        tags: Mapping[str, str],
        absent: frozenset[str] | None = frozenset(),
        *,
        is_sound: bool = True,
        is_partial: bool = False,
    ) -> None:
        self.functions: Final = functions
        self.groups: Final = groups
        self.view_groups: Final = view_groups
        self.keys: Final = keys
        self.tags: Final = tags
        self.absent: Final = absent
        self.is_sound: Final = is_sound
        self.is_partial: Final = is_partial
        self._by_name: Final[dict[str, NativeFunction]] = {}
        kernels: dict[DispatchKey, dict[NativeFunction, Kernel]] = {key: {} for key in keys}
        for function in functions:
            for key, kernel in function.kernels.items():
                if key in kernels:
                    kernels[key][function] = kernel
        self.kernels: Final[Mapping[DispatchKey, Mapping[NativeFunction, Kernel]]] = kernels

    def __getitem__(self, name: str) -> NativeFunction:
        """Function named `add.Tensor` or `aten::add.Tensor`; KeyError with a hint if there is none."""
        names = self._names()
        if name not in names:
            hint = str(did_you_mean(name, names))
            raise KeyError(f"no operator `{name}`{hint and '; ' + hint}")
        return names[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names()

    def may_lack(self, name: str) -> bool:
        """Whether an operator of this name may be missing because its entry has a fault. Raises PartialCatalog.

        >>> import opwright
        >>> opwright.load().may_lack("relu")
        False
        """
        self.require_all()
        return self.absent is None or (bool(self.absent) and base_of_operation(name) in self.absent)

    def require_all(self) -> None:
        """Raise PartialCatalog unless the catalog has all operators of the release."""
        if self.is_partial:
            raise PartialCatalog

    def _names(self) -> Mapping[str, NativeFunction]:
        """Functions by name, with their namespace and without it."""
        names = self._by_name
        if not names and self.functions:
            # If two namespaces have an operator of one name, the name alone means that of `aten`.
            in_aten = [function for function in self.functions if function.namespace == "aten"]
            names |= {function.name.text: function for function in (*reversed(self.functions), *in_aten)}
            names |= {f"{function.namespace}::{function.name.text}": function for function in self.functions}
        return names

    def __iter__(self) -> Iterator[NativeFunction]:
        return iter(self.functions)

    def __len__(self) -> int:
        return len(self.functions)

    @property
    def structured_groups(self) -> list[NativeFunctionsGroup]:
        """Groups that are written as structured kernels."""
        return [group for group in self.groups if isinstance(group, NativeFunctionsGroup) and group.structured]
