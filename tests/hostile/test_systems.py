"""What systems do to programs: signals that interrupt their calls, and file names that other systems take for equal."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path, PureWindowsPath

import pytest

from opwright.cli.main import main
from opwright.files.plan import check_output_path
from opwright.source.diagnostic import Fault
from tests.engine.project import files_of

_LIBRARY = "namespace: {}\noperators:\n- func: f(Tensor x) -> Tensor\n  dispatch:\n    Meta, CPU: f\n"
#: A run with a signal each millisecond, whose handler only counts.
_INTERRUPTED = """
import signal, sys
count = [0]
def note(number, frame): count[0] += 1
signal.signal(signal.SIGALRM, note)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
from opwright.cli.main import main
status = main(sys.argv[1:])
signal.setitimer(signal.ITIMER_REAL, 0)
print(count[0])
sys.exit(status)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
def test_interrupted_calls_are_made_again(tmp_path: Path) -> None:
    """A run whose reads, writes and locks are interrupted (EINTR) writes the files of an undisturbed one."""
    (tmp_path / "l.yaml").write_text(_LIBRARY.format("acme"))
    words = ("generate", "--library", "l.yaml", "--out")
    plain = [sys.executable, "-m", "opwright", *words, "plain"]
    subprocess.run(plain, cwd=tmp_path, check=True, capture_output=True)
    command = [sys.executable, "-c", _INTERRUPTED, *words, "disturbed"]
    done = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[-1]) > 20
    assert files_of(tmp_path / "disturbed") == files_of(tmp_path / "plain")


def test_names_that_are_equal_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Outputs that would be the same file on Windows and macOS are a diagnostic, on every system."""
    monkeypatch.chdir(tmp_path)
    for name in ("acme", "Acme"):
        Path(f"{name}.y").write_text(_LIBRARY.format(name))
    assert main(["generate", "--library", "acme.y", "--library", "Acme.y", "--out", "out"]) == 1
    assert "error[E0603]" in capsys.readouterr().err
    assert not Path("out/src").exists()


@pytest.mark.parametrize("name", ["e\u0301", "ａ", "a ", "a.", "a:b", "a" * 300 + "/b", "../a", "a\x00b"])
def test_names_that_systems_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """Names that a system composes, trims or divides cannot be those of outputs: a namespace is a plain word."""
    monkeypatch.chdir(tmp_path)
    Path("l.y").write_text(_LIBRARY.format(json.dumps(name, ensure_ascii="\x00" in name)), encoding="utf-8")
    assert main(["generate", "--library", "l.y", "--out", "out"]) == 1
    assert "error[" in capsys.readouterr().err
    assert not Path("out/src").exists()


@pytest.mark.filterwarnings("ignore:pathlib.PureWindowsPath.is_reserved")
@pytest.mark.parametrize("name", ["con", "nul", "aux", "Prn", "com1", "LPT9", "console", "com10", "_con", "nul_"])
@pytest.mark.parametrize("field", ["namespace", "python_package"])
def test_no_output_is_a_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], field: str, name: str
) -> None:
    """No output or folder has a name that Windows reserves: a library with such a name is a diagnostic at the name."""
    monkeypatch.chdir(tmp_path)
    package = f"python_package: mine.{name}\n" if field == "python_package" else ""
    Path("l.y").write_text(package + _LIBRARY.format("acme" if package else name))
    status = main(["generate", "--library", "l.y", "--out", "out"])
    written = [path.relative_to(tmp_path) for path in Path("out").absolute().rglob("*")]
    assert not [path for path in written if any(PureWindowsPath(part).is_reserved() for part in path.parts)]
    is_device = PureWindowsPath(name).is_reserved()
    assert status == is_device
    assert ("--> l.y:1:" in capsys.readouterr().err) == is_device


@pytest.mark.filterwarnings("ignore:pathlib.PureWindowsPath.is_reserved")
@pytest.mark.parametrize(
    "path", ["ops/aux.h", "con/a.h", "a/Com1.tar.gz", "nul", "ops/auxiliary.h", "a/x.con", "lpt/a"]
)
def test_plans_have_no_devices(path: str) -> None:
    """Neither do outputs of plug-ins, or headers of operators: a plan has no path that Windows reserves."""
    is_device = any(PureWindowsPath(part).is_reserved() for part in path.split("/"))
    with pytest.raises(Fault) if is_device else nullcontext():
        check_output_path("headers", path)


def test_an_untrusted_workspace_chooses_nothing() -> None:
    """Visual Studio Code ignores all settings of a workspace without trust that name programs, code or paths."""
    root = Path(__file__).parents[2]
    package = json.loads((root / "editors/vscode/package.json").read_text(encoding="utf-8"))
    restricted = package["capabilities"]["untrustedWorkspaces"]["restrictedConfigurations"]
    settings = set(package["contributes"]["configuration"]["properties"])
    assert settings - {"opwright.trace.server"} == set(restricted)


def test_the_site_has_no_service_worker() -> None:
    """No script of the site stays in a browser: none registers a service worker."""
    folder = Path(__file__).parents[2] / "docs/site"
    scripts = [path for path in folder.rglob("*") if path.suffix in (".js", ".py", ".toml", ".html")]
    assert scripts
    assert [path.name for path in scripts if "serviceWorker" in path.read_text(encoding="utf-8")] == []
