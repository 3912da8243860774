"""Descriptions for Bazel and Buck, and the rules for Bazel, run as Python, which has Starlark's syntax.

`test_bazel.py` runs the rules with Bazel itself, where that is installed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import opwright as package
from tests.builds.actions.sandbox import opwright
from tests.engine.project import files_of

LIBRARY = Path(__file__).resolve().parents[3] / "examples" / "library"
RULES = Path(package.__file__).parent / "builds" / "bazel" / "opwright.bzl"


def described(form: str) -> str:
    """The description of the example library in two actions."""
    words = ("--library", "acme.yaml", "--out", "gen", "--actions", 2, "--describe", form)
    return opwright("generate", *words, cwd=LIBRARY)


def run_file(text: str, **names: object) -> dict[str, Any]:
    """What a file of Starlark defines, given what it finds predefined."""
    defined: dict[str, Any] = {"struct": SimpleNamespace, **names}
    exec(compile(text, "starlark", "exec"), defined)
    return defined


class Recorder:
    """Stands for `native`: keeps what each rule is called with."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def __getattr__(self, rule: str) -> Callable[..., None]:
        return lambda **arguments: self.calls.append((rule, arguments))


@pytest.fixture
def plain(tmp_path: Path) -> dict[str, bytes]:
    """What an ordinary run makes of the example library."""
    opwright("generate", "--library", "acme.yaml", "--out", tmp_path / "plain", cwd=LIBRARY)
    return files_of(tmp_path / "plain")


@pytest.mark.thorough
def test_buck(tmp_path: Path, plain: dict[str, bytes], reference_inputs: Path) -> None:
    """Each genrule makes its outputs when Buck's places are put into its command."""
    native = Recorder()
    defined = run_file(described("buck"), native=native)
    defined["opwright_genrules"]("operators", "//tools:opwright", "//torch:inputs", visibility=["PUBLIC"])
    assert [rule for rule, _ in native.calls] == ["genrule"] * 2
    root = reference_inputs.parents[2]
    assert all((root / path).is_file() for path in defined["TORCH_INPUTS"])
    made: dict[str, bytes] = {}
    for _, rule in native.calls:
        out = tmp_path / rule["name"]
        places = {"$(exe //tools:opwright)": f"{sys.executable} -m opwright", "$(location //torch:inputs)": str(root)}
        command = rule["cmd"]
        for place, text in places.items():
            command = command.replace(place, text)
        environment = {**os.environ, "SRCDIR": str(LIBRARY), "OUT": str(out)}
        subprocess.run(command, shell=True, env=environment, check=True, capture_output=True)
        files = files_of(out)
        assert sorted(files) == sorted(rule["outs"])
        assert all(paths == [name] for name, paths in rule["outs"].items())
        assert {"acme.yaml", "derivatives.yaml"} == set(rule["srcs"])
        assert rule["visibility"] == ["PUBLIC"]
        made.update(files)
    assert made == plain


class FakeContext:
    """Stands for the context of the rule of an action, in a workspace where all inputs are at their places."""

    def __init__(self, rule: dict[str, Any], tool: object, root: Path) -> None:
        self.started: list[dict[str, Any]] = []
        self.label = SimpleNamespace(workspace_root="", package="pkg", name=rule["name"])
        self.bin_dir = SimpleNamespace(path="bin")
        targets = {path: SimpleNamespace(path=f"pkg/{path}") for path in rule["srcs"]}
        inputs = {_Target(str(root / path)): path for path in rule["torch_srcs"].values()}
        self.attr = SimpleNamespace(
            opwright={"info": tool},
            folders=rule["folders"],
            out=rule["out"],
            arguments=rule["arguments"],
            torch_srcs=inputs,
            srcs=targets,
        )
        self.files = SimpleNamespace(srcs=list(targets.values()))
        self.outputs = SimpleNamespace(outs=rule["outs"])
        self.actions = SimpleNamespace(run=lambda **arguments: self.started.append(arguments))

    def expand_location(self, text: str, targets: object) -> str:
        """The text with the paths of files."""
        del targets
        return re.sub(r"\$\(location ([^)]*)\)", r"pkg/\1", text)


class _Target:
    """Stands for a target with one file."""

    def __init__(self, path: str) -> None:
        self.files = SimpleNamespace(to_list=lambda: [SimpleNamespace(path=path)])


def bazel_rules(native: Recorder, rules: list[dict[str, Any]]) -> dict[str, Any]:
    """What `opwright.bzl` defines; `rules` get the arguments of each action that its macros declare."""

    def rule(**definition: Any) -> Callable[..., None]:  # noqa: ANN401
        del definition
        return lambda **arguments: rules.append(arguments)

    def depset(files: list[object] = [], transitive: list[Any] = []) -> list[object]:  # noqa: B006
        return [*files, *[file for inner in transitive for file in inner]]

    attr = SimpleNamespace(
        **{
            kind: lambda *words, **more: None
            for kind in (
                "bool",
                "label",
                "label_list",
                "string",
                "string_dict",
                "string_list",
                "output_list",
                "label_keyed_string_dict",
            )
        }
    )
    return run_file(
        RULES.read_text(),
        native=native,
        rule=rule,
        repository_rule=rule,
        attr=attr,
        depset=depset,
        OutputGroupInfo=lambda **more: more,
        provider=lambda **more: "info",
        DefaultInfo=lambda **more: more,
    )


@pytest.mark.thorough
def test_bazel_rules(tmp_path: Path, plain: dict[str, bytes], reference_inputs: Path) -> None:
    """The macros declare an action for each part, whose command makes the declared outputs, and a library."""
    native = Recorder()
    rules: list[dict[str, Any]] = []
    defined = bazel_rules(native, rules)
    actions = run_file(described("bazel"))["ACTIONS"]
    defined["opwright_library"](name="acme", actions=actions, srcs=["kernels.cpp"])
    (tmp_path / "pkg").symlink_to(LIBRARY)
    tool = SimpleNamespace(executable=sys.executable, arguments=["-m", "opwright"], files=[])
    for rule in rules:
        context = FakeContext(rule, tool, reference_inputs.parents[2])
        defined["_action_impl"](context)
        (started,) = context.started
        assert started["env"] == {}
        assert len(started["inputs"]) == len(rule["srcs"]) + len(rule["torch_srcs"])
        command = [started["executable"], *started["arguments"]]
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    made = files_of(tmp_path / "bin" / "pkg" / "acme_code")
    assert made == plain
    assert sorted(out for rule in rules for out in rule["outs"]) == sorted(f"acme_code/{path}" for path in plain)
    groups = {call["name"]: call for _, call in native.calls}
    assert groups["acme_code"]["srcs"] == [":acme_code.0", ":acme_code.1"]
    assert groups["acme_code_sources"]["srcs"] == ["acme_code/src/acme/register_0.cpp"]
    assert groups["acme"]["srcs"] == [":acme_code_sources", "kernels.cpp"]
    assert groups["acme"]["includes"] == ["acme_code/include"]
