"""A plug-in that prints, raises `SystemExit`, or has forged files beside it misleads nobody."""

from __future__ import annotations

import asyncio
import py_compile
from importlib.util import cache_from_source
from pathlib import Path

import pytest

from opwright.plugins.discovery import load_plugin
from tests.plugins.fault_cases import installed_below
from tests.tools.lsp.session import Start, editor


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
        assert load_plugin("./acme").name == "honest"


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("print('noise')\nfrom opwright.plugin import Plugin\nplugin = Plugin('acme', api=1)\n", {"E1306"}),
        ("import os, sys\n'--check' in sys.argv and os._exit(0)\nraise SystemExit\n", {"E1306"}),
        ("raise SystemExit\n", {"E2302", "E1306"}),
    ],
)
def test_an_editor_has_its_other_diagnostics(tmp_path: Path, text: str, codes: set[str]) -> None:
    """A plug-in that prints or ends its process at import takes no other diagnostic from an editor."""
    (tmp_path / "acme.py").write_text(text)
    path = tmp_path / "mine.yaml"
    path.write_text("backend: PrivateUse1\ncpp_namespace: mine\nsupported:\n- addd.out\n")

    async def session() -> set[object]:
        async with editor(tmp_path, Start(("lsp", "--plugin", str(tmp_path / "acme.py")))) as own:
            uri = await own.open(path)
            return {row.code for row in own.client.diagnostics[uri]}

    assert asyncio.run(asyncio.wait_for(session(), 120)) == codes
