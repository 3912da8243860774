"""What a program says always arrives, or fails without a traceback."""

from __future__ import annotations

import gc
import io
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import pytest

from opwright.cli import console, streams
from opwright.source.codes import NEWER_RELEASE, NO_SUCH_LINE
from opwright.source.diagnostic import Diagnostic, Diagnostics, Fault, Severity

FAULTY = ["generate", "--source-path", "nowhere", "--out", "x"]
DECLARATIONS = ["generate", "--torch", "auto", "--only", "declarations_yaml", "--out"]


def run(
    *arguments: object, stdout: int | None = subprocess.PIPE, **environment: str
) -> subprocess.CompletedProcess[str]:
    """The program's run with more variables in its environment."""
    return run_module("opwright", arguments, environment, stdout)


def run_module(
    module: str, arguments: Iterable[object], environment: Mapping[str, str], stdout: int | None = subprocess.PIPE
) -> subprocess.CompletedProcess[str]:
    """A module's run with more variables in its environment."""
    command = [sys.executable, "-m", module, *map(os.fspath, map(str, arguments))]
    variables = {**os.environ, **environment}
    return subprocess.run(
        command, stdout=stdout, stderr=subprocess.PIPE, text=True, errors="replace", env=variables, check=False
    )


@pytest.mark.thorough
@pytest.mark.parametrize("encoding", ["ascii", "utf-8:strict"])
@pytest.mark.skipif(sys.platform != "linux", reason="paths are bytes on Linux only")
def test_a_path_that_the_terminal_cannot_spell(tmp_path: Path, encoding: str) -> None:
    """A folder's name that the output's encoding has no form for is escaped, the first time and the second."""
    for _ in range(2):
        done = run(*DECLARATIONS, tmp_path / os.fsdecode(b"fr\xc3\xbch\xff"), PYTHONIOENCODING=encoding)
        assert done.returncode == 0, done.stderr
        assert "\\udcff" in done.stdout


@pytest.mark.thorough
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_full_disk_behind_the_output(tmp_path: Path) -> None:
    """What cannot be printed is told on standard error in one line, the first time and the second."""
    with open("/dev/full", "w") as full:
        for _ in range(2):
            done = run(*DECLARATIONS, tmp_path, stdout=full.fileno())
            assert done.returncode == 1
            assert done.stderr.count("\n") == 1, done.stderr
            assert "No space left" in done.stderr


@pytest.mark.thorough
@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
@pytest.mark.parametrize("redirection", [">&-", ">&- 2>&-", "| true", "2>&1 | true"])
def test_nobody_listens(tmp_path: Path, redirection: str) -> None:
    """Streams that are closed, or whose reader is gone, change nothing."""
    command = " ".join([sys.executable, "-m opwright", *DECLARATIONS, f"'{tmp_path}'", redirection])
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "aten" / "src" / "ATen" / "Declarations.yaml").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="needs a pseudo-terminal")
@pytest.mark.parametrize(
    ("options", "variables", "colored"),
    [
        ([], {}, True),
        ([], {"NO_COLOR": "1"}, False),
        ([], {"NO_COLOR": ""}, True),
        ([], {"TERM": "dumb"}, False),
        ([], {"TERM": "dumb", "FORCE_COLOR": "1"}, True),
        (["--color", "auto"], {}, True),
        (["--color", "never"], {"FORCE_COLOR": "1"}, False),
        (["--color", "always"], {"NO_COLOR": "1"}, True),
    ],
)
def test_color_on_a_terminal(options: list[str], variables: dict[str, str], colored: bool) -> None:
    """Diagnostics have colours on a terminal that can show them, unless the user wants none."""
    text = on_terminal([*FAULTY, *options], {"TERM": "xterm", **variables})
    assert "there is no folder" in text
    assert ("\x1b[" in text) is colored


@pytest.mark.parametrize(
    ("options", "variables", "colored"),
    [
        ([], {}, False),
        ([], {"FORCE_COLOR": "1"}, True),
        ([], {"FORCE_COLOR": ""}, False),
        ([], {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        (["--color=always"], {}, True),
        (["--color=never"], {"FORCE_COLOR": "1"}, False),
    ],
)
def test_color_in_a_file(options: list[str], variables: dict[str, str], colored: bool) -> None:
    """A log has no colours, unless the user wants them: an explicit choice rules, then NO_COLOR, then FORCE_COLOR."""
    done = run_module("opwright", [*FAULTY, *options], {"NO_COLOR": "", "FORCE_COLOR": "", **variables})
    assert "there is no folder" in done.stderr
    assert ("\x1b[" in done.stderr) is colored


def test_color_of_a_drop_in() -> None:
    """The programs with the command lines of PyTorch's generator follow the variables."""
    variables = {"FORCE_COLOR": "1", "NO_COLOR": ""}
    done = run_module("opwright.torchgen.gen", ["--source-path", "nowhere"], variables)
    assert "\x1b[" in done.stderr


@pytest.mark.thorough
def test_color_of_what_is_said_again(tmp_path: Path) -> None:
    """A run with nothing to do repeats the warnings of the last one, with colours if they are wanted now."""
    shown = [
        run(*DECLARATIONS, tmp_path, "--release", "99.0", "--color", choice).stderr
        for choice in ("never", "always", "never")
    ]
    assert "note[W0501]" in shown[0]
    assert "\x1b[1;32mnote" in shown[1]
    assert shown[0] == shown[2] == re.sub(r"\x1b\[[0-9;]*m", "", shown[1])


@pytest.mark.skipif(sys.platform != "linux", reason="needs a pseudo-terminal")
def test_progress_on_a_terminal(tmp_path: Path) -> None:
    """A run shows a bar on a terminal, and takes it away before the summary."""
    text = on_terminal([*DECLARATIONS, str(tmp_path)], {"TERM": "xterm"})
    assert "writing" in text
    assert text.index("writing") < text.rindex("\x1b[2K") < text.index("3,101 operators, 1 file below")


def on_terminal(arguments: list[str], variables: dict[str, str]) -> str:
    """What the program shows on a terminal of its own."""
    import pty

    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "opwright", *arguments],
        stdin=theirs, stdout=theirs, stderr=theirs, env={**kept, **variables},
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 4096):
            shown += piece
    except OSError:
        pass  # On Linux the end of a terminal's other side is an error.
    finally:
        os.close(ours)
        process.wait()
    return shown.decode()


def take_signals() -> None:
    """Let signals end the process, whatever the process that runs the tests ignores."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc to see that the run has begun")
@pytest.mark.parametrize(
    ("number", "status", "said"),
    [
        (signal.SIGINT, 130, "opwright: interrupted\n"),
        (signal.SIGTERM, 143, "opwright: ended by SIGTERM\n"),
        (signal.SIGHUP, 129, "opwright: ended by SIGHUP\n"),
    ],
)
def test_a_run_that_is_stopped(tmp_path: Path, number: signal.Signals, status: int, said: str) -> None:
    """A signal ends a run in order: its exit status and a line tell so, and no file of it is left."""
    command = [sys.executable, "-m", "opwright", "generate", "--torch", "auto", "--out", str(tmp_path)]
    run = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=take_signals,
    )
    while not any(tmp_path.glob("aten/src/ATen/**/*.h")):
        assert run.poll() is None
        time.sleep(0.01)
    os.killpg(run.pid, number)
    assert run.communicate()[1] == said
    assert run.returncode == status
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [tmp_path / ".opwright" / "lock"]
    assert not list(tmp_path.rglob(".opwright-*"))


def _raised(error: BaseException) -> Callable[[Diagnostics], int]:
    def command(sink: Diagnostics) -> int:
        raise error

    return command


def _reported(status: int, code: str) -> Callable[[Diagnostics], int]:
    def command(sink: Diagnostics) -> int:
        sink.add(Diagnostic(code, Severity.ERROR if code.startswith("E") else Severity.WARNING, "told"))
        return status

    return command


FAULT = Fault.at(NO_SUCH_LINE, "told")


@pytest.mark.parametrize(
    ("command", "status", "said"),
    [
        (lambda _: 0, 0, ""),
        (lambda _: 2, 2, ""),
        (_reported(0, NO_SUCH_LINE), 1, f"error[{NO_SUCH_LINE}]: told\n"),
        (_reported(2, NO_SUCH_LINE), 2, f"error[{NO_SUCH_LINE}]: told\n"),
        (_reported(0, NEWER_RELEASE), 0, f"warning[{NEWER_RELEASE}]: told\n"),
        (_raised(FAULT), 1, f"error[{NO_SUCH_LINE}]: told\n"),
        (_raised(BrokenPipeError()), 0, ""),
        (_raised(SystemExit(0)), 1, "opwright: a plug-in ended the run before it was done\n"),
        (_raised(OSError(24, "Too many open files")), 1, "opwright: [Errno 24] Too many open files\n"),
        (_raised(MemoryError()), 1, "opwright: there is not enough memory for this run\n"),
        (_raised(KeyboardInterrupt()), 130, "opwright: interrupted\n"),
    ],
)
def test_how_a_command_ends(
    command: Callable[[Diagnostics], int], status: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each way to end has its exit status and its lines, and what a command returns is not made better."""
    assert console.run(command, "never") == status
    gc.enable()
    assert capsys.readouterr() == ("", said)


def test_a_bug_of_ours_is_called_one(capsys: pytest.CaptureFixture[str]) -> None:
    """Any other error is a bug, with the lines that a report needs; argparse's endings pass."""
    assert console.run(_raised(ZeroDivisionError("here")), "never") == 70
    printed = capsys.readouterr().err.splitlines()
    assert printed[0] == "Traceback (most recent call last):"
    assert printed[-2:] == ["ZeroDivisionError: here", console._REPORT_A_BUG]
    with pytest.raises(SystemExit):
        console.run(_raised(SystemExit(2)))
    gc.enable()


def test_signals_are_those_of_before_afterwards() -> None:
    """A signal interrupts the command once, and later ones do not stop what cleans up; ignored ones stay ignored."""
    seen: list[str] = []

    def command(sink: Diagnostics) -> int:
        try:
            signal.raise_signal(signal.SIGTERM)
        finally:
            signal.raise_signal(signal.SIGTERM)
            seen.append("cleaned up")
        return 0

    def ignored(sink: Diagnostics) -> int:
        signal.raise_signal(signal.SIGHUP)
        return 0

    before = signal.getsignal(signal.SIGTERM)
    handlers = {}
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        assert console.run(command) == 143
        assert console.run(ignored) == 0
        handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    finally:
        gc.enable()
        signal.signal(signal.SIGTERM, before)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    assert seen == ["cleaned up"]
    assert handlers == {signal.SIGTERM: signal.SIG_DFL, signal.SIGHUP: signal.SIG_IGN}


@pytest.mark.parametrize(
    ("variables", "terminal", "colored", "linked"),
    [
        ({}, True, True, True),
        ({}, False, False, False),
        ({"TERM": "dumb"}, True, False, False),
        ({"NO_COLOR": "1"}, True, False, True),
        ({"NO_COLOR": "", "FORCE_COLOR": "1"}, False, True, False),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False, True),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, False, True, False),
        ({"FORCE_HYPERLINK": "1"}, False, False, True),
        ({"FORCE_HYPERLINK": "0"}, True, True, False),
    ],
)
def test_colors_and_links_of_a_stream(
    variables: dict[str, str], terminal: bool, colored: bool, linked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Variables go before what the stream is, and an explicit choice before both."""
    for name in ("NO_COLOR", "FORCE_COLOR", "FORCE_HYPERLINK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: terminal)
    assert (streams.wants_color("auto", stream), streams.wants_links(stream)) == (colored, linked)
    assert (streams.wants_color("always", stream), streams.wants_color("never", stream)) == (True, False)


def test_a_package_that_is_missing_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """The line says which command needs what, and how to get it."""
    assert console.report_missing("pygls", "lsp", "opwright[lsp]") == 2
    said = "opwright lsp: error: it needs the package pygls: pip install 'opwright[lsp]'\n"
    assert capsys.readouterr() == ("", said)
