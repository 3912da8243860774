"""The configurations of editors on docs/editors.md: each one is of its format, and starts the program that there is."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from opwright.source.project_file import load_toml

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "editors.md").read_text(encoding="utf-8")
EDITORS = ("Neovim", "Emacs", "Vim", "Helix", "Kakoune", "JetBrains", "Zed")


def recipe(editor: str) -> str:
    """The section of an editor."""
    match = re.search(rf"(?ms)^## {editor}\n(.*?)(?=^## |\Z)", PAGE)
    assert match is not None
    return match[1]


def block(editor: str) -> str:
    """The configuration in the section of an editor."""
    match = re.search(r"(?ms)^```\w*\n(.*?)^```", recipe(editor))
    assert match is not None
    return match[1]


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
