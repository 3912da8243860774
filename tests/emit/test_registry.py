"""The table of families, and the names of emitters."""

from __future__ import annotations

import re

import opwright
from opwright.emit.emitter import Options
from opwright.emit.registry import FAMILIES, emitters
from opwright.release.rules import Rules
from opwright.release.version import parse_version

#: Lower-case words; key names such as `SparseCsrCPU` count as one.
_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")


def test_emitter_names_have_one_form() -> None:
    """Emitter names, which `opwright where` shows, are lower-case words with underscores, and each is given once."""
    catalog = opwright.load()
    for options in (Options(), Options(per_operator_headers=False, update_c_shim=True)):
        job = opwright.Job(catalog, Rules(parse_version("2.15.0")), options)
        names = [emitter.name for emitter in emitters(job, FAMILIES)]
        assert [name for name in names if not _NAME.fullmatch(name)] == []
        assert len(names) == len(set(names))
