"""Completion in shells, as bash and fish ask for it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

#: Calls what `opwright completion bash` defines for a line, as bash does when a user presses TAB at its end.
SESSION = """
eval "$("$1" -m opwright completion bash)"
opwright() { "$PYTHON" -m opwright "$@"; }
export PYTHON=$1
COMP_LINE=$2 COMP_POINT=${#2} COMP_TYPE=9 COMP_WORDBREAKS=$' \\t\\n"\\'><=;|&(:'
_python_argcomplete opwright 2>/dev/null
printf '%s\\n' "${COMPREPLY[@]}"
"""


def completions(line: str) -> list[str]:
    """What bash offers at the end of a line."""
    command = ["bash", "-c", SESSION, "bash", sys.executable, line]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return sorted(word.strip() for word in done.stdout.splitlines() if word.strip())


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not there")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("opwright st", ["stubs"]),
        ("opwright generate --list-o", ["--list-outputs"]),
        ("opwright explain --format ", ["json", "text"]),
        ("opwright explain add.T", ["add.Tensor"]),
        ("opwright explain nothing_like_t", []),
        ("opwright explain E031", [f"E031{digit}" for digit in range(10)]),
        ("opwright check --ignore E0310,E0311,E031", [f"E0310,E0311,E031{digit}" for digit in range(10)]),
        ("opwright releases 2.1", ["2.10.0", "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0"]),
        ("opwright generate --torch 2.4", ["2.4.1"]),
        ("opwright generate --only autog", ["autograd"]),
        ("opwright completion ", ["bash", "fish", "zsh"]),
    ],
)
def test_lines(line: str, expected: list[str]) -> None:
    """Commands, options, the values of options, and operators of the installed PyTorch."""
    assert completions(line) == expected


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not there")
def test_fish_completes_commands_and_operators() -> None:
    """What fish offers after it has read what `opwright completion fish` prints, with the help of each command."""
    program = f"function opwright; {sys.executable} -m opwright $argv; end; opwright completion fish | source; "
    lines = ("opwright stu", "opwright explain add.Ten", "opwright check --form")
    asked = "; ".join([f'complete -C "{line}"' for line in lines])
    done = subprocess.run(["fish", "-c", program + asked], capture_output=True, text=True, check=True)
    offered = [line.partition("\t") for line in done.stdout.splitlines() if line.strip()]
    assert [words[0].strip() for words in offered] == ["stubs", "add.Tensor", "--format"]
    assert offered[0][2].startswith("write stubs")


def test_the_help_beside_options_is_a_line(tmp_path: Path) -> None:
    """Shells that show help get its first clause: for `--only`, not the list of all families."""
    answer = tmp_path / "answer"
    line = "opwright generate --o"
    asked = {"_ARGCOMPLETE": "1", "_ARGCOMPLETE_SHELL": "fish", "_ARGCOMPLETE_STDOUT_FILENAME": str(answer)}
    asked |= {"COMP_LINE": line, "COMP_POINT": str(len(line)), "_ARGCOMPLETE_DFS": "\t", "_ARGCOMPLETE_IFS": "\n"}
    subprocess.run([sys.executable, "-m", "opwright"], env={**os.environ, **asked}, check=True)
    assert "--only\twrite only this family of files\n" in answer.read_text()


def test_a_missing_package_is_named(tmp_path: Path) -> None:
    """A copy of Opwright without argcomplete says what to install."""
    code = "import sys; sys.modules['argcomplete'] = None; from opwright.cli.main import program; program()"
    command = [sys.executable, "-c", code, "completion", "bash"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "pip install 'argcomplete'" in done.stderr
