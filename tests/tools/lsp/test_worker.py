"""The process that checks: which files it reports first, and what a server imports before it answers."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from opwright.tools.lsp.worker import check_texts
from tests.test_layering import room
from tests.tools.lsp.small_tree import SmallTree

_LIBRARY = "namespace: acme\noperators:\n- func: f(Tensro x) -> Tensor\n"


def _reports(folder: Path, paths: list[Path], tree: Path, **more: object) -> list[dict[str, Any]]:
    """The lines that the process answers."""
    texts = {str(path): path.read_text() for path in paths}
    request = {"folder": str(folder), "texts": texts, "plugins": [], **more}
    report = io.StringIO()
    check_texts(io.StringIO(json.dumps(request)), report, None, str(tree / "aten/src/ATen"), ())
    return [json.loads(line) for line in report.getvalue().splitlines()]


def test_the_first_file_is_reported_first(tmp_path: Path) -> None:
    """The diagnostics of the first file come before the others are checked; files of a tree come together."""
    SmallTree(tmp_path)
    native, derivatives = (
        tmp_path / "aten/src/ATen/native/native_functions.yaml",
        tmp_path / "tools/autograd/derivatives.yaml",
    )
    libraries = [tmp_path / "a.yaml", tmp_path / "b.yaml"]
    for path in libraries:
        path.write_text(_LIBRARY.replace("acme", path.stem))

    def order(*paths: Path) -> list[list[str]]:
        reports = _reports(tmp_path, list(paths), tmp_path)
        assert [report["is_last"] for report in reports] == [False] * (len(reports) - 1) + [True]
        return [[Path(path).name for path in report["paths"]] for report in reports]

    a, b = libraries
    assert order(a) == [["a.yaml"]]
    assert order(b, a) == [["b.yaml"], ["b.yaml", "a.yaml"]]
    assert order(native, a, derivatives) == [["native_functions.yaml", "derivatives.yaml"], ["a.yaml"]]
    first, second = _reports(tmp_path, libraries, tmp_path)
    assert [row["code"] for row in first["diagnostics"]] == ["E0202"]
    assert [row["code"] for row in second["diagnostics"]] == ["E0202", "E0202"]


def test_a_process_without_a_request_ends() -> None:
    """A process that its server never asks says nothing."""
    command = [sys.executable, "-m", "opwright", "lsp", "--check"]
    ended = subprocess.run(command, input=b"", capture_output=True, check=True)
    assert (ended.stdout, ended.stderr) == (b"", b"")


def test_a_server_imports_little_before_it_answers() -> None:
    """What checks, explains and emits is imported after the answer to `initialize`, which an editor waits for."""
    program = "import sys, opwright.tools.lsp.features; print(*sys.modules)"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True)
    packages = {room(name) for name in ended.stdout.split() if name.startswith("opwright.")}
    assert "tools/lsp" in packages
    further = {"tools/check", "convention", "tools/coverage", "emit", "tools/explain", "libraries/importing"}
    assert packages.isdisjoint(further)
