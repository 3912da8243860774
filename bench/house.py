"""Measures what a reader of the package meets: packages, modules, lines, and the way of one run through them.

`python -m bench.house TREE...` prints a table with a column for each checkout.
"""

from __future__ import annotations

import ast
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

#: Runs `opwright generate` for a library file, and prints the calls between modules that it makes, with their number.
_TRACE = """
import json, sys
from collections import Counter
calls = Counter()

def profile(frame, event, argument):
    if event == "call" and frame.f_back is not None:
        names = [each.f_globals.get("__name__", "") for each in (frame.f_back, frame)]
        if names[0] != names[1] and all(name.startswith("opwright.") for name in names):
            calls[tuple(names)] += 1

from opwright.cli.main import main
sys.setprofile(profile)
status = main(sys.argv[1:])
sys.setprofile(None)
print(json.dumps([status, [[*names, count] for names, count in calls.items()]]))
"""

_LIBRARY = """\
namespace: acme

operators:
- func: scale(Tensor self, float by) -> Tensor
  dispatch:
    CPU, CUDA: scale
  outputs: like(self)
"""


def packages(source: Path) -> dict[str, str]:
    """The modules of a tree, with the package of each: `emit`, or `tools/check` in a wing, which has a README."""
    found = {}
    for path in sorted(source.rglob("*.py")):
        parts = path.relative_to(source).with_suffix("").parts
        depth = 2 if len(parts) > 2 and (source / parts[0] / "README.md").exists() else 1
        module = ".".join(("opwright", *(parts[:-1] if parts[-1] == "__init__" else parts)))
        found[module] = "/".join(parts[:-1][:depth])
    return found


def import_lines(tree: ast.Module) -> int:
    """How many lines import statements take."""
    nodes = [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
    return sum((node.end_lineno or node.lineno) - node.lineno + 1 for node in nodes)


def calls_of_run(source: Path) -> list[tuple[str, str, int]]:
    """The calls between modules of a run that generates the files of a library with one operator."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder, "acme.yaml")
        library.write_text(_LIBRARY)
        words = ["generate", "--library", str(library), "--out", f"{folder}/out", "--jobs", "1"]
        environment = {**os.environ, "PYTHONPATH": str(source), "OPWRIGHT_CACHE_DIR": folder}
        done = subprocess.run(
            [sys.executable, "-c", _TRACE, *words], env=environment, stdout=subprocess.PIPE, text=True, check=True
        )
    status, calls = json.loads(done.stdout.splitlines()[-1])
    assert status == 0
    return [tuple(row) for row in calls]


def figures(tree: Path) -> dict[str, str]:
    """What is measured of a checkout."""
    source = tree / "src" / "opwright"
    homes = packages(source)
    texts = {path: path.read_text(encoding="utf-8") for path in source.rglob("*.py")}
    lines = sum(len(text.splitlines()) for text in texts.values())
    imports = sum(import_lines(ast.parse(text)) for text in texts.values())
    calls = calls_of_run(source.parent)
    entered = {module for caller, callee, _ in calls for module in (caller, callee)}
    moves = {(homes[caller], homes[callee]) for caller, callee, _ in calls if homes[caller] != homes[callee]}
    page = (tree / "docs" / "contributing.md").read_text(encoding="utf-8")
    recipes = [int(count) for count in re.findall(r"^Files you read: (\d+)", page, re.MULTILINE)]
    return {
        "folders on the first floor": str(sum(path.is_dir() and path.name[0] != "_" for path in source.iterdir())),
        "modules": f"{len(texts):,}",
        "lines of Python": f"{lines:,}",
        "lines of imports": f"{imports / lines:.1%}",
        "files to read for a recipe, median and most": (
            f"{statistics.median(recipes):.0f}, {max(recipes)}" if recipes else "not listed"
        ),
        "modules that the run enters": str(len(entered)),
        "packages that the run enters": str(len({homes[module] for module in entered})),
        "pairs of packages between which it calls": str(len(moves)),
        "calls from one package to another": f"{sum(n for a, b, n in calls if homes[a] != homes[b]):,}",
    }


def main() -> None:
    """Print the table."""
    columns = [figures(Path(name).resolve()) for name in sys.argv[1:]]
    print("| | " + " | ".join(sys.argv[1:]) + " |")
    print("| --- |" + " --- |" * len(columns))
    for name in columns[0]:
        print(f"| {name} | " + " | ".join(column[name] for column in columns) + " |")


if __name__ == "__main__":
    main()
