"""What strangers say reaches a terminal without control characters."""

from __future__ import annotations

import ast
import io
import signal
import time
from pathlib import Path

import pytest

from opwright.cli.main import main
from opwright.source import terminal
from opwright.source.terminal import print_rendered, say, slow, tell

SOURCES = Path(__file__).parents[2] / "src" / "opwright"
#: The functions that print, and what runs before anything can be imported.
PRINTING = {"source/terminal.py", "__init__.py"}
#: A warning about a name of the API, which has no text of a stranger.
ALLOWED = "warnings.warn(message, DeprecationWarning, stacklevel=2)"
#: Characters that erase a line, move the cursor, set the title, change the direction, and end a line.
CONTROLS = "\x1b[2K\r\x1b[1A\x9b1m\x1b]0;x\x07\u202e\x7f\x08\u2028"
EVIL = f"evil{CONTROLS}\nlies"


def prints(tree: ast.Module) -> list[int]:
    """The lines of a module that write to standard output or standard error, or end with a text that says what it is.

    A text at the end of a program has values with a conversion: `!a` for those of strangers.
    """
    streams = ("sys.stdout", "sys.stderr", "sys.__stdout__", "sys.__stderr__")
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and (
            ast.unparse(node.func) == "print"
            or (
                isinstance(node.func, ast.Attribute)
                and node.func.attr in ("write", "writelines")
                and ast.unparse(node.func.value).removesuffix(".buffer") in streams
            )
            or (
                ast.unparse(node.func) in ("sys.exit", "SystemExit")
                and any(isinstance(part, ast.FormattedValue) and part.conversion < 0 for part in ast.walk(node))
            )
            or ast.unparse(node.func) in ("traceback.print_exc", "warnings.warn")
        )
    ]


@pytest.mark.thorough
def test_only_one_module_prints() -> None:
    """All other modules print by its functions, which make control characters visible."""
    assert prints(ast.parse("print(1)\nimport sys\nsys.stderr.write('')\nsys.stdout.buffer.write(b'')")) == [1, 3, 4]
    assert prints(ast.parse("sys.exit(f'{path}')\nraise SystemExit(f'{path!a}')\nwarnings.warn(path)")) == [1, 3]
    found = [
        (path.relative_to(SOURCES).as_posix(), text.splitlines()[line - 1].strip())
        for path in SOURCES.rglob("*.py")
        if path.relative_to(SOURCES).as_posix() not in PRINTING
        for text in [path.read_text(encoding="utf-8")]
        for line in prints(ast.parse(text))
    ]
    assert found == [("plugin.py", ALLOWED)]


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        """It is one."""
        return True


def test_control_characters_are_visible(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines have none; of a report, a terminal gets colours and links, and a pipe all of it."""
    out, error = Terminal(), Terminal()
    monkeypatch.setattr("sys.stdout", out)
    monkeypatch.setattr("sys.stderr", error)
    tell(EVIL, "second")
    say(f"{EVIL}\n")
    link = "\x1b]8;;file:///a\x1b\\a\x1b]8;;\x1b\\"
    print_rendered(f"\x1b[1;31mred\x1b[0m {link} {CONTROLS}\n")
    first, second, report = out.getvalue().splitlines()
    assert (second, first.isprintable()) == ("second", True)
    assert all(line.isprintable() for line in error.getvalue().split("\n"))
    assert report.startswith(f"\x1b[1;31mred\x1b[0m {link} ")
    assert report.removeprefix(f"\x1b[1;31mred\x1b[0m {link} ").isprintable()
    pipe = io.StringIO()
    monkeypatch.setattr("sys.stdout", pipe)
    print_rendered(CONTROLS)
    assert pipe.getvalue() == CONTROLS


def test_inputs_bring_no_colours_and_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a command prints of inputs, or of their names, has neither colours nor links of theirs on a terminal."""
    monkeypatch.chdir(tmp_path)
    hidden = "\x1b[8m hidden \x1b]8;;http://example.org/\x1b\\link\x1b]8;;\x1b\\"
    Path("csrc").mkdir()
    Path("csrc/a.cpp").write_text(
        f"#include <torch/extension.h>\nat::Tensor f(at::Tensor a) {{ return at::abs(a); }} // {hidden}\n"
    )
    Path("acme.yaml").write_text("namespace: acme\noperators:\n- func: f(Tensor a) -> Tensor\n")
    out = "out\x1b[8m"
    for command in (
        ["port", "csrc", "--diff"],
        ["generate", "--library", "acme.yaml", "--out", out, "--list-outputs"],
        ["generate", "--library", "acme.yaml", "--out", out, "--dry-run"],
    ):
        terminal = Terminal()
        monkeypatch.setattr("sys.stdout", terminal)
        assert main(command) == 0
        assert "[8m" in terminal.getvalue()
        assert "\x1b" not in terminal.getvalue()


@pytest.mark.thorough
def test_names_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A source whose name erases lines is shown with its name, by commands that list places of sources."""
    monkeypatch.chdir(tmp_path)
    name = f"{EVIL}.cpp"
    Path(name).write_text(
        'TORCH_LIBRARY(acme, m) { m.def("f(Tensor a) -> Tensor"); m.impl("f", [] {}); m.fallback(g); }\n'
        "at::Tensor f(at::Tensor a) { return a.unknown(); }\n"
    )
    for words in (
        ["import", name, "--out", "o.yaml"],
        ["port", name, "--check"],
    ):
        main(words)
        printed = capsys.readouterr()
        assert "evil" in printed.out
        for line in (printed.out + printed.err).split("\n"):
            assert line.isprintable()
            assert not line.startswith("lies")


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        """It is one."""
        return True


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no such timer")
def test_what_takes_long_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal the innermost context speaks when its time is over; quick ones and those without a text do not."""
    screen = Screen()
    monkeypatch.setattr(terminal, "PATIENCE", 600)
    monkeypatch.setattr("sys.stderr", screen)
    with slow("working"):
        with slow("reading"):
            signal.raise_signal(signal.SIGALRM)
        with slow("quick"):
            pass
        with slow(""):
            signal.raise_signal(signal.SIGALRM)
        signal.raise_signal(signal.SIGALRM)
    assert screen.getvalue() == "reading\nworking\n"


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no such timer")
def test_the_time_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """The system's timer lets a context speak once; what logs others keep has nothing of it, and no timer."""
    screen = Screen()
    monkeypatch.setattr(terminal, "PATIENCE", 0.05)
    monkeypatch.setattr("sys.stderr", screen)
    with slow("reading"):
        while not screen.getvalue():
            time.sleep(0.01)
        time.sleep(0.1)
    time.sleep(0.1)
    assert screen.getvalue() == "reading\n"
    monkeypatch.setattr("sys.stderr", io.StringIO())
    handler = signal.getsignal(signal.SIGALRM)
    with slow("reading"):
        assert signal.getsignal(signal.SIGALRM) is handler
