"""Adapter for lintrunner: checks operators, formulas and templates in a PyTorch tree with Opwright.

Copy it to `tools/linter/adapters` of the tree. It prints one JSON line for each finding in the files that it is given.
What it found is kept in the user's cache under a digest of everything that the check reads, so files that nobody
changed cost their reading alone: Opwright is not even imported.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

ATEN = "aten/src/ATen"
TEMPLATES = (f"{ATEN}/templates/", "tools/autograd/templates/")
#: What a check reads of a tree, below these folders: all files that end like this.
READ = (
    (f"{ATEN}/native", ".yaml"),
    (f"{ATEN}/templates", ""),
    ("tools/autograd", (".yaml", ".py")),
    ("tools/autograd/templates", ""),
    ("torch/csrc/autograd", "FunctionsManual.h"),
    ("torchgen", ".py"),
    ("torchgen/aoti", ".py"),
    ("torchgen/api", ".py"),
    ("torchgen/api/types", ".py"),
    ("torchgen/dest", ".py"),
    ("torchgen/selective_build", ".py"),
)
FINDING = re.compile(r"^(error|warning)\[(\w+)\]: (.+)\n --> (.+?):(\d+):(\d+)$", re.MULTILINE)
HELP = re.compile(r"^  = (?:help|note): (.+)$", re.MULTILINE)


def digest_of_tree(tool: str) -> str:
    """A digest of all files that a check reads, and of the Opwright that makes it."""
    digest = hashlib.blake2b(tool.encode(), digest_size=16)
    paths = ["version.txt"]
    for folder, ends in READ:
        if os.path.isdir(folder):
            paths += [f"{folder}/{name}" for name in sorted(os.listdir(folder)) if name.endswith(ends)]
    for path in paths:
        try:
            with open(path, "rb") as file:
                content = file.read()
        except OSError:
            continue
        digest.update(f"{path} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def tool_stamp() -> str:
    """Which Opwright is installed: where, and when it was; it is not imported for this."""
    spec = find_spec("opwright")
    if spec is None or spec.origin is None:
        sys.exit("opwright_linter: Opwright is not installed; `lintrunner init` installs it")
    package = Path(spec.origin).parent
    newest = max(entry.stat().st_mtime_ns for entry in os.scandir(package))
    return f"{package} {newest}"


def cache_file() -> Path:
    """The file that keeps findings."""
    home = os.environ.get("OPWRIGHT_CACHE_DIR") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "opwright"
    )
    return Path(home) / "lintrunner.json"


def run(*words: str) -> subprocess.CompletedProcess[str]:
    """Run a command of Opwright."""
    command = [sys.executable, "-m", "opwright", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def check_entries() -> list[dict[str, object]]:
    """Messages about native_functions.yaml, tags.yaml and the formulas of the tree."""
    done = run("check", f"{ATEN}/native/native_functions.yaml", "--format", "lintrunner", "--fail-on", "never")
    if done.returncode and not done.stdout:
        sys.exit(done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


def check_templates(folder: Path) -> list[dict[str, object]]:
    """Messages about templates, whose slots a run fills that writes into a folder of the cache."""
    done = run("generate", "--source-path", ATEN, "--out", str(folder), "--color", "never")
    messages: list[dict[str, object]] = []
    blocks = re.split(r"\n(?=(?:error|warning)\[)", done.stderr)
    for block in blocks:
        found = FINDING.search(block)
        if found is not None:
            severity, code, text, path, line, char = found.groups()
            path = os.path.relpath(path)
            description = "\n".join([text, *HELP.findall(block)])
            messages.append(message(path, int(line), int(char), severity, code, description))
    return messages


def message(path: str, line: int, char: int, severity: str, code: str, description: str) -> dict[str, object]:
    """A message of lintrunner."""
    return {
        "path": path,
        "line": line,
        "char": char,
        "code": "OPWRIGHT",
        "severity": severity,
        "name": code,
        "original": None,
        "replacement": None,
        "description": description,
    }


def kept(path: Path) -> dict[str, list[dict[str, object]]]:
    """What earlier runs found, by digest; nothing if the file is damaged."""
    try:
        data = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def main() -> None:
    """Print what is found in the files that are named."""
    parser = argparse.ArgumentParser(description=__doc__, fromfile_prefix_chars="@")
    parser.add_argument("filenames", nargs="+", help="files to check")
    names = {os.path.relpath(name).replace(os.sep, "/") for name in parser.parse_args().filenames}
    kinds = {"templates" if name.startswith(TEMPLATES) else "entries" for name in names}
    state, digest = cache_file(), digest_of_tree(tool_stamp())
    before = kept(state)
    found = {f"{kind} {digest}": before.get(f"{kind} {digest}") for kind in kinds}
    if None in found.values():
        for key, messages in found.items():
            if messages is None:
                is_entries = key.startswith("entries")
                folder = state.parent / "lintrunner" / hashlib.blake2b(os.getcwd().encode(), digest_size=8).hexdigest()
                found[key] = check_entries() if is_entries else check_templates(folder)
        # The last dozen: branches that somebody works on.
        newest = {**dict(list(before.items())[-12:]), **found}
        state.parent.mkdir(parents=True, exist_ok=True)
        staged = state.with_name(f"{state.name}.{os.getpid()}")
        staged.write_text(json.dumps(newest), "utf-8")
        os.replace(staged, state)
    for messages in found.values():
        for item in messages or ():
            if str(item["path"]) in names:
                print(json.dumps(item), flush=True)


if __name__ == "__main__":
    main()
