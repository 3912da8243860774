"""Files declare plug-ins, people allow them: a run imports, opens and starts nothing else that a file names."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from lsprotocol import types as lsp

import opwright
from opwright.cli.main import COMMANDS, main
from opwright.cli.streams import leave
from opwright.libraries.extension.generated import update_code
from opwright.plugins.use import ensure_active
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
        ("l.yaml", "b.yaml"),
        (".",),
        ("--isolated", "l.yaml"),
        ("--diff", "b.yaml"),
        ("--fix", "l.yaml"),
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
    "trust": [("--list",), (".",), ("--remove", ".")],
    "upgraders": [("--bytecode", "upgraders.json", "--out", "out")],
    "where": [("out/a.h:1",)],
    "schema": [("backend",)],
    "completion": [("bash",)],
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
        self._config = folder / "config"
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
        own = {"PYTHONPATH": str(self._site), "AUDIT_LOG": str(self.log), "OPWRIGHT_CONFIG_DIR": str(self._config)}
        return {**os.environ, **own}

    def run(self, *words: str, text: str = "", **variables: str) -> Done:
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
                os.environ.update({**self.environment, **variables})
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
    """No command imports or opens a plug-in that files name, or starts a program, whatever it does with the files."""
    for words in RUNS[command]:
        done = stranger.run(command, *words, text=LIBRARY)
        assert "Traceback" not in done.stderr
        assert done.returncode != 70
        if command == "trust" and words == (".",):
            # It reads what it is asked to trust, and imports nothing.
            assert all(event[0] != "import" for event in stranger.touched())
            stranger.log.unlink()
            continue
        assert stranger.touched() == [], words
        assert stranger.started() == []
    assert stranger.ran == []


def _rows_in_editor(stranger: Stranger, options: object = None, words: Sequence[str] = ()) -> list[lsp.Diagnostic]:
    """The diagnostics that an editor shows of the backend file once all is checked."""

    async def session() -> list[lsp.Diagnostic]:
        how = Start(("lsp", *words), stranger.environment, stranger.folder, options)
        async with editor(stranger.folder, how) as own:
            uri = await own.open(stranger.folder / "b.yaml")
            return list(own.client.diagnostics[uri])

    return asyncio.run(asyncio.wait_for(session(), 120))


@pytest.mark.parametrize("options", [None, {"trusted": False}, {"trusted": "yes"}])
def test_an_editor_runs_nothing_that_an_open_file_names(stranger: Stranger, options: object) -> None:
    """Opening a file runs nothing of its folder; the editor shows which plug-ins are not loaded."""
    rows = _rows_in_editor(stranger, options)
    assert {row.code for row in rows} - {"W1370"} == {"W2314"}
    assert stranger.touched() == []
    # From Python 3.13 on, `subprocess` may start a process with `os.posix_spawn`, which is an event of its own.
    started = stranger.started()
    assert {event[0] for event in started} - {"os.posix_spawn"} == {"subprocess.Popen"}
    programs = [event[2] for event in started if event[0] == "subprocess.Popen"]
    assert [words for words in programs if "'lsp', '--check'" not in words] == [], "the server's own checks"
    assert stranger.ran == []


def test_an_editor_may_trust_its_workspace(stranger: Stranger) -> None:
    """If the editor says that it trusts the workspace, the server and its checks use the plug-ins of its files."""
    for name in ("antigravity", "../../outside_plugin.py", "./evil_folder", "evil_module", "evil_package.part"):
        for path in (stranger.folder / "b.yaml", stranger.folder / "pyproject.toml"):
            path.write_text(path.read_text().replace(f", {name}", "").replace(f', "{name}"', ""))
    assert {row.code for row in _rows_in_editor(stranger, {"trusted": True})} == {"E1302", "E1335", "W1370"}
    assert len(stranger.ran) == 2, "in the server and in its check"


@pytest.mark.parametrize("words", [("check", "l.yaml"), ("generate", "--library", "l.yaml", "--out", "out")])
def test_one_diagnostic_says_how_to_allow_plugins(stranger: Stranger, words: tuple[str, ...]) -> None:
    """Plug-ins that are not loaded are one diagnostic: an error where the outputs need them, else a warning."""
    done = stranger.run(*words)
    said = done.stdout + done.stderr
    assert done.returncode == 1
    assert said.count("2314]") == 1
    assert ("error[E2314]" if words[0] == "generate" else "warning[W2314]") in said
    for name in ("evil.py", "../../outside_plugin.py", "evil_module", "antigravity"):
        assert f"`{name}`" in said or f"`./{name}`" in said
    for way in ("opwright trust", "--plugin", "--no-plugins"):
        assert way in said
    assert "unknown" not in said
    assert not (stranger.folder / "out").exists()


def _one_name(stranger: Stranger, name: str = "./evil.py") -> None:
    """Let the library file alone name plug-ins, and only this one."""
    (stranger.folder / "pyproject.toml").unlink()
    path = stranger.folder / "l.yaml"
    path.write_text(path.read_text().replace(HEAD, f"plugins: [{name}]\n").replace("  evil_key: 1\n", ""))


CHECK = ("check", "l.yaml")
GENERATE = ("generate", "--library", "l.yaml", "--out", "out")


@pytest.mark.parametrize("command", [CHECK, GENERATE])
def test_the_command_line_allows_a_plugin(stranger: Stranger, command: tuple[str, ...]) -> None:
    """`--plugin` allows what a file names too, for the same file under any path, and no other plug-in."""
    _one_name(stranger)
    done = stranger.run(*command, "--plugin", "../project/evil.py")
    assert (done.returncode, stranger.ran) == (0, [stranger.ran[0]])
    assert stranger.run(*command, "--plugin", "evil_module").returncode == 1
    assert len(stranger.ran) == (1 if command is GENERATE else 2)


@pytest.mark.parametrize("command", [CHECK, GENERATE])
def test_the_environment_of_a_build_allows_plugins(stranger: Stranger, command: tuple[str, ...]) -> None:
    """`OPWRIGHT_ALLOW_PLUGINS` has folders whose files may name plug-ins; others may not."""
    _one_name(stranger, "../../outside_plugin.py")
    elsewhere = os.pathsep.join([str(stranger.folder / "evil_folder"), str(stranger.folder) + "s", ""])
    assert stranger.run(*command, OPWRIGHT_ALLOW_PLUGINS=elsewhere).returncode == 1
    assert stranger.ran == []
    assert stranger.run(*command, OPWRIGHT_ALLOW_PLUGINS=str(stranger.folder)).returncode == 0
    assert len(stranger.ran) == 1


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("./evil.py", "deep/project/evil.py"),
        ("./evil_folder", "deep/project/evil_folder/part.py"),
        ("evil_module", "site/evil_module.py"),
        ("evil_package.part", "site/evil_package/part.py"),
    ],
)
def test_trust_lasts_until_the_sources_change(stranger: Stranger, name: str, source: str) -> None:
    """`opwright trust` allows a plug-in without importing it, and asks again when a file of it changed."""
    _one_name(stranger, name)
    assert "allowed for files below" in stranger.run("trust", ".").stdout
    assert stranger.ran == []
    assert stranger.run(*CHECK).returncode == 0
    assert stranger.run(*GENERATE).returncode == 0
    ran = len(stranger.ran)
    assert ran
    path = stranger.top / source
    path.write_text(path.read_text() + "# other\n")
    done = stranger.run("generate", "--library", "l.yaml", "--out", "other")
    assert done.returncode == 1
    assert f"`{name}` changed since you trusted it" in done.stderr
    assert "changed since, not allowed" in stranger.run("trust", "--list").stdout
    assert len(stranger.ran) == ran
    stranger.run("trust", ".")
    assert stranger.run(*CHECK).returncode == 0
    assert stranger.run("trust", "--remove", ".").returncode == 0
    assert stranger.run("trust", "--list").stdout == "no plug-in is allowed\n"
    assert stranger.run(*CHECK).returncode == 1


def test_trust_is_for_the_file_that_runs(stranger: Stranger) -> None:
    """If the module of a plug-in is a link, its neighbours are those of the file it leads to, whose sources count."""
    _one_name(stranger, "./linked")
    real, linked = stranger.folder / "real", stranger.folder / "linked"
    for folder in (real, linked):
        folder.mkdir()
    (real / "__init__.py").write_text(
        "from opwright.plugin import Plugin\nfrom .helper import NAME\nplugin = Plugin(NAME, api=1)\n"
    )
    (real / "helper.py").write_text("NAME = 'good'\n")
    (linked / "helper.py").write_text(EVIL + "NAME = 'good'\n")
    (linked / "__init__.py").symlink_to(real / "__init__.py")
    assert "allowed for files below" in stranger.run("trust", ".").stdout
    assert stranger.run(*CHECK).returncode == 0
    assert stranger.ran == []


def test_trust_holds_below_its_folder(stranger: Stranger) -> None:
    """A file elsewhere that names a trusted plug-in does not run it, also through a link into the folder."""
    _one_name(stranger)
    stranger.run("trust", ".")
    other = stranger.folder.with_name("other")
    other.mkdir()
    (other / "l.yaml").write_text("namespace: mine\nplugins: [../project/evil.py]\noperators: []\n")
    (stranger.folder / "link.yaml").symlink_to(other / "l.yaml")
    for path in ("../other/l.yaml", "link.yaml"):
        assert "W2314" in stranger.run("check", path).stdout
    assert stranger.ran == []


@pytest.mark.parametrize("flags", [("--no-plugins",), ("--isolated",)])
def test_flags_that_outweigh_trust(stranger: Stranger, flags: tuple[str, ...]) -> None:
    """`--no-plugins` uses no plug-in that a file names and says nothing of it; `--isolated` uses no trust."""
    _one_name(stranger)
    stranger.run("trust", ".")
    done = stranger.run(*CHECK, *flags)
    assert done.returncode == (0 if flags == ("--no-plugins",) else 1)
    assert stranger.ran == []
    allowed = stranger.run(*CHECK, "--plugin", "./evil.py", *flags)
    assert (allowed.returncode, len(stranger.ran)) == (0, 1)


def test_a_generation_without_a_plugin_loses_no_key(stranger: Stranger) -> None:
    """With `--no-plugins`, the keys of a plug-in are unknown in a generation: its outputs would lack what they ask."""
    done = stranger.run(*GENERATE, "--no-plugins")
    assert done.returncode == 1
    assert "unknown field `evil_key`" in done.stderr
    assert "2314" not in done.stderr


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": 2}', '{"version": 1, "folders": {"/": 1}}', "[" * 9999])
def test_a_damaged_file_of_trust(stranger: Stranger, text: str) -> None:
    """A damaged file allows nothing, and `opwright trust` does not replace it."""
    path = stranger.top / "config" / "trust.json"
    path.parent.mkdir()
    path.write_text(text)
    assert "W2314" in stranger.run(*CHECK).stdout
    for words in ((".",), ("--list",), ("--remove", ".")):
        done = stranger.run("trust", *words)
        assert done.returncode == 1
        assert "E2315" in done.stderr
    assert path.read_text() == text


def test_trust_of_what_does_not_exist(stranger: Stranger) -> None:
    """A plug-in that does not exist is an error at its name, and nothing is trusted."""
    _one_name(stranger, "./gone.py")
    done = stranger.run("trust", ".")
    assert done.returncode == 1
    assert "E2301" in done.stderr
    assert "l.yaml:2:11" in done.stderr
    assert stranger.run("trust", "--list").stdout == "no plug-in is allowed\n"
    assert stranger.run("trust").returncode == 2


def test_a_build_runs_the_plugins_of_its_author(stranger: Stranger, monkeypatch: pytest.MonkeyPatch) -> None:
    """`opwright.setuptools` uses the plug-ins that the files of its package name; requests of programs do not."""
    _one_name(stranger)
    monkeypatch.chdir(stranger.folder)
    monkeypatch.setenv("AUDIT_LOG", str(stranger.log))
    library = SourceFile.read("l.yaml")
    folders = opwright.build_folders("out", ("library",))
    request = opwright.Request(opwright.open_inputs(), folders, ("library",), libraries=(library,))
    with pytest.raises(opwright.Fault, match="E2314"):
        opwright.generate(request, "out", jobs=1)
    assert stranger.ran == []
    try:
        update_code([library], "built")
    finally:
        ensure_active(())
    assert len(stranger.ran) == 1


def test_python_finds_no_modules_in_the_working_folder(stranger: Stranger) -> None:
    """`python -m opwright` imports nothing from the folder that it works in, once it runs."""
    command = [sys.executable, "-m", "opwright", *CHECK]
    subprocess.run(command, cwd=stranger.folder, env=stranger.environment, capture_output=True, check=False)
    assert any("read_text" in text or "l.yaml" in text for event in stranger.events() for text in event)
    assert stranger.touched() == []
    assert stranger.ran == []
