"""Regular expressions that are compiled when they are first used.

A run uses few of the patterns in the modules that it imports, and compiling one takes as long as importing a module.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import compile as lazy_pattern
else:

    class lazy_pattern:  # noqa: N801 - to its callers it is a function like that of `re`
        """What `re.compile` gives, but compiled when a method is first asked for.

        >>> lazy_pattern(r"[a-z]+").fullmatch("word").group()
        'word'
        """

        def __init__(self, pattern: str, flags: int = 0) -> None:
            self.pattern = pattern
            self._flags = flags

        def __getattr__(self, name: str) -> object:
            import re

            # The method is found without this function from now on.
            value = self.__dict__[name] = getattr(re.compile(self.pattern, self._flags), name)
            return value


__all__ = ["lazy_pattern"]
