"""Programs that import `torchgen` get Opwright's modules: by the hook, and from a package that is written."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from opwright.torchgen import install
from opwright.torchgen.forwarding import offered_modules
from tests.torchgen_interface.symbols import resolves, symbols

PROGRAM = """\
import os
import pickle
import sys
import torchgen.model
import torchgen.packaged.autograd
from torchgen import local
from torchgen.api.types import OptionalCType
from torchgen.model import FunctionSchema
from torchgen.aoti.fallback_ops import inductor_fallback_ops
from torchgen.selective_build.selector import *

assert torchgen.model.FunctionSchema is FunctionSchema
assert torchgen.model.__name__ == "opwright.torchgen.model"
schema = FunctionSchema.parse("f(Tensor a) -> Tensor")
assert pickle.loads(pickle.dumps(schema)) == schema
assert str(FunctionSchema) == "<class 'torchgen.model.FunctionSchema'>"
assert str(OptionalCType) == "<class 'torchgen.api.types.types.OptionalCType'>"
assert os.path.isdir(torchgen.__path__[0])
assert os.path.isfile(os.path.join(os.path.dirname(torchgen.packaged.autograd.__file__), "derivatives.yaml"))
assert local.__name__ == "opwright.torchgen.local", local
assert SelectiveBuilder.__module__.startswith("opwright."), SelectiveBuilder.__module__
assert inductor_fallback_ops
print(__name__, sys.argv[1:], torchgen.__file__)
try:
    import torchgen.other
except ModuleNotFoundError as error:
    print(error)
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A program that imports PyTorch's generator."""
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def run(*words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """What Python does with these words."""
    command = [sys.executable, *map(str, words)]
    return subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)


def test_one_program(program: Path) -> None:
    """The hook serves a program by path and by name, with its own arguments."""
    by_path = run("-m", "opwright.torchgen.run", program, "-x", "a")
    assert by_path.returncode == 0, by_path.stderr
    assert by_path.stdout.startswith("__main__ ['-x', 'a'] ")
    assert "Opwright does not offer the module `torchgen.other`" in by_path.stdout
    missing = run("-m", "opwright.torchgen.run", program.with_name("none.py"))
    assert missing.returncode == 2
    assert "there is no program" in missing.stderr


def test_a_written_package(program: Path, tmp_path: Path) -> None:
    """Programs import it, its programs run, and all of it is removed again."""
    site = tmp_path / "site"
    site.mkdir()
    install = ("-m", "opwright.torchgen.install", "--target", site)
    assert run(*install).returncode == 0
    assert len(list(site.rglob("*.py"))) == len(offered_modules())
    imported = run(program, PYTHONPATH=str(site))
    assert imported.returncode == 0, imported.stderr
    assert "No module named 'torchgen.other'" in imported.stdout
    started = run("-m", "torchgen.gen", "--help", PYTHONPATH=str(site))
    assert "opwright.torchgen.gen" in started.stdout, started.stderr
    assert run(*install, "--remove").returncode == 0
    assert not list(site.iterdir())


def test_a_package_in_front(program: Path, tmp_path: Path) -> None:
    """An installed package is neither overwritten nor removed; the new one comes before it."""
    site = tmp_path / "site"
    original = site / "torchgen" / "__init__.py"
    original.parent.mkdir(parents=True)
    original.write_text("print('original')\n")
    install = ("-m", "opwright.torchgen.install", "--target", site)
    refused = run(*install)
    assert refused.returncode == 2
    assert "say --in-front" in refused.stderr
    assert run(*install, "--in-front").returncode == 0
    start = f"import site, runpy; site.addsitedir({str(site)!r}); runpy.run_path({str(program)!r}, run_name='__main__')"
    imported = run("-c", start)
    assert imported.returncode == 0, imported.stderr
    assert "original" not in imported.stdout
    assert run(*install, "--remove").returncode == 0
    assert [path.name for path in site.iterdir()] == ["torchgen"]
    assert original.read_text() == "print('original')\n"


def test_an_installation_is_whole_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever step fails for lack of room, the folder is as it was, and nothing is left beside it."""
    site = tmp_path / "site"
    site.mkdir()
    words = ["--target", str(site)]
    assert install.main([*words, "--in-front"]) == 0
    (site / "opwright_torchgen" / "__pycache__").mkdir()
    (site / "opwright_torchgen" / "torchgen" / "__pycache__").mkdir()
    before = {path: path.read_bytes() for path in site.rglob("*") if path.is_file()}
    rename = os.rename
    for failing in (1, 2, 3):
        calls: list[str] = []

        def fail(source: str, target: str, *, _calls: list[str] = calls, _failing: int = failing) -> None:
            _calls.append(target)
            if len(_calls) == _failing:
                raise OSError(errno.ENOSPC, "No space left on device", target)
            rename(source, target)

        with monkeypatch.context() as patched:
            patched.setattr(os, "rename", fail)
            with pytest.raises(SystemExit):
                install.main(words)
        assert {path: path.read_bytes() for path in site.rglob("*") if path.is_file()} == before
        assert sorted(path.name for path in site.iterdir()) == ["opwright_torchgen", "opwright_torchgen.pth"]
    assert install.main(words) == 0
    assert [path.name for path in site.iterdir()] == ["torchgen"]
    assert install.main([*words, "--remove"]) == 0
    assert not list(site.iterdir())


def test_links_and_missing_parts_of_an_installation(tmp_path: Path) -> None:
    """A linked package is somebody else's, and what is missing already does not stop `--remove`."""
    site, elsewhere = tmp_path / "site", tmp_path / "elsewhere"
    site.mkdir()
    elsewhere.mkdir()
    assert install.main(["--target", str(elsewhere)]) == 0
    (site / "torchgen").symlink_to(elsewhere / "torchgen")
    with pytest.raises(SystemExit):
        install.main(["--target", str(site)])
    assert install.main(["--target", str(site), "--remove"]) == 0
    assert (elsewhere / "torchgen" / "__init__.py").exists()
    assert install.main(["--target", str(site), "--in-front"]) == 0
    (site / "opwright_torchgen.pth").unlink()
    assert install.main(["--target", str(site), "--remove"]) == 0
    assert [path.name for path in site.iterdir()] == ["torchgen"]


def test_programs_end_as_without_the_hook(tmp_path: Path) -> None:
    """A file that the program did not close has all lines, and nothing else is written."""
    (tmp_path / "program.py").write_text("out = open('out.txt', 'w')\ndef write(): out.write(__name__)\nwrite()\n")
    for words in (("program.py",), ("-m", "program")):
        done = subprocess.run(
            [sys.executable, "-B", "-m", "opwright.torchgen.run", *words], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "out.txt").read_text() == "__main__"
        (tmp_path / "out.txt").unlink()
    assert [path.name for path in tmp_path.iterdir()] == ["program.py"]
    assert "there is no module `absent` that can be run" in run("-m", "opwright.torchgen.run", "-m", "absent").stderr


def test_states_of_names() -> None:
    """A name resolves only if its module has it; the list is whole."""
    assert sum(len(names) for names in symbols().values()) == 247
    assert resolves("torchgen.model", "FunctionSchema")
    assert resolves("torchgen", "local")
    assert not resolves("torchgen.model", "Other")
    assert not resolves("torchgen.other", "(module)")
