"""Described actions, and runs of them in folders that have nothing but their declared inputs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

GUARD = Path(__file__).with_name("guarded.py")


def opwright(*words: object, cwd: Path) -> str:
    """What a run of the program prints, which must succeed."""
    command = [sys.executable, "-m", "opwright", *map(str, words)]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def described(cwd: Path, *words: object) -> dict[str, Any]:
    """The description of a generation as data."""
    text = opwright("generate", *words, "--out", cwd / "unused", "--describe", "json", cwd=cwd)
    assert not (cwd / "unused").exists()
    document: dict[str, Any] = json.loads(text)
    return document


class Sandbox:
    """A folder with the declared inputs of an action: files in `work`, PyTorch's in `torch`, packages in `tool`."""

    def __init__(self, folder: Path, source: Path, description: dict[str, Any], action: dict[str, Any]) -> None:
        self.folder, self.action = folder, action
        self.work, self.torch, self.tool, self.out = (folder / name for name in ("work", "torch", "tool", "out"))
        self.inputs = {
            **_copies(action["files"], source, self.work),
            **_copies(action["torch_files"], Path(description["torch"] or ""), self.torch),
        }
        self.work.mkdir(parents=True, exist_ok=True)
        self.tool.mkdir()
        for package in description["python_packages"]:
            spec = find_spec(package)
            assert spec is not None
            assert spec.origin is not None
            (self.tool / package).symlink_to(Path(spec.origin).parent)

    def run(self, *, jobs: int = 2) -> subprocess.CompletedProcess[str]:
        """Run the action with an empty environment; a guard ends it if it does what it may not do."""
        places = {"{torch}": str(self.torch), "{out}": str(self.out)}
        words = []
        for word in self.action["arguments"]:
            head, slash, rest = word.partition("/")
            words.append(places.get(head, head) + slash + rest)
        folders = [str(self.work), str(self.torch), str(self.tool)]
        settings = {"imports": str(self.tool), "reads": folders, "writes": str(self.out)}
        settings["log"] = str(self.folder / "reads.log")
        command = [sys.executable, "-I", "-S", "-B", str(GUARD), json.dumps(settings), *words, "--jobs", str(jobs)]
        return subprocess.run(command, cwd=self.work, env={}, capture_output=True, text=True, check=False)

    def outputs(self) -> dict[str, bytes]:
        """All that is in the output folder."""
        paths = [path for path in self.out.rglob("*") if not path.is_dir()]
        return {path.relative_to(self.out).as_posix(): path.read_bytes() for path in paths}

    def files_read(self) -> set[str]:
        """The declared inputs that the action read, relative to the folder."""
        lines = set((self.folder / "reads.log").read_text().splitlines())
        return {path for path in self.inputs if str(self.folder / path) in lines}

    def unchanged(self) -> bool:
        """Whether the inputs are as they were, and nothing was written beside them."""
        now = {
            path.relative_to(self.folder).as_posix(): path.read_bytes()
            for top in (self.work, self.torch)
            for path in top.rglob("*")
            if path.is_file()
        }
        return now == self.inputs and {path.name for path in self.folder.iterdir()} <= {
            "work", "torch", "tool", "out", "reads.log"
        }  # fmt: skip


def _copies(names: Iterable[str], source: Path, target: Path) -> dict[str, bytes]:
    """Copy files that only their owner may read, and nobody may write; their contents by path beside the target."""
    copies = {}
    for name in names:
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, path)
        os.chmod(path, 0o400)
        copies[f"{target.name}/{name}"] = path.read_bytes()
    return copies


def run_apart(folder: Path, source: Path, description: dict[str, Any]) -> tuple[dict[str, bytes], list[Sandbox]]:
    """Run all actions, each in a sandbox of its own. Gives all outputs together, and the sandboxes."""
    outputs: dict[str, bytes] = {}
    sandboxes = []
    for action in description["actions"]:
        sandbox = Sandbox(folder / action["name"], source, description, action)
        done = sandbox.run()
        assert done.returncode == 0, done.stderr
        made = sandbox.outputs()
        assert sorted(made) == action["outputs"]
        assert not outputs.keys() & made.keys()
        assert sandbox.unchanged()
        outputs.update(made)
        sandboxes.append(sandbox)
    return outputs, sandboxes
