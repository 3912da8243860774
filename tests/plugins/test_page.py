"""The examples of the page about plug-ins run."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent

import pytest

import opwright.plugin
from opwright.cli.main import main
from opwright.plugin import Plugin, use_plugins
from opwright.plugins.code_pages import find_code
from opwright.plugins.use import ensure_active
from tests.engine.project import Project
from tests.plugins.fault_cases import installed_below

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "plugins.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"(?ms)^```python\n(.*?)^```", PAGE)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_examples_are_valid(number: int) -> None:
    """Each example is Python, and one that makes a plug-in runs without a fault."""
    code = compile(EXAMPLES[number], "<docs/plugins.md>", "exec")
    if "= Plugin(" not in EXAMPLES[number]:
        return
    names = {name: getattr(opwright.plugin, name) for name in vars(opwright.plugin)["__all__"]}
    exec(code, names)
    plugin = names.get("plugin")
    if isinstance(plugin, Plugin):
        use_plugins(plugin)
        ensure_active(())


def test_the_first_plugin(project: Project) -> None:
    """The first plug-in of the page makes the file that the page shows."""
    folder = project.folder
    (folder / "operator_list.py").write_text(EXAMPLES[1])
    where = ["--source-path", Project.place, "--release", "2.13", "--out", "build", "--jobs", "1"]
    with installed_below(folder):
        assert main(["generate", "--plugin", "operator_list.py", "--only", "operator_list", *where]) == 0
    lines = (folder / "build/lists/operators.txt").read_text().splitlines()
    assert lines[0] == "aten::twice(Tensor self) -> Tensor"
    assert len(EXAMPLES[1].splitlines()) < 40


@pytest.mark.parametrize("page", ["plugins.md", "E1301"])
def test_a_reader_of_vendors_files(page: str, project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """The short readers of the page, and of the page about files that nothing reads, take a list in another form."""
    folder = project.folder
    explained = find_code("E1301")
    assert explained is not None
    code = dedent(re.findall(r"(?ms)^    from opwright.*?^    plugin = .*?$", explained.explanation)[0])
    if page == "plugins.md":
        code = next(example for example in EXAMPLES if "known_operators(" in example)
    (folder / "acme.py").write_text(code)
    (folder / "acme.yaml").write_text(
        '- {schema: "twice(Tensor self) -> Tensor", kernel: fast_twice}\n- {schema: gone}\n'
    )
    where = ["--source-path", Project.place, "--release", "2.13", "--out", "build", "--jobs", "1"]
    with installed_below(folder):
        assert main(["generate", "--backend", "acme.yaml", *where]) == 1
        assert "error[E1301]: the file is a list" in capsys.readouterr().err
        assert main(["generate", "--plugin", "acme.py", "--backend", "acme.yaml", *where]) == 0
    assert "note[W1374]: `gone` is no operator of this release\n --> acme.yaml:2:12" in capsys.readouterr().err
    assert "static at::Tensor fast_twice(const at::Tensor & self);" in (
        folder / "build/PrivateUse1NativeFunctions.h"
    ).read_text(encoding="utf-8")
