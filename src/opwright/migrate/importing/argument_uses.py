"""Which arguments a C++ function writes to, and on which devices it runs, as far as its source and its callees say.

Memory is written through methods such as `add_`, through pointers and accessors that kernels index, and by operators
with an `out` argument. Where a pointer goes to code that was not read, it may be written.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import pairwise
from typing import Final

from opwright.source.diagnostic import Fault
from opwright.source.records import NamedTuple
from opwright.source.text import SourceFile
from opwright.syntax.cpp_functions import CppFunction, Statement, function_of, statements, template_end
from opwright.syntax.cpp_source import CUDA_SUFFIXES, CppSource, parse_cpp
from opwright.syntax.cpp_tokens import Token, arguments, closing_index, text_of

_POINTERS: Final = re.compile(r"(?:mutable_)?data_ptr|(?:packed_)?accessor(?:32|64)?|(?:data|mutable_data)(?=<)")
_CONST_POINTERS: Final = re.compile(r"const_data_ptr|\w+<const\b.*")
#: Methods whose result may have the memory of the tensor.
_VIEWS: Final = frozenset((
    "value", "contiguous", "view", "reshape", "flatten", "squeeze", "unsqueeze", "transpose", "t", "permute", "narrow",
    "slice", "select", "detach", "get", "index", "at", "expand", "to", "expand_as", "view_as", "alias", "chunk",
    "split", "unbind", "diagonal", "index_select",
))  # fmt: skip
#: Methods of tensors that give what writes their memory.
_INSIDES: Final = frozenset(("storage", "untyped_storage", "unsafeGetTensorImpl", "set_data", "mutable_grad"))
#: Functions of C++'s library that hand on a reference, and methods of PyTorch's iterators that get what is written.
_REFERENCES: Final = re.compile(
    r"std::(?:tie|ref|addressof|forward_as_tuple|bind\w*|invoke|apply|thread|async)|.*add_\w*output"
)
_GENERIC_CALLS: Final = frozenset(
    ["if", "while", "switch", "return", "sizeof", "decltype", "for", "catch", "device_of", "get_device"]
)
_CASTS: Final = re.compile(r"(?:reinterpret|static|const)_cast|move|forward|as_const")
_MEMORY: Final = re.compile(r"(?:mutable_|const_)?data_ptr|(?:packed_)?accessor(?:32|64)?")
_CUDA: Final = re.compile(r"\bis_cuda\b|CHECK_CUDA|CUDAGuard|getCurrentCUDAStream|<<<")
#: What may be a function, with its name before the bracket.
_CALLED: Final = re.compile(r"\b(\w+)\s*\(")
_TENSOR: Final = re.compile(r"\b(?:Tensor|Variable|TensorList)\b")
#: Parts of the names of macros that look at arguments and call nothing with them.
_CHECKS: Final = re.compile(r"CHECK|ASSERT|ENFORCE|EXPECT|REQUIRE|VALIDATE|UNUSED|CONTIGUOUS|GUARD|LOG")
#: How many calls are followed.
_DEPTH: Final = 6
#: How many tokens are read for all functions together; with more, what is left counts as not read.
_MOST_WORK: Final = 2_000_000
#: What stands before an expression that begins a statement.
_BEFORE_STATEMENTS: Final = frozenset((";", "{", "}", ")", "else", "do", ""))

READ: Final = 0
MAYBE_WRITTEN: Final = 1
WRITTEN: Final = 2


class Definition(NamedTuple):
    """A function with its body; a declaration has none."""

    function: CppFunction
    body: Sequence[Token]


class DefinedFunctions:
    """Functions that sources define, by their names without namespaces. Sources are read when a name needs them."""

    def __init__(self, sources: Sequence[CppSource], others: Sequence[SourceFile]) -> None:
        self._by_name: dict[str, list[Definition]] = {}
        self._read = {os.path.realpath(source.path) for source in sources}
        self._others = [file for file in others if os.path.realpath(file.path) not in self._read]
        self._sources: list[CppSource] = [*sources]
        self.macros: dict[str, str] = {}
        #: How many sources the table has the functions of.
        self._taken = 0

    @cached_property
    def _with_call(self) -> dict[str, list[SourceFile]]:
        """The other sources by the names of what they may define or call."""
        files: dict[str, list[SourceFile]] = {}
        for file in self._others:
            for word in set(_CALLED.findall(file.text)):
                files.setdefault(word, []).append(file)
        return files

    def named(self, name: str) -> Sequence[Definition]:
        """Functions of a name, and their declarations."""
        self._parse(self._with_call.pop(name, ()))
        return self._by_name.get(name, ())

    def with_word(self, word: str) -> list[Definition]:
        """Functions with bodies in sources that have a word."""
        self._parse([file for file in self._others if word in file.text])
        paths = {source.path for source in self._sources if word in source.text}
        return [
            given for same in self._by_name.values() for given in same if given.body and given.function.path in paths
        ]

    @property
    def length(self) -> int:
        """How many tokens the sources have that were read."""
        return sum(len(source.tokens) for source in self._sources)

    def _parse(self, files: Iterable[SourceFile]) -> None:
        for file in files:
            if os.path.realpath(file.path) not in self._read:
                self._read.add(os.path.realpath(file.path))
                # What is too much work here is no input of the run.
                with suppress(Fault):
                    self._sources.append(parse_cpp(file.path, file.text))
        for source in self._sources[self._taken :]:
            self.macros.update({macro.name: macro.text for macro in source.macros if macro.parameters is not None})
            for statement in statements(source):
                function = function_of(_without_template(statement), source.path)
                if function is not None:
                    plain = function.name.rpartition("::")[2]
                    self._by_name.setdefault(plain, []).append(Definition(function, statement.body))
        self._taken = len(self._sources)


def _without_template(statement: Statement) -> Statement:
    """A function without what stands before its type: the parameters of a template, and attributes in brackets."""
    head = [*statement.head]
    while end := template_end(head):
        head = head[end + 1 :]
    for index in range(len(head) - 1, -1, -1):
        if head[index].text.startswith("__") and head[index + 1 : index + 2] and head[index + 1].text == "(":
            del head[index : closing_index(head, index + 1) + 1]
    return statement._replace(head=head)


class Use(NamedTuple):
    """How an argument is used, where that is decided, and the code that was not read, if that decides."""

    level: int
    path: str = ""
    line: int = 0
    callee: str = ""


class Traits(NamedTuple):
    """What a function does: it reads memory itself, or records gradients, and where it runs."""

    has_memory: bool = False
    is_cuda: bool = False
    chooses_device: bool = False
    has_gradient: bool = False


_UNUSED: Final = Use(READ)


def _strongest(uses: Iterable[Use]) -> Use:
    return max(uses, key=lambda use: use.level, default=_UNUSED)


class ArgumentUses:
    """What functions of sources do with their arguments."""

    def __init__(self, sources: DefinedFunctions) -> None:
        self.sources: Final = sources
        self._work = 0
        self._members: dict[str, Use | None] = {}
        self._known: dict[tuple[int, int], Use] = {}

    def use(self, definition: Definition, number: int, depth: int = 0) -> Use:
        """How a function uses its parameter with a number."""
        key = (id(definition.body), number)
        if key not in self._known:
            # A function that calls itself uses an argument as it does otherwise.
            self._known[key] = _UNUSED
            self._known[key] = _Body(definition, self, depth).use(number)
        return self._known[key]

    def take(self, tokens: int) -> bool:
        """Whether so many tokens can be read yet."""
        self._work += tokens
        return self._work < _MOST_WORK

    def of_call(self, name: str, number: int, count: int, depth: int) -> Use | None:
        """How functions of a name use an argument; None if none of them is known."""
        named = [given for given in self.sources.named(name) if len(given.function.parameters) >= count]
        defined = [given for given in named if given.body]
        if defined and depth < _DEPTH:
            return _strongest([self.use(given, number, depth + 1) for given in defined])
        if named and all("const" in given.function.parameters[number] for given in named):
            return _UNUSED
        return None

    def of_member(self, member: str, depth: int) -> Use | None:
        """How functions use the memory to which a member of an object points; None if none of them names it."""
        if member not in self._members and self.take(self.sources.length):
            self._members[member] = None
            naming = [
                given for given in self.sources.with_word(member) if any(token.text == member for token in given.body)
            ]
            if naming and depth < _DEPTH:
                self._members[member] = _strongest(
                    [_Body(given, self, depth + 1).member_use(member) for given in naming]
                )
        return self._members.get(member)

    def traits(self, definition: Definition) -> Traits:
        """What a function does, with the functions that it calls."""
        seen: set[int] = set()
        result = Traits()
        waiting = [definition]
        while waiting and len(seen) < 100 and self.take(len(waiting[-1].body)):
            given = waiting.pop()
            if id(given.body) in seen:
                continue
            seen.add(id(given.body))
            text = text_of(given.body)
            names = {token.text for token in given.body if token.kind == "name"}
            text += " ".join([self.sources.macros[name] for name in sorted(names) if name in self.sources.macros])
            in_cuda = given.function.path.endswith(CUDA_SUFFIXES)
            result = Traits(
                result.has_memory or _MEMORY.search(text) is not None or "<<<" in text,
                result.is_cuda or in_cuda or _CUDA.search(text) is not None,
                result.chooses_device or (self.take(len(given.body)) and _Body(given, self, _DEPTH).chooses_device()),
                result.has_gradient or "::apply(" in text,
            )
            called = {
                token.text for token, after in pairwise(given.body) if token.kind == "name" and after.text in ("(", "<")
            }
            waiting += [other for name in sorted(called) for other in self.sources.named(name) if other.body]
        return result


class _Body:
    """The uses of one parameter in the body of a function."""

    def __init__(self, definition: Definition, uses: ArgumentUses, depth: int) -> None:
        self._function = definition.function
        self._tokens = definition.body
        self._uses = uses
        self._depth = depth
        #: The bracket around each token; -1 outside of all.
        self._around: list[int] = []
        open: list[int] = []
        for index, token in enumerate(self._tokens):
            if token.text in (")", "]", "}") and open:
                open.pop()
            self._around.append(open[-1] if open else -1)
            if token.text in ("(", "[", "{"):
                open.append(index)
        #: The names that stand for the memory of the parameter, with what they are.
        self._names: dict[str, str] = {}
        #: Whether the parameter is a constant beside another tensor that is none.
        self._is_const = False

    def use(self, number: int) -> Use:
        """How the parameter with a number is used."""
        type, name = self._function.parameters[number], self._function.names[number]
        is_tensor = _TENSOR.search(type) is not None
        others = [other for other in self._function.parameters if _TENSOR.search(other) and "const" not in other]
        self._is_const = is_tensor and "const" in type and bool(others)
        is_accessor = "ccessor" in type
        if not name or (not is_tensor and not is_accessor and "*" not in type):
            return _UNUSED
        if ("*" in type and "const" in type.partition("*")[0]) or (is_accessor and "<const" in type):
            return _UNUSED
        self._names = {name: "tensor" if is_tensor else "accessor" if is_accessor else "pointer"}
        return self._worst()

    def member_use(self, member: str) -> Use:
        """How the memory is used to which a member of any object points."""
        seeds = [
            index
            for index, token in enumerate(self._tokens)
            if token.text == member and self._text(index - 1) in (".", "->") and self._text(index + 1) != "="
        ]
        uses = [use for index in seeds for use in self._uses_at(self._object(index), "pointer", index)]
        return _strongest([*uses, self._worst()])

    def chooses_device(self) -> bool:
        """Whether a condition asks for the device of a tensor."""
        for index, token in enumerate(self._tokens):
            if token.text in ("is_cuda", "is_cpu", "kCUDA", "kCPU"):
                around = self._around[index]
                while around >= 0:
                    if self._text(around) == "(" and self._text(around - 1) == "if":
                        return True
                    around = self._around[around]
        return False

    def _object(self, index: int) -> int:
        """Where the expression begins of which a member is named at a place."""
        while index >= 2 and self._text(index - 1) in (".", "->") and self._tokens[index - 2].kind == "name":
            index -= 2
        return index

    def _worst(self) -> Use:
        """The use that decides, of all names that stand for the memory."""
        if not self._uses.take(len(self._tokens)):
            return self._found(MAYBE_WRITTEN, 0, "code that is too long") if self._tokens else _UNUSED
        worst = _UNUSED
        for index, token in enumerate(self._tokens):
            if token.kind == "name" and token.text in self._names and self._text(index - 1) not in (".", "->", "::"):
                if not self._uses.take(0):
                    return self._found(MAYBE_WRITTEN, index, "code that is too long")
                worst = _strongest([worst, *self._uses_at(index, self._names[token.text])])
                if worst.level == WRITTEN:
                    return worst
        if worst.level == READ and self._names:
            words = re.compile(rf"\b(?:{'|'.join(self._names)})\b")
            for index, token in enumerate(self._tokens):
                macro = self._uses.sources.macros.get(token.text) if token.kind == "name" else None
                if macro is not None and words.search(macro):
                    return self._found(MAYBE_WRITTEN, index, f"the macro `{token.text}`")
        return worst

    def _text(self, index: int) -> str:
        return self._tokens[index].text if 0 <= index < len(self._tokens) else ""

    def _texts(self, first: int, last: int) -> str:
        return "".join(map(self._text, range(first, last + 1)))

    def _found(self, level: int, index: int, callee: str = "") -> Use:
        return Use(level, self._function.path, self._tokens[index].line, callee)

    def _uses_at(self, start: int, kind: str, last: int | None = None) -> Iterator[Use]:
        """The use of a name at a place; its `last` token is another for the member of an object."""
        index = (start if last is None else last) + 1
        is_indexed = False
        while True:
            text = self._text(index)
            if text == "[":
                index, is_indexed = closing_index(self._tokens, index) + 1, True
                if kind == "pointer" and self._text(index) not in ("[", "."):
                    break
            elif text in (".", "->"):
                method, after = self._method(index + 1)
                if kind == "tensor" and method.endswith("_") and not method.startswith(("requires_grad", "_")):
                    yield self._found(WRITTEN, start)
                    return
                if _CONST_POINTERS.fullmatch(method):
                    return
                if _POINTERS.match(method) is not None:
                    kind, is_indexed = "accessor" if "accessor" in method else "pointer", False
                elif kind == "tensor":
                    if method in _INSIDES:
                        yield self._found(MAYBE_WRITTEN, start, f"`{method}`")
                    if method not in _VIEWS:
                        return
                    is_indexed = True
                index = after
            else:
                break
        if kind != "tensor" and self._text(start - 1) == "*" and self._text(start - 2) in _BEFORE_STATEMENTS:
            is_indexed = True
        is_changed = kind == "tensor" and self._text(index) in ("+", "-", "*", "/") and self._text(index + 1) == "="
        if is_changed or (is_indexed and self._is_assigned(start, index)):
            yield self._found(WRITTEN, start)
        elif kind != "pointer" or not is_indexed or self._text(start - 1) == "&":
            yield from self._flow(start - (self._text(start - 1) == "&"), index, kind)

    def _method(self, index: int) -> tuple[str, int]:
        """The method at a place with the arguments of its template, and the index behind the call."""
        name, after = self._text(index), index + 1
        if self._text(after) == "template":
            after += 1
        if name == "template":
            name, after = self._text(after), after + 1
        if self._text(after) == "<":
            end = after
            depth = 0
            while end < len(self._tokens):
                depth += (self._text(end) == "<") - (self._text(end) == ">")
                end += 1
                if not depth:
                    break
            name, after = name + text_of(self._tokens[after:end]), end
        return name, closing_index(self._tokens, after) + 1 if self._text(after) == "(" else after

    def _is_assigned(self, start: int, index: int) -> bool:
        first, second = self._text(index), self._text(index + 1)
        if first == "=":
            return second != "="
        if first in ("+", "-", "*", "/", "|", "&", "^", "%"):
            return second == "=" or (first in ("+", "-") and second == first)
        is_shifted = first in ("<", ">") and second == first and self._text(index + 2) == "="
        return is_shifted or (self._text(start - 1) in ("+", "-") and self._text(start - 2) == self._text(start - 1))

    def _flow(self, start: int, end: int, kind: str) -> Iterator[Use]:
        """Where the value of an expression between two places goes."""
        if kind != "tensor":
            after = end
            while self._text(after) == "[":
                after = closing_index(self._tokens, after) + 1
            is_dereferenced = self._text(start - 1) == "*" and self._text(start - 2) in _BEFORE_STATEMENTS
            if (after > end or is_dereferenced) and self._is_assigned(start, after):
                yield self._found(WRITTEN, start)
                return
            if is_dereferenced or (after > end and self._text(start - 1) != "&"):
                return
        while self._text(start - 1) == ")" and kind != "tensor":
            # A cast before the expression.
            opening = self._opening(start - 1, ("(",))
            cast = text_of(self._tokens[opening + 1 : start - 1])
            if opening < 0 or not cast.endswith("*"):
                break
            if "const" in cast:
                return
            start = opening
        around = self._around[start]
        if self._text(around) == "[":
            return
        if not self._uses.take(0 if around < 0 else closing_index(self._tokens, around) - around):
            yield self._found(MAYBE_WRITTEN, start, "code that is too long")
            return
        first = start
        while (
            first > 0 and self._around[first - 1] == around and self._text(first - 1) not in (",", ";", "{", "}", "=")
        ):
            first -= 1
        self._uses.take(start - first)
        if self._text(first - 1) == "=" and self._around[first - 1] == around:
            yield from self._assigned(first, start, end, kind)
        elif around >= 0 and self._text(around) == "(":
            yield from self._passed(around, start, end, kind)
        elif kind != "tensor" and self._text(around) == "{" and self._text(around - 1) in ("(", ",", "return", "="):
            yield self._found(MAYBE_WRITTEN, start, "a list")
        elif self._text(around) == "{" and self._text(end) in (",", "}") and self._text(start - 1) in (",", "{"):
            yield from self._held(around, start, kind)

    def _held(self, brace: int, start: int, kind: str) -> Iterator[Use]:
        """What becomes of an argument that an object gets in braces: a list is it, other code may get an object."""
        begin = brace
        while begin > 0 and self._text(begin - 1) not in (";", "{", "}", "(", ",", "=", "return"):
            begin -= 1
        words = [token.text for token in self._tokens[begin:brace] if token.kind == "name"]
        is_list = not {"vector", "array", "optional"}.isdisjoint(words)
        if len(words) > 1 and (is_list or _TENSOR.fullmatch(words[-2])):
            self._names.setdefault(words[-1], kind)
        elif words and not is_list and not _TENSOR.search(" ".join(words)):
            yield self._found(MAYBE_WRITTEN, start, f"an object of `{words[0]}`")

    def _assigned(self, first: int, start: int, end: int, kind: str) -> Iterator[Use]:
        target = first - 2
        if self._text(target) == "]" or self._tokens[target].kind != "name":
            return
        is_whole = first == start and self._text(end) in (";", ",", ")")
        if kind == "tensor" and not is_whole and "?" not in [token.text for token in self._tokens[first:start]]:
            return
        if self._text(target - 1) in (".", "->"):
            member = self._text(target)
            use = None if kind == "tensor" else self._uses.of_member(member, self._depth)
            if use is None or use.level == MAYBE_WRITTEN:
                yield self._found(MAYBE_WRITTEN, start, f"the member `{member}`")
            elif use.level == WRITTEN:
                yield use._replace(callee=f"the member `{member}`")
            return
        begin = target
        while begin > 0 and self._text(begin - 1) not in (";", "{", "}", "("):
            begin -= 1
        declared = [token.text for token in self._tokens[begin:target]]
        refers = not declared or not {"*", "auto"}.isdisjoint(declared) or "ccessor" in "".join(declared)
        # Others are values that were read, or constants.
        if (kind == "tensor" or refers) and not {"const", "*"}.issubset(declared):
            self._names.setdefault(self._text(target), kind)

    def _passed(self, opening: int, start: int, end: int, kind: str) -> Iterator[Use]:
        name, template, at = self._callee(opening)
        plain = name.rpartition("::")[2]
        if plain == "for" and self._text(start - 1) == ":" and self._tokens[start - 2].kind == "name":
            self._names.setdefault(self._text(start - 2), kind)
            return
        if kind == "tensor" and self._text(opening - 1) in (")", "]") and self._text(end) in (",", ")"):
            yield self._found(MAYBE_WRITTEN, start, "what a call gives")
            return
        if not plain or _CASTS.fullmatch(plain):
            is_value = self._text(start - 1) in ("(", ":", "?") and self._text(end) in (")", ":")
            if (is_value or kind != "tensor") and not re.search(r"\bconst\b", template):
                yield from self._uses_at(at, kind, closing_index(self._tokens, opening))
            return
        if plain in _GENERIC_CALLS:
            return
        given = arguments(self._tokens, opening)
        number = self._number(given, start)
        is_whole = self._text(start - 1) in ("(", ",", ":", "?") and self._text(end) in (")", ",", ":")
        if kind == "tensor" and not is_whole:
            # An expression of the tensor.
            return
        if kind == "tensor" and _REFERENCES.fullmatch(name):
            yield self._found(MAYBE_WRITTEN, start, f"`{plain}`")
            return
        if self._text(at - 1) in (".", "->"):
            is_unread = not self._is_const and not self._is_tensor(at - 2)
            if plain in ("push_back", "emplace_back") or kind != "tensor" or is_unread:
                yield self._found(MAYBE_WRITTEN, start, f"`{plain}`")
            return
        is_own = name.startswith(("at::", "torch::", "c10::", "::at::"))
        use = None if is_own else self._uses.of_call(plain, number, len(given), self._depth)
        if use is None and not is_own:
            # The commas of templates are those of one argument: no function has as many as there seemed to be.
            given = arguments(self._tokens, opening, has_types=True)
            use = self._uses.of_call(plain, self._number(given, start), len(given), self._depth)
        if use is not None:
            if use.level:
                yield use
        elif (
            plain.startswith(("atomic", "gpuAtomic", "cudaMemcpy", "cudaMemset")) or plain in ("memcpy", "memset")
        ) and not number:
            yield self._found(WRITTEN, start)
        elif plain.startswith(("atomic", "cudaMemcpy", "memcpy", "__ldg")):
            return
        elif is_own and kind == "tensor":
            # An operator is called by its name, or by that of a struct, which has `out` last.
            operator = name.rpartition("::")[0].rpartition("::")[2] if "::_ops::" in f"::{name}" else plain
            is_out = operator.endswith("_out") and number == (0 if operator == plain else len(given) - 1)
            if is_out or (not number and operator.endswith("_") and not operator.startswith("_")):
                yield self._found(WRITTEN, start)
        elif not (kind == "tensor" and (self._only_checks(plain) or name.startswith("std::"))):
            yield self._found(MAYBE_WRITTEN, start, f"`{plain}`")

    def _number(self, given: Sequence[Sequence[Token]], start: int) -> int:
        """The number of the argument that has the token at a place."""
        at = self._tokens[start].start
        return next(number for number, part in enumerate(given) if part and part[0].start <= at <= part[-1].start)

    def _opening(self, closing: int, signs: Sequence[str]) -> int:
        """The bracket before the one that closes it; -1 if there is none."""
        around = self._around[closing]
        before = range(closing - 1, -1, -1)
        return next((at for at in before if self._around[at] == around and self._text(at) in signs), -1)

    def _only_checks(self, name: str) -> bool:
        """Whether the macro of a name checks its arguments; another one may call what writes them."""
        return name.isupper() and (self._is_const or _CHECKS.search(name) is not None)

    def _is_tensor(self, index: int) -> bool:
        """Whether an object before a method, whose last token is here, is a tensor, or made by PyTorch's functions."""
        while index >= 0:
            if self._text(index) in (")", "]"):
                index = self._opening(index, ("(", "[")) - 1
            elif self._text(index - 1) in (".", "->", "::"):
                index -= 2
            else:
                break
        root = self._text(index)
        if root in ("at", "torch", "c10", "std"):
            return True
        parameters = zip(self._function.names, self._function.parameters, strict=False)
        return any(name == root and _TENSOR.search(type) for name, type in parameters) or any(
            token.text == root and self._text(at - 1) in ("Tensor", "auto", "&", "Variable")
            for at, token in enumerate(self._tokens)
        )

    def _callee(self, opening: int) -> tuple[str, str, int]:
        """Name before a bracket, the arguments of its template, and where it begins; without those of a launch."""
        at = opening - 1
        template = ""
        if self._texts(at - 2, at) == ">>>":
            at -= 3
            while at > 0 and self._texts(at - 2, at) != "<<<":
                at -= 1
            at -= 3
        if self._text(at) == ">":
            end = at
            depth = 0
            while at >= 0:
                depth += (self._text(at) == ">") - (self._text(at) == "<")
                at -= 1
                if not depth or self._text(at) in (";", "{", "}"):
                    break
            template = text_of(self._tokens[at + 1 : end + 1])
        last = at
        while at >= 0 and (self._tokens[at].kind == "name" or self._text(at) == "::"):
            if self._tokens[at].kind == "name" and at < last and self._tokens[at + 1].kind == "name":
                break
            at -= 1
        return text_of(self._tokens[at + 1 : last + 1]), template, at + 1
