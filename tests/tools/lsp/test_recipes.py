"""The configurations of editors on docs/editors.md: each one is of its format, and starts the program that there is."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from opwright.workspace.project_files import load_toml

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "editors.md").read_text(encoding="utf-8")
EDITORS = ("Neovim", "Emacs", "Vim", "Helix", "Kakoune", "JetBrains", "Zed")


def recipe(editor: str) -> str:
    """The section of an editor."""
    match = re.search(rf"(?ms)^## {editor}\n(.*?)(?=^## |\Z)", PAGE)
    assert match is not None
    return match[1]


def blocks(editor: str) -> list[str]:
    """The configurations in the section of an editor."""
    return re.findall(r"(?ms)^```\w*\n(.*?)^```", recipe(editor))


def block(editor: str) -> str:
    """The first of them."""
    return blocks(editor)[0]


@pytest.mark.parametrize("editor", EDITORS)
def test_each_recipe_starts_the_server(editor: str) -> None:
    """A recipe has the words of the command, for YAML files."""
    text = recipe(editor)
    assert re.search(r"opwright\W+(?:args\W+|arguments\W+)?lsp\b", text)
    assert re.search(r"(?i)yaml", text)


def test_formats() -> None:
    """The configurations in TOML and JSON are read as the editors read them; brackets of the others are in pairs."""
    helix = load_toml(block("Helix"))
    assert helix["language-server"] == {"opwright": {"command": "opwright", "args": ["lsp"]}}
    zed = json.loads(block("Zed"))
    assert zed["lsp"]["yaml-language-server"]["binary"] == {"path": "opwright", "arguments": ["lsp"]}
    servers = re.search(r"(?s)lsp_servers %\{(.*?)\n    \}", block("Kakoune"))
    assert servers is not None
    assert load_toml(servers[1])["opwright"] == {
        "command": "opwright",
        "args": ["lsp"],
        "root_globs": ["pyproject.toml", ".git"],
    }
    for editor in ("Neovim", "Emacs", "Kakoune"):
        text = re.sub(r"\"[^\"]*\"|#?'", "", block(editor))
        assert [text.count(sign) for sign in "({["] == [text.count(sign) for sign in ")}]"]


@pytest.mark.skipif(shutil.which("vim") is None, reason="Vim is not installed")
def test_vim_reads_its_recipe(tmp_path: Path) -> None:
    """Vim calls vim-lsp with the server, here one that writes what it gets."""
    plugin = tmp_path / "autoload" / "lsp.vim"
    plugin.parent.mkdir()
    plugin.write_text(
        "function! lsp#register_server(server) abort\n"
        f"  call writefile([join(a:server.cmd({{}}), ' '), string(a:server.allowlist)], '{tmp_path}/out')\n"
        "endfunction\n"
    )
    vimrc = tmp_path / "vimrc"
    vimrc.write_text(
        f"set nocompatible\nset runtimepath^={tmp_path}\n{block('Vim')}doautocmd User lsp_setup\nquitall!\n"
    )
    subprocess.run(["vim", "-es", "-N", "-u", str(vimrc)], check=False, capture_output=True, timeout=60)
    assert (tmp_path / "out").read_text().splitlines() == ["opwright lsp", "['yaml']"]


MISTAKE = """\
namespace: acme
operators:
- func: scale(Tensro self) -> Tensor
  dispatch:
    CPU: scale
"""


def session(folder: Path, *command: str) -> str:
    """What an editor prints that is started in a project whose file has a mistake on line 3."""
    (folder / "pyproject.toml").touch()
    (folder / "ops.yaml").write_text(MISTAKE)
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    environment = {**os.environ, "PATH": programs, "HOME": str(folder), "XDG_STATE_HOME": str(folder)}
    completed = subprocess.run(
        command, cwd=folder, env=environment, check=False, capture_output=True, text=True, timeout=60
    )
    return completed.stdout + completed.stderr


def neovim_version() -> tuple[int, ...]:
    """The version of the installed Neovim; empty without one."""
    if shutil.which("nvim") is None:
        return ()
    text = subprocess.run(["nvim", "--version"], check=False, capture_output=True, text=True, timeout=60).stdout
    return tuple(map(int, re.findall(r"[0-9]+", text.splitlines()[0])[:2]))


@pytest.mark.parametrize(("number", "since"), [(0, (0, 11)), (1, (0, 8))], ids=["new", "old"])
def test_neovim_shows_a_mistake(tmp_path: Path, number: int, since: tuple[int, int]) -> None:
    """Neovim, started with a recipe, has the diagnostic of an opened file."""
    if neovim_version() < since:
        pytest.skip(f"Neovim {'.'.join(map(str, since))} is not installed")
    (tmp_path / "init.lua").write_text(blocks("Neovim")[number])
    (tmp_path / "session.lua").write_text(
        "vim.cmd.edit('ops.yaml')\n"
        "vim.wait(40000, function() return #vim.diagnostic.get(0) > 0 end, 50)\n"
        "for _, mistake in ipairs(vim.diagnostic.get(0)) do\n"
        "  io.stdout:write((mistake.lnum + 1) .. ': ' .. mistake.message .. '\\n')\n"
        "end\n"
        "vim.cmd('qall!')\n"
    )
    printed = session(tmp_path, "nvim", "--headless", "-u", "init.lua", "-c", "luafile session.lua")
    assert "3: unknown type `Tensro`" in printed


def has_eglot() -> bool:
    """Whether an Emacs with Eglot and a mode for YAML is installed."""
    if shutil.which("emacs") is None:
        return False
    needed = "(progn (package-initialize) (require 'eglot) (require 'yaml-mode))"
    command = ["emacs", "--batch", "--no-init-file", "--eval", needed]
    return subprocess.run(command, check=False, capture_output=True, timeout=60).returncode == 0


def test_emacs_shows_a_mistake(tmp_path: Path) -> None:
    """Emacs, started with its recipe, has the diagnostic of an opened file."""
    if not has_eglot():
        pytest.skip("Emacs with Eglot and yaml-mode is not installed")
    (tmp_path / "init.el").write_text(block("Emacs"))
    (tmp_path / "session.el").write_text(
        "(package-initialize)\n"
        '(load (expand-file-name "init.el"))\n'
        "(require 'eglot)\n"
        '(find-file "ops.yaml")\n'
        "(run-hooks 'post-command-hook)\n"
        "(let ((end (+ (float-time) 40)))\n"
        "  (while (and (< (float-time) end) (not (and flymake-mode (flymake-diagnostics))))\n"
        "    (accept-process-output nil 0.1)\n"
        "    (when flymake-mode (flymake-start))))\n"
        "(dolist (mistake (flymake-diagnostics))\n"
        '  (message "%s: %s" (line-number-at-pos (flymake-diagnostic-beg mistake))\n'
        "           (flymake-diagnostic-text mistake)))\n"
    )
    printed = session(tmp_path, "emacs", "--batch", "--no-init-file", "-l", "session.el")
    assert re.search(r"3: .*unknown type `Tensro`", printed)
