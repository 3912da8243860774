"""What a plug-in adds, as runs use it: its functions are safe, and its fragments depend on its sources.

Exceptions and wrong results of functions of a plug-in become diagnostics with a place in its file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property, partial
from importlib import import_module
from typing import Any, Final, TypeVar

from opwright.backends.extensions import (
    PLACEHOLDER,
    EmitExtensions,
    Extension,
    KernelConvention,
    KernelSelector,
    Registration,
    RegistrationChange,
    WrapperHook,
)
from opwright.backends.hooks import HOOK_VALUES, HookPosition, exists_at
from opwright.cpp.binding import Binding
from opwright.cpp.c_types import CType
from opwright.cpp.signature import Signature
from opwright.dialects.dialect import BackendReader, Dialect
from opwright.dialects.field import LIBRARY_ENTRY, NATIVE_FUNCTION
from opwright.dialects.native_functions.fields import ENTRY_FIELDS
from opwright.emit.emitter import AnyEmitter, DeclaredRead, Emitter, FilePerUnit, Job, OneFile, Sharded, Slots
from opwright.emit.family import Check, Family
from opwright.guests import guest_rows
from opwright.model.catalog import PartialCatalog
from opwright.model.native_function import NativeFunction
from opwright.plugins.extra_keys import ExtraKey
from opwright.plugins.plugin import Plugin
from opwright.plugins.plugin_codes import EMITTER_MISFIT, KEY_TAKEN, NAME_CLASH, RAISED, WRONG_RESULT
from opwright.plugins.sources import (
    definition_span,
    describe_error,
    line_span,
    place_of_error,
    sources_fingerprint,
    sources_of,
)
from opwright.source.diagnostic import Diagnostics, Fault, FaultsFound, did_you_mean
from opwright.source.nodes import MappingNode
from opwright.source.records import not_fingerprinted
from opwright.source.span import Span

_Row = TypeVar("_Row")
_Result = TypeVar("_Result")


@not_fingerprinted(_plugin="messages name it, and the fragments of its emitters have its sources in their context")
class CallGuard:
    """Makes safe functions of those of a plug-in.

    A safe function raises Fault in place of any other exception, with the place in the plug-in, and if its check tells
    what is wrong with its result.
    """

    def __init__(self, plugin: Plugin) -> None:
        self._plugin = plugin

    @cached_property
    def files(self) -> Collection[str]:
        """Files of the plug-in."""
        return sources_of(self._plugin).files

    def function(
        self,
        point: str,
        function: Callable[..., _Result],
        check: Callable[[_Result], str] = lambda _: "",
        origin: object = None,
    ) -> Callable[..., _Result]:
        """A safe function. `point` says what the function is for, `check` what is wrong with a result, if anything.

        `origin` is the function of the plug-in, if it is called by another one.
        """
        called = origin or function

        def call(*arguments: object) -> _Result:
            try:
                result = function(*arguments)
            except (Fault, FaultsFound, PartialCatalog, MemoryError, KeyboardInterrupt):
                raise
            except BaseException as error:
                raise self._fault(point, called, error, arguments) from None
            wrong = check(result)
            if wrong:
                message = f"plug-in `{self._plugin.name}`: {point} gave {wrong}"
                raise Fault.at(WRONG_RESULT, message, self._place(called), notes=_notes(arguments))
            return result

        return call

    def _fault(self, point: str, function: object, error: BaseException, arguments: Sequence[object]) -> Fault:
        message = f"plug-in `{self._plugin.name}`: {point} raised {describe_error(error)}"
        place = place_of_error(error, self.files) or self._place(function)
        return Fault.at(RAISED, message, place, notes=_notes(arguments))

    def _place(self, function: object) -> Span | None:
        """The first line of a function; None if it is not of the plug-in, or not written in Python."""
        import inspect

        code = getattr(inspect.unwrap(function) if callable(function) else None, "__code__", None)
        return (
            None
            if code is None or os.path.abspath(code.co_filename) not in self.files
            else line_span(code.co_filename, code.co_firstlineno)
        )


def _notes(arguments: Sequence[object]) -> list[str]:
    subject = subject_of(arguments)
    return [f"for the operator `{subject}`"] if subject else []


def subject_of(value: object) -> str:
    """Full name of the operator that a value is of, or of its first part that is of one; empty if there is none."""
    if isinstance(value, NativeFunction):
        return f"{value.namespace}::{value.name}"
    if type(value) in (tuple, list):
        assert isinstance(value, (tuple, list))
        return next(filter(None, map(subject_of, value)), "")
    function = getattr(value, "function", None)
    if isinstance(function, NativeFunction):
        return subject_of(function)
    members = getattr(value, "functions", None)
    return subject_of(list(members())) if callable(members) else ""


def with_changes(row: _Row, **changes: object) -> _Row:
    """A copy of a row with other values of some of its attributes."""
    values = {name: getattr(row, name) for name in type(row).__slots__}  # type: ignore[attr-defined]
    return type(row)(**{**values, **changes})


def safe_family(plugin: Plugin, family: Family, also_generates: Sequence[str], *, by_default: bool) -> Family:
    """A family of a plug-in, with further families that are generated with it."""
    guard = CallGuard(plugin)
    return with_changes(
        family,
        emitters=tuple([partial(_emitters, plugin, guard, family, source) for source in family.emitters]),
        checks=tuple([_safe_check(guard, family, check) for check in family.checks]),
        also_generates=(*family.also_generates, *also_generates),
        by_default=by_default,
        plugin=plugin.name,
    )


def _safe_check(guard: CallGuard, family: Family, check: Check) -> Check:
    load = guard.function(f"`checks` of the family `{family.name}`", check.load)

    def run(*arguments: object) -> None:
        guard.function(f"a check of the family `{family.name}`", load())(*arguments)

    return with_changes(check, function=run)


def _emitters(
    plugin: Plugin, guard: CallGuard, family: Family, source: str | Callable[[Job], Iterable[AnyEmitter]], job: Job
) -> list[AnyEmitter]:
    """Emitters of a module or function for a job. Raises Fault for one that does not fit the family."""

    def make(job: Job) -> list[object]:
        function = import_module(source).emitters if isinstance(source, str) else source
        return list(function(job))

    def wrong_emitter(emitters: Sequence[object]) -> str:
        return next(
            (f"a `{type(item).__name__}`, not an `Emitter`" for item in emitters if type(item) is not Emitter), ""
        )

    listed = guard.function(f"`emitters` of the family `{family.name}`", make, wrong_emitter, source)(job)
    names = [row.name for row in plugin.families]
    emitters: list[AnyEmitter] = []
    for emitter in listed:
        assert isinstance(emitter, Emitter)
        _check_fit(plugin, emitter, names)
        emitters.append(_safe_emitter(plugin, guard, emitter))
    return emitters


def _check_fit(plugin: Plugin, emitter: AnyEmitter, names: Sequence[str]) -> None:
    """Raises Fault if an emitter is of no family of the plug-in, or of a folder that its family lacks."""
    what = f"plug-in `{plugin.name}`: the emitter `{emitter.name}`"
    if emitter.family not in names:
        message = f"{what} is of the family `{emitter.family}`, which the plug-in does not add"
        help = did_you_mean(emitter.family, names)
        raise Fault.at(EMITTER_MISFIT, message, definition_span(plugin), help=help)
    folders = next(row.folders for row in plugin.families if row.name == emitter.family)
    if emitter.folder not in folders:
        message = f"{what} writes to the folder `{emitter.folder}`, which its family `{emitter.family}` lacks"
        help = did_you_mean(emitter.folder, folders, f"there are: {', '.join(folders)}")
        raise Fault.at(EMITTER_MISFIT, message, definition_span(plugin), help=help)


def _safe_emitter(plugin: Plugin, guard: CallGuard, emitter: AnyEmitter) -> AnyEmitter:
    """An emitter with safe functions, whose fragments are made again when a source of the plug-in changes."""

    def safe(
        point: str, function: Callable[..., _Result], check: Callable[[_Result], str] = lambda _: ""
    ) -> Callable[..., _Result]:
        return guard.function(f"`{point}` of the emitter `{emitter.name}`", function, check)

    layout = emitter.layout
    if isinstance(layout, FilePerUnit):
        layout = FilePerUnit(safe("path", layout.path, _only(str, "a text")))
    elif isinstance(layout, Sharded):
        layout = Sharded(layout.path, layout.shards, safe("key", layout.key, _only(str, "a text")))
    else:
        assert isinstance(layout, OneFile), "an emitter has one of three layouts"
    reads = [_SafeRead(read, partial(safe, f"reads: {read.name}")) for read in emitter.reads]
    own_sources = DeclaredRead(f"sources of {plugin.name}", lambda _: sources_fingerprint(plugin))
    return with_changes(
        emitter,
        units=safe("units", lambda job: list(emitter.units(job))),
        fragment=safe("fragment", emitter.fragment, _wrong_slots),
        file_slots=safe("file_slots", emitter.file_slots, _wrong_slots),
        layout=layout,
        reads=(*reads, own_sources),
    )


class _SafeRead(DeclaredRead[Any]):
    """A read of a plug-in with safe functions. A fragment finds its fact by the plug-in's object."""

    __slots__ = ("_original",)

    def __init__(self, read: DeclaredRead[Any], safe: Callable[[Callable[..., Any]], Any]) -> None:
        super().__init__(read.name, safe(read.get), safe(read.fingerprint_key))
        self._original: Final = read

    def __eq__(self, other: object) -> bool:
        return other is self or other is self._original

    def __hash__(self) -> int:
        return hash(self._original)


def _only(types: type | tuple[type, ...], wanted: str) -> Callable[[object], str]:
    """A check for values of these types."""
    return lambda value: "" if isinstance(value, types) else f"a `{type(value).__name__}`, not {wanted}"


def _wrong_slots(slots: object) -> str:
    """What is wrong with the slots that a function gave; empty if nothing is."""
    if not isinstance(slots, Mapping):
        return f"a `{type(slots).__name__}`, not a mapping from slots to texts"
    for name, value in slots.items():
        texts = value if isinstance(value, (list, tuple)) else [value]
        for text in (name, *texts):
            if not isinstance(text, str):
                return f"a `{type(text).__name__}` in the slot `{name}`, not a text or a list of texts"
    return ""


def safe_dialect(plugin: Plugin, dialect: Dialect[Any], *, is_always_loaded: bool) -> Dialect[Any]:
    """A dialect of a plug-in."""
    guard = CallGuard(plugin)

    right_model = _only(dialect.model, f"a `{dialect.model.__name__}`")
    schema, point = dialect.json_schema, f"`json_schema` of the dialect `{dialect.name}`"
    return with_changes(
        dialect,
        loader=guard.function(f"`loader` of the dialect `{dialect.name}`", dialect.load, right_model, dialect.loader),
        json_schema=None if schema is None else guard.function(point, schema),
        is_always_loaded=is_always_loaded,
    )


def headers_family(plugin: Plugin, headers: Mapping[str, str], *, by_default: bool) -> Family:
    """Family that copies the support headers of a plug-in, given by path, into the folder of headers."""
    name = f"{plugin.name}_headers"

    def slots(header: tuple[str, str], context: object) -> Slots:
        del context
        return {"text": header[1]}

    emitter: AnyEmitter = Emitter(
        name=name,
        family=name,
        template=None,
        folder="include",
        units=lambda _: list(headers.items()),
        fragment=slots,
        layout=FilePerUnit(lambda header: header[0]),
    )
    return Family(
        name,
        f"the support headers of the plug-in `{plugin.name}`",
        emitters=(lambda _: [emitter],),
        folders={"include": "include"},
        by_default=by_default,
        plugin=plugin.name,
    )


def extra_keys(plugins: Iterable[Plugin], sink: Diagnostics) -> dict[str, tuple[ExtraKey, ...]]:
    """Keys that plug-ins declare, by the place where they stand; reports names that are taken."""
    keys: dict[str, dict[str, ExtraKey]] = {}
    for plugin in plugins:
        for row in plugin.extra_keys:
            if not _can_stand(row, plugin, sink):
                continue
            key = row.of_plugin(plugin.name)
            earlier = keys.setdefault(row.where, {}).setdefault(row.name, key)
            if earlier is not key:
                whose = "twice" if earlier.plugin == plugin.name else f"which plug-in `{earlier.plugin}` declares too"
                message = f"plug-in `{plugin.name}` declares the key `{row.name}` of a {row.where}"
                comma = "" if earlier.plugin == plugin.name else ","
                sink.error(NAME_CLASH, f"{message}{comma} {whose}", definition_span(plugin))
    return {where: tuple(rows.values()) for where, rows in keys.items()}


def _can_stand(key: ExtraKey, plugin: Plugin, sink: Diagnostics) -> bool:
    """Whether a key has a place, and a name that Opwright does not use there."""
    if not key.where:
        message, help = f"plug-in `{plugin.name}` declares the key `{key.name}` of no place", "give it `where`"
    elif key.name in own_keys(key.where):
        message = f"plug-in `{plugin.name}` declares the key `{key.name}` of a {key.where}, which is Opwright's own"
        help = "choose another name"
    else:
        return True
    sink.error(KEY_TAKEN, message, definition_span(plugin), help=help)
    return False


def safe_reader(plugin: Plugin, reader: BackendReader) -> BackendReader:
    """A reader of backend files with safe functions and the name of its plug-in."""
    guard = CallGuard(plugin)
    recognizes = guard.function(f"`recognizes` of the reader `{reader.name}`", reader.recognizes)
    rewrite = guard.function(
        f"`rewrite` of the reader `{reader.name}`", reader.rewrite, _only(MappingNode, "a `MappingNode`")
    )
    return BackendReader(reader.name, recognizes, rewrite, plugin=plugin.name)


def emit_extensions(plugins: Sequence[Plugin]) -> EmitExtensions:
    """What plug-ins add to wrappers and registrations, in the order in which the run names them."""
    hooks: list[Extension[WrapperHook]] = []
    selectors: list[Extension[KernelSelector]] = []
    changes: list[Extension[RegistrationChange]] = []
    conventions: list[Extension[KernelConvention]] = []
    for plugin in plugins:
        guard = CallGuard(plugin)
        for hook in plugin.wrapper_hooks:
            name = hook.position.name
            problem = partial(hook_problem, position=hook.position)
            code = guard.function(f"`code` of the wrapper hook `{name}`", hook.code, problem)
            hooks.append(Extension(plugin.name, WrapperHook(name, code, includes=hook.includes)))
        for selector in plugin.kernel_selectors:
            point = f"`select` of the kernel selector `{selector.name}`"
            select = guard.function(point, selector.select, _only((str, type(None)), "a text or None"))
            selectors.append(Extension(plugin.name, selector.replace(select=select)))
        for change in plugin.registration_changes:
            point = f"the registration change `{getattr(change, '__name__', 'change')}`"
            changes.append(Extension(plugin.name, guard.function(point, change, _wrong_registrations)))
        for convention in plugin.kernel_conventions:
            point = f"`signature` of the kernel convention `{convention.name}`"
            signature = guard.function(point, convention.signature, _wrong_signature)
            conventions.append(Extension(plugin.name, convention.replace(signature=signature)))
    return EmitExtensions(tuple(hooks), tuple(selectors), tuple(changes), tuple(conventions))


def hook_problem(text: object, position: HookPosition) -> str:
    """What is wrong with a result of a hook's function, if anything is.

    >>> hook_problem("acme::log({result});", HookPosition.before)
    'code with `{result}`, which does not exist there'
    >>> hook_problem("acme::log({nmae});", HookPosition.before)
    'code with `{nmae}`, which is no value of hooks; braces of C++ have a blank before the name'
    """
    if text is None:
        return ""
    if not isinstance(text, str):
        return f"a `{type(text).__name__}`, not a text or None"
    names = [match[1] for match in PLACEHOLDER.finditer(text)]
    for name in names:
        if name not in HOOK_VALUES:
            return f"code with `{{{name}}}`, which is no value of hooks; braces of C++ have a blank before the name"
        if not exists_at(name, position):
            return f"code with `{{{name}}}`, which does not exist there"
    if text.strip() and position is HookPosition.around and "call" not in names:
        return "code without `{call}`, so that the kernel never runs"
    return ""


def _wrong_signature(value: object) -> str:
    if not isinstance(value, Signature):
        return f"a `{type(value).__name__}`, not a `Signature`"
    returns: object = value.returns
    if not isinstance(returns, CType):
        return f"a signature that returns a `{type(returns).__name__}`, not a `CType`"
    wrong = _type_of_other(value.bindings, Binding)
    return f"a signature with a `{wrong}`, not a `Binding`" if wrong else ""


def _wrong_registrations(value: object) -> str:
    """What is wrong with the registrations that a change gave. A registration is a tuple itself."""
    if isinstance(value, Registration):
        return ""
    if not isinstance(value, (list, tuple)):
        return f"a `{type(value).__name__}`, not a `Registration` or a list of them"
    wrong = _type_of_other(value, Registration)
    return f"a `{wrong}` in a list, not a `Registration`" if wrong else ""


def _type_of_other(items: Iterable[object], wanted: type) -> str:
    """Name of the type of the first item that is of no wanted type; empty if there is none."""
    return next((type(item).__name__ for item in items if not isinstance(item, wanted)), "")


def own_keys(where: str) -> frozenset[str]:
    """Names of Opwright's keys at a place.

    >>> "structured" in own_keys("backend entry"), "structured" in own_keys("backend head")
    (True, False)
    """
    entry_fields = ENTRY_FIELDS if where in (NATIVE_FUNCTION, LIBRARY_ENTRY) else ()
    homes = [rows.FIELDS[where].partition(":") for rows in guest_rows() if where in rows.FIELDS]
    guest_fields = [field for module, _, name in homes for field in getattr(import_module(module), name)]
    return frozenset([field.name for field in (*entry_fields, *guest_fields)])
