"""What comes of an edit: it is told, or the programs of the tree and ours write the same files, or neither writes."""

from __future__ import annotations

import enum
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from opwright.release.generator_digests import check_generator
from opwright.release.inputs import from_source_path
from opwright.release.tree import rules_of
from opwright.source.diagnostic import Diagnostics, Fault, Severity
from tests.conformance.inputs import BUILD_PROGRAM, source_tree
from tests.conformance.mutate import keep_a_third
from tests.generator_edits.places import Edit, edits, modules

_NATIVE, _TAGS = "aten/src/ATen/native/native_functions.yaml", "aten/src/ATen/native/tags.yaml"
_MAIN = ("--source-path", "aten/src/ATen", "--per-operator-headers", "--install-dir", "{out}/aten")
_PLACES = ("--aoti-install-dir", "{out}/aoti", "--headeronly-install-dir", "{out}/core")
_AUTOGRAD = (_NATIVE, _TAGS, "{out}/autograd/generated", "tools/autograd")
_BUILD = ("--native-functions-path", _NATIVE, "--tags-path", _TAGS, "--install-dir", "{out}")

#: The programs of both sides, with their arguments in the tree.
REFERENCE = (
    ("torchgen/gen.py", *_MAIN, *_PLACES),
    (BUILD_PROGRAM, *_AUTOGRAD, "libtorch"),
    (BUILD_PROGRAM, *_AUTOGRAD, "pybindings"),
)
OURS = (
    ("-m", "opwright.torchgen.gen", *_MAIN, *_PLACES),
    ("-m", "opwright.torchgen.generate_code", *_BUILD, "--subset", "libtorch"),
    ("-m", "opwright.torchgen.generate_code", *_BUILD, "--subset", "pybindings"),
)


class Outcome(enum.Enum):
    """What comes of an edit."""

    told = "told, by what is refused:"
    followed = "followed: the same files as the generator's"
    unread = "of a module that these programs never import"
    broken = "broken: the generator fails"
    silent = "SILENT: other files than the generator's"


class EditedTree:
    """A tree before its release, with about a third of the operators, whose modules are edited one at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for path in source_tree().rglob("*"):
            if path.is_file() and path.suffix != ".pyc":
                target = folder / path.relative_to(source_tree())
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(path.read_bytes())
        (folder / "version.txt").write_text("2.13.0a0\n")
        self._keep_a_third()
        self._imported = self._modules_in_use()

    def _keep_a_third(self) -> None:
        names = {
            "ATen/native/native_functions.yaml": _NATIVE,
            "ATen/native/tags.yaml": _TAGS,
            "autograd/derivatives.yaml": "tools/autograd/derivatives.yaml",
            "autograd/deprecated.yaml": "tools/autograd/deprecated.yaml",
            "../aoti/fallback_ops.py": "torchgen/aoti/fallback_ops.py",
        }
        texts = {name: (self.folder / path).read_text("utf-8") for name, path in names.items()}
        for name, text in keep_a_third(texts).items():
            (self.folder / names[name]).write_text(text, "utf-8")

    def _modules_in_use(self) -> frozenset[str]:
        """The modules that the programs of the tree import."""
        listed = "import sys, runpy\nsys.argv = sys.argv[1:]\ntry: runpy.run_path(sys.argv[0], run_name='__main__')\n"
        listed += "finally: print(*[m.__file__ for m in list(sys.modules.values()) if getattr(m, '__file__', None)])"
        paths: set[str] = set()
        for command in REFERENCE:
            words = [word.format(out=self.folder / "listing") for word in command]
            run = self._run(["-c", listed, *words])
            assert run.returncode == 0, run.stderr[-2000:]
            paths.update(run.stdout.split())
        root = f"{self.folder.resolve()}/"
        return frozenset(path.removeprefix(root) for path in paths if path.startswith(root)) | {BUILD_PROGRAM}

    def _run(self, words: list[str]) -> subprocess.CompletedProcess[str]:
        own = Path(__file__).parents[2] / "src"
        environment = {
            "PYTHONPATH": f"{self.folder}{os.pathsep}{own}",
            "PATH": "/usr/bin:/bin",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        environment["XDG_CACHE_HOME"] = str(self.folder / "cache")
        command = [sys.executable, *words]
        return subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False)

    def edits(self, draw: int) -> Iterator[Edit]:
        """All edits of the tree, drawn with this number."""
        import random

        for path in modules(self.folder):
            yield from edits(self.folder, path, random.Random(f"{draw} {path}"))

    def judge(self, edit: Edit) -> tuple[Outcome, str]:
        """What comes of an edit, with the first file that differs or what the generator says."""
        path = self.folder / edit.path
        before = path.read_bytes()
        path.write_text(edit.text, "utf-8")
        try:
            return self._judge(edit)
        finally:
            path.write_bytes(before)

    def _judge(self, edit: Edit) -> tuple[Outcome, str]:
        if code := self._tells():
            return Outcome.told, code
        if edit.path not in self._imported:
            return Outcome.unread, ""
        theirs, said = self._files(REFERENCE)
        if theirs is None:
            return Outcome.broken, said
        ours, said = self._files(OURS)
        if ours is None:
            return Outcome.told, said
        names = {
            name for name in theirs.keys() & ours.keys() if theirs[name] != ours[name]
        } or theirs.keys() ^ ours.keys()
        return (Outcome.silent, min(names)) if names else (Outcome.followed, "")

    def _tells(self) -> str:
        """The code of the error with which a run of ours refuses the tree by default; empty if it does not."""
        sink, inputs = Diagnostics(), from_source_path(self.folder / "aten/src/ATen")
        try:
            check_generator(inputs, rules_of(inputs, sink=sink, are_written=True), sink, refuse=True)
        except Fault as fault:
            return fault.diagnostic.code
        return next((diagnostic.code for diagnostic in sink if diagnostic.severity is Severity.ERROR), "")

    def _files(self, commands: tuple[tuple[str, ...], ...]) -> tuple[Mapping[str, bytes] | None, str]:
        """The files that programs write below a folder of their own, by path; None if one fails."""
        import tempfile

        with tempfile.TemporaryDirectory(dir=self.folder) as out:
            (Path(out) / "out/autograd/generated").mkdir(parents=True)
            for command in commands:
                run = self._run([word.format(out=f"{Path(out).name}/out") for word in command])
                if run.returncode:
                    return None, run.stderr[-300:]
            paths = [path for path in (Path(out) / "out").rglob("*") if path.is_file()]
            # The generated comments and includes name no folder, and the view metas come from no program of the tree.
            files = {path.relative_to(out).as_posix(): path.read_bytes() for path in paths}
            return {name: data for name, data in files.items() if "functionalization/generated" not in name}, ""
