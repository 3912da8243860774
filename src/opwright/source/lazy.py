"""What is imported or compiled when it is first asked for: public modules of packages, and regular expressions."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Collection
    from types import ModuleType


def import_when_asked(package: str, modules: Collection[str]) -> Callable[[str], ModuleType]:
    """The `__getattr__` of a package with these public modules.

    >>> import_when_asked("opwright.source", ["span"])("span").__name__
    'opwright.source.span'
    """

    def look_up(name: str) -> ModuleType:
        from importlib import import_module

        if name in modules:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module `{package}` has no attribute `{name}`")

    return look_up


if TYPE_CHECKING:
    lazy_pattern = re.compile
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
