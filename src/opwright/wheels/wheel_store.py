"""The inputs of a release inside a wheel."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cached_property

from opwright.release.generator_files import GENERATOR
from opwright.release.store import (
    AUTOGRAD,
    FORMULA_HELPERS,
    INSTALLED_HELPERS,
    MEMBERS,
    NATIVE_AOT,
    NATIVE_OPS,
    SHIM_TABLES,
    SHIM_TABLES_MEMBER,
    InputPaths,
    is_input_name,
)
from opwright.release.view import NATIVE_FUNCTIONS, Inputs
from opwright.source.codes import BAD_WHEEL, INPUT_MISSING, NO_TORCHGEN
from opwright.source.diagnostic import Fault
from opwright.source.text import SourceFile
from opwright.wheels.wheel import Wheel

PACKAGED = "torchgen/packaged/"
#: What the members of wheels that are inputs begin with.
MEMBER_PREFIXES = (PACKAGED, NATIVE_OPS, SHIM_TABLES_MEMBER, INSTALLED_HELPERS)
#: What names of inputs begin with -> what their paths in the wheel begin with.
_IN_WHEEL = (
    (NATIVE_AOT, NATIVE_OPS),
    (SHIM_TABLES, SHIM_TABLES_MEMBER),
    (FORMULA_HELPERS, INSTALLED_HELPERS),
    (AUTOGRAD, PACKAGED + AUTOGRAD),
    ("", f"{PACKAGED}ATen/"),
    ("", PACKAGED),
)


class WheelStore:
    """Inputs inside a wheel. The first access reads all of them, to read few ranges."""

    def __init__(self, wheel: Wheel) -> None:
        self._wheel = wheel

    @cached_property
    def contents(self) -> dict[str, bytes]:
        """The bytes of every input, by name."""
        paths = [path for prefix in MEMBER_PREFIXES for path in self._wheel.names(prefix)]
        members = {path: name_of(path) for path in paths if is_input_name(name_of(path))}
        read = self._wheel.read(members)
        self._wheel.check_complete(PACKAGED)
        # Wheels for Windows have Windows' line breaks; the generated files are the same.
        return {name: read[path].replace(b"\r\n", b"\n") for path, name in members.items()}

    def display_path(self, name: str) -> str:
        """The wheel's name and the path inside it."""
        return f"{self._wheel.name}/{member_of(name)}"

    def read_text(self, name: str) -> SourceFile:
        """The decoded member with this name."""
        return SourceFile.decode(self.display_path(name), self.read_bytes(name))

    def read_bytes(self, name: str) -> bytes:
        """The member's bytes."""
        if name.startswith(MEMBERS) or name in GENERATOR:
            member = member_of(name)
            content = self._wheel.read([member])[member].replace(b"\r\n", b"\n") if self.member_names(member) else None
        else:
            content = self.contents.get(name)
        if content is None:
            raise Fault.at(
                INPUT_MISSING, f"the release has no `{name}`: `{self._wheel.name}` has no `{member_of(name)}`"
            )
        return content

    def names(self) -> tuple[str, ...]:
        """The inputs in the wheel, sorted."""
        return tuple(sorted(self.contents))

    def read_members(self, paths: Iterable[str]) -> dict[str, bytes]:
        """Any members of the wheel, verified."""
        return self._wheel.read(paths)

    def member_names(self, prefix: str) -> tuple[str, ...]:
        """The wheel's members whose path begins with `prefix`."""
        return self._wheel.names(prefix)

    def paths(self, members: Iterable[str] = ()) -> InputPaths | None:
        """The wheel, if it is a file."""
        del members
        return InputPaths((os.path.abspath(self._wheel.name),)) if os.path.isfile(self._wheel.name) else None


def wheel_inputs(path: str | os.PathLike[str]) -> Inputs:
    """The inputs inside a wheel file of any platform; nothing is unpacked.

    Raises Fault if it is not a readable wheel (E0504) or has no generator inputs (E0505). Reading raises Fault if a
    member differs from its checksums (E0510).
    """
    name = os.fspath(path)
    if not os.path.isfile(name):
        raise Fault.at(BAD_WHEEL, f"there is no wheel `{name}`")
    wheel = Wheel(name, name)
    check_has_inputs(wheel.names("torchgen/packaged/ATen/native/"), name)
    return Inputs(WheelStore(wheel), f"the wheel {os.path.basename(name)}", wheel.version)


def check_has_inputs(members: tuple[str, ...], name: str) -> None:
    """Raises Fault if a wheel does not contain the generator's inputs (E0505)."""
    if f"torchgen/packaged/ATen/{NATIVE_FUNCTIONS}" not in members:
        raise Fault.at(
            NO_TORCHGEN,
            f"`{name}` carries no generator inputs under `torchgen/packaged/`",
            help="name a wheel of PyTorch itself, 2.4 or newer",
        )


def member_of(name: str) -> str:
    """The path in a wheel of the input with this name.

    >>> member_of("native/tags.yaml"), member_of("autograd/derivatives.yaml")
    ('torchgen/packaged/ATen/native/tags.yaml', 'torchgen/packaged/autograd/derivatives.yaml')
    """
    if name.startswith(MEMBERS):
        return name
    return next(in_wheel + name[len(prefix) :] for prefix, in_wheel in _IN_WHEEL if name.startswith(prefix))


def name_of(member: str) -> str:
    """The reverse of `member_of`."""
    return next(prefix + member[len(in_wheel) :] for prefix, in_wheel in _IN_WHEEL if member.startswith(in_wheel))
