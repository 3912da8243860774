"""Fuzzing of `opwright.torchgen.install`: random folders, runs that fail or are killed, and what is left."""

from __future__ import annotations

import builtins
import contextlib
import errno
import io
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

from opwright.source.diagnostic import Diagnostics
from opwright.torchgen import install
from opwright.workspace.user_files import finish_killed_runs

#: Texts, each of which stands for a folder and runs.
SEEDS = ["install"]
ARGUMENTS: tuple[list[str], ...] = ([], ["--in-front"], ["--remove"])
PLACES = ("torchgen", "opwright_torchgen", "opwright_torchgen.pth")
#: Some modules of the package, as `offered_modules` gives all.
MODULES = {"torchgen": True, "torchgen.gen": False, "torchgen.api": True, "torchgen.api.cpp": False}
#: Functions that may fail.
CALLS = ((os, "mkdir"), (os, "rename"), (builtins, "open"), (install, "exchange_files"))
#: Functions at which the program may be killed.
ALL_CALLS = (*CALLS, (os, "open"), (os, "unlink"), (os, "rmdir"))
ERRORS = (errno.ENOSPC, errno.EACCES, errno.EROFS, errno.EDQUOT, errno.EIO)
#: What others may have: how to make each.
OTHERS: tuple[Callable[[Path, Path], object], ...] = (
    lambda path, outside: path.write_text("mine\n"),
    lambda path, outside: path.mkdir(),
    lambda path, outside: path.symlink_to(outside),
    lambda path, outside: path.symlink_to(outside / "torchgen"),
    lambda path, outside: os.mkfifo(path),
)
Tree = dict[str, object]


def tree(folder: Path) -> Tree:
    """What is in a folder: paths with the contents of files, the targets of links, and the kinds of others."""
    found: Tree = {}
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != "__pycache__"]
        for name in (*folders, *names):
            path = os.path.join(parent, name)
            status = os.lstat(path)
            if stat.S_ISLNK(status.st_mode):
                value: object = os.readlink(path)
            else:
                value = Path(path).read_bytes() if stat.S_ISREG(status.st_mode) else stat.S_IFMT(status.st_mode)
            found[os.path.relpath(path, folder)] = value
    return found


def whole(*, in_front: bool) -> Tree:
    """What an installation puts into an empty folder."""
    files: Tree = {path: text.encode() for path, text in install._files(in_front=in_front)}
    folders = {str(parent): stat.S_IFDIR for path in files for parent in Path(path).parents if str(parent) != "."}
    return files | folders


@contextlib.contextmanager
def replaced_call(owner: object, name: str, number: int, end: Callable[[], object]) -> Iterator[None]:
    """A context in which the numbered call of a function ends otherwise."""
    original: Callable[..., Any] = getattr(owner, name)
    left = [number]

    def call(*arguments: object, **named: object) -> object:
        left[0] -= 1
        return original(*arguments, **named) if left[0] else end()

    setattr(owner, name, call)
    try:
        yield
    finally:
        setattr(owner, name, original)


def run(words: list[str]) -> int:
    """The exit status of a run."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            return install.main(words)
        except SystemExit as end:
            return int(end.code or 0)


def failing_run(random: Random, words: list[str]) -> int:
    """The exit status of a run in which a call fails."""
    owner, name = random.choice(CALLS)
    error = OSError(random.choice(ERRORS), "it fails", "path")

    def end() -> object:
        raise error

    with replaced_call(owner, name, _number(random, name), end):
        return run(words)


def killed_run(random: Random, words: list[str]) -> None:
    """Run in a process that is killed at a call."""
    owner, name = random.choice(ALL_CALLS)
    number = _number(random, name)
    child = os.fork()
    if not child:
        try:
            with replaced_call(owner, name, number, lambda: os._exit(0)):
                run(words)
        finally:
            os._exit(0)
    os.waitpid(child, 0)


def _number(random: Random, name: str) -> int:
    """A number of a call: of most functions there are many."""
    return random.randint(1, 4 if name in ("rename", "exchange_files") else 25)


def put_others(random: Random, site: Path, outside: Path) -> None:
    """Put what somebody else has into the folder, in a place of the program, or below one."""
    places = [*PLACES, "other", "torchgen/mine.py", "torchgen/api/mine.txt", "opwright_torchgen/mine.py"]
    for place in random.sample(places, random.choice((0, 0, 0, 1, 1, 2))):
        path = site / place
        if path.parent.is_dir() and path.parent.resolve() == path.parent and not os.path.lexists(path):
            random.choice(OTHERS)(path, outside)


def install_at_random(text: str, sink: Diagnostics) -> None:
    """Make a folder and run the program in it some times: what others have stays, and what it writes is whole."""
    random = Random(text)
    with (
        tempfile.TemporaryDirectory() as name,
        mock.patch.object(install, "offered_modules", return_value=MODULES),
        mock.patch.dict(os.environ, OPWRIGHT_CACHE_DIR=os.path.join(name, "cache")),
    ):
        site, outside = Path(name, "site").resolve(), Path(name, "outside")
        site.mkdir()
        outside.mkdir()
        if random.random() < 0.3:
            assert run(["--target", str(outside)]) == 0
        untouched = tree(outside)
        own: Tree = {}
        for _ in range(random.randint(1, 4)):
            put_others(random, site, outside)
            others = {path: value for path, value in tree(site).items() if path not in own}
            words = random.choice(ARGUMENTS)
            own = run_and_check(random, site, words, own, others)
            assert tree(outside) == untouched


def run_and_check(random: Random, site: Path, words: list[str], before: Tree, others: Tree) -> Tree:
    """Run once; what the program has in the folder afterwards."""
    expected = {} if "--remove" in words else whole(in_front="--in-front" in words)
    line = [*words, "--target", str(site)]

    def own() -> Tree:
        after = tree(site)
        gone = others.items() - after.items()
        assert not gone, f"of others is gone: {gone}"
        return {path: value for path, value in after.items() if path not in others}

    kind = random.random()
    if kind < 0.3:
        killed_run(random, line)
        left = {path: value for path, value in own().items() if not path.startswith(".opwright-")}
        for place in PLACES:
            parts = [_part(state, place) for state in (left, before, expected)]
            assert parts[0] in ({}, *parts[1:]), f"`{place}` is not whole"
        assert any(state.items() <= left.items() for state in (before, expected)), "neither package is whole"
        finish_killed_runs()
        assert own() == left, "something stays beside"
        return left
    status = failing_run(random, line) if kind < 0.7 else run(line)
    after = own()
    assert after == (before if status else expected)
    if kind >= 0.7 and not others:
        assert status == 0
    return after


def _part(state: Tree, place: str) -> Tree:
    return {path: value for path, value in state.items() if path == place or path.startswith(f"{place}/")}
