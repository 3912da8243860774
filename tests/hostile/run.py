"""One hostile value: generate with it, and look for it in the outputs outside of strings and comments."""

from __future__ import annotations

import re
import traceback
from functools import cache
from random import Random
from typing import Final, NamedTuple
from unittest.mock import patch

from opwright.backends.choices import LazyNames
from opwright.dialects.dialect import LoadContext
from opwright.dialects.table import NATIVE_FUNCTIONS
from opwright.emit.emitter import Options
from opwright.emit.registry import build_folders
from opwright.mobile.executorch_choices import ExecutorchFiles, ExecutorchOptions
from opwright.mobile.families import EXECUTORCH_FAMILIES
from opwright.model.catalog import Catalog
from opwright.release.inputs import Inputs, from_installed
from opwright.release.rules import Rules
from opwright.release.version import NEWEST
from opwright.run import loading
from opwright.run.generation import Generation
from opwright.run.request import Request
from opwright.source.diagnostic import Diagnostics, Fault, FaultsFound
from opwright.source.render import render_report
from opwright.source.text import SourceFile
from tests.hostile.documents import DOCUMENTS, Document, Place
from tests.hostile.lexing import tokens_of
from tests.hostile.values import MARK, hostile_value


class Finding(NamedTuple):
    """A hostile value that became code or ended in a traceback: where it stood, and what came of it."""

    document: str
    place: str
    value: str
    report: str


class Outputs(NamedTuple):
    """The texts of a run's outputs by path; None after diagnostics with errors."""

    texts: dict[str, str] | None
    report: str


@cache
def _inputs() -> Inputs:
    return from_installed()


@cache
def _catalog() -> Catalog:
    catalog = NATIVE_FUNCTIONS.load_inputs(LoadContext(Diagnostics(), Rules(NEWEST), _inputs()))
    assert catalog is not None
    return catalog


def generate(document: Document, texts: dict[str, str], *, tolerant: bool = False) -> Outputs:
    """What a run makes of files."""
    made: dict[str, str] = {}
    sources = {name: SourceFile(name, SourceFile.decode(name, text.encode()).text) for name, text in texts.items()}

    def keep(path: str, data: bytes) -> bytes:
        made[path] = data.decode()
        return data

    def read(path: str) -> SourceFile:
        return sources[path] if path in sources else SourceFile.read(path)

    sink = Diagnostics()
    try:
        request = _request(document, sources, tolerant=tolerant)
        request = request._replace(format_file=keep, read_file=read)
        with patch.object(loading, "_load_catalog", lambda context: _catalog()):
            for _ in Generation(request, sink).render_files():
                pass
    except (Fault, FaultsFound) as raised:
        sink.take(raised)
    return Outputs(
        None if sink.has_errors else made,
        render_report([d for d in sink.sorted() if d.severity.name == "ERROR"], color=False),
    )


def _request(document: Document, sources: dict[str, SourceFile], *, tolerant: bool) -> Request:
    main = sources[document.main]
    families: tuple[str, ...] = (document.family,)
    if document.family == "executorch":
        families = tuple(EXECUTORCH_FAMILIES)
    elif document.family == "backend" and not tolerant:
        families = ("backend", "library")
    request = Request(_inputs(), build_folders("out", families), families, tolerant=tolerant)
    match document.family:
        case "library":
            return request._replace(libraries=(main,))
        case "backend":
            return request._replace(backends=(main,))
        case "lazy":
            return request._replace(backends=(main,), options=Options(guests=(LazyNames(shape_header=None),)))
    options = Options(guests=(ExecutorchOptions(as_reference=tolerant),))
    return request._replace(options=options, guests=(ExecutorchFiles((main,), (sources["custom.yaml"],), True),))


@cache
def _sound_outputs(name: str, tolerant: bool) -> dict[str, str]:
    """The outputs of a document as it is; none if the reference's program would refuse it."""
    document = next(document for document in DOCUMENTS if document.name == name)
    made = generate(document, document.texts, tolerant=tolerant)
    assert made.texts is not None or tolerant, made.report
    return made.texts or {}


@cache
def _sound_skeleton(name: str, tolerant: bool, path: str) -> list[str] | None:
    text = _sound_outputs(name, tolerant).get(path)
    return None if text is None else skeleton(path, text)


def skeleton(path: str, text: str) -> list[str]:
    """The tokens of an output without comments, and with all strings alike."""
    return [token if kind == "code" else kind for kind, token in tokens_of(path, text) if kind != "comment"]


@cache
def _places() -> list[tuple[Document, Place]]:
    return [(document, place) for document in DOCUMENTS for place in document.places()]


#: Values that make other names of names.
_NAME: Final = re.compile(r"\w+(?:(?:::|\.)\w+)*")


def check_number(number: int) -> tuple[bool, Finding | None]:
    """Put the hostile value of a number into the field of that number. Whether a run took it, and what was found."""
    places = _places()
    document, place = places[number % len(places)]
    random = Random(number)
    original = document.original(place)
    value = hostile_value(random, original)
    tolerant = document.family != "library" and random.random() < 0.25
    is_code = document.is_code(place) or _NAME.fullmatch(value.replace(original, "x")) is not None
    try:
        made = generate(document, document.with_value(place, value), tolerant=tolerant)
        fault = "" if made.texts is None or is_code else fault_of(document, made.texts, tolerant)
    except Exception:
        made, fault = Outputs(None, ""), traceback.format_exc()
    finding = Finding(document.name, "/".join(map(str, place)), value, fault) if fault else None
    return made.texts is not None, finding


def fault_of(document: Document, texts: dict[str, str], tolerant: bool) -> str:
    """How outputs differ from those of the document as it is, other than in strings and comments; empty if they do not.

    Files of other names have the mark nowhere but in strings and comments.
    """
    sound = _sound_outputs(document.name, tolerant)
    for path, text in texts.items():
        if MARK in path.lower():
            return f"the path {path!r}"
        if text == sound.get(path):
            continue
        tokens = tokens_of(path, text)
        for kind, token in tokens:
            if MARK in token.lower() and (kind == "code" or (kind == "comment" and _runs_on(token))):
                return f"{path}: {kind} {token!r}"
        expected = _sound_skeleton(document.name, tolerant, path)
        if MARK in text.lower() and expected is not None:
            own = [token if kind == "code" else kind for kind, token in tokens if kind != "comment"]
            if own != expected:
                first = next((n for n, (a, b) in enumerate(zip(own, expected, strict=False)) if a != b), -1)
                return f"{path}: other code at {own[first : first + 8]}, not {expected[first : first + 8]}"
    return ""


def _runs_on(comment: str) -> bool:
    """Whether a comment of one line goes on in the next one."""
    return comment.startswith(("//", "#")) and "\n" in comment
