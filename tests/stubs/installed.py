"""A stub package where type checkers look for one, and what they say of files that use it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
LIBRARY = HERE / "library.yaml"

#: What mypy knows of PyTorch's modules does not change from run to run, but does with the stubs.
CACHE = ROOT / ".cache" / "mypy"


def run_opwright(*arguments: object) -> subprocess.CompletedProcess[str]:
    """What the program did with the given arguments."""
    command = [sys.executable, "-m", "opwright", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


class Site(NamedTuple):
    """An environment that has the packages of this one, and the stubs below `stubs`."""

    python: Path
    stubs: Path
    kind: str

    def text(self, name: str) -> str:
        """A module of the stubs."""
        return (self.stubs / "torch-stubs" / name).read_text(encoding="utf-8")


def site(folder: Path, stubs: Path | None) -> Site:
    """An environment in `folder` with the stubs that stand in the folder `stubs`, or with none."""
    venv.create(folder, with_pip=False, symlinks=True)
    inside = sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)})
    # Programs that check types look into no other folders that an environment names.
    paths = [path for path in sys.path if path.endswith("site-packages")]
    paths += [str(stubs)] if stubs is not None else []
    (Path(inside) / "packages.pth").write_text("\n".join(paths) + "\n", encoding="utf-8")
    return Site(folder / "bin" / "python", stubs or folder, "plain" if stubs is None else "stubs")


def expected_lines(file: Path) -> set[int]:
    """The lines of a file with the remark that they are wrong."""
    lines = file.read_text(encoding="utf-8").splitlines()
    return {number for number, line in enumerate(lines, 1) if "# error: " in line}


def mypy_errors(site: Site, *files: Path) -> dict[str, dict[int, str]]:
    """File name -> line -> what `mypy --strict` says is wrong there."""
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--python-executable", str(site.python)]
    options = ["--cache-dir", str(CACHE / site.kind), "--show-absolute-path", "--no-error-summary"]
    folder = files[0].parent
    ran = subprocess.run(
        [*command, *options, *map(str, files)], capture_output=True, text=True, check=False, cwd=folder
    )
    assert ran.returncode in (0, 1), ran.stdout + ran.stderr
    errors: dict[str, dict[int, str]] = {file.name: {} for file in files}
    for path, line, message in re.findall(r"(?m)^(.*?):(\d+): error: (.*)$", ran.stdout):
        errors[Path(path).name].setdefault(int(line), message)
    return errors


def pyright_errors(site: Site, *files: Path, mode: str = "strict") -> dict[str, dict[int, str]]:
    """File name -> line -> what pyright says is wrong there; missing sources of stubs aside."""
    folder = files[0].parent
    settings = folder / "pyrightconfig.json"
    wanted = {"include": [file.name for file in files], "typeCheckingMode": mode}
    settings.write_text(json.dumps({**wanted, "reportMissingModuleSource": False}), encoding="utf-8")
    command = [str(Path(sys.executable).parent / "basedpyright"), "--outputjson", "--level", "error"]
    options = ["--project", str(settings), "--pythonpath", str(site.python)]
    ran = subprocess.run([*command, *options], capture_output=True, text=True, check=False, cwd=folder)
    assert ran.returncode in (0, 1), ran.stdout + ran.stderr
    report = json.loads(ran.stdout)
    assert report["summary"]["filesAnalyzed"] >= len(files), report["summary"]
    errors: dict[str, dict[int, str]] = {file.name: {} for file in files}
    for diagnostic in report["generalDiagnostics"]:
        message = f"{diagnostic['message']} ({diagnostic.get('rule')})"
        errors[Path(diagnostic["file"]).name].setdefault(diagnostic["range"]["start"]["line"] + 1, message)
    return errors
