"""Imports read the sources of a project, and no copies of others nor what version control ignores, as git says."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from opwright.cli.main import main
from opwright.migrate.importing.source_paths import source_paths

SOURCE = '#include <torch/library.h>\nTORCH_LIBRARY_FRAGMENT(acme, m) {\n  m.def("f(Tensor a) -> Tensor");\n}\n'
PARTS = (
    "a",
    "b",
    "*",
    "**",
    "?",
    "[ab]",
    "[!a]",
    "[^b]",
    "a*",
    "*.cpp",
    "a.cpp",
    r"\a",
    r"\*",
    "a**",
    "# a",
    "!a",
    "a ",
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def git(*words: str, stdin: str = "") -> str:
    """What git prints, without settings of the user's."""
    hidden = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "PATH": os.environ["PATH"]}
    done = subprocess.run(["git", *words], input=stdin, capture_output=True, text=True, check=False, env=hidden)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


def patterns(chosen: random.Random) -> str:
    """Lines of a file of patterns."""
    lines = []
    for _ in range(chosen.randint(1, 4)):
        path = "/".join(chosen.choices(PARTS, k=chosen.randint(1, 3)))
        lines.append(chosen.choice(["", "", "!"]) + chosen.choice(["", "", "/"]) + path + chosen.choice(["", "", "/"]))
    return chosen.choice(["\n", "\r\n"]).join([*lines, chosen.choice(["", "#b", " "])])


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_git_says_the_same(folder: Path) -> None:
    """Random patterns in three folders leave out what git leaves out."""
    git("init", "-q", ".")
    names = ["a.cpp", "b.cpp", "*.cpp", "ab.cpp"]
    paths = [f"top/{inner}{name}" for inner in ("", "a/", "b/", "a/a/", "a/b/", "b/a/b/") for name in names]
    for path in paths:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).touch()
    chosen = random.Random(7)
    left_out = 0
    for _ in range(60):
        for where in (".gitignore", "top/a/.gitignore", "top/b/.gitignore", ".git/info/exclude"):
            Path(where).write_text(patterns(chosen) if chosen.random() < 0.6 else "", newline="")
        ignored = set(
            git("check-ignore", "--no-index", "--stdin", stdin="".join(f"{path}\n" for path in paths)).split()
        )
        if "top" in git("check-ignore", "--no-index", "top"):
            continue
        read = source_paths(["top"], (".cpp",)).read
        assert sorted(read) == sorted(set(paths) - ignored), [
            path.read_text() for path in (Path(".gitignore"), Path("top/a/.gitignore"), Path("top/b/.gitignore"))
        ]
        left_out += len(ignored)
    assert left_out > 100


def test_only_sources_of_the_project_are_edited(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Copies, repositories inside, and what is ignored are named and stay; a file that is named itself is read."""
    folders = ("own", "third_party/x", "Vendor", "module", "build", "made")
    for name in folders:
        Path("csrc", name).mkdir(parents=True)
        Path("csrc", name, "a.cpp").write_text(SOURCE.replace('"f', f'"{name[:2].lower()}'))
    Path(".git").mkdir()
    Path("csrc/module/.git").write_text("gitdir: elsewhere")
    Path(".gitignore").write_text("/csrc/build\n")
    Path("csrc/.gitignore").write_text("made/*.cpp\n")
    assert main(["import", "csrc", "--out", "o.yaml", "--edit"]) == 0
    printed = capsys.readouterr().out
    for name in ("third_party", "Vendor", "module", "build", "made/a.cpp"):
        assert f"left out: csrc/{name}: " in printed
    assert Path("csrc/own/a.cpp").read_text() == "#include <torch/library.h>\n"
    assert all("m.def" in Path("csrc", name, "a.cpp").read_text() for name in folders[1:])
    assert Path("o.yaml").read_text().count("func:") == 1
    assert main(["import", "csrc/build", "csrc/made/a.cpp", "--out", "p.yaml"]) == 0
    assert Path("p.yaml").read_text().count("func:") == 2


def test_a_statement_that_stays_is_no_success(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What the file and the sources both register is an error until someone deletes it."""
    Path("a.cpp").write_text(SOURCE + "%:define A\n")
    assert main(["import", "a.cpp", "--out", "o.yaml", "--edit"]) == 1
    printed = capsys.readouterr().out
    assert "stays: a.cpp:3: " in printed
    assert "statements stay that register what the file registers too" in printed
