"""Patterns that are compiled late are those that `re.compile` makes."""

from __future__ import annotations

import re

import pytest

from opwright.source.lazy import lazy_pattern


def test_a_pattern_is_compiled_once_and_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pattern is compiled at its first use, with its flags, and each of its methods is looked up once."""
    compiled: list[str] = []
    compile_now = re.compile

    def counted(pattern: str, flags: int = 0) -> re.Pattern[str]:
        compiled.append(pattern)
        return compile_now(pattern, flags)

    monkeypatch.setattr(re, "compile", counted)
    pattern = lazy_pattern(r"^(\w+)$", re.MULTILINE)
    assert pattern.pattern == r"^(\w+)$"
    assert not compiled
    assert pattern.findall("one\ntwo") == pattern.findall("one\ntwo") == ["one", "two"]
    assert compiled == [r"^(\w+)$"]
    with pytest.raises(re.error):
        lazy_pattern("(").match("")
