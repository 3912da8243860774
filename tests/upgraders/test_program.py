"""The program for upgraders takes bytecode from a file or from PyTorch, and a run with nothing to do writes nothing."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from importlib import util
from pathlib import Path

import pytest

from opwright.cli.main import main as opwright
from opwright.mobile.upgraders import torch_bytecode
from opwright.mobile.upgraders.emitter import FILE_NAME
from opwright.mobile.upgraders.fields import OP_CODES
from opwright.source.diagnostic import Fault
from opwright.torchgen import gen_mobile_upgraders
from tests.conformance.inputs import installed_headers

CODE = {"instructions": [["RET", 0, 0]], "constants": [], "types": [], "operators": [], "register_size": 1}
TABLES = {
    "upgraders": {"turn_0_3": CODE},
    "operators": {"aten::turn": {"upgraders": ["turn_0_3"], "ranges": [[0, 3]]}},
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a bytecode file."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "turn.json").write_text(torch_bytecode.bytecode_text(TABLES))
    return tmp_path


def drop_in(*flags: str) -> int:
    """Run the drop-in program."""
    return gen_mobile_upgraders.main(flags)


def command(*flags: str) -> int:
    """Run the command."""
    return opwright(["upgraders", *flags])


@pytest.mark.parametrize("program", [drop_in, command])
def test_bytecode_comes_from_a_file(folder: Path, program: object) -> None:
    """Both programs write the file, leave it alone while the bytecode is the same, and follow an edit."""
    assert callable(program)
    flags = ["--bytecode", "turn.json", "--out", "out"]
    assert program(*flags) == 0
    path = folder / "out" / FILE_NAME
    text, stamp = path.read_text(), path.stat().st_mtime_ns
    assert '"turn_0_3", 0})' in text
    assert program(*flags) == 0
    assert path.stat().st_mtime_ns == stamp
    (folder / "turn.json").write_text(json.dumps(TABLES).replace("RET", "DROP"))
    assert program(*flags) == 0
    assert path.read_text() == text.replace("RET", "DROP")
    path.write_text("damaged")
    assert program(*flags) == 0
    assert path.read_text() == text.replace("RET", "DROP")


def test_the_default_folder_is_that_of_a_source_tree(folder: Path) -> None:
    """Started at the top of a source tree, the drop-in program replaces the file there."""
    assert drop_in("--bytecode", "turn.json") == 0
    assert (folder / "torch" / "csrc" / "jit" / "mobile" / FILE_NAME).exists()


def test_faulty_bytecode_replaces_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A mistake in the file is an error with its place, and the file that is there stays."""
    assert drop_in("--bytecode", "turn.json", "--out", "out") == 0
    before = (folder / "out" / FILE_NAME).read_bytes()
    (folder / "turn.json").write_text(torch_bytecode.bytecode_text(TABLES).replace("RET", "RETURN"))
    assert drop_in("--bytecode", "turn.json", "--out", "out") == 1
    assert "error[E1722]" in capsys.readouterr().err
    assert (folder / "out" / FILE_NAME).read_bytes() == before


def test_a_python_without_torch_is_an_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a file and without PyTorch, the error says how to name a file."""
    find = util.find_spec
    monkeypatch.setattr(util, "find_spec", lambda name, *others: None if name == "torch" else find(name, *others))
    assert drop_in("--out", "out") == 1
    text = capsys.readouterr().err
    assert "error[E1731]" in text
    assert "--bytecode" in text


def test_a_torch_that_fails_is_an_error(tmp_path: Path) -> None:
    """The error has the last line of what a failing process says."""
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho noise >&2\necho 'ImportError: no torch' >&2\nexit 1\n")
    python.chmod(0o755)
    with pytest.raises(Fault, match="ImportError: no torch"):
        torch_bytecode.bytecode_of_torch(str(python))


@pytest.mark.parametrize(("said", "told"), [("", "exit status 3"), ("noise\\n\\nlast \\n", "last")])
def test_a_failing_process_is_told_in_one_line(tmp_path: Path, said: str, told: str) -> None:
    """The line is the last one that the process says, or has its exit status."""
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\nprintf '{said}' >&2\nexit 3\n")
    python.chmod(0o755)
    with pytest.raises(Fault) as raised:
        torch_bytecode.bytecode_of_torch(str(python))
    diagnostic = raised.value.diagnostic
    assert diagnostic.message == f"`{python}` cannot tell the bytecode of PyTorch: {told}"
    assert diagnostic.help == "name a file with `--bytecode`"


#: A package with what a process asks PyTorch for.
TORCH = {
    "torch/__init__.py": "",
    "torch/jit/__init__.py": "",
    "torch/jit/generate_bytecode.py": f"def generate_upgraders_bytecode():\n    return [{TABLES['upgraders']!r}]\n",
    "torch/_C.py": """\
from types import SimpleNamespace as Record
def _get_operator_version_map():
    return {"aten::turn": [Record(upgrader_name="turn_0_3")]}
def _get_upgrader_ranges(name):
    return [Record(min_version=0, max_version=3)] if name == "aten::turn" else []
""",
}


def test_bytecode_is_asked_of_the_python_that_is_named(tmp_path: Path) -> None:
    """The tables of that Python's PyTorch become a file as it is read, and the process gets no input."""
    for name, text in TORCH.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nread -r line && exit 1\nPYTHONPATH={tmp_path} exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    file = torch_bytecode.bytecode_of_torch(str(python))
    assert (file.path, file.text) == ("<bytecode of the installed PyTorch>", torch_bytecode.bytecode_text(TABLES))


@pytest.mark.thorough
def test_bytecode_of_torch_is_kept_and_read_again(folder: Path) -> None:
    """The dumped file gives the same text as PyTorch itself, and a run with nothing to do starts no PyTorch."""
    assert drop_in("--out", "asked", "--dump-bytecode", "kept.json") == 0
    assert drop_in("--out", "read", "--bytecode", "kept.json") == 0
    text = (folder / "asked" / FILE_NAME).read_text()
    assert (folder / "read" / FILE_NAME).read_text() == text
    assert "gelu_0_9" in text
    call = "import sys; from opwright.torchgen import gen_mobile_upgraders as program; program.bytecode_of_torch = None"
    assert unchanged_modules(folder, call, ["--out", "asked", "--dump-bytecode", "kept.json"]) == "0 False\n"


def unchanged_modules(folder: Path, call: str, flags: Sequence[str]) -> str:
    """What a process says that runs the program: its status, and whether it imported what asks PyTorch."""
    script = f"{call}; print(program.main({list(flags)!r}), 'opwright.mobile.upgraders.torch_bytecode' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", script], cwd=folder, check=True, capture_output=True, text=True)
    return run.stdout


def test_op_codes_are_those_of_the_header() -> None:
    """The table has the op codes of PyTorch's header, with the same operands where upgraders have such."""
    text = (installed_headers() / "torch" / "csrc" / "jit" / "runtime" / "instruction.h").read_text()
    rows = dict(re.findall(r'_\((\w+),\s*\\?\s*"(\w*)"\)', text))
    assert rows.keys() == OP_CODES.keys()
    # The second operand of this one is a number of types.
    rows["TYPECHECK"] = "TI"
    for code, letters in OP_CODES.items():
        assert letters in ("", rows[code]), code
        if not set(rows[code]) - set("ORCTPI"):
            assert letters == rows[code], code
