"""The files of the playground: Pyodide, the parser of C++, and Opwright with the inputs of a release."""

from __future__ import annotations

import base64
import gzip
import json
import os
import shutil
import subprocess
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import yaml

import opwright
from docs.site.browser.engine import FILES
from opwright.wheels.wheel_store import member_of

__all__ = ["CODE_EXAMPLES", "EXAMPLES", "playground_hash", "release_files", "write_playground"]

_HERE: Final = Path(__file__).resolve().parent
#: Python's standard library, as Pyodide has it.
_LIBRARY: Final = "python_stdlib.zip"
#: What is taken from packages of npm, by package.
_FROM_NPM: Final = {
    "pyodide": ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", _LIBRARY, "pyodide-lock.json"),
    "web-tree-sitter": ("web-tree-sitter.js", "web-tree-sitter.wasm", "LICENSE"),
    "tree-sitter-cpp": ("tree-sitter-cpp.wasm", "LICENSE"),
    "@codemirror/view": ("LICENSE",),
}


class CodeExample(NamedTuple):
    """Files that have a code, and those that do not; a kind of the playground, or the commands that report the code."""

    kind: str
    wrong: dict[str, str]
    right: dict[str, str]
    command: str = ""
    right_command: str = ""


#: The examples that a visitor starts from, with the kinds of `browser/engine.py`.
EXAMPLES: Final[list[dict[str, str]]] = yaml.load(
    (_HERE / "examples.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader
)


def _code_examples() -> Iterator[tuple[str, CodeExample]]:
    text = (_HERE / "code_examples.yaml").read_text(encoding="utf-8")
    for code, row in yaml.load(text, yaml.CSafeLoader).items():
        kind, command = row.get("kind", ""), row.get("command", "")
        if kind:
            wrong = dict(zip(FILES[kind], (row["text"], row.get("formulas", "")), strict=True))
        else:
            wrong = row.get("files", {})
        right = {name: text.replace(*row["instead"]) for name, text in wrong.items()}
        yield code, CodeExample(kind, wrong, right, command, command.replace(*row["instead"]))


#: The examples on the pages of codes.
CODE_EXAMPLES: Final = dict(_code_examples())


def playground_hash(kind: str, text: str, formulas: str) -> str:
    """The part of an address after its `#` with which the playground shows texts."""
    state = json.dumps({"kind": kind, "text": text, "formulas": formulas}).encode()
    packer = zlib.compressobj(wbits=-15)
    return base64.urlsafe_b64encode(packer.compress(state) + packer.flush()).decode().rstrip("=")


def write_playground(folder: Path, modules: Path, torch: str) -> None:
    """Write the files below the folder of the site's assets."""
    folder.mkdir(parents=True)
    for package, names in _FROM_NPM.items():
        for name in names:
            target = f"{package.strip('@').replace('/', '-')}-{name}" if name == "LICENSE" else name
            shutil.copyfile(modules / package / name, folder / target)
    # The editor is bundled from CodeMirror's packages, in the versions of `package-lock.json`.
    bundle = ["--bundle", "--minify", "--format=esm", f"--outfile={folder / 'editor.js'}", "--log-level=warning"]
    environment = {**os.environ, "NODE_PATH": str(modules.absolute())}
    subprocess.run([modules / ".bin" / "esbuild", _HERE / "editor.js", *bundle], env=environment, check=True)
    (folder / "examples.json").write_text(json.dumps(EXAMPLES), encoding="utf-8")
    with zipfile.ZipFile(folder / _LIBRARY) as library:
        modules_of_python = {name: library.read(name) for name in library.namelist() if not name.endswith("/")}
    own, standard = _compiled([dict(_files(torch)), modules_of_python], modules / "pyodide")
    # A line with the size of each file, and all files: an archive that a browser unpacks in no time.
    sizes = json.dumps({path: len(data) for path, data in own.items()})
    archive = b"".join([sizes.encode(), b"\n", *own.values()])
    (folder / "opwright.bin").write_bytes(gzip.compress(archive, mtime=0))
    with zipfile.ZipFile(folder / _LIBRARY, "w", zipfile.ZIP_DEFLATED) as library:
        for path, data in standard.items():
            # One date, so that the same sources make the same bytes.
            library.writestr(zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)


def _compiled(groups: list[dict[str, bytes]], pyodide: Path) -> list[dict[str, bytes]]:
    """Groups of files, with what Pyodide's Python compiles from modules instead of their sources."""
    # The inputs of a release have modules too, which are read.
    sources = [
        {path: data.decode() for path, data in files.items() if path.endswith(".py") and not path.startswith("inputs/")}
        for files in groups
    ]
    command = ["node", str(_HERE / "compile.mjs"), str(pyodide.absolute())]
    done = subprocess.run(command, input=json.dumps(sources), stdout=subprocess.PIPE, text=True, check=True)
    return [
        {
            **{path: data for path, data in files.items() if path not in compiled},
            **{f"{path}c": base64.b64decode(data) for path, data in compiled.items()},
        }
        for files, compiled in zip(groups, json.loads(done.stdout), strict=True)
    ]


def _files(torch: str) -> Iterator[tuple[str, bytes]]:
    """What Python has in the browser: the package, PyYAML in Python alone, the engine, and the inputs."""
    for module in (opwright, yaml):
        root = Path(module.__file__ or "").parent
        for path in sorted(root.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".so":
                yield f"{root.name}/{path.relative_to(root).as_posix()}", path.read_bytes()
    yield "engine.py", (_HERE / "browser" / "engine.py").read_bytes()
    yield "tree_sitter.py", (_HERE / "browser" / "tree_sitter.py").read_bytes()
    yield "tree_sitter_cpp.py", b"def language():\n    return None\n"
    yield from ((f"inputs/{path}", data) for path, data in release_files(torch))


def release_files(torch: str) -> Iterator[tuple[str, bytes]]:
    """The inputs of a release as an installed package has them, and the file that says which release it is."""
    inputs = opwright.open_inputs(torch=torch)
    for name in sorted(inputs.names()):
        yield member_of(name), inputs.read_text(name).text.encode()
    yield "torch/version.py", f"__version__ = {inputs.version_text!r}\n".encode()
