"""Requests that take long: others have answers meanwhile, and nobody works for an editor that waits no longer."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from tests.tools.lsp.session import Editor, editor

_LIBRARY = "namespace: acme\noperators:\n- func: scale(Tensor x) -> Tensor\n  dispatch:\n    CPU: scale_cpu\n"
#: Far more sources than can be read while the test runs, each within the limits of one source.
_SOURCES = 40
_SOURCE = f"int scale_cpu() {{ return {'x + ' * 250_000} x; }}\n"


@pytest.mark.thorough
def test_others_have_answers_while_a_request_works(tmp_path: Path) -> None:
    """While the sources of a kernel are read, a hover of another file is answered, and a cancelled request ends."""
    for number in range(_SOURCES):
        (tmp_path / f"slow{number}.cpp").write_text(_SOURCE.replace("x;", f"{number};"))
    for name in ("slow.yaml", "quick.yaml"):
        (tmp_path / name).write_text(_LIBRARY)
    (tmp_path / "pyproject.toml").touch()
    asyncio.run(_slow_and_quick(tmp_path))


async def _slow_and_quick(folder: Path) -> None:
    async with editor(folder) as own:
        slow, quick = await own.open(folder / "slow.yaml"), await own.open(folder / "quick.yaml")
        assert await own.client.text_document_hover_async(lsp.HoverParams(*own.at(quick, "func: scale", "scale")))
        place = own.at(slow, "CPU: scale_cpu", "scale_cpu")
        definition = own.client.protocol.send_request_async(  # type: ignore[no-untyped-call]
            lsp.TEXT_DOCUMENT_DEFINITION, lsp.DefinitionParams(*place), msg_id="slow"
        )
        task = asyncio.ensure_future(definition)
        start = time.monotonic()
        await asyncio.sleep(0.5)
        own.send_edit(quick, "scale_cpu", "scale_all")
        hover = await own.client.text_document_hover_async(lsp.HoverParams(*own.at(quick, "func: scale", "scale")))
        assert hover is not None
        assert not task.done(), "the request is still at work"
        own.client.cancel_request(lsp.CancelParams("slow"))
        with pytest.raises(JsonRpcException) as raised:
            await task
        assert raised.value.code == lsp.LSPErrorCodes.RequestCancelled
        spent = time.monotonic() - start
        assert spent < 30, f"all sources would take longer: {spent} s"


@pytest.mark.thorough
def test_a_source_over_its_limit_has_a_diagnostic(tmp_path: Path) -> None:
    """A C++ source that asks for too much work says so at the place, until it asks for less."""
    source, library = tmp_path / "kernels.cpp", tmp_path / "acme.yaml"
    library.write_text(_LIBRARY)
    (tmp_path / "pyproject.toml").touch()
    source.write_text("int scale_cpu() { return 1; }\nint x = " + "(" * 300 + ";\n")
    asyncio.run(_over_the_limit(source, library))


async def _over_the_limit(source: Path, library: Path) -> None:
    async with editor(library.parent) as own:
        uri = await own.open(library)
        place = lsp.DefinitionParams(*own.at(uri, "CPU: scale_cpu", "scale_cpu"))
        assert not await own.client.text_document_definition_async(place)
        (diagnostic,) = await asyncio.wait_for(_published(own, source.as_uri(), count=1), 30)
        assert diagnostic.code == "E0006"
        assert diagnostic.range.start == lsp.Position(1, len("int x = ") + 256)
        source.write_text("int scale_cpu() { return 1; }\n")
        assert await own.client.text_document_definition_async(place)
        await asyncio.wait_for(_published(own, source.as_uri(), count=0), 30)


async def _published(own: Editor, uri: str, *, count: int) -> list[lsp.Diagnostic]:
    """The diagnostics of a file, once there are so many."""
    while uri not in own.client.diagnostics or len(own.client.diagnostics[uri]) != count:
        await own.client.wait_for_notification(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    return list(own.client.diagnostics[uri])
