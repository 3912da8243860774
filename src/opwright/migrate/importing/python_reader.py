"""Reads what Python sources register with `torch.library`: from their syntax, so that nothing of them is run."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from opwright.dialects.python_source import node_span, parse_module
from opwright.migrate.importing.python_schemas import (
    FunctionNode,
    SourceNames,
    Unread,
    WrittenArguments,
    function_schema,
    source_of,
    written_names,
)
from opwright.migrate.importing.registration import RegistrationStatement, SourcePlace
from opwright.migrate.importing.unread_code import UnreadCode
from opwright.model.dispatch_key import META, devices
from opwright.source.codes import UNKNOWN_FORM
from opwright.source.diagnostic import Fault, shorten
from opwright.source.limits import SCALAR_CHARACTERS
from opwright.source.records import NamedTuple
from opwright.source.text import SourceFile

#: What a source says that registers something, maybe by names that another source gives.
_REGISTERING: Final = re.compile(
    r"\.library\b|import library\b|Library\b|_dispatch_library|[cC]ustom_?[oO]p|triton_op|register_|impl_abstract"
    r"|\bimpl\b|\bdefine\b|py_impl|py_kernels"
)
_IMPORT: Final = re.compile(r"^[ \t]*(?:from|import)[ \t][^\n(]*(?:\([^)]*\))?", re.MULTILINE)
_LIBRARY: Final = "torch.library."
#: What PyTorch has inside for registrations, and an operator as it is named in Python.
_INSIDES: Final = ("_dispatch_library", "CustomOpDef", "py_impl", "py_kernels")
_OPERATOR: Final = re.compile(r"\bops\.(\w+)\.")
#: Functions that define an operator from a Python function, and the tag that they give it.
_DEFINERS: Final = ("custom_op", "triton_op")
_DEFINERS_TAG: Final = "pt2_compliant_tag"
#: Functions that add to an operator -> the key of the kernel that they register.
_ADDERS: Final = {
    "register_fake": META.name,
    "impl_abstract": META.name,
    "register_autograd": "Autograd",
    "register_vmap": "FuncTorchBatched",
    "register_autocast": "",
    "register_torch_dispatch": "Python",
    "register_kernel": "",
    "impl": "",
}
#: What makes a library, and the methods that register something with one.
_MAKERS: Final = ("Library", "_scoped_library")
_METHODS: Final = ("define", "impl", "_register_fake")
#: The dotted names of what registers, and of the module that has it.
_REGISTRARS: Final = frozenset(
    ("torch.library", *[f"{_LIBRARY}{name}" for name in ("define", *_DEFINERS, *_ADDERS, *_MAKERS)])
)
_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
#: A schema, or one without its name, whose first argument has a type.
_SCHEMA: Final = re.compile(
    r"\s*(?:(?:\w+::)?\w+(?:\.\w+)?\s*\(.*|\((?:Tensor|Sym|Scalar|Gen|int|float|bool|str|Device|\*)[\w\[(! ?*].*)"
    r"\)\s*->\s*[\w(][^:]*",
    re.DOTALL,
)
#: A call of a method of libraries in a text, which may be run.
_CALL: Final = re.compile(rf"\.(?:{'|'.join(_METHODS)})\(")
_DEFAULT_KEY: Final = "CompositeExplicitAutograd"
_DEVICE_KEYS: Final = {device.name.lower(): device.name for device in devices()} | {"default": _DEFAULT_KEY}
_KEY_ARGUMENTS: Final = ("types", "device_type", "device_types", "dispatch_key")


class PythonRegistrations(NamedTuple):
    """What sources register, what was not understood, by its place, and code that gets libraries and was not read."""

    statements: Sequence[RegistrationStatement]
    unread: Sequence[tuple[SourcePlace, str]] = ()
    code: Sequence[UnreadCode] = ()


class _Library(NamedTuple):
    """A variable with a `torch.library.Library`."""

    namespace: str
    key: str


class _Around(NamedTuple):
    """A function, a loop or a branch around a call. A function that `is_called` is read with the arguments of a call.

    `decorated` is the function that it decorates then, and `place` is where registrations inside of it are. What a
    condition that is evaluated at run time decides about `is_branch`.
    """

    function: str
    decorated: str = ""
    place: SourcePlace | None = None
    is_called: bool = False
    is_branch: bool = False


class _Context(NamedTuple):
    """What names stand for at a call, what is around it, and where it registers something."""

    names: Mapping[str, ast.expr | None]
    around: tuple[_Around, ...]
    place: SourcePlace

    @property
    def at_run_time(self) -> bool:
        """Whether a branch decides about the call, or a function that the source may never call."""
        decorates = False
        for part in self.around:
            # A function that decorates is called where it stands.
            if part.is_branch or (part.function and not part.is_called and not decorates):
                return True
            decorates = decorates or bool(part.decorated)
        return False


def python_files_with_registrations(files: Sequence[SourceFile]) -> list[SourceFile]:
    """Those of Python files that may register something, and those that these may import names from."""
    registering = {file.path for file in files if _REGISTERING.search(file.text)}
    modules = {_module(file.path) for file in files if file.path in registering}
    imports = [text for file in files if file.path in registering for text in _IMPORT.findall(file.text)]
    imported = {word for text in imports for word in re.findall(r"\w+", text)} - modules
    return [file for file in files if file.path in registering or _module(file.path) in imported]


def read_python_sources(files: Sequence[SourceFile]) -> PythonRegistrations:
    """What sources register. Kernels are Python functions, so all of them stay by hand."""
    statements: list[RegistrationStatement] = []
    unread: list[tuple[SourcePlace, str]] = []
    code: list[UnreadCode] = []
    readers: list[tuple[_Reader, ast.Module]] = []
    for file in files:
        try:
            tree = parse_module(file, UNKNOWN_FORM)
        except Fault as fault:
            line = fault.diagnostic.span.line if fault.diagnostic.span is not None else 1
            reason = fault.diagnostic.message.removeprefix("this is not Python: ")
            unread.append((SourcePlace(file.path, line, line), f"the source is not Python of this version: {reason}"))
            continue
        readers.append((_Reader(file), tree))
    for reader, tree in readers:
        reader.read_names(tree)
    by_module = _by_module([reader for reader, _ in readers])
    for reader, tree in readers:
        reader.take_imports(by_module)
        try:
            reader.read(tree)
        except RecursionError:
            unread.append((SourcePlace(reader.path, 0, 0), "the source nests too deeply"))
        statements += reader.statements
        unread += reader.unread
        code += reader.code
    return PythonRegistrations(statements, unread, code)


def _by_module(readers: Sequence[_Reader]) -> dict[str, _Reader]:
    """The sources by the names of their modules without packages, where these are those of one source alone."""
    names = [_module(reader.path) for reader in readers]
    counted = Counter(names)
    return {name: reader for name, reader in zip(names, readers, strict=True) if counted[name] == 1}


def _module(path: str) -> str:
    """The name of the module that a file is, without its packages."""
    return Path(path).parent.name if Path(path).stem == "__init__" else Path(path).stem


#: Names with the expressions that they stand for; None for those that are not known.
_Names: TypeAlias = "Mapping[str, ast.expr | None]"
#: How often loops and functions of the source are read with other values, and how deep these may call each other.
_MOST_READINGS: Final = 5000
_DEEPEST: Final = 5


class _Reader:
    def __init__(self, file: SourceFile) -> None:
        self.path: Final = file.path
        self._file = file
        #: Name in the source -> the dotted name that it stands for.
        self._names: dict[str, str] = {}
        self._libraries: dict[str, _Library] = {}
        #: What names stand for that the source binds once, and the functions that it defines once.
        self._values: dict[str, ast.expr] = {}
        self._functions: dict[str, FunctionNode] = {}
        #: The operators that the source defines, by the name of the function.
        self._custom: dict[str, str] = {}
        self._readings = 0
        #: Why the last schema was not read.
        self._why = ""
        #: The functions whose parameters are the names of operators, and those of them that something calls.
        self._waiting: list[tuple[str, SourcePlace, str, str | None]] = []
        self._called: set[str] = set()
        #: The functions that were read where they stand, and which statements came from that.
        self._read_functions: list[tuple[str, int, int]] = []
        #: The calls that are statements or decorators by themselves.
        self._alone: set[int] = set()
        self.statements: list[RegistrationStatement] = []
        self.unread: list[tuple[SourcePlace, str]] = []
        #: Code that gets a library, and was not read.
        self.code: list[UnreadCode] = []
        #: The calls that were read, and those that make libraries for variables.
        self._known_calls: set[int] = set()
        #: Names that are imported from other files: the name here -> the module, and the name there.
        self._imported: dict[str, tuple[str, str]] = {}
        #: What names of other files stand for, by the dotted names that these have here.
        self._of_modules: dict[str, str] = {}

    def take_imports(self, by_module: Mapping[str, _Reader]) -> None:
        """Let names stand for what other sources give these names: functions of `torch.library`, and constants."""
        for name, (module, original) in self._imported.items():
            other = by_module.get(module)
            if other is None or other is self:
                continue
            if other._names.get(original, "").startswith(_LIBRARY):
                self._names[name] = other._names[original]
            elif original in other._values and name not in self._values:
                self._values[name] = other._values[original]
        for meant in self._names.values():
            reader = by_module.get(meant.rpartition(".")[2])
            if reader is not None and reader is not self:
                of_library = {own: full for own, full in reader._names.items() if full.startswith(_LIBRARY)}
                self._of_modules |= {f"{meant}.{own}": full for own, full in of_library.items()}

    def read_names(self, tree: ast.Module) -> None:
        """Read imports and variables."""
        nodes = [*ast.walk(tree)]
        bound: Counter[str] = Counter()
        for node in nodes:
            self._alone.update([id(node.value)] if isinstance(node, ast.Expr) else ())
            self._alone.update(map(id, getattr(node, "decorator_list", ())))
            if isinstance(node, ast.Import):
                self._names.update({alias.asname or alias.name: alias.name for alias in node.names})
            elif isinstance(node, ast.ImportFrom):
                module = node.module or ""
                for alias in node.names:
                    self._imported[alias.asname or alias.name] = (module.rpartition(".")[2], alias.name)
                    self._names[alias.asname or alias.name] = f"{module}.{alias.name}" if module else alias.name
            elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                bound[node.id] += 1
            elif isinstance(node, ast.arg):
                bound[node.arg] += 1
            elif isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
                bound[node.name] += 1
                if not isinstance(node, ast.ClassDef):
                    self._functions[node.name] = node
        for node in nodes:
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    self._read_assignment(source_of(target), node.value, is_only=bound[source_of(target)] == 1)
            elif isinstance(node, ast.withitem) and node.optional_vars is not None:
                self._read_assignment(source_of(node.optional_vars), node.context_expr, is_only=False)
        for name, function in [*self._functions.items()]:
            for node in ast.walk(function):
                if isinstance(node, ast.Return) and isinstance(node.value, ast.Call):
                    self._read_assignment(f"{name}()", node.value, is_only=False)
            if bound[name] > 1:
                del self._functions[name]

    def read(self, tree: ast.Module) -> None:
        """Read calls and decorators, once names are read."""
        self._read_body(tree.body, {}, ())
        self._read_rest(tree)
        for function, place, told, kernel_of in self._waiting:
            if function not in self._called:
                self._tell_at(place, told, kernel_of)
        # What a call of a function registers is not registered where the function stands.
        again = [range(first, end) for function, first, end in self._read_functions if function in self._called]
        gone = {number for numbers in again for number in numbers}
        self.statements[:] = [row for number, row in enumerate(self.statements) if number not in gone]

    def _read_assignment(self, name: str, value: ast.expr, *, is_only: bool) -> None:
        if isinstance(value, ast.Call) and self._library_function(value) in _MAKERS:
            self._known_calls.add(id(value))
            given = [*value.args, *[None] * 3]
            namespace = self._text(given[0] or _keyword(value, "ns"), {})
            key = self._text(given[2] or _keyword(value, "dispatch_key"), {})
            if namespace:
                self._libraries[name] = _Library(namespace, key or "")
            else:
                self._tell(value, "the namespace of the library", given[0], (), "")
        elif self._full_name(value).startswith(_LIBRARY):
            self._names[name] = self._full_name(value)
        elif is_only:
            self._values[name] = value

    def _read_body(self, body: Sequence[ast.stmt], names: _Names, around: tuple[_Around, ...]) -> None:
        """Read the calls of statements, where names stand for these expressions."""
        for statement in body:
            if isinstance(statement, _FUNCTIONS):
                for decorator in statement.decorator_list:
                    self._read_decorator(decorator, statement, names, around)
                given = statement.args
                parameters = [argument.arg for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
                inner: dict[str, ast.expr | None] = {**names, **dict.fromkeys(parameters)}
                decorated = around[-1].decorated if around else ""
                if decorated and parameters:
                    inner[parameters[0]] = ast.Name(decorated)
                first = len(self.statements)
                self._read_body(statement.body, inner, (*around, _Around(statement.name)))
                self._read_functions.append((statement.name, first, len(self.statements)))
                continue
            parts = [part for field in ("handlers", "cases") for part in getattr(statement, field, [])]
            bodies = [getattr(statement, field, []) for field in ("body", "orelse", "finalbody")]
            bodies += [part.body for part in parts]
            blocks = {id(inner) for block in (*bodies, parts) for inner in block}
            for child in ast.iter_child_nodes(statement):
                if id(child) not in blocks:
                    doubtful = _doubtful(child)
                    for node in ast.walk(child):
                        if isinstance(node, ast.Call):
                            inside = (*around, _BRANCH) if id(node) in doubtful else around
                            self._read_call(node, None, names, inside)
            rounds = self._rounds(statement, names) if isinstance(statement, ast.For) else [names]
            for values in rounds:
                whole = around
                if isinstance(statement, ast.For) and len(statement.body) == 1 and rounds[1:]:
                    whole = (*around, _Around("", place=self._place(statement)))
                always = _always_runs(statement, values)
                for block in bodies:
                    self._read_body(block, values, whole if block is always else (*whole, _BRANCH))
            if _may_return(statement):
                # What comes behind it runs only sometimes.
                around = (*around, _BRANCH)

    def _rounds(self, loop: ast.For, names: _Names) -> list[_Names]:
        """What names stand for in each round of a loop over a list of the source; once, unknown, for another loop."""
        targets = loop.target.elts if isinstance(loop.target, (ast.Tuple, ast.List)) else [loop.target]
        keys = [source_of(target) for target in targets]
        items = self._value(loop.iter, names)
        has_values = False
        if isinstance(items, ast.Call) and isinstance(items.func, ast.Attribute):
            has_values = items.func.attr == "items"
            items = self._value(items.func.value, names) if items.func.attr in ("items", "keys") else None
        if isinstance(items, ast.Dict) and None not in items.keys:
            pairs = [(key, value) for key, value in zip(items.keys, items.values, strict=True) if key is not None]
            items = ast.List([ast.Tuple([key, value]) if has_values else key for key, value in pairs])
        rounds: list[_Names] = []
        for item in items.elts if isinstance(items, (ast.Tuple, ast.List, ast.Set)) else ():
            parts = item.elts if len(keys) > 1 and isinstance(item, (ast.Tuple, ast.List)) else [item]
            self._readings += 1
            if len(parts) != len(keys) or self._readings > _MOST_READINGS:
                return [{**names, **dict.fromkeys(keys)}]
            rounds.append({**names, **dict(zip(keys, parts, strict=True))})
        return rounds or [{**names, **dict.fromkeys(keys)}]

    def _read_decorator(
        self, decorator: ast.expr, function: FunctionNode, names: _Names, around: tuple[_Around, ...]
    ) -> None:
        if isinstance(decorator, ast.Call):
            self._read_call(decorator, function, names, around)
        elif isinstance(decorator, ast.Attribute) and source_of(decorator.value) in self._custom:
            call = ast.copy_location(ast.Call(decorator, [], []), decorator)
            self._read_call(call, function, names, around)

    def _value(self, node: ast.expr | None, names: _Names) -> ast.expr | None:
        """The expression that a name stands for; the expression itself if it is no name, and None if unknown."""
        for _ in range(_DEEPEST):
            if not isinstance(node, ast.Name) or not (node.id in names or node.id in self._values):
                return node
            node = names[node.id] if node.id in names else self._values[node.id]
        return None

    def _text(self, node: ast.expr | None, names: _Names, depth: int = 0) -> str | None:
        """The value of a text that the source says, also as an f-string of constants; None for anything else."""
        node = self._value(node, names)
        if depth > _DEEPEST or node is None:
            return None
        if isinstance(node, ast.Constant):
            return node.value if isinstance(node.value, str) else None
        parts: list[str | None] = []
        if isinstance(node, ast.JoinedStr):
            for part in node.values:
                is_plain = isinstance(part, ast.FormattedValue) and part.conversion == -1 and part.format_spec is None
                value = part.value if isinstance(part, ast.FormattedValue) and is_plain else part
                constant = self._value(value, names)
                if isinstance(constant, ast.Constant) and isinstance(constant.value, int):
                    parts.append(str(constant.value))
                else:
                    parts.append(self._text(value, names, depth + 1))
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            left: ast.expr = node
            while isinstance(left, ast.BinOp) and isinstance(left.op, ast.Add):
                parts.insert(0, self._text(left.right, names, depth + 1))
                left = left.left
            parts.insert(0, self._text(left, names, depth + 1))
        elif isinstance(node, ast.Call) and self._library_function(node) == "infer_schema" and node.args:
            return self._inferred(node, names, depth)
        else:
            return self._operator(node, names)
        text = "".join([part or "" for part in parts])
        return None if None in parts or len(text) > SCALAR_CHARACTERS else text

    def _inferred(self, call: ast.Call, names: _Names, depth: int) -> str | None:
        """The schema that `infer_schema` gives; None with a reason in `_why` for one that the source does not say."""
        function = self._functions.get(source_of(self._value(call.args[0], names) or call.args[0]))
        name = self._text(_keyword(call, "op_name"), names, depth + 1) or ""
        if function is None:
            return None
        try:
            return self._function_schema(name, function, call, names)
        except Unread as reason:
            self._why = str(reason)
            return None

    def _function_schema(self, name: str, function: FunctionNode, call: ast.Call, names: _Names) -> str:
        """The schema that a call infers from a function. Raises Unread."""
        source_names = SourceNames(lambda node: self._value(node, names), self._full_name)
        written = WrittenArguments(written_names(_keyword(call, "mutates_args"), source_names), [*_tags(call)])
        return function_schema(name, function, written, source_names)

    def _operator(self, node: ast.expr, names: _Names) -> str | None:
        """The name of an operator that an expression reads from `torch.ops`, also by `getattr`."""
        parts: list[str] = []
        while isinstance(node, (ast.Attribute, ast.Call)):
            if isinstance(node, ast.Attribute):
                parts.append(node.attr)
                node = node.value
            else:
                name = self._text(node.args[1], names) if len(node.args) > 1 else None
                if not isinstance(node.func, ast.Name) or node.func.id != "getattr" or name is None:
                    return None
                parts.append(name)
                node = node.args[0]
        if not parts and source_of(node) in self._custom:
            return self._custom[source_of(node)]
        root = self._full_name(node) if isinstance(node, ast.Name) else ""
        path = [*root.split("."), *reversed(parts)]
        if path[:2] != ["torch", "ops"] or len(path) not in (4, 5):
            return None
        return f"{path[2]}::{path[3]}" + (f".{path[4]}" if path[4:] and path[4] != "default" else "")

    def _place(self, node: ast.stmt | ast.expr) -> SourcePlace:
        at = _text_offset(self._file, node) if id(node) in self._alone else -1
        return SourcePlace(self.path, node.lineno, node.end_lineno or node.lineno, at)

    def _tell(
        self,
        call: ast.Call,
        what: str,
        node: ast.expr | None,
        around: tuple[_Around, ...],
        kernel_of: str | None = None,
    ) -> None:
        """Tell that something was not read; in a function with this as a parameter, unless its calls are read.

        It registers a kernel for an operator of the namespace `kernel_of`, any one if this is empty.
        """
        shown = shorten(source_of(node)) if node is not None else shorten(source_of(call))
        why, self._why = self._why, ""
        told = f"{what} is `{shown}`, which this does not compute" + (f": {why}" if why else "")
        if kernel_of is not None:
            told = f"the call with {what} `{shown}`"
        place = next((part.place for part in around if part.place is not None), self._place(call))
        outer = next((part.function for part in around if part.function), "")
        if outer and not any(part.is_called for part in around):
            self._waiting.append((outer, place, told, kernel_of))
        else:
            self._tell_at(place, told, kernel_of)

    def _tell_at(self, place: SourcePlace, told: str, kernel_of: str | None) -> None:
        if kernel_of is None:
            self.unread.append((place, told))
        else:
            self.code.append(UnreadCode(place, told, kernel_of, ""))

    def _full_name(self, node: ast.expr) -> str:
        """The dotted name that a name stands for; empty for other expressions."""
        if not isinstance(node, (ast.Name, ast.Attribute)):
            return ""
        head, dot, rest = source_of(node).partition(".")
        name = f"{self._names.get(head, head)}{dot}{rest}"
        return self._of_modules.get(name, name)

    def _library_function(self, call: ast.Call) -> str:
        """The function of `torch.library` that is called; empty for another one."""
        name = self._full_name(call.func)
        return name.removeprefix(_LIBRARY) if name.startswith(_LIBRARY) else ""

    def _owner(self, node: ast.expr, names: _Names) -> _Library | None:
        """The library that an expression is: a variable, or the call of a function that returns one."""
        value = self._value(node, names) if isinstance(node, ast.Name) else node
        return self._libraries.get(source_of(node)) or self._libraries.get(source_of(value or node))

    def _read_call(
        self, call: ast.Call, function: FunctionNode | None, names: _Names, around: tuple[_Around, ...]
    ) -> None:
        """Read a call by its method, the function of `torch.library` that it calls, and the library that has it."""
        target = call.func
        method = target.attr if isinstance(target, ast.Attribute) else ""
        owner = self._owner(target.value, names) if isinstance(target, ast.Attribute) else None
        called = self._library_function(call)
        place = next((part.place for part in around if part.place is not None), self._place(call))
        context = _Context(names, around, place)
        first = len(self.statements)
        if (owner is not None and method in _METHODS) or called in ("define", *_DEFINERS, *_ADDERS):
            self._known_calls.add(id(call))
        if owner is not None and method in _METHODS:
            self._add_by_library(method, call, owner, context)
        elif called == "define":
            self._add_definition(call, context)
        elif called in _DEFINERS:
            self._add_custom(call, function, context)
        elif called in _ADDERS:
            self._add_kernel(called, call, function, context)
        elif isinstance(target, ast.Attribute) and method in _ADDERS and source_of(target.value) in self._custom:
            name = ast.Constant(self._custom[source_of(target.value)])
            kernel = [] if _ADDERS[method] else call.args[:1]
            self._add_kernel(method, ast.copy_location(ast.Call(target, [name, *kernel], []), call), function, context)
        elif isinstance(target, ast.Name) and target.id in self._functions:
            self._read_function(self._functions[target.id], call, function, context)
        if context.at_run_time:
            self.statements[first:] = [row._replace(at_run_time=True) for row in self.statements[first:]]

    def _read_rest(self, tree: ast.Module) -> None:
        """Tell of libraries, of functions of `torch.library` and of schemas that go where nothing was read."""
        skipped: set[int] = set()
        for node in ast.walk(tree):
            children = [*ast.iter_child_nodes(node)]
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                # Documentation.
                skipped.add(id(node.value))
            if id(node) in self._known_calls:
                skipped.update(id(inner) for inner in ast.walk(node) if not isinstance(inner, ast.Lambda))
            elif isinstance(node, ast.Assign):
                # Another name of a library is read as the first one.
                skipped.update(id(node.value) for name in node.targets if source_of(name) in self._libraries)
            elif isinstance(node, (ast.arg, ast.AnnAssign, *_FUNCTIONS)):
                hints = [getattr(node, field, None) for field in ("annotation", "returns")]
                skipped.update(id(inner) for hint in hints if hint is not None for inner in ast.walk(hint))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                skipped.update(map(id, children) if node.func.id in self._called else ())
                skipped.update(map(id, node.args) if node.func.id == "isinstance" else ())
            if isinstance(node, ast.Assign) and self._full_name(node.value).startswith(_LIBRARY):
                # The name is read as the function.
                skipped.update(map(id, ast.walk(node.value)))
            is_bound = isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del))
            if id(node) in skipped or is_bound or not isinstance(node, ast.expr):
                continue
            name = source_of(node) if isinstance(node, (ast.Name, ast.Attribute)) else ""
            text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
            full = self._full_name(node)
            if isinstance(node, ast.Call):
                is_method = isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS
                if is_method or self._adds_to_unread(node.func):
                    owner = self._libraries.get(source_of(node.func).rpartition(".")[0]) if is_method else None
                    self._tell_code(node, f"`{shorten(source_of(node.func))}`", owner.namespace if owner else "")
                elif self._library_function(node) in _MAKERS:
                    self._tell_code(node, "a library", (self._text(node.args[0], {}) if node.args else "") or "")
                if is_method or self._library_function(node) in _MAKERS:
                    skipped.update(map(id, ast.walk(node.func)))
            elif name in self._libraries:
                self._tell_code(node, f"the library `{name}`", self._libraries[name].namespace)
            elif full in _REGISTRARS:
                self._tell_code(node, f"`{full}`", "")
            elif name.rpartition(".")[2] in _INSIDES and (isinstance(node, ast.Name) or not full.startswith(_LIBRARY)):
                operator = _OPERATOR.search(name)
                self._tell_code(node, f"`{shorten(name)}`", operator[1] if operator is not None else "")
            elif text == "torch.library" or _CALL.search(text):
                self._tell_code(node, f"`{shorten(text)}`", "")
            elif _SCHEMA.fullmatch(text):
                schema_name = text.partition("(")[0].strip() or text
                self.unread.append((self._place(node), f"the schema of `{shorten(schema_name)}` was not read"))
            is_told = name in self._libraries or full in _REGISTRARS or name.rpartition(".")[2] in _INSIDES
            if is_told or (isinstance(node, ast.Attribute) and full.startswith(_LIBRARY)):
                skipped.update(map(id, children))

    def _adds_to_unread(self, node: ast.expr) -> bool:
        """Whether a function is a method of an operator of `custom_op` that was not read, such as of one in a class."""
        if not isinstance(node, ast.Attribute) or node.attr not in _ADDERS or node.attr in _METHODS:
            return False
        return source_of(node.value) not in self._custom and not self._full_name(node).startswith(_LIBRARY)

    def _tell_code(self, node: ast.expr, what: str, namespace: str) -> None:
        told = f"{what}, which code gets that was not read,"
        self.code.append(UnreadCode(self._place(node), told, namespace, ""))

    def _read_function(
        self, definition: FunctionNode, call: ast.Call, decorated: FunctionNode | None, context: _Context
    ) -> None:
        """Read what a function of the source registers with the arguments of a call."""
        is_registering = any(
            isinstance(node, ast.Call)
            and (
                self._library_function(node) in ("define", *_DEFINERS, *_ADDERS)
                or (isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS)
            )
            for node in ast.walk(definition)
        )
        depth = sum(part.is_called for part in context.around)
        self._readings += is_registering
        if not is_registering or depth >= _DEEPEST or self._readings > _MOST_READINGS:
            return
        given = definition.args
        parameters = [argument.arg for argument in (*given.posonlyargs, *given.args)]
        keywords = [argument.arg for argument in given.kwonlyargs]
        values: dict[str, ast.expr | None] = dict.fromkeys((*parameters, *keywords))
        values |= dict(zip(reversed(parameters), reversed(given.defaults), strict=False))
        values |= dict(zip(keywords, given.kw_defaults, strict=True))
        handed: dict[str, ast.expr | None] = {
            **dict(zip(parameters, call.args, strict=False)),
            **{part.arg: part.value for part in call.keywords if part.arg in values},
        }
        for name, value in handed.items():
            # What a computed text is made of has no meaning inside of the function.
            text = self._text(value, context.names) if isinstance(value, (ast.JoinedStr, ast.BinOp)) else None
            handed[name] = ast.Constant(text) if text is not None else self._value(value, context.names)
        self._called.add(definition.name)
        name, place = decorated.name if decorated is not None else "", context.place._replace(at=-1)
        inside = _Around(definition.name, name, place, is_called=True)
        self._read_body(definition.body, {**values, **handed}, (*context.around, inside))

    def _add_by_library(self, method: str, call: ast.Call, owner: _Library, context: _Context) -> None:
        given = [*call.args]
        node = given[0] if given else _keyword(call, "schema") or _keyword(call, "op_name")
        text = self._text(node, context.names)
        if not text:
            kernel_of = None if method == "define" else owner.namespace
            self._tell(call, "the name", node, context.around, kernel_of)
            return
        namespace, _, name = text.partition("(")[0].rpartition("::")
        row = RegistrationStatement(namespace or owner.namespace, name.strip(), context.place)
        if method == "define":
            schema = " ".join(text.split())
            self.statements.append(row._replace(schema=schema, tags=tuple(_tags(call))))
            return
        function = self._value(given[1], context.names) if len(given) > 1 else None
        row = row._replace(by_hand=shorten(source_of(function or given[1])) if len(given) > 1 else "a function")
        if method == "_register_fake":
            self.statements.append(row._replace(keys=(META.name,)))
            return
        wanted = given[2] if len(given) > 2 else _keyword(call, "dispatch_key")
        keys = self._keys(call, wanted, owner.key or "CompositeImplicitAutograd", row.namespace, context)
        self.statements += [row._replace(keys=keys)] if keys else []

    def _add_definition(self, call: ast.Call, context: _Context) -> None:
        given = [*call.args]
        texts = [self._text(argument, context.names) for argument in given]
        name = texts[0] if texts else None
        if name and "(" not in name:
            texts[1:] = texts[1:] or [self._text(_keyword(call, "schema"), context.names)]
        missing = next((at for at, text in enumerate(texts[: 1 if name and "(" in name else 2]) if not text), None)
        if not texts or not name or missing is not None:
            node = given[missing] if missing is not None and missing < len(given) else None
            self._tell(call, f"the schema of `{name}`" if name else "the name", node, context.around)
            return
        whole = name if "(" in name else name + str(texts[1])
        namespace, _, schema = whole.partition("::")
        name, schema = schema.partition("(")[0].strip(), " ".join(schema.split())
        self.statements.append(RegistrationStatement(namespace, name, context.place, schema, tags=tuple(_tags(call))))

    def _add_custom(self, call: ast.Call, function: FunctionNode | None, context: _Context) -> None:
        text = self._text(call.args[0], context.names) if call.args else None
        if function is None and len(call.args) > 1:
            function = self._functions.get(source_of(self._value(call.args[1], context.names) or call.args[1]))
        if not text:
            self._tell(call, "the name", call.args[0] if call.args else None, context.around)
            return
        if function is None:
            told = f"the operator `{text}` is made from a function that was not read"
            self.unread.append((context.place, told))
            return
        namespace, _, name = text.partition("::")
        given = self._text(_keyword(call, "schema"), context.names)
        try:
            schema = name + given if given else self._function_schema(name, function, call, context.names)
        except Unread as reason:
            self.unread.append((context.place, f"the schema of `{text}` is not read: {reason}"))
            return
        self._custom[function.name] = text
        keys = self._keys(call, _keyword(call, "device_types"), _DEFAULT_KEY, namespace, context) or (_DEFAULT_KEY,)
        tags = tuple(dict.fromkeys((_DEFINERS_TAG, *_tags(call))))
        row = RegistrationStatement(namespace, name, context.place, schema, keys, by_hand=function.name, tags=tags)
        self.statements.append(row._replace(registrar="custom_op"))

    def _add_kernel(self, called: str, call: ast.Call, function: FunctionNode | None, context: _Context) -> None:
        """What adds a kernel to an operator that is named by its text, or by a library and its name."""
        given = [*call.args]
        owner = self._owner(given[0], context.names) if given else None
        texts = [self._text(argument, context.names) for argument in (given[1:] if owner is not None else given)]
        if not texts or not texts[0]:
            node = given[0] if given else None
            self._tell(call, "the name", node, context.around, owner.namespace if owner is not None else "")
            return
        namespace, _, name = texts[0].rpartition("::")
        library = _keyword(call, "lib")
        owner = owner or (self._owner(library, context.names) if library is not None else None)
        namespace = namespace or (owner.namespace if owner is not None else "")
        if not namespace:
            self._tell(call, "the name", given[0], context.around, "")
            return
        shown = function.name if function is not None else shorten(source_of(given[-1]))
        row = RegistrationStatement(namespace, name, context.place, by_hand=shown)
        if _ADDERS[called]:
            self.statements.append(row._replace(keys=(_ADDERS[called],)))
            return
        wanted = [*given[len(given) - len(texts) + 1 :][:1], _keyword(call, *_KEY_ARGUMENTS)][0]
        default = (owner.key if owner is not None else "") or _DEFAULT_KEY
        keys = self._keys(call, wanted, default, namespace, context)
        if called == "register_autocast":
            keys = tuple([f"Autocast{device}" for device in keys])
        self.statements += [row._replace(keys=keys)] if keys else []

    def _keys(
        self, call: ast.Call, wanted: ast.expr | None, default: str, namespace: str, context: _Context
    ) -> tuple[str, ...]:
        """The keys that an argument of a call has, a default without it; empty if this tells that it is not known."""
        node = self._value(wanted, context.names) if wanted is not None else ast.Constant(None)
        if isinstance(node, ast.Constant) and not node.value:
            return (default,)
        parts = node.elts if isinstance(node, (ast.Tuple, ast.List, ast.Set)) else [node]
        texts = [self._text(part, context.names) for part in parts]
        if not all(texts):
            self._tell(call, "the key", wanted, context.around, namespace)
            return ()
        return tuple([_DEVICE_KEYS.get(text, text) for text in texts if text])


_BRANCH: Final = _Around("", is_branch=True)


def _always_runs(statement: ast.stmt, names: _Names) -> list[ast.stmt] | None:
    """The block of a statement that runs whenever the statement does; of a loop, if it is known what it goes over."""
    if isinstance(statement, (ast.With, ast.AsyncWith, ast.ClassDef)):
        return statement.body
    if isinstance(statement, ast.If):
        is_true = isinstance(statement.test, ast.Constant) and bool(statement.test.value)
        return statement.body if is_true else None
    if isinstance(statement, ast.For):
        # What the loop goes over may be long, and this asks in each round.
        nodes = (node for inner in statement.body for node in ast.walk(inner))
        jumps = any(isinstance(node, (ast.Break, ast.Continue, ast.Return)) for node in nodes)
        targets = [node for node in ast.walk(statement.target) if isinstance(node, ast.Name)]
        return None if jumps or any(names.get(node.id) is None for node in targets) else statement.body
    return None


def _may_return(statement: ast.stmt) -> bool:
    """Whether the function around a statement may end with it."""
    inner: list[ast.AST] = [statement]
    while inner:
        node = inner.pop()
        if isinstance(node, ast.Return):
            return True
        if not isinstance(node, (*_FUNCTIONS, ast.ClassDef, ast.expr)):
            inner += ast.iter_child_nodes(node)
    return False


def _doubtful(child: ast.AST) -> set[int]:
    """The nodes of an expression that are evaluated only sometimes, or later."""
    later = (ast.IfExp, ast.BoolOp, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
    return {id(inner) for node in ast.walk(child) if isinstance(node, later) for inner in ast.walk(node)}


def _text_offset(file: SourceFile, node: ast.stmt | ast.expr) -> int:
    """Where a node begins in the text with the line breaks of Unix."""
    start = node_span(file, node).start
    return start - file.text.count("\r\n", 0, start)


def _keyword(call: ast.Call, *names: str) -> ast.expr | None:
    return next((keyword.value for keyword in call.keywords if keyword.arg in names), None)


def _tags(call: ast.Call) -> Iterator[str]:
    """The tags that a call names as `torch.Tag.core`."""
    node = _keyword(call, "tags")
    for part in ast.walk(node) if node is not None else ():
        if isinstance(part, ast.Attribute) and source_of(part.value).rpartition(".")[2] == "Tag":
            yield part.attr
