"""Reads what Python sources register with `torch.library`: from their syntax, so that nothing of them is run."""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Iterator, Sequence
from typing import Final

from opwright.dialects.python_source import PARSE_ERRORS, parse_module
from opwright.libraries.importing.registration import RegistrationStatement, SourcePlace, SourceRegistrations
from opwright.model.dispatch_key import META, devices
from opwright.source.codes import UNKNOWN_FORM
from opwright.source.diagnostic import Fault
from opwright.source.record_fields import NamedTuple
from opwright.source.text import SourceFile

_TYPES: Final = {
    "Tensor": "Tensor", "int": "SymInt", "SymInt": "SymInt", "float": "float", "bool": "bool", "str": "str",
    "Number": "Scalar", "dtype": "ScalarType", "device": "Device",
}  # fmt: skip
_LISTS: Final = ("List", "list", "Sequence")


def function_schema(
    name: str, function: ast.FunctionDef | ast.AsyncFunctionDef, mutated: frozenset[str] | None
) -> str | None:
    """The schema of an operator with the arguments of a function; None if its annotations do not say it.

    >>> text = "def f(x: Tensor, *, by: Optional[float] = None, name: str = 'a') -> tuple[Tensor, int]: ..."
    >>> function = ast.parse(text).body[0]
    >>> function_schema("f", function, frozenset({"x"}))
    'f(Tensor(a0!) x, *, float? by=None, str name="a") -> (Tensor, SymInt)'
    """
    given = function.args
    if given.vararg is not None or given.kwarg is not None or given.posonlyargs:
        return None
    defaults: list[ast.expr | None] = [None] * (len(given.args) - len(given.defaults))
    defaults += given.defaults
    parts: list[str] = []
    arguments = [*zip(given.args, defaults, strict=True), *zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    for number, (argument, default) in enumerate(arguments):
        type = _type(argument.annotation)
        if type is None:
            return None
        if "Tensor" in type and (mutated is None or argument.arg in mutated):
            type = type.replace("Tensor", f"Tensor(a{number}!)")
        shown = "" if default is None else _default(default)
        if shown is None:
            return None
        if number == len(given.args):
            parts.append("*")
        parts.append(f"{type} {argument.arg}" + (f"={shown}" if shown else ""))
    result = _result(function.returns)
    return None if result is None else f"{name}({', '.join(parts)}) -> {result}"


def _type(node: ast.expr | None) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        try:
            return _type(ast.parse(node.value, mode="eval").body)
        except PARSE_ERRORS:
            return None
    if isinstance(node, (ast.Name, ast.Attribute)):
        return _TYPES.get(_source_of(node).rpartition(".")[2])
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        sides = [side for side in (node.left, node.right) if not _is_none(side)]
        inner = _type(sides[0]) if len(sides) == 1 else None
        return None if inner is None else f"{inner}?"
    if isinstance(node, ast.Subscript):
        outer, inner = _source_of(node.value).rpartition(".")[2], _type(node.slice)
        if inner is not None and outer == "Optional":
            return f"{inner}?"
        if inner is not None and outer in _LISTS:
            return f"{inner}[]"
    return None


def _source_of(node: ast.expr) -> str:
    """The source of an expression; empty for one that Python cannot write, such as an integer of 5,000 digits."""
    try:
        return ast.unparse(node)
    except PARSE_ERRORS:
        return ""


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _result(node: ast.expr | None) -> str | None:
    if node is None or _is_none(node):
        return "()"
    outer = _source_of(node.value).rpartition(".")[2] if isinstance(node, ast.Subscript) else ""
    if isinstance(node, ast.Subscript) and outer in ("tuple", "Tuple"):
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        types = [type for item in items if (type := _type(item)) is not None]
        return f"({', '.join(types)})" if len(types) == len(items) else None
    return _type(node)


def _default(node: ast.expr) -> str | None:
    try:
        value = ast.literal_eval(node)
        if isinstance(value, float) and not math.isfinite(value):
            return None
        if value is None or isinstance(value, (bool, int, float)):
            return str(value)
    except (*PARSE_ERRORS, TypeError):
        text = _source_of(node)
        # A dtype such as `torch.float32` is written without the module.
        return text.removeprefix("torch.") if text.startswith("torch.") else None
    if isinstance(value, str):
        return json.dumps(value)
    return None


_LIBRARY: Final = "torch.library."
#: Functions that define an operator from a Python function.
_DEFINERS: Final = ("custom_op", "triton_op")
#: Functions that add to an operator -> the key of the kernel that they register.
_ADDERS: Final = {
    "register_fake": META.name,
    "impl_abstract": META.name,
    "register_autograd": "Autograd",
    "register_vmap": "FuncTorchBatched",
    "register_autocast": "Autocast",
    "register_torch_dispatch": "Python",
    "register_kernel": "",
    "impl": "",
}
_DEVICE_KEYS: Final = {device.name.lower(): device.name for device in devices()}
_DEFAULT_KEY: Final = "CompositeExplicitAutograd"


class _Library(NamedTuple):
    """A variable with a `torch.library.Library`."""

    namespace: str
    key: str


def read_python_sources(files: Sequence[SourceFile]) -> SourceRegistrations:
    """What sources register. Kernels are Python functions, so all of them stay by hand."""
    statements: list[RegistrationStatement] = []
    unread: list[tuple[SourcePlace, str]] = []
    for file in files:
        try:
            tree = parse_module(file, UNKNOWN_FORM)
        except Fault as fault:
            line = fault.diagnostic.span.line if fault.diagnostic.span is not None else 1
            reason = fault.diagnostic.message.removeprefix("this is not Python: ")
            unread.append((SourcePlace(file.path, line, line), f"the source is not Python of this version: {reason}"))
            continue
        reader = _Reader(file.path)
        try:
            reader.read(tree)
        except RecursionError:
            unread.append((SourcePlace(file.path, 0, 0), "the source nests too deeply"))
        statements += reader.statements
        unread += reader.unread
    return SourceRegistrations(statements, unread)


class _Reader:
    def __init__(self, path: str) -> None:
        self._path = path
        #: Name in the source -> the dotted name that it stands for.
        self._names: dict[str, str] = {}
        self._libraries: dict[str, _Library] = {}
        self.statements: list[RegistrationStatement] = []
        self.unread: list[tuple[SourcePlace, str]] = []

    def read(self, tree: ast.Module) -> None:
        """Read imports and variables first, then calls and decorators."""
        nodes = [*ast.walk(tree)]
        for node in nodes:
            if isinstance(node, ast.Import):
                self._names.update({alias.asname or alias.name: alias.name for alias in node.names})
            elif isinstance(node, ast.ImportFrom) and node.module:
                self._names.update({alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names})
        for node in nodes:
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
                self._read_library(node)
            elif isinstance(node, ast.Assign) and self._full_name(node.value).startswith(_LIBRARY):
                self._names.update({_source_of(target): self._full_name(node.value) for target in node.targets})
        decorators: set[ast.AST] = set()
        for node in nodes:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                for decorator in node.decorator_list:
                    if isinstance(decorator, ast.Call):
                        decorators.add(decorator)
                        self._read_call(decorator, node)
            elif isinstance(node, ast.Call) and node not in decorators:
                self._read_call(node, None)

    def _read_library(self, node: ast.Assign) -> None:
        call = node.value
        assert isinstance(call, ast.Call)
        texts = [_text(argument) for argument in call.args]
        if self._library_function(call) == "Library" and texts and texts[0]:
            key = texts[2] if len(texts) > 2 else ""
            for target in node.targets:
                self._libraries[_source_of(target)] = _Library(texts[0], key or "")

    def _full_name(self, node: ast.expr) -> str:
        """The dotted name that a name stands for; empty for other expressions."""
        if not isinstance(node, (ast.Name, ast.Attribute)):
            return ""
        head, dot, rest = _source_of(node).partition(".")
        return f"{self._names.get(head, head)}{dot}{rest}"

    def _library_function(self, call: ast.Call) -> str:
        """The function of `torch.library` that is called; empty for another one."""
        name = self._full_name(call.func)
        return name.removeprefix(_LIBRARY) if name.startswith(_LIBRARY) else ""

    def _read_call(self, call: ast.Call, function: ast.FunctionDef | ast.AsyncFunctionDef | None) -> None:
        place = SourcePlace(self._path, call.lineno, call.end_lineno or call.lineno)
        method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        owner = self._libraries.get(_source_of(call.func.value)) if isinstance(call.func, ast.Attribute) else None
        called = self._library_function(call)
        if owner is not None and method in ("define", "impl"):
            self._add_by_library(method, call, owner, place)
        elif called == "define":
            self._add_definition(call, place)
        elif called in _DEFINERS:
            self._add_custom(call, function, place)
        elif called in _ADDERS:
            self._add_kernel(called, call, function, place)

    def _add_by_library(self, method: str, call: ast.Call, owner: _Library, place: SourcePlace) -> None:
        """A call of `Library.define` or `Library.impl`."""
        text = _text(call.args[0]) if call.args else None
        if not text:
            self.unread.append((place, f"the name is `{_source_of(call)[:60]}`, not a text"))
            return
        namespace, _, name = text.partition("(")[0].rpartition("::")
        row = RegistrationStatement(namespace or owner.namespace, name.strip(), place)
        if method == "define":
            schema = " ".join(text.split())
            self.statements.append(row._replace(schema=schema, tags=tuple(_tags(call))))
            return
        given = call.args[2] if len(call.args) > 2 else _keyword(call, "dispatch_key")
        key = (_text(given) if given is not None else None) or owner.key or "CompositeImplicitAutograd"
        function = _source_of(call.args[1])[:60] if len(call.args) > 1 else "a function"
        self.statements.append(row._replace(keys=(key,), by_hand=function))

    def _add_definition(self, call: ast.Call, place: SourcePlace) -> None:
        texts = [_text(argument) for argument in call.args]
        if not texts or not texts[0]:
            return
        whole = texts[0] + (texts[1] if len(texts) > 1 and texts[1] and "(" not in texts[0] else "")
        namespace, _, schema = whole.partition("::")
        name = schema.partition("(")[0].strip()
        row = RegistrationStatement(namespace, name, place, " ".join(schema.split()), tags=tuple(_tags(call)))
        self.statements.append(row)

    def _add_custom(
        self, call: ast.Call, function: ast.FunctionDef | ast.AsyncFunctionDef | None, place: SourcePlace
    ) -> None:
        text = _text(call.args[0]) if call.args else None
        if function is None and len(call.args) > 1:
            self.unread.append((place, "the operator is made from a function that is not defined here"))
        if not text or function is None:
            return
        namespace, _, name = text.partition("::")
        written = _keyword(call, "schema")
        mutated = _keyword(call, "mutates_args")
        given = _text(written) if written is not None else None
        schema = name + given if given else function_schema(name, function, _written_names(mutated))
        if schema is None:
            self.unread.append((place, f"the schema of `{text}` does not follow from its annotations"))
            return
        devices = _keyword(call, "device_types")
        types = [_text(devices)] if devices is not None and _text(devices) else _texts(devices)
        keys = tuple([_DEVICE_KEYS.get(type or "", _DEFAULT_KEY) for type in types]) or (_DEFAULT_KEY,)
        row = RegistrationStatement(
            namespace, name, place, schema, keys, by_hand=function.name, tags=tuple(_tags(call))
        )
        self.statements.append(row)

    def _add_kernel(
        self, called: str, call: ast.Call, function: ast.FunctionDef | ast.AsyncFunctionDef | None, place: SourcePlace
    ) -> None:
        """What adds a kernel to an operator that is named by its text, or by a library and its name."""
        given = list(call.args)
        owner = self._libraries.get(_source_of(given[0])) if given else None
        texts = [_text(argument) for argument in (given[1:] if owner is not None else given)]
        if not texts or not texts[0]:
            return
        namespace, _, name = texts[0].rpartition("::")
        key = _ADDERS[called] or (texts[1] if len(texts) > 1 and texts[1] else "")
        key = _DEVICE_KEYS.get(key, key) or (owner.key if owner is not None else "") or _DEFAULT_KEY
        namespace = namespace or (owner.namespace if owner is not None else "")
        shown = function.name if function is not None else _source_of(given[-1])[:60]
        self.statements.append(RegistrationStatement(namespace, name, place, keys=(key,), by_hand=shown))


def _text(node: ast.expr | None) -> str | None:
    """The value of a text; None for anything else."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _texts(node: ast.expr | None) -> list[str | None]:
    return list(map(_text, node.elts)) if isinstance(node, (ast.Tuple, ast.List, ast.Set)) else []


def _keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


def _written_names(node: ast.expr | None) -> frozenset[str] | None:
    """The names of written arguments; None if any tensor may be written."""
    if _text(node) == "unknown":
        return None
    return frozenset(filter(None, _texts(node)))


def _tags(call: ast.Call) -> Iterator[str]:
    """The tags that a call names as `torch.Tag.core`."""
    node = _keyword(call, "tags")
    for part in ast.walk(node) if node is not None else ():
        if isinstance(part, ast.Attribute) and _source_of(part.value).rpartition(".")[2] == "Tag":
            yield part.attr
