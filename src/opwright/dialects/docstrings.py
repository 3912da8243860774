"""Loads docstrings from the modules of PyTorch that give them to functions. The modules are parsed and never run.

`torch` stands for itself: an attribute of it is its full name, and it has every attribute, as it has for PyTorch's own
generator. Helpers that the modules define are known by their names.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from string import Formatter
from typing import Final, TypeAlias, TypeVar

from opwright.dialects.dialect import LoadContext
from opwright.dialects.python_source import node_span, parse_module
from opwright.model.more_inputs import Docstring
from opwright.release.store import DOCSTRING_MODULES
from opwright.source.codes import INPUT_MISSING, NO_DOCSTRINGS, UNKNOWN_FORM
from opwright.source.diagnostic import Diagnostics, Fault, did_you_mean, shorten
from opwright.source.records import NamedTuple
from opwright.source.text import SourceFile

#: The most characters of a text, and the most expressions that one module may evaluate.
_LONGEST: Final = 1_000_000
_MOST_STEPS: Final = 200_000

#: What ends the description of an argument: a line with four blanks, and no more, before the next one.
_NEXT_ARGUMENT: Final = re.compile(r"\n\s{4}(?!\s)")
_METHODS: Final = "torch._C.TensorBase"


class FullName(NamedTuple):
    """An attribute of `torch`, by its full name."""

    text: str


class Helper(NamedTuple):
    """A function that the modules define or Python has, by its name."""

    name: str


Value: TypeAlias = "str | dict[str, str] | tuple[str, ...] | bool | FullName | Helper | None"

_Value = TypeVar("_Value")

#: Functions that need no definition.
_BUILT_IN: Final = {name: Helper(name) for name in ("getattr", "hasattr", "dir")}


class _Unknown(Exception):
    """An expression that is not known; the node is where."""

    def __init__(self, node: ast.expr | ast.stmt, message: str, help: str = "") -> None:
        super().__init__(message)
        self.node: Final = node
        self.message: Final = message
        self.help: Final = help


class Evaluator:
    """Evaluates one module. `names` are its names afterwards; docstrings go to the mapping that it is given."""

    def __init__(
        self,
        file: SourceFile,
        modules: Mapping[str, Mapping[str, Value]],
        docstrings: dict[str, Docstring],
        sink: Diagnostics,
    ) -> None:
        self.names: Final[dict[str, Value]] = {"torch": FullName("torch"), **_BUILT_IN}
        self._file: Final = file
        self._modules: Final = modules
        self._docstrings: Final = docstrings
        self._sink: Final = sink
        self._steps = 0

    def run(self, statements: Iterable[ast.stmt]) -> None:
        """Evaluate statements one by one. Faults go to the sink; the statements after them are evaluated too."""
        for statement in statements:
            try:
                self._statement(statement)
            except _Unknown as unknown:
                span = node_span(self._file, unknown.node)
                self._sink.error(UNKNOWN_FORM, unknown.message, span, help=unknown.help)
            except RecursionError:
                self._sink.error(UNKNOWN_FORM, "this is nested too deeply", node_span(self._file, statement))

    def _statement(self, statement: ast.stmt) -> None:
        match statement:
            case ast.Expr(value=ast.Constant()) | ast.Import() | ast.Pass():
                pass
            case ast.Expr(value=value):
                self._value(value)
            case ast.ImportFrom(module=module, names=names):
                defined = self._modules.get(module or "", {})
                for alias in names:
                    name = alias.name.lstrip("_")
                    self.names[alias.asname or alias.name] = defined.get(alias.name, Helper(name))
            case ast.FunctionDef(name=name):
                self.names[name] = Helper(name)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self.names[name] = self._value(value)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                self.names[name] = self._value(value)
            case ast.Assign(targets=[ast.Attribute(value=target)]) if isinstance(self._value(target), FullName):
                pass
            case ast.For(target=ast.Name(id=name), iter=items, body=body, orelse=[]):
                for item in self._value_of(tuple, items, "a list of texts"):
                    self.names[name] = item
                    self.run(body)
            case ast.If(test=test, body=body, orelse=orelse):
                holds = self._value(test)
                if not isinstance(holds, bool):
                    raise _Unknown(test, "only running the module would tell whether this holds")
                self.run(body if holds else orelse)
            case _:
                raise _Unknown(statement, "only running this statement would tell what it does to docstrings")

    def _value(self, node: ast.expr) -> Value:
        """Value of an expression. Raises _Unknown."""
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise _Unknown(node, f"the module evaluates more than {_MOST_STEPS:,} expressions")
        match node:
            case ast.Constant(value=str() as text):
                return text
            case ast.Name(id=name):
                if name not in self.names:
                    raise _Unknown(node, f"`{name}` has no value that is known", str(did_you_mean(name, self.names)))
                return self.names[name]
            case ast.Attribute(value=inner, attr=name) if isinstance(owner := self._value(inner), FullName):
                return FullName(f"{owner.text}.{name}")
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self._join(node, [self._text(left), self._text(right)])
            case ast.JoinedStr(values=values):
                return self._join(node, [self._piece(value) for value in values])
            case ast.Subscript(value=inner, slice=key):
                name, texts = self._text(key), self._mapping(inner)
                if name not in texts:
                    raise _Unknown(node, f"there is no text `{shorten(name)}`", str(did_you_mean(name, texts)))
                return texts[name]
            case ast.Dict(keys=keys, values=values):
                texts = {}
                for key_node, value in zip(keys, values, strict=True):
                    texts |= {self._text(key_node): self._text(value)} if key_node else self._mapping(value)
                return texts
            case ast.Tuple(elts=items) | ast.List(elts=items):
                return tuple([self._text(item) for item in items])
            case ast.Call():
                return self._call(node)
        raise _Unknown(node, "only running the module would tell the value of this expression")

    def _value_of(self, kind: type[_Value], node: ast.expr, words: str) -> _Value:
        """Value of an expression, which is of a type. Raises _Unknown."""
        value = self._value(node)
        # Names are tuples too.
        if type(value) is not kind:
            raise _Unknown(node, f"this is not {words}")
        return value

    def _text(self, node: ast.expr) -> str:
        return self._value_of(str, node, "a text")

    def _piece(self, node: ast.expr) -> str:
        """A piece of an f-string: a text, or an expression without format."""
        if isinstance(node, ast.FormattedValue):
            if node.conversion != -1 or node.format_spec is not None:
                raise _Unknown(node.value, "this has a format, which is not known")
            return self._text(node.value)
        return self._text(node)

    @staticmethod
    def _join(node: ast.expr, texts: Sequence[str]) -> str:
        if sum(map(len, texts)) > _LONGEST:
            raise _Unknown(node, f"the text has more than {_LONGEST:,} characters")
        return "".join(texts)

    def _mapping(self, node: ast.expr) -> dict[str, str]:
        return self._value_of(dict, node, "a dictionary of texts")

    def _call(self, node: ast.Call) -> Value:
        """Value of a call: a text that is formatted, or what a helper gives."""
        if isinstance(node.func, ast.Attribute) and node.func.attr == "format" and not node.args:
            return self._format(node, self._text(node.func.value))
        helper = self._value(node.func)
        match helper.name if isinstance(helper, Helper) and not node.keywords else "":
            case "add_docstr":
                target, text = self._arguments(node, 2)
                self._document(node, self._target(target).text, self._text(text))
                return None
            case "add_docstr_all":
                name, text = self._arguments(node, 2)
                self._document(node, f"{_METHODS}.{self._text(name)}", self._text(text))
                return None
            case "parse_kwargs":
                # Descriptions of arguments by the names that they begin with.
                (text,) = self._arguments(node, 1)
                descriptions = [part.strip() for part in _NEXT_ARGUMENT.split(self._text(text))]
                return {description.split(" ")[0]: description for description in descriptions if description}
            case "merge_dicts":
                return {name: text for argument in node.args for name, text in self._mapping(argument).items()}
            case "getattr":
                owner, name = self._arguments(node, 2)
                return FullName(f"{self._target(owner).text}.{self._text(name)}")
            case "hasattr":
                owner, name = self._arguments(node, 2)
                self._target(owner)
                self._text(name)
                return True
            case "dir":
                # Nothing: the modules look there for functions without docstrings, of which PyTorch's generator finds
                # none.
                self._target(*self._arguments(node, 1))
                return ()
        raise _Unknown(node, f"`{shorten(ast.unparse(node.func))}` is not a function that is known")

    def _format(self, node: ast.Call, text: str) -> str:
        """A text with its slots filled."""
        values: dict[str, str] = {}
        for keyword in node.keywords:
            values.update(
                self._mapping(keyword.value) if keyword.arg is None else {keyword.arg: self._text(keyword.value)}
            )
        pieces = []
        try:
            for plain, name, spec, conversion in Formatter().parse(text):
                pieces.append(plain)
                if name is None:
                    continue
                if spec or conversion or name not in values:
                    message = f"`{{{shorten(name)}}}` has {'a format' if spec or conversion else 'no value'}"
                    raise _Unknown(node, message, str(did_you_mean(name, values)))
                pieces.append(values[name])
        except ValueError as error:
            raise _Unknown(node, f"the text cannot be formatted: {error}", "write braces of the text twice") from None
        return self._join(node, pieces)

    def _arguments(self, node: ast.Call, count: int) -> list[ast.expr]:
        if len(node.args) != count or any(isinstance(argument, ast.Starred) for argument in node.args):
            raise _Unknown(node, f"this call does not have {count} arguments")
        return node.args

    def _target(self, node: ast.expr) -> FullName:
        return self._value_of(FullName, node, "a function of `torch`")

    def _document(self, node: ast.Call, name: str, text: str) -> None:
        last = name.rpartition(".")[2]
        if last.startswith("__") and last.endswith("__"):
            message = f"PyTorch's generator fails at a docstring of `{last}`"
            raise _Unknown(
                node.args[0], message, "leave out the docstring: the stub files show none of special methods"
            )
        self._docstrings[name] = Docstring(text.strip(), node_span(self._file, node.args[0]))


def load(_files: Sequence[SourceFile], context: LoadContext) -> dict[str, Docstring]:
    """Docstrings by the full names of functions, such as `torch.abs` and `torch._C.TensorBase.abs`."""
    files = {}
    for name in DOCSTRING_MODULES:
        try:
            files[name] = context.inputs.read_text(name)
        except Fault as fault:
            if fault.diagnostic.code != INPUT_MISSING:
                context.sink.add(fault.diagnostic)
                return {}
            message = f"there is no `{name}`, so the stub files of torch have no docstrings"
            context.sink.warning(NO_DOCSTRINGS, message, help="run the program at the top of PyTorch's source tree")
            return {}
    docstrings: dict[str, Docstring] = {}
    modules: dict[str, dict[str, Value]] = {}
    for name, file in files.items():
        try:
            tree = parse_module(file, UNKNOWN_FORM)
        except Fault as fault:
            context.sink.add(fault.diagnostic)
            continue
        evaluator = Evaluator(file, modules, docstrings, context.sink)
        evaluator.run(tree.body)
        modules[name.removesuffix(".py").replace("/", ".")] = evaluator.names
    return docstrings
