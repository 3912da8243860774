"""What first readers type, and what it takes: `python -m tests.readers` prints a table of processor seconds.

A passer-by runs the demonstration, an author of operators follows the guide in an empty folder, builds a new project
and edits its kernel, a program follows the page for programs, somebody has six errors, an editor asks the language
server, and a reader of the pages tries forty of their commands.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from docs.reference import parser_of
from opwright.cli.main import main as opwright
from tests.pages.commands import written_commands
from tests.pages.page import Page
from tests.pages.test_troubleshooting import PROGRAM, SYMPTOMS

ROOT = Path(__file__).resolve().parents[2]
RELEASE = "2.13.0"
#: The edit of a kernel, and a call that shows it.
EDIT = ("std::tanh(value / limit)", "std::sin(value / limit)")
CALL = "import torch, acme_ops; print(acme_ops.soft_clip(torch.ones(1)))"


def run(*words: str, folder: Path, path: str = "", statuses: tuple[int, ...] = (0,)) -> str:
    """The output of a program; an error if it ends with another status."""
    environment = {**os.environ, "PYTHONPATH": path} if path else {**os.environ}
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode not in statuses:
        raise RuntimeError(f"{' '.join(words)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def processor_seconds() -> float:
    """What this process and the programs that it ran have taken of the processor."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def passer_by(folder: Path) -> Iterator[str]:
    """The demonstration, and what it offers to look at next."""
    program = (sys.executable, "-m", "opwright")
    run(*program, "generate", "--torch", RELEASE, "--out", "build/pytorch", folder=folder)
    yield "make demo"
    run(*program, "explain", "add.Tensor", "--torch", RELEASE, folder=folder)
    # The status says that something breaks.
    run(*program, "diff", "2.12.1", RELEASE, folder=folder, statuses=(0, 1))
    yield "what it offers next"


def author(folder: Path) -> Iterator[str]:
    """The guide in an empty folder, a new project with its tests, and an edit of its kernel to the next call."""
    Page(ROOT / "docs" / "guide.md", folder).run()
    yield "the guide"
    project = folder / "project"
    run(sys.executable, "-m", "opwright", "new", "library", "acme_ops", str(project), folder=folder)
    build = (sys.executable, "setup.py", "--quiet", "build_ext", "--inplace")
    run(*build, folder=project)
    run(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", folder=project, path=str(project / "src"))
    yield "a new project, built and tested"
    kernels = project / "csrc" / "kernels.cpp"
    kernels.write_text(kernels.read_text(encoding="utf-8").replace(*EDIT), encoding="utf-8")
    run(*build, folder=project)
    if "0.8415" not in run(sys.executable, "-c", CALL, folder=project, path=str(project / "src")):
        raise RuntimeError("the call does not show the edit")
    yield "an edit of its kernel to the next call"


def program(folder: Path) -> Iterator[str]:
    """The page for programs that write operators, in an empty folder."""
    Page(ROOT / "docs" / "agents.md", folder).run()
    yield "the page for programs"


def puzzled(folder: Path) -> Iterator[str]:
    """Errors of PyTorch, of which the page on troubleshooting has the texts."""
    printed = run(sys.executable, "-c", PROGRAM, folder=folder)
    page = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    for symptom in SYMPTOMS[2:8]:
        if symptom not in page or symptom.replace("'soft_clip'", "'other'") not in printed:
            raise RuntimeError(f"`{symptom}` is not what PyTorch says, or not on the page")
    yield "six symptoms"


def editor(folder: Path) -> Iterator[str]:
    """A session with the language server."""
    del folder
    run(sys.executable, "-m", "tests.tools.lsp.latency", folder=ROOT)
    yield "a session of the language server"


def reader(folder: Path) -> Iterator[str]:
    """Forty commands of pages, which the program accepts."""
    del folder
    commands = written_commands()
    for command in random.Random(time.time_ns()).sample(commands, 40):
        try:
            parser_of(opwright, [command.words[0]]).parse_args(command.words[1:])
        except SystemExit:
            raise RuntimeError(f"{command.page.name}:{command.line} shows a command that is refused") from None
    yield f"40 of {len(commands)} commands of pages are accepted"


READERS: dict[str, Callable[[Path], Iterator[str]]] = {
    "passer-by": passer_by,
    "author": author,
    "program": program,
    "puzzled": puzzled,
    "editor": editor,
    "reader": reader,
}


def main(argv: list[str]) -> int:
    """Run the readers, print what each did with its processor seconds and minutes, and give the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.readers", description=__doc__.partition("\n")[0])
    parser.add_argument("--only", choices=READERS, action="append", help="this reader alone (may be repeated)")
    status = 0
    print("| reader | what | processor seconds | minutes |\n| --- | --- | --- | --- |")
    for name in parser.parse_args(argv).only or READERS:
        with tempfile.TemporaryDirectory() as folder:
            started, spent = time.perf_counter(), processor_seconds()
            try:
                for what in READERS[name](Path(folder)):
                    now, total = time.perf_counter(), processor_seconds()
                    print(f"| {name} | {what} | {total - spent:.1f} | {(now - started) / 60:.2f} |", flush=True)
                    started, spent = now, total
            except (RuntimeError, AssertionError) as error:
                print(f"{name}: {error}", file=sys.stderr)
                status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
