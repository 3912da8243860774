"""Files that a plug-in consists of, whose changes may change what it does, and places in them."""

from __future__ import annotations

import ast
import contextlib
import os
import re
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from typing import TYPE_CHECKING

from opwright.source.diagnostic import Fault
from opwright.source.records import NamedTuple
from opwright.source.text import SourceFile

if TYPE_CHECKING:
    from types import TracebackType

    from opwright.plugins.plugin import Plugin
    from opwright.source.span import Span


class PluginSources(NamedTuple):
    """Files of a plug-in, and the folders in which a new file would be one of it; absolute paths, sorted."""

    files: tuple[str, ...]
    folders: tuple[str, ...]

    def fingerprint(self) -> str:
        """A text that differs once a file differs. The place of the plug-in does not count."""
        top = os.path.commonpath(self.files) if len(self.files) > 1 else ""
        digest = sha256()
        for path in self.files:
            digest.update(f"{path.removeprefix(top)}\n".encode())
            digest.update(_content(path))
        return digest.hexdigest()


def _content(path: str) -> bytes:
    try:
        with open(path, "rb") as stream:
            return sha256(stream.read()).digest()
    except OSError:
        return b""


def folder_of(plugin: Plugin, name: str) -> str:
    """Path of a folder beside the module of a plug-in."""
    return os.path.join(os.path.dirname(os.path.abspath(plugin.file)), name)


def sources_of(plugin: Plugin) -> PluginSources:
    """Sources of a plug-in: its module, what it imports of its own package, its templates and support headers."""
    files = set(module_files(plugin.file) if plugin.file else ())
    for module in _named_modules(plugin):
        files.update(module_files(module))
    folders: set[str] = set()
    for name in (plugin.templates, plugin.headers):
        if name and isinstance(name, str):
            for folder, _, names in os.walk(folder_of(plugin, name)):
                folders.add(folder)
                files.update(os.path.join(folder, file) for file in names)
    return PluginSources(tuple(sorted(files)), tuple(sorted(folders)))


def _tree_of(path: str) -> ast.Module | None:
    """Syntax tree of a module; None if it cannot be read or is not Python."""
    try:
        with open(path, "rb") as stream:
            return ast.parse(stream.read())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def source_paths(plugins: Iterable[Plugin]) -> list[str]:
    """Paths of the files of plug-ins, and of the folders in which a new file would be one of them."""
    return [path for sources in map(sources_of, plugins) for path in (*sources.files, *sources.folders)]


@cache
def sources_fingerprint(plugin: Plugin) -> str:
    """Fingerprint of the sources of a plug-in when it was asked for first."""
    return sources_of(plugin).fingerprint()


def _named_modules(plugin: Plugin) -> Iterator[str]:
    """Files of the modules that make the files of the plug-in's families."""
    # The plug-in may not be checked yet.
    for family in plugin.families:
        sources = getattr(family, "emitters", ())
        for source in sources if isinstance(sources, (list, tuple)) else ():
            spec = None
            with contextlib.suppress(ImportError, ValueError):
                spec = find_spec(source) if isinstance(source, str) else None
            if spec is not None and spec.has_location and spec.origin is not None:
                yield spec.origin


def module_files(path: str) -> list[str]:
    """File of a module, and those of the modules of its package that it imports, directly or through others."""
    files: dict[str, None] = {}
    waiting = [os.path.abspath(path)]
    while waiting:
        file = waiting.pop()
        if file not in files and os.path.isfile(file):
            files[file] = None
            waiting += _imported_files(file)
    return list(files)


def _imported_files(path: str) -> Iterator[str]:
    """Files of the same package that the module of a file may import; none if it is in no package."""
    top = _package_top(os.path.dirname(path))
    if top is None:
        return
    tree = _tree_of(path)
    if tree is None:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _absolute_files(top, alias.name.split("."))
        elif isinstance(node, ast.ImportFrom):
            module = [] if node.module is None else node.module.split(".")
            names = [[*module, alias.name] for alias in node.names]
            if node.level:
                folder = path
                for _ in range(node.level):
                    folder = os.path.dirname(folder)
                yield from _files_below(folder, [module, *names])
            else:
                for parts in [module, *names]:
                    yield from _absolute_files(top, parts)


def _package_top(folder: str) -> str | None:
    """Outermost folder around a module that is a package; None if the module is in no package."""
    top = None
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        top, folder = folder, os.path.dirname(folder)
    return top


def _absolute_files(top: str, parts: list[str]) -> Iterator[str]:
    """Files of a dotted name, if its first part is the package."""
    if parts and parts[0] == os.path.basename(top):
        yield from _files_below(top, [parts[1:end] for end in range(1, len(parts) + 1)])


def _files_below(folder: str, names: Iterable[list[str]]) -> Iterator[str]:
    """Files that modules of these names have below a folder, whether or not they exist."""
    for parts in names:
        path = os.path.join(folder, *parts)
        if parts:
            yield f"{path}.py"
        yield os.path.join(path, "__init__.py")


def describe_error(error: BaseException) -> str:
    """Type of an exception, and the first line of its text if it has one.

    >>> describe_error(KeyError("CPU"))
    "KeyError: 'CPU'"
    """
    text = (error.msg if isinstance(error, SyntaxError) else str(error)).strip().partition("\n")[0]
    name = type(error).__name__
    return f"{name}: {text}" if text else name


def place_of_error(error: BaseException, files: Collection[str]) -> Span | None:
    """The last place in one of the files that an exception passed; None if it passed none of them."""
    if isinstance(error, SyntaxError) and error.filename and os.path.abspath(error.filename) in files:
        return line_span(error.filename, error.lineno or 1)
    place: tuple[str, int] | None = None
    trace: TracebackType | None = error.__traceback__
    while trace is not None:
        path = os.path.abspath(trace.tb_frame.f_code.co_filename)
        if path in files:
            place = path, trace.tb_lineno
        trace = trace.tb_next
    return None if place is None else line_span(*place)


def line_span(path: str, line: int) -> Span | None:
    """Text of a line of a file, without the blanks around it; None if the file cannot be read."""
    try:
        file = SourceFile.read(shown_path(path))
    except Fault:
        return None
    number = min(max(line, 1), file.line_count)
    start = file.line_starts[number - 1]
    text = file.line_text(number)
    return file.span(start + len(text) - len(text.lstrip()), start + len(text.rstrip()))


def shown_path(path: str) -> str:
    """Path of a file as messages show it: relative to the working folder if it is below."""
    absolute, here = os.path.abspath(path), os.getcwd()
    return os.path.relpath(absolute) if absolute.startswith(here + os.sep) else absolute


def definition_span(plugin: Plugin) -> Span | None:
    """Place where a module makes a plug-in; None if it is in no file."""
    if not os.path.isfile(plugin.file):
        return None
    file = SourceFile.read(shown_path(plugin.file))
    match = re.search(rf"\bPlugin\(\s*[\"']{re.escape(str(plugin.name))}[\"']", file.text)
    if match is None:
        return file.span(0)
    end = match.start() + len("Plugin") if "\n" in match.group() else match.end()
    return file.span(match.start(), end)
