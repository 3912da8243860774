"""The extension for Visual Studio Code fits the program that it starts; `make vscode` runs the tests of its own."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import opwright
from opwright.cli.main import main

FOLDER = Path(__file__).resolve().parents[3] / "editors" / "vscode"
LIBRARY = """\
namespace: acme
operators:
- func: twice(Tensor self, double factor) -> Tensor
  dispatch:
    CPU: twice
"""


@pytest.fixture(scope="module")
def package() -> dict[str, Any]:
    """What the extension contributes."""
    described: dict[str, Any] = json.loads((FOLDER / "package.json").read_text(encoding="utf-8"))
    return described


def test_version(package: dict[str, Any]) -> None:
    """The extension has the version of Opwright."""
    assert package["version"] == opwright.__version__


def test_arguments_of_the_server_exist(capsys: pytest.CaptureFixture[str]) -> None:
    """`opwright lsp` has every option that the extension passes."""
    options = set(re.findall(r'"(--[a-z-]+)"', (FOLDER / "src" / "settings.ts").read_text(encoding="utf-8")))
    assert {"--torch", "--source-path", "--plugin", "--allow-path", "--color"} == options
    with pytest.raises(SystemExit):
        main(["lsp", "--help"])
    shown = capsys.readouterr().out
    assert [option for option in options if option not in shown] == []


def test_problem_matcher_reads_short_reports(
    package: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The problem matcher finds file, line, column, severity, code and message in what `opwright check` prints."""
    file = tmp_path / "operators.yaml"
    file.write_text(LIBRARY, encoding="utf-8")
    main(["check", str(file), "--format", "short"])
    (matcher,) = package["contributes"]["problemMatchers"]
    printed = capsys.readouterr()
    found = [re.match(matcher["pattern"]["regexp"], line) for line in (printed.out + printed.err).splitlines()]
    assert [match.groups()[:5] for match in found if match] == [(str(file), "3", "28", "error", "E0202")]


def test_snippets_are_right(package: dict[str, Any], tmp_path: Path) -> None:
    """What a snippet inserts, with the choices that it offers first, has no mistakes."""
    (row,) = package["contributes"]["snippets"]
    snippets = json.loads((FOLDER / row["path"]).read_text(encoding="utf-8"))
    texts = {
        snippet["prefix"]: re.sub(r"\$\{\d+[:|]([^},|]*)[^}]*\}", r"\1", "\n".join(snippet["body"])) + "\n"
        for snippet in snippets.values()
    }
    (tmp_path / "acme.yaml").write_text(texts["opwright-library"])
    (tmp_path / "other.yaml").write_text(f"namespace: other\noperators:\n{texts['opwright-func']}")
    assert main(["check", str(tmp_path / "acme.yaml"), str(tmp_path / "other.yaml")]) == 0
    derived = f"namespace: acme\nderivatives: derivatives.yaml\noperators:\n{texts['opwright-func']}"
    (tmp_path / "acme.yaml").write_text(derived)
    (tmp_path / "derivatives.yaml").write_text(texts["opwright-derivative"])
    assert main(["check", str(tmp_path / "acme.yaml"), str(tmp_path / "derivatives.yaml")]) == 0


def test_schemas_of_the_extension_are_published(package: dict[str, Any]) -> None:
    """Each schema that the extension, the projects or the pages name is a file of the documentation."""
    root = FOLDER.parents[1]
    texts = [json.dumps(package), (root / "docs/editors.md").read_text(encoding="utf-8")]
    texts += [path.read_text(encoding="utf-8") for path in (root / "src").rglob("*.yaml.in")]
    names = set(re.findall(r"opwright/opwright/main/(docs/schemas/\w+\.json)", "\n".join(texts)))
    assert len(names) == 3
    assert [name for name in names if not (root / name).is_file()] == []
