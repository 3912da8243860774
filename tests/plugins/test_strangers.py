"""A run imports, opens and starts nothing that a file names."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from lsprotocol import types as lsp

from opwright.cli.main import COMMANDS, main
from opwright.cli.streams import leave
from opwright.libraries.extension.generated import update_code
from opwright.plugins.use import ensure_active
from opwright.setuptools import operator_library
from opwright.source.diagnostic import FaultsFound
from opwright.source.text import SourceFile
from tests.tools.lsp.session import Start, editor

#: In every Python process of a run: writes down what is imported, opened and started.
AUDIT = """\
import json, os, sys

_log = os.open(os.environ["AUDIT_LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
_EVENTS = {"import", "open", "subprocess.Popen", "os.exec", "os.posix_spawn", "os.system"}


def _hook(event, arguments):
    if event in _EVENTS:
        os.write(_log, json.dumps([event, *map(repr, arguments[:2])]).encode() + b"\\n")


sys.addaudithook(_hook)
"""
EVIL = """\
import os
open(os.environ["AUDIT_LOG"] + ".ran", "a").write(__name__ + "\\n")
from opwright.plugin import Plugin
plugin = Plugin("evil", api=1)
"""
NAMES = ["./evil.py", "../../outside_plugin.py", "./evil_folder", "evil_module", "evil_package.part", "antigravity"]
HEAD = f"plugins: [{', '.join(NAMES)}]\n"
LIBRARY = f"namespace: mine\n{HEAD}operators:\n- func: one(Tensor x) -> Tensor\n  evil_key: 1\n"
BACKEND = f"backend: PrivateUse1\ncpp_namespace: mine\n{HEAD}evil_key: 1\nsupported:\n- add.out: {{evil_option: 1}}\n"

#: Command -> runs over the files of the project.
RUNS: dict[str, list[Sequence[str]]] = {
    "generate": [
        ("--library", "l.yaml", "--out", "out"),
        ("--backend", "b.yaml", "--out", "out"),
        ("--only", "headers", "--out", "out", "--dry-run"),
        ("--library", "l.yaml", "--out", "out", "--hermetic", "--source-path", "INPUTS"),
        ("--library", "l.yaml", "--out", "out", "--describe", "json"),
        ("--help",),
    ],
    "import": [
        ("ops.cpp", "--out", "imported.yaml"),
        ("ops.cpp", "--out", "l.yaml", "--check"),
        ("ops.cpp", "--backend", "--out", "b.yaml", "--check"),
    ],
    "port": [("ops.cpp", "--check"), ("ops.cpp", "--out", "ported")],
    "new": [("library", "fresh_ops", "fresh")],
    "check": [
        ("--isolated", "l.yaml", "b.yaml"),
        ("--isolated", "."),
        ("l.yaml",),
        ("--isolated", "--diff", "b.yaml"),
        ("--isolated", "--fix", "l.yaml"),
        ("--config", "pyproject.toml", "--format", "sarif", "l.yaml"),
        ("--stdin-filename", "l.yaml"),
    ],
    "format": [("l.yaml", "b.yaml"), ("--diff", "b.yaml")],
    "coverage": [("--backend", "b.yaml")],
    "conformance": [(".",)],
    "diff": [("l.yaml", "l.yaml")],
    "dump": [("--library", "l.yaml"), ("--backend", "b.yaml")],
    "lsp": [()],
    "plugins": [()],
    "releases": [("--offline",)],
    "select": [("selection.yaml", "--out", "selected.yaml")],
    "stubs": [("--library", "l.yaml", "--out", "stubs", "--namespace", "mine")],
    "upgraders": [("--bytecode", "upgraders.json", "--out", "out")],
    "where": [("out/a.h:1",)],
    "schema": [("backend",)],
    "completion": [("bash",)],
    "accept": [("l.yaml::one", "missing.py"), ("l.yaml::nothing", "ops.cpp")],
    "explain": [("add.Tensor",), ("E0303",), ("one", "--library", "l.yaml"), ("add.out", "--backend", "b.yaml")],
}


class Done(NamedTuple):
    """What a run gave."""

    returncode: int
    stdout: str
    stderr: str


class Stranger:
    """A folder whose files name plug-ins in all ways, and runs in it that are written down."""

    def __init__(self, folder: Path, inputs: Path) -> None:
        self.top = folder
        self.folder = folder / "deep" / "project"
        self.log = folder / "audit.log"
        self._inputs = inputs
        self._site = folder / "site"
        for path in ("deep/project/evil.py", "outside_plugin.py", "deep/project/evil_folder/__init__.py"):
            self._write(folder / path, EVIL)
        for path in ("evil_module.py", "evil_package/__init__.py", "evil_package/part.py"):
            self._write(self._site / path, EVIL)
        self._write(self.folder / "evil_folder" / "part.py", "")
        kernels = 'TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) { m.impl("abs", &mine::abs); }\n'
        self._write(
            self.folder / "ops.cpp", f'TORCH_LIBRARY(mine, m) {{ m.def("one(Tensor x) -> Tensor"); }}\n{kernels}'
        )
        self._write(self._site / "sitecustomize.py", AUDIT)
        for name, text in (("l.yaml", LIBRARY), ("b.yaml", BACKEND), ("selection.yaml", "operators: {}\n")):
            self._write(self.folder / name, text)
        self._write(self.folder / "pyproject.toml", f"[tool.opwright]\nplugins = {json.dumps(NAMES)}\n")
        # Python would find it if it looked into the working folder first.
        self._write(self.folder / "yaml.py", EVIL)

    def _write(self, path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    @property
    def environment(self) -> dict[str, str]:
        """The environment of runs."""
        return {**os.environ, "PYTHONPATH": str(self._site), "AUDIT_LOG": str(self.log)}

    def run(self, *words: str, text: str = "") -> Done:
        """A run of the program in the folder, in a copy of this process, which has imported most modules."""
        own = [str(self._inputs) if word == "INPUTS" else word for word in words]
        streams = [self.top / name for name in ("stdin", "stdout", "stderr")]
        streams[0].write_text(text)
        process = os.fork()
        if process == 0:
            try:
                for number, (path, mode) in enumerate(zip(streams, "rww", strict=True)):
                    os.dup2(
                        os.open(path, os.O_RDONLY if mode == "r" else os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number
                    )
                    setattr(sys, path.name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
                os.chdir(self.folder)
                os.environ.update(self.environment)
                sys.path.insert(0, str(self._site))
                exec(AUDIT, {})
                leave(lambda: main(own))
            finally:
                os._exit(99)
        status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        return Done(status, streams[1].read_text(), streams[2].read_text())

    def events(self) -> list[list[str]]:
        """What the runs imported, opened and started: event and arguments."""
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    def touched(self) -> list[list[str]]:
        """The events with something that a file names."""
        words = ("evil", "outside_plugin", "antigravity", "project/yaml.py")
        return [event for event in self.events() if any(word in text for text in event[1:] for word in words)]

    def started(self) -> list[list[str]]:
        """The programs that were started."""
        return [event for event in self.events() if event[0] not in ("import", "open")]

    @property
    def ran(self) -> list[str]:
        """The names of the modules of plug-ins that ran."""
        path = self.log.with_name("audit.log.ran")
        return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def stranger(tmp_path: Path, reference_inputs: Path) -> Stranger:
    """A stranger's folder."""
    return Stranger(tmp_path, reference_inputs)


def test_all_commands_are_run() -> None:
    """A command that is new has runs here."""
    assert RUNS.keys() == COMMANDS.keys()


@pytest.mark.parametrize("command", [command for command in RUNS if command != "lsp"])
def test_commands_run_nothing_that_a_file_names(command: str, stranger: Stranger) -> None:
    """No command imports or opens what files name as plug-ins, or starts a program, whatever it does with the files."""
    for words in RUNS[command]:
        done = stranger.run(command, *words, text=LIBRARY)
        assert "Traceback" not in done.stderr
        assert done.returncode != 70
        assert stranger.touched() == [], words
        # `port --check` compiles what it would write, without linking or running it.
        compiled = [event for event in stranger.started() if command == "port" and "-fsyntax-only" in event[2]]
        assert stranger.started() == compiled
    assert stranger.ran == []


def _rows_in_editor(stranger: Stranger, options: object = None) -> list[lsp.Diagnostic]:
    """The diagnostics that an editor shows of the backend file once all is checked."""

    async def session() -> list[lsp.Diagnostic]:
        how = Start(("lsp",), stranger.environment, stranger.folder, options)
        async with editor(stranger.folder, how) as own:
            uri = await own.open(stranger.folder / "b.yaml")
            return list(own.client.diagnostics[uri])

    return asyncio.run(asyncio.wait_for(session(), 120))


@pytest.mark.thorough
@pytest.mark.parametrize("options", [None, {"trusted": True}])
def test_an_editor_runs_nothing_that_an_open_file_names(stranger: Stranger, options: object) -> None:
    """Opening a file runs nothing of its folder; whatever it says of its workspace."""
    rows = _rows_in_editor(stranger, options)
    assert {row.code for row in rows} - {"W1370"} == {"E1302", "E1335", "E2314"}
    assert stranger.touched() == []
    # From Python 3.13 on, `subprocess` may start a process with `os.posix_spawn`, which is an event of its own.
    started = stranger.started()
    assert {event[0] for event in started} - {"os.posix_spawn"} == {"subprocess.Popen"}
    programs = [event[2] for event in started if event[0] == "subprocess.Popen"]
    assert [words for words in programs if "'lsp', '--check'" not in words] == [], "the server's checks"
    assert stranger.ran == []


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("words", "places"),
    [
        (("check", "l.yaml"), ["pyproject.toml:2:1"]),
        (("check", "--isolated", "l.yaml", "b.yaml"), ["b.yaml:3:1", "l.yaml:2:1"]),
        (("generate", "--library", "l.yaml", "--out", "out"), ["l.yaml:2:1"]),
        (("generate", "--backend", "b.yaml", "--out", "out"), ["b.yaml:3:1"]),
    ],
)
def test_a_file_that_names_plugins_is_an_error(
    stranger: Stranger, words: tuple[str, ...], places: Sequence[str]
) -> None:
    """The error is at the key, and says where plug-ins are named; nothing is written."""
    done = stranger.run(*words)
    said = done.stdout + done.stderr
    assert done.returncode == 1
    assert re.findall(r"error\[E2314\]: .*\n +--> (.*)", said) == places
    assert said.count("--plugin NAME") == len(places)
    assert not (stranger.folder / "out").exists()


@pytest.mark.parametrize("command", [("check", "l.yaml"), ("generate", "--library", "l.yaml", "--out", "out")])
def test_the_command_line_names_plugins(stranger: Stranger, command: tuple[str, ...]) -> None:
    """`--plugin` runs a plug-in, and no other one."""
    (stranger.folder / "pyproject.toml").unlink()
    (stranger.folder / "l.yaml").write_text("namespace: mine\noperators: []\n")
    assert stranger.run(*command).returncode == 0
    assert stranger.ran == []
    assert stranger.run(*command, "--plugin", "../project/evil.py").returncode == 0
    assert len(stranger.ran) == 1
    assert stranger.ran[0].endswith("_evil")


def test_a_build_names_plugins(stranger: Stranger, monkeypatch: pytest.MonkeyPatch) -> None:
    """`setup.py` names the plug-ins of its build; those that a file of the package names do not run."""
    monkeypatch.chdir(stranger.folder)
    monkeypatch.setenv("AUDIT_LOG", str(stranger.log))
    library = SourceFile.read("l.yaml")
    with pytest.raises(FaultsFound, match="E2314"):
        update_code([library], "built")
    assert stranger.ran == []
    try:
        update_code([SourceFile("l.yaml", "namespace: mine\noperators: []\n")], "built", plugins=["evil.py"])
    finally:
        ensure_active(())
    assert len(stranger.ran) == 1
    extension = operator_library("mine", yaml="l.yaml", sources=[], plugins=["evil.py"])["ext_modules"][0]
    assert extension.plugins == ("evil.py",)


def test_python_finds_no_modules_in_the_working_folder(stranger: Stranger) -> None:
    """`python -m opwright` imports nothing from the folder that it works in, once it runs."""
    command = [sys.executable, "-m", "opwright", "check", "--isolated", "l.yaml"]
    subprocess.run(command, cwd=stranger.folder, env=stranger.environment, capture_output=True, check=False)
    assert any("read_text" in text or "l.yaml" in text for event in stranger.events() for text in event)
    assert stranger.touched() == []
    assert stranger.ran == []
