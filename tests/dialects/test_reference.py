"""The catalog holds what the reference loads from the same files: functions, their order, their groups."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from opwright.dialects.native_functions.loader import load_catalog
from opwright.model.dispatch_key import dispatch_keys, key_named
from opwright.source.diagnostic import Diagnostics
from opwright.source.text import SourceFile
from tests.conformance.inputs import reference_package
from tests.dialects.ours import facts

PROGRAM = Path(__file__).with_name("reference_dump.py")
IGNORED = ("MPS", "SparseMPS", "SparseCsrMPS", "XPU", "MTIA")


def pytorch_file(name: str) -> Path:
    """A file of the installed PyTorch's own."""
    return reference_package() / "packaged" / "ATen" / "native" / name


def mutated(text: str) -> str:
    """PyTorch's own YAML with other namespaces, kernels, names and entries, which still is right."""
    text = re.sub(r"(?m)^- func: (special_[a-z0-9_.A-Z]+)\(", r"- func: mine::\1(", text)
    text = text.replace("- func: relu6(", "- func: relu6.overload(")
    more = """
- func: mine::twice(Tensor self, SymInt[] size, Tensor(a!) kept, Tensor(b!)? state=None) -> (Tensor, Tensor out)
  dispatch:
    CPU, CUDA, MPS: mine::deep::twice_symint
    SparseXPU: mine::deep::twice_xpu
  autogen: twice_functional, twice.out
  tags: [core]
"""
    return text + more


def reference_facts(native: Path, ignored: tuple[str, ...]) -> dict[str, list[object]]:
    """What the reference loads."""
    command = [sys.executable, str(PROGRAM), str(native), str(pytorch_file("tags.yaml")), *ignored]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded: dict[str, list[object]] = json.loads(answer.stdout)
    return loaded


@pytest.mark.parametrize(
    ("is_mutated", "ignored"),
    [
        pytest.param(False, IGNORED, id="pytorch-default"),
        pytest.param(True, IGNORED, id="mutated-default", marks=pytest.mark.thorough),
        pytest.param(False, (), id="pytorch-mps-xpu-mtia", marks=pytest.mark.thorough),
        pytest.param(True, (), id="mutated-mps-xpu-mtia"),
    ],
)
def test_catalog_is_what_the_reference_loads(tmp_path: Path, ignored: tuple[str, ...], is_mutated: bool) -> None:
    """All facts about all functions, their order and that of the groups, are the same."""
    native = pytorch_file("native_functions.yaml")
    if is_mutated:
        text = mutated(native.read_text(encoding="utf-8"))
        native = tmp_path / "native_functions.yaml"
        native.write_text(text, encoding="utf-8")
    sink = Diagnostics()
    ignored_keys = frozenset(key_named(name) for name in ignored)
    tags = SourceFile.read(pytorch_file("tags.yaml"))
    catalog = load_catalog(SourceFile.read(native), tags, sink, ignored_keys=ignored_keys)
    sink.raise_if_errors()
    ours = json.loads(json.dumps(facts(catalog)))
    theirs = reference_facts(native, ignored)
    assert [our["schema"] for our in ours["functions"]] == [function["schema"] for function in theirs["functions"]]  # type: ignore[index]
    assert [pair for pair in zip(ours["functions"], theirs["functions"], strict=True) if pair[0] != pair[1]] == []
    assert ours["groups"] == theirs["groups"]
    assert ours["view_groups"] == theirs["view_groups"]


def test_keys_are_those_that_are_not_ignored() -> None:
    """The catalog's keys keep their order and leave the ignored ones out, and so do kernels."""
    ignored = frozenset(key_named(name) for name in IGNORED)
    native = SourceFile.read(pytorch_file("native_functions.yaml"))
    catalog = load_catalog(native, SourceFile.read(pytorch_file("tags.yaml")), Diagnostics(), ignored_keys=ignored)
    assert catalog.keys == tuple(key for key in dispatch_keys() if key not in ignored)
    assert not any(ignored & function.kernels.keys() for function in catalog)
    assert set(catalog.kernels) == set(catalog.keys)


def test_groups_are_linked_from_their_members() -> None:
    """Each member of a group or view group knows it, and no other function does."""
    native, tags = (SourceFile.read(pytorch_file(name)) for name in ("native_functions.yaml", "tags.yaml"))
    catalog = load_catalog(native, tags, Diagnostics())
    linked = {member: group for group in catalog.groups if hasattr(group, "functions") for member in group.functions()}
    viewed = {member: view for view in catalog.view_groups if hasattr(view, "functions") for member in view.functions()}
    for function in catalog:
        assert function.group is linked.get(function)
        assert function.view_group is viewed.get(function)
