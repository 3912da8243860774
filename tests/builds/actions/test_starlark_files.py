"""Files for Bazel and Buck, read by another implementation of Starlark: the one in Rust, which Buck2 uses itself.

No Bazel that reads MODULE.bazel, and no Buck, runs in our tests.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.builds.actions.bazel import EXAMPLE, RULES
from tests.builds.actions.test_starlark import Recorder, described, run_file
from tests.pages.page import Page

starlark = pytest.importorskip("starlark", reason="starlark-pyo3 is not installed")

FILES = [
    *[RULES / name for name in ("BUILD.bazel", "MODULE.bazel", "WORKSPACE", "extensions.bzl", "opwright.bzl")],
    *[EXAMPLE / name for name in ("BUILD.bazel", "MODULE.bazel", "WORKSPACE", "operators.bzl")],
]

#: What Bazel predefines for `.bzl` files, as far as ours need it. `recorded` keeps a call.
BAZEL = """
def _nothing(*args, **kwargs):
    return None

attr = struct(**{kind: _nothing for kind in [
    "bool", "label", "label_keyed_string_dict", "label_list", "output_list", "string", "string_dict", "string_list",
]})

def _rule(name):
    return lambda **arguments: recorded(name, **arguments)

def rule(**definition):
    return _rule("rule")

def repository_rule(**definition):
    return _rule("repository")

def provider(**definition):
    return _nothing

def module_extension(implementation, tag_classes, **more):
    return struct(implementation = implementation, tags = tag_classes)

def tag_class(attrs):
    return attrs

depset, json, DefaultInfo, Label, OutputGroupInfo = [None] * 5
native = struct(filegroup = _rule("filegroup"), genrule = _rule("genrule"))
"""


class Evaluation:
    """Evaluates files of Starlark, and keeps the calls of what Bazel and Buck predefine."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def run(self, path: str, text: str, tail: str = "None") -> Any:  # noqa: ANN401
        """The value of an expression after a file."""
        module = starlark.Module()
        module.add_callable("recorded", lambda kind, /, **words: self.calls.append((kind, words)))
        libraries = starlark.Globals.extended_by([starlark.LibraryExtension.StructType])
        loader = starlark.FileLoader(self._load)
        return starlark.eval(module, parsed(path, f"{BAZEL}\n{text}\n{tail}\n"), libraries, loader)

    def _load(self, label: str) -> Any:  # noqa: ANN401
        module = starlark.Module()
        module.add_callable("recorded", lambda kind, /, **words: self.calls.append((kind, words)))
        libraries = starlark.Globals.extended_by([starlark.LibraryExtension.StructType])
        text = (RULES / label.rpartition(":")[2]).read_text()
        starlark.eval(module, parsed(label, f"{BAZEL}\n{text}"), libraries)
        return module.freeze()


def parsed(path: str, text: str) -> Any:  # noqa: ANN401
    """The syntax tree of a file. Files that are no `.bzl` define no functions."""
    dialect = starlark.Dialect.standard()
    dialect.enable_def = dialect.enable_lambda = path.endswith(".bzl")
    return starlark.parse(path, text, dialect)


PAGE = Path(__file__).resolve().parents[3] / "docs/build-systems.md"


def test_page_is_starlark() -> None:
    """The files of Bazel and of Buck that the page shows are Starlark too; they have their names as titles."""
    blocks = [block for block in Page(PAGE, PAGE.parent).blocks() if block.language == "python" and block.title]
    assert {"BUCK", "BUILD.bazel", "MODULE.bazel", "WORKSPACE", "wheels.bzl"} <= {block.title for block in blocks}
    for block in blocks:
        parsed(block.title, block.text)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_files_are_starlark(path: Path) -> None:
    """Each file is Starlark as Bazel has it: without loops at the top, texts with values in them, or classes."""
    parsed(path.name, path.read_text())
    with pytest.raises(starlark.StarlarkError):
        parsed(path.name, f"{path.read_text()}\nfor name in []:\n    pass\n")


def module_calls(source: str) -> list[tuple[str, tuple[Any, ...], dict[str, Any]]]:
    """The calls in a MODULE.bazel."""
    calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
    module = starlark.Module()

    def call(name: str, /, *words: Any, **arguments: Any) -> None:  # noqa: ANN401
        calls.append((name, words, arguments))

    names = ("module", "bazel_dep", "local_path_override", "use_repo", "use_extension", "environment")
    for name in names:
        module.add_callable(f"_{name}", lambda *words, _name=name, **arguments: call(_name, *words, **arguments))
    head = [f"def {name}(*words, **arguments):\n    _{name}(*words, **arguments)\n" for name in names[:-2]]
    head.append(
        "def use_extension(*words):\n    _use_extension(*words)\n    return struct(environment = _environment)\n"
    )
    # `use_repo` is given the extension, which is no value for Python.
    text = "".join(head) + source.replace("use_repo(opwright, ", "use_repo(")
    libraries = starlark.Globals.extended_by([starlark.LibraryExtension.StructType])
    starlark.eval(module, parsed("module.bzl", text), libraries)
    return calls


@pytest.mark.parametrize("place", ["example", "page"])
def test_module(place: str, tmp_path: Path) -> None:
    """A project's MODULE.bazel names the module of the rules, its extension, and the repository that this makes."""
    if place == "example":
        folder, text = EXAMPLE, (EXAMPLE / "MODULE.bazel").read_text()
    else:
        (text,) = [block.text for block in Page(PAGE, tmp_path).blocks() if block.title == "MODULE.bazel"]
        folder = tmp_path
        (tmp_path / "opwright_rules").symlink_to(RULES)
    calls = module_calls(text)
    own = {name: (words, arguments) for name, words, arguments in calls}
    rules = [arguments for name, _, arguments in calls if name == "bazel_dep"]
    assert own["local_path_override"][1]["module_name"] == rules[0]["name"]
    # The example names the rules of the checkout, also where the tests run with an installed package.
    rules_text = (folder / own["local_path_override"][1]["path"] / "MODULE.bazel").read_text()
    assert rules_text == (RULES / "MODULE.bazel").read_text()
    ((kind, _, module), *needed) = module_calls(rules_text)
    assert (kind, module["name"]) == ("module", rules[0]["name"])
    assert {row["name"]: row["version"] for _, _, row in needed}["rules_cc"] == rules[1]["version"]
    label, extension = own["use_extension"][0]
    file = str(label).rpartition(":")[2]
    assert label == f"@{module['name']}//:{file}"
    evaluation = Evaluation()
    tags = ", ".join(f"{name} = {value!r}" for name, value in own["environment"][1].items())
    context = (
        "struct(modules = [struct(is_root = True, tags = struct(environment = [struct("
        f'exec_properties = {{}}, interpreter = "", {tags})]))])'
    )
    evaluation.run(file, (RULES / file).read_text(), f"{extension}.implementation({context})")
    ((kind, made),) = evaluation.calls
    assert (kind, [made["name"]]) == ("repository", [*own["use_repo"][0]])
    assert made["load_rules"]
    assert made["python"] == own["environment"][1]["python"]


def test_rules_without_those_of_bazel() -> None:
    """Where Bazel has no `cc_library` of its own, the macro takes the one that it is given, or says what is missing."""
    actions = described("bazel")
    call = 'opwright_library(name = "acme", actions = ACTIONS, srcs = []{})'
    evaluation = Evaluation()
    text = f"{(RULES / 'opwright.bzl').read_text()}\n{actions}"
    evaluation.run("rules.bzl", text, call.format(', cc_library = _rule("cc_library")'))
    (library,) = [arguments for kind, arguments in evaluation.calls if kind == "cc_library"]
    assert library["srcs"] == [":acme_code_sources"]
    assert len([kind for kind, _ in evaluation.calls if kind == "rule"]) == 2
    with pytest.raises(starlark.StarlarkError, match=r"pass `cc_library` from `@rules_cc//cc:defs\.bzl`"):
        evaluation.run("rules.bzl", text, call.format(""))


def test_buck_as_starlark() -> None:
    """Buck's Starlark makes of a description for Buck the genrules that Python makes of it, which other tests run."""
    call = 'opwright_genrules("operators", "//tools:opwright", "//torch:inputs", visibility = ["PUBLIC"])'
    evaluation = Evaluation()
    evaluation.run("operators.bzl", described("buck"), call)
    native = Recorder()
    defined = run_file(described("buck"), native=native)
    defined["opwright_genrules"]("operators", "//tools:opwright", "//torch:inputs", visibility=["PUBLIC"])
    assert len(native.calls) == 2
    assert evaluation.calls == native.calls
