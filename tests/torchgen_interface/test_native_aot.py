"""What PyTorch asks of declarations of kernels compiled ahead of time when it runs, from 2.15 on."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from opwright.torchgen.native_aot_decl import decl_id_for_op, load_by_path
from opwright.torchgen.native_aot_spec_grid import expand_specs


def test_operators_have_names_in_cpp() -> None:
    """The overload follows an underscore."""
    assert [decl_id_for_op(name) for name in ("topk", "add.Tensor")] == ["topk", "add_Tensor"]


def test_modules_are_loaded_by_path(tmp_path: Path) -> None:
    """A module runs under its name each time, and is not kept; other files are refused."""
    path = tmp_path / "aot.py"
    path.write_text("ATEN_OP, NAME = 'topk', __name__\n")
    module = load_by_path("ops.topk.aot", str(path))
    assert (module.ATEN_OP, module.NAME, module.__file__) == ("topk", "ops.topk.aot", str(path))
    assert load_by_path("ops.topk.aot", str(path)) is not module
    assert "ops.topk.aot" not in sys.modules
    with pytest.raises(ImportError, match="is no Python module"):
        load_by_path("aot", str(tmp_path / "aot.txt"))
    with pytest.raises(FileNotFoundError):
        load_by_path("aot", str(tmp_path / "none.py"))


def test_lists_are_expanded() -> None:
    """Only lists stand for several values; a list without any leaves nothing."""
    specs: list[dict[str, Any]] = [{"z": [1, 2], "t": (1, 2), "a": [[3], "x"]}, {}, {"b": []}]
    assert expand_specs(specs) == [
        {"z": 1, "t": (1, 2), "a": [3]},
        {"z": 1, "t": (1, 2), "a": "x"},
        {"z": 2, "t": (1, 2), "a": [3]},
        {"z": 2, "t": (1, 2), "a": "x"},
        {},
    ]
