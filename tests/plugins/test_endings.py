"""A plug-in that ends the process, prints, or has forged files beside it misleads nobody."""

from __future__ import annotations

import asyncio
import py_compile
import subprocess
import sys
from importlib.util import cache_from_source
from pathlib import Path

import pytest

from opwright.plugins.discovery import PluginName, load_plugin
from tests.engine.project import Project
from tests.plugins.fault_cases import FaultCase, installed_below, load_cases
from tests.tools.lsp.session import Start, editor

LEAVING = next(case for case in load_cases() if case.path.stem == "leaving_fragment")


def _run(case: FaultCase, project: Project) -> subprocess.CompletedProcess[str]:
    """A run of a case in a process of its own, over a small project."""
    folder = project.inputs.parent
    for name, text in case.files.items():
        (folder / name).write_text(text)
    where = ["--source-path", "inputs", "--release", "2.13", "--out", "out", "--jobs", "1"]
    command = [sys.executable, "-m", "opwright", *case.words, *where]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.skipif(sys.platform != "linux", reason="programs go on as they are")
@pytest.mark.parametrize("status", [0, 3])
@pytest.mark.parametrize("place", ["        sys.exit()", "import sys\n"])
def test_a_plugin_that_ends_the_process_is_an_error(project: Project, place: str, status: int) -> None:
    """`os._exit` in a fragment or at import is a diagnostic and status 1, whatever status it gives."""
    end = f"import os; os._exit({status})\n"
    blanks = " " * (len(place) - len(place.lstrip()))
    text = LEAVING.files["acme.py"].replace(place, blanks + end if blanks else place + end)
    done = _run(LEAVING._replace(files={"acme.py": text}), project)
    assert f"error[E2316]: a plug-in ended the process with the exit status {status}" in done.stderr
    assert done.returncode == 1
    assert not list(project.out.rglob("operators.txt"))


def test_a_plugin_that_leaves_the_process_alone_is_confirmed(project: Project) -> None:
    """The same run without the end of the process is done."""
    done = _run(LEAVING._replace(files={"acme.py": LEAVING.files["acme.py"].replace("sys.exit()", "pass")}), project)
    assert (done.returncode, done.stderr) == (0, "")
    assert "mean_of" in (project.out / "lists/operators.txt").read_text()


def test_forged_bytecode_is_not_loaded(tmp_path: Path) -> None:
    """A plug-in that is a folder is what its sources say, whatever `__pycache__` has."""
    acme = tmp_path / "acme"
    acme.mkdir()
    (acme / "__init__.py").write_text(
        "from opwright.plugin import Plugin\nfrom .names import NAME\nplugin = Plugin(NAME, api=1)\n"
    )
    names = acme / "names.py"
    names.write_text("NAME = 'forged'\n")
    forged = Path(
        py_compile.compile(str(names), doraise=True, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
        or ""
    )
    assert forged == Path(cache_from_source(str(names)))
    names.write_text("NAME = 'honest'\n")
    with installed_below(tmp_path):
        assert load_plugin(PluginName("./acme")).name == "honest"


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("print('noise')\nfrom opwright.plugin import Plugin\nplugin = Plugin('acme', api=1)\n", {"E1306", "W1370"}),
        ("raise SystemExit\n", {"E2302", "E1306", "W1370"}),
        ("import os\nos._exit(0)\n", {"E1306", "W1370"}),
    ],
)
def test_an_editor_has_its_other_diagnostics(tmp_path: Path, text: str, codes: set[str]) -> None:
    """A plug-in that prints or ends the process at import takes no other diagnostic from an editor."""
    (tmp_path / "acme.py").write_text(text)
    path = tmp_path / "mine.yaml"
    path.write_text("backend: PrivateUse1\ncpp_namespace: mine\nplugins: [./acme.py]\nsupported:\n- addd.out\n")

    async def session() -> set[object]:
        async with editor(tmp_path, Start(options={"trusted": True})) as own:
            uri = await own.open(path)
            return {row.code for row in own.client.diagnostics[uri]}

    assert asyncio.run(asyncio.wait_for(session(), 120)) == codes
