"""Each sentence of SECURITY.md that promises something names tests, and these exist."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest

from opwright.cli.main import main

ROOT = Path(__file__).parent.parent

_TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
#: How sentences begin that promise nothing: they say what others do not promise.
LIMITS = (
    "It trusts the index itself.",
    "What is code by design is listed below.",
    "Whoever compiles generated code trusts its inputs.",
)


def promises() -> list[str]:
    """The bullets of the page's part on promises."""
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    part = text.partition("## What Opwright promises\n")[2].partition("\n## ")[0]
    return re.findall(r"(?m)^- .*(?:\n  .*)*", part)


def functions_of(path: str) -> set[str]:
    """The names of the functions of a module; none if there is no such file."""
    file = ROOT / path
    tree = ast.parse(file.read_text(encoding="utf-8") if file.is_file() else "")
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def sentences(promise: str) -> list[str]:
    """The sentences of a promise, each on one line."""
    return re.split(r"(?<=[.!?]) (?=[A-Z`])", " ".join(promise.removeprefix("- ").split()))


def test_each_sentence_names_a_test() -> None:
    """There are promises, and no sentence of them is without a test, but for those that limit others."""
    all_sentences = [sentence for promise in promises() for sentence in sentences(promise)]
    assert len(all_sentences) > len(promises())
    without = [sentence for sentence in all_sentences if not _TEST.search(sentence)]
    assert [sentence for sentence in without if not sentence.startswith(LIMITS)] == []
    assert [limit for limit in LIMITS if not any(sentence.startswith(limit) for sentence in without)] == []


def test_named_tests_exist() -> None:
    """Each name of a test, and each path below `tests`, on the page is that of a test that exists."""
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    named = _TEST.findall(text)
    assert len(named) == text.count("tests/")
    assert [f"{path}::{name}" for path, name in named if name not in functions_of(path)] == []


#: Fields of library files whose values are code, or name code or files.
CODE = {
    "samples",
    "calls",
    "generator",
    "when",
    "if",
    "requires",
    "python",
    "reference",
    "kernel",
    "batch_rule",
    "includes",
    "dispatch",
}
#: Those whose values are names, numbers, sizes, choices and texts.
DATA = {
    "CPU",
    "CUDA",
    "HPU",
    "IPU",
    "MAIA",
    "MPS",
    "MTIA",
    "PrivateUse1",
    "XLA",
    "XPU",
    "abi",
    "alias_analysis",
    "autocast",
    "autogen",
    "c_shims",
    "category_override",
    "contracts",
    "cpp_namespace",
    "cpp_no_default_args",
    "deprecated",
    "derivative_includes",
    "derivatives",
    "device",
    "device_check",
    "device_guard",
    "dims",
    "doc",
    "drawn",
    "dtype",
    "dtypes",
    "fallback",
    "frameworks",
    "from",
    "func",
    "function",
    "implements",
    "kernel_namespace",
    "kernel_signatures",
    "layout",
    "like",
    "linear",
    "manual_cpp_binding",
    "manual_kernel_registration",
    "name",
    "namespace",
    "operators",
    "outputs",
    "overlap",
    "precomputed",
    "priority",
    "python_module",
    "python_package",
    "reduction",
    "saved",
    "size",
    "structured",
    "structured_delegate",
    "structured_inherits",
    "tags",
    "tolerances",
    "torch",
    "use_const_ref_for_mutable_tensors",
    "values",
    "variants",
}


def fields_of(node: object) -> set[str]:
    """The names of the properties in a JSON schema."""
    if isinstance(node, list):
        return set().union(*map(fields_of, node))
    if not isinstance(node, dict):
        return set()
    properties = node.get("properties")
    names = set(properties) if isinstance(properties, dict) else set()
    return names.union(*map(fields_of, node.values()))


def test_each_field_of_a_library_is_code_or_data(capsys: pytest.CaptureFixture[str]) -> None:
    """A field that no list here has needs a decision, and the table of the page names the fields that are code."""
    assert main(["schema", "library"]) == 0
    assert fields_of(json.loads(capsys.readouterr().out)) == CODE | DATA
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    (row,) = re.findall(r"(?m)^\| library files \| (.*) \|$", text)
    assert {
        name for name in ("samples", "when", "if", "requires", "python", "reference") if f"`{name}`" not in row
    } == set()
