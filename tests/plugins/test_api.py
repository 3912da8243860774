"""The public API of plug-ins is that of the snapshot, and each of its names is documented."""

from __future__ import annotations

from pathlib import Path

import pytest

import opwright.plugin
from tests.plugins.api_snapshot import PATH, snapshot

PAGE = Path(__file__).resolve().parents[2] / "docs" / "plugins.md"


def test_snapshot() -> None:
    """Nothing of the API changed: if this fails, follow the policy in docs/plugins.md, then `make cases`."""
    assert snapshot() == PATH.read_text(encoding="utf-8")


def test_a_changed_signature_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The snapshot has the parameters of each class and function, and the attributes of classes."""
    text = snapshot()
    assert "class Family(name: str, help: str, *, emitters: Sequence[str | EmitterSource]" in text
    monkeypatch.setattr(opwright.plugin.FragmentContext, "read", lambda self: None)
    assert snapshot() != text


def test_names_are_lazy() -> None:
    """Every name is there, and a wrong one is an error that names the module."""
    assert set(dir(opwright.plugin)) >= set(vars(opwright.plugin)["__all__"])
    with pytest.raises(AttributeError, match=r"`opwright\.plugin` has no attribute `Plugins`"):
        _ = opwright.plugin.Plugins  # type: ignore[attr-defined]


def test_deprecated_names_warn() -> None:
    """The names that nodes of YAML had in 0.1 are the same classes, and each use says how they are called now."""
    for old, new in (("Mapping", "MappingNode"), ("Sequence", "SequenceNode")):
        with pytest.warns(DeprecationWarning, match=f"`opwright.plugin.{old}` is now `{new}`"):
            assert getattr(opwright.plugin, old) is getattr(opwright.plugin, new)


def test_the_page_has_all_names() -> None:
    """The page about plug-ins mentions every public name."""
    text = PAGE.read_text(encoding="utf-8")
    assert [
        name for name in vars(opwright.plugin)["__all__"] if f"`{name}" not in text and f"{name}(" not in text
    ] == []
