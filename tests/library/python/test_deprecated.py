"""Operators that entries call deprecated: who is told, where, and how often."""

from __future__ import annotations

import importlib.util
import inspect
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import torch

from opwright.cli.main import main
from opwright.source.codes import WRONG_SHAPE

LIBRARY = """\
namespace: old_acme
operators:
- func: scale(Tensor x, float by) -> Tensor
  deprecated: since 1.4, use `scale2`
- func: two(Tensor x) -> Tensor
  deprecated: since "3", use \\\\n
- func: two.b(Tensor x, *, int n) -> Tensor
- func: warn(Tensor x) -> Tensor
  deprecated: since 5
  doc: Warns.
"""


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """The functions of a library whose operators Python defines."""
    folder = tmp_path_factory.mktemp("deprecated")
    (folder / "acme.yaml").write_text(LIBRARY)
    assert main(["generate", "--library", str(folder / "acme.yaml"), "--out", str(folder)]) == 0
    text = (folder / "python" / "old_acme" / "_ops.py").read_text()
    library = torch.library.Library("old_acme", "DEF")
    for schema in ("scale(Tensor x, float by)", "two(Tensor x)", "two.b(Tensor x, *, int n)", "warn(Tensor x)"):
        library.define(f"{schema} -> Tensor")
        name = schema.partition("(")[0]
        library.impl(name, lambda x, *_, **__: x * 2, "CompositeImplicitAutograd")
    path = folder / "old_acme_functions.py"
    path.write_text(text.replace("from . import _cache_keys as _cache_keys\n", ""))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[path.stem]
    library._destroy()


def test_each_place_is_told_once(module: ModuleType) -> None:
    """A place that calls a function again is not told again; another one is."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            module.scale(torch.ones(2), 2.0)
        module.scale(torch.ones(2), 2.0)
    told = [(str(each.message), each.category, Path(each.filename).name) for each in caught]
    text = "`old_acme::scale` is deprecated: since 1.4, use `scale2`"
    assert told == [(text, FutureWarning, Path(__file__).name)] * 2


def test_functions_say_so(module: ModuleType) -> None:
    """The docstring has the text, and what type checkers read, with all of its characters."""
    assert "\n\nDeprecated: since 5.\n" in inspect.cleandoc(module.warn.__doc__)
    assert 'Deprecated: since "3", use \\\\n.' in module.two.__doc__
    assert module.scale.__deprecated__ == "since 1.4, use `scale2`"


def test_traces_and_scripts_are_not_told(module: ModuleType) -> None:
    """A graph contains the operator alone, and TorchScript compiles the function."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", FutureWarning)
        compiled = torch.compile(lambda x: module.scale(x, 2.0) + 1, backend="eager", fullgraph=True)
        assert compiled(torch.ones(2)).tolist() == [3, 3]
    assert torch.jit.script(module.scale)(torch.ones(2), 2.0).tolist() == [2, 2]


def test_one_deprecated_overload_leaves_calls_alone(module: ModuleType) -> None:
    """The dispatcher chooses among overloads, so that a function of several ones is not deprecated for one."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        module.two(torch.ones(2))


@pytest.mark.parametrize("value", ["since 1", "[since 1]", "3", "''", "true"])
def test_texts_alone_are_taken(value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is no text says nothing to callers; any text is one."""
    (tmp_path / "acme.yaml").write_text(
        f"namespace: acme\noperators:\n- func: f(Tensor x) -> Tensor\n  deprecated: {value}\n"
    )
    status = main(["check", str(tmp_path / "acme.yaml")])
    assert (status, WRONG_SHAPE in capsys.readouterr().out) == ((0, False) if value == "since 1" else (1, True))
