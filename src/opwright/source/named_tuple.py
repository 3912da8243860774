"""Named tuples whose classes are quick to make.

`typing.NamedTuple` compiles each annotation in order to check it, which makes it twice as slow as the class needs. A
run imports some eighty such classes, and all of them before it does any work. Type checkers see that of `typing`.
"""

from __future__ import annotations

from collections import namedtuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple
else:

    class _Maker(type):
        """Makes a named tuple of each class below `NamedTuple`, with what the body of the class defines."""

        def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, object]) -> type:
            if not bases:
                return super().__new__(cls, name, bases, body)
            fields = body["__annotations__"]
            defaults = [body[field] for field in fields if field in body]
            tuple_class = namedtuple(name, fields, defaults=defaults, module=body["__module__"])
            for attribute, value in body.items():
                if attribute not in fields:
                    setattr(tuple_class, attribute, value)
            return tuple_class

    class NamedTuple(metaclass=_Maker):
        """The base of named tuples. Their fields are the annotations of the class, all of which may have defaults."""


__all__ = ["NamedTuple"]
