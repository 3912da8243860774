"""Finds plug-ins by the names that users write, and imports them."""

from __future__ import annotations

import os
import sys
import zlib
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module, invalidate_caches
from importlib.machinery import FileFinder, ModuleSpec, SourceFileLoader
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from types import ModuleType
from typing import TYPE_CHECKING, Final

from opwright.plugins.plugin import Plugin
from opwright.plugins.plugin_codes import DOES_NOT_LOAD, NOT_A_PLUGIN, UNKNOWN_PLUGIN
from opwright.plugins.sources import (
    describe_error,
    module_files,
    place_of_error,
    shown_path,
    sources_fingerprint,
    sources_of,
)
from opwright.source.diagnostic import Fault, did_you_mean

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint
    from types import CodeType

#: The group of entry points of installed plug-ins.
ENTRY_POINTS: Final = "opwright.plugins"

_ATTRIBUTE: Final = "plugin"

#: What the names of the modules begin with that are loaded from paths.
_MODULE_PREFIX: Final = "opwright_plugin_"

#: The plug-ins that this process imported, by module or file and attribute.
_LOADED: Final[dict[tuple[str, str], Plugin]] = {}


def is_path(name: str) -> bool:
    """Whether a name of a plug-in is the path of a file or folder.

    >>> is_path("tools/acme.py"), is_path("./acme"), is_path("acme"), is_path("acme.lists:plugin")
    (True, True, False, False)
    """
    return "/" in name or os.sep in name or name.endswith(".py")


@cache
def installed_plugins() -> dict[str, EntryPoint]:
    """Entry points of the installed plug-ins, by their names."""
    from importlib.metadata import entry_points

    return {point.name: point for point in sorted(entry_points(group=ENTRY_POINTS), key=lambda point: point.name)}


def _key_of(name: str) -> tuple[str, str]:
    """File or the module of a plug-in, and its attribute."""
    if is_path(name):
        return os.path.realpath(os.path.join(name, "__init__.py") if os.path.isdir(name) else name), _ATTRIBUTE
    point = installed_plugins().get(name)
    module, _, attribute = (point.value if point is not None else name).partition(":")
    return module, attribute or _ATTRIBUTE


def load_plugin(name: str) -> Plugin:
    """Plug-in of a name. Raises Fault if there is none, or it does not load."""
    place, attribute = _key_of(name)
    if is_path(name):
        if not os.path.isfile(place):
            raise Fault.at(UNKNOWN_PLUGIN, f"no plug-in `{name}`: there is no such file")
        return _plugin_of(name, (place, attribute), lambda: _import_file(place))
    point = installed_plugins().get(name)
    if point is None:
        _check_module(name, place)
    plugin = _plugin_of(name, (place, attribute), lambda: import_module(place))
    if point is not None and plugin.name != point.name:
        message = f"the plug-in that is installed as `{point.name}` calls itself `{plugin.name}`"
        raise Fault.at(NOT_A_PLUGIN, message, help="give its entry point the name of the plug-in")
    return plugin


def _check_module(name: str, module: str) -> None:
    try:
        spec = find_spec(module) if all(part.isidentifier() for part in module.split(".")) else None
    except ModuleNotFoundError:
        spec = None
    except (MemoryError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise _import_fault(name, error, ()) from None
    if spec is None:
        help = did_you_mean(name, installed_plugins(), "`opwright plugins` lists what is installed")
        message = f"no plug-in `{name}`: it is not installed, and no module has this name"
        raise Fault.at(UNKNOWN_PLUGIN, message, help=help)


def _plugin_of(name: str, key: tuple[str, str], import_it: Callable[[], ModuleType]) -> Plugin:
    """Plug-in in an attribute of a module, imported again if its sources changed."""
    loaded = _LOADED.get(key)
    if loaded is not None:
        if sources_of(loaded).fingerprint() == sources_fingerprint(loaded):
            return loaded
        _forget(sources_of(loaded).files)
    plugin = _attribute_of(_import(name, key[0], import_it), key[1])
    _LOADED[key] = plugin
    # As they are now, because they are imported now.
    sources_fingerprint(plugin)
    return plugin


def _import(name: str, place: str, import_it: Callable[[], ModuleType]) -> ModuleType:
    """Import a module. Raises Fault for whatever the import raises."""
    # Opwright writes no files beside the sources of users.
    writes_none, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        return import_it()
    except (Fault, MemoryError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise _import_fault(name, error, _likely_files(place, error)) from None
    finally:
        sys.dont_write_bytecode = writes_none


def _likely_files(place: str, error: BaseException) -> list[str]:
    """Files of a module that raised an exception while it was imported."""
    if is_path(place):
        return module_files(place)
    files = []
    top = place.partition(".")[0]
    trace = error.__traceback__
    while trace is not None:
        if str(trace.tb_frame.f_globals.get("__name__", "")).partition(".")[0] == top:
            files.append(os.path.abspath(trace.tb_frame.f_code.co_filename))
        trace = trace.tb_next
    if isinstance(error, SyntaxError) and error.filename:
        files.append(os.path.abspath(error.filename))
    return files


def _import_fault(name: str, error: BaseException, files: list[str] | tuple[str, ...]) -> Fault:
    message = f"plug-in `{name}` does not load: {describe_error(error)}"
    return Fault.at(DOES_NOT_LOAD, message, place_of_error(error, files))


def _attribute_of(module: ModuleType, attribute: str) -> Plugin:
    """Plug-in in an attribute of a module. Raises Fault if it has none."""
    plugin: object = module
    for part in attribute.split("."):
        plugin = getattr(plugin, part, None)
    if isinstance(plugin, Plugin):
        return plugin
    where = module.__name__ if module.__file__ is None else shown_path(module.__file__)
    what = f"is a `{type(plugin).__name__}`, not a `Plugin`" if plugin is not None else ""
    message = f"`{attribute}` of `{where}` {what}" if what else f"`{where}` has no attribute `{attribute}`"
    raise Fault.at(NOT_A_PLUGIN, message, help='write `plugin = Plugin("NAME", api=1, ...)` in the module')


class _SourceLoader(SourceFileLoader):
    """Loads a module from its source alone, because a cached one may be of an earlier edit in the same second."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


class _SourceFinder:
    """Finds the modules of plug-ins that are folders, whose cached ones may be other programs than their sources."""

    @staticmethod
    def find_spec(name: str, places: Sequence[str] | None, target: object = None) -> ModuleSpec | None:
        """Source of a module of a plug-in; None for other modules."""
        del target
        if not name.startswith(_MODULE_PREFIX):
            return None
        finders = [FileFinder(place, (_SourceLoader, [".py"])) for place in places or ()]
        return next(filter(None, [finder.find_spec(name) for finder in finders]), None)


def _import_file(path: str) -> ModuleType:
    """Module of a file, which is a package if the file is its `__init__.py`."""
    folder, file = os.path.split(path)
    is_package = file == "__init__.py"
    stem = os.path.basename(folder) if is_package else file.removesuffix(".py")
    name = f"{_MODULE_PREFIX}{zlib.crc32(path.encode()):08x}_{stem}"
    places = [folder] if is_package else None
    if _SourceFinder not in sys.meta_path:
        sys.meta_path.insert(0, _SourceFinder)
    spec = spec_from_file_location(name, path, loader=_SourceLoader(name, path), submodule_search_locations=places)
    assert spec is not None, "a path with a loader has a spec"
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _forget(files: tuple[str, ...]) -> None:
    """Forget the imported modules of files, so that they are imported again."""
    for name, module in list(sys.modules.items()):
        path = getattr(module, "__file__", None)
        if path is not None and os.path.abspath(path) in files:
            del sys.modules[name]
    invalidate_caches()
