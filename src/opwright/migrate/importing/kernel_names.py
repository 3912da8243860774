"""What names of kernels mean in C++ sources: functions of these and of headers, with the headers that declare them."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import Final

from opwright.migrate.importing.cpp_arguments import forwarded_name, function_name
from opwright.migrate.importing.registration import RegistrationStatement
from opwright.migrate.importing.registration_calls import declared_names
from opwright.migrate.importing.source_edits import HiddenKernel
from opwright.model.dispatch_key import COMPOSITE_IMPLICIT
from opwright.source.diagnostic import shorten
from opwright.source.text import SourceFile
from opwright.syntax.cpp_functions import CppFunction, Statement, function_of, statements
from opwright.syntax.cpp_source import CPP_HEADERS, CppSource, read_cpp
from opwright.syntax.cpp_tokens import Token, text_of

#: Older names of dispatch keys.
KEY_ALIASES: Final = {
    "CatchAll": COMPOSITE_IMPLICIT.name, "Math": COMPOSITE_IMPLICIT.name, "Autocast": "AutocastCUDA",
}  # fmt: skip
#: Declarations of one name that are remembered.
MOST_OVERLOADS: Final = 200
_WORD: Final = re.compile(r"\w+")
#: The namespaces of PyTorch and of the standard library, which a project's own ones of these names hide.
_GLOBAL_NAMESPACES: Final = frozenset(["at", "c10", "caffe2", "std", "torch"])
#: Words before a function that sources share, whichever includes it.
_SHARED: Final = frozenset(("inline", "static", "constexpr", "template"))
#: Tokens of the declaration of an alias; a longer one is no type of schemas.
_LONGEST_ALIAS: Final = 100


class KernelNames:
    """The functions of sources and of headers, and which of them a name means.

    Of `more_headers`, which no source includes, those are read that have the name of a kernel. `headers` are those that
    declare kernels, and `undeclared` the kernels that none declares; `aliases` are names of types. `hidden` are kernels
    that only their own files can name.
    """

    def __init__(
        self,
        sources: Sequence[CppSource],
        more_headers: Sequence[SourceFile],
        registering: Collection[str] = (),
    ) -> None:
        #: Headers that register something: who includes one more registers it again.
        self._registering = registering
        seen = {os.path.realpath(source.path) for source in sources}
        #: Other headers by the words in them.
        self._more_headers: dict[str, list[SourceFile]] = {}
        for file in more_headers:
            if os.path.realpath(file.path) not in seen:
                for word in set(_WORD.findall(file.text)):
                    self._more_headers.setdefault(word, []).append(file)
        self._read_headers: set[str] = set()
        #: By their whole names.
        self.functions: Final[dict[str, list[CppFunction]]] = {}
        self.headers: Final[dict[str, None]] = {}
        self.undeclared: Final[dict[str, CppFunction]] = {}
        self.hidden: Final[list[HiddenKernel]] = []
        #: The functions that headers define for one source alone.
        self._defined_once: dict[str, list[str]] = {}
        #: Names by `using`: the whole name, what it names from which scope, and the file.
        self._used: list[tuple[str, str, tuple[str, ...], str]] = []
        #: The names proposed for functions of one name that files hide, by the name and the file.
        self._proposed: dict[tuple[str, str], str] = {}
        self.aliases: Final[dict[str, str]] = {}
        self._namespaces: dict[str, str] = {}
        #: The namespaces that a file names by `using namespace`, by file.
        self._opened: dict[str, list[str]] = {}
        #: Variables, which may point to functions, with their files.
        self._variables: set[tuple[str, str]] = set()
        #: Functions with the linkage of C, which no header that is written declares.
        self._of_c: set[str] = set()
        #: Macros, each with its file, or without one if a header has it.
        self._macros = {
            ("" if macro.path.endswith(CPP_HEADERS) else macro.path, macro.name)
            for source in sources
            for macro in source.macros
        }
        #: Classes, with the files that define them.
        self._classes: dict[str, set[str]] = {}
        #: The whole names of the namespaces that the sources open.
        self._scopes: set[tuple[str, ...]] = set()
        #: The whole names of inline namespaces, by those of the namespaces around them.
        self.inline: Final[dict[str, dict[str, None]]] = {}
        #: The whole names of all that the sources declare.
        self.names: Final[set[str]] = set()
        for source in sources:
            self._opened[source.path] = [*_opened_namespaces(source.tokens)]
            for statement in statements(source):
                levels = _levels(statement.scope)
                scope = [*filter(None, statement.scope)]
                self.names.update(["::".join([*scope, name]) for name in declared_names(statement.head)])
                self._scopes.update([levels[:depth] for depth in range(1, len(levels) + 1)])
                texts = [token.text for token in statement.head]
                if not statement.body and {"inline", "namespace"} <= {*texts}:
                    self.inline.setdefault("::".join(levels[:-1]), {})["::".join(levels)] = None
                elif texts[:1] == ["namespace"] and texts[2:3] == ["="]:
                    self._namespaces[texts[1]] = text_of(statement.head[3:_LONGEST_ALIAS])
                elif texts[:1] == ["using"] and texts[2:3] == ["="]:
                    self.aliases[texts[1]] = text_of(statement.head[3:_LONGEST_ALIAS])
                elif texts[:1] in (["struct"], ["class"]) and statement.body and len(texts) > 1:
                    self._classes.setdefault(texts[1], set()).add(source.path)
                elif texts[:1] == ["typedef"] and 2 < len(texts) < _LONGEST_ALIAS:
                    self.aliases[texts[-1]] = text_of(statement.head[1:-1])
                elif "=" in texts[1:] and "(" not in texts[: texts.index("=", 1)]:
                    self._variables.add((source.path, texts[texts.index("=", 1) - 1]))
                self._add(statement, source)

    def add(self, function: CppFunction) -> None:
        """Remember a function, unless a name has too many."""
        overloads = self.functions.setdefault(function.name, [])
        if function not in overloads and len(overloads) < MOST_OVERLOADS:
            overloads.append(function)

    def declared(self) -> dict[str, CppFunction]:
        """The functions that a name can mean, as headers declare them if any does."""
        functions = [other for same in self.functions.values() for other in same]
        declared = {other.name: other for other in functions if not other.is_hidden}
        used = {name: self.find(target, scope, path) for name, target, scope, path in self._used}
        declared |= {name: function for name, function in used.items() if function is not None}
        return declared | {other.name: other for other in functions if other.path.endswith(CPP_HEADERS)}

    def kernel_of(self, row: RegistrationStatement) -> CppFunction | None:
        """The function of a registration's kernel, which may have a proposed name."""
        hidden = {proposed: name for (name, path), proposed in self._proposed.items() if path == row.place.path}
        name = hidden.get(row.kernel, row.kernel)
        return self.find(f"::{name}", (), row.place.path) if name else None

    def with_kernel(
        self,
        row: RegistrationStatement,
        keys: list[str],
        kernel: Sequence[Token],
        scope: Sequence[str],
        local: Collection[str],
    ) -> RegistrationStatement:
        """A registration with the kernel that an argument passes, or with what it has to stay for.

        The names that are `local` are those of the block around it.
        """
        row = row._replace(keys=tuple([KEY_ALIASES.get(key, key) for key in keys]))
        path = row.place.path
        by_hand = row._replace(by_hand=shorten(text_of(kernel)))
        if self.is_renamed(kernel, local, path):
            return by_hand
        name = self.whole_name(function_name(kernel))
        if name is None:
            callee = self._forwarded(*forwarded_name(kernel), scope, path)
            if callee is None:
                return by_hand
            name = f"::{callee.name}"
        function = self.find(name, scope, path)
        if function is None:
            is_cast = any(token.text == "static_cast" for token in kernel)
            is_variable = (path, name.rpartition("::")[2]) in self._variables
            if is_cast or is_variable or self._is_member(name, path):
                return by_hand
            levels = self._levels_before(name, scope)
            return row._replace(kernel="::".join([*levels, name.removeprefix("::")]))
        if function.is_hidden:
            function = self._forwarded(function.forwards_to, function.parameters, scope, path) or function
        same = [other for other in self.functions[function.name] if other.parameters == function.parameters]
        defined = next((other for other in same if other.checks and (other.path == path or not other.is_hidden)), None)
        if defined is not None:
            row = row._replace(names=defined.names, checks=defined.checks)
        gets_keys = any("DispatchKeySet" in type for type in function.parameters[:1])
        by_hand = row._replace(by_hand=by_hand.by_hand)
        if function.name in self._of_c or gets_keys or self._is_member(function.name, path):
            return by_hand
        if self._is_overloaded(function, path):
            told = f"`{function.name}`, of which the sources have several: name one function for this operator"
            return by_hand._replace(notes=(told,))
        if function.is_hidden:
            return self._with_hidden_kernel(row, function)
        header = self._header_of(function)
        where = os.path.relpath(header.path, os.path.dirname(path) or ".") if header is not None else ""
        if header is not None and header.path in self._registering:
            told = f"`{where}` has `{function.name}`, and registers too: generated code cannot include it"
            return by_hand._replace(notes=(*row.notes, told))
        if header is not None and header.parameters == function.parameters:
            row = self._with_header(row, header.path, where)
        elif header is None:
            self.undeclared[function.name] = function
        else:
            note = f"`{where}` declares `{function.name}` with other types: correct the declaration"
            row = row._replace(notes=(*row.notes, note))
        return row._replace(kernel=function.name, parameters=function.parameters)

    def is_renamed(self, kernel: Sequence[Token], local: Collection[str], path: str) -> bool:
        """Whether the names of a kernel are also those of macros or of local things, and may mean no function."""
        texts = [token.text for token in kernel]
        is_local = any(name in local and before not in ("::", ".", "->") for before, name in pairwise(["", *texts]))
        return is_local or any((file, name) in self._macros for name in texts for file in ("", path))

    def _with_header(self, row: RegistrationStatement, path: str, where: str) -> RegistrationStatement:
        """A registration whose kernel a header declares, with a note if only one source may include that."""
        names = self._defined_once.get(path, ()) if path not in self.headers else ()
        self.headers[path] = None
        if not names:
            return row
        shown = ", ".join([f"`{name}`" for name in names])
        told = f"`{where}` defines {shown}, and several generated sources include it: write `inline` before each"
        return row._replace(notes=(*row.notes, told))

    def _with_hidden_kernel(self, row: RegistrationStatement, function: CppFunction) -> RegistrationStatement:
        """A registration with a kernel that needs to move, and another name if files have several of its name."""
        note = f"`{function.name}` can only be named in its own file: move it out of its anonymous namespace"
        name = function.name
        if len({other.path for other in self.functions[name] if other.is_hidden}) > 1:
            earlier = self._proposed.get((name, function.path))
            stem = re.sub(r"\W", "_", os.path.splitext(os.path.basename(function.path))[0])
            taken = set(self._proposed.values())
            suffixes = (row.keys[0].lower(), stem.lower(), *[f"{row.keys[0].lower()}_{number}" for number in range(99)])
            proposed = earlier or next(f"{name}_{suffix}" for suffix in suffixes if f"{name}_{suffix}" not in taken)
            self._proposed[name, function.path] = name = proposed
            note += f", and call it `{proposed.rpartition('::')[2]}`, because other files have one of its name"
        self.undeclared[name] = function._replace(name=name)
        self.hidden.append(HiddenKernel(function.name, name.rpartition("::")[2], row.place, note))
        return row._replace(kernel=name, parameters=function.parameters, notes=(*row.notes, note))

    def _is_member(self, name: str, path: str) -> bool:
        """Whether a name is that of a member of a class that no header has, which generated code cannot name."""
        files = [self._classes[word] for word in name.split("::")[:-1] if word in self._classes]
        return any(not any(file.endswith(CPP_HEADERS) for file in same) and path in same for same in files)

    def _forwarded(self, name: str, parameters: Sequence[str], scope: Sequence[str], path: str) -> CppFunction | None:
        """The one function of the sources to which another one with the same parameters only hands these."""
        function = self.find(self.whole_name(name) or "", scope, path) if name else None
        if function is None or function.parameters != tuple(parameters) or self._is_overloaded(function, path):
            return None
        return function

    def _is_overloaded(self, function: CppFunction, path: str) -> bool:
        """Whether a name alone does not say which function is meant. A wrong declaration of a header is no overload."""
        self._header_of(function)
        in_headers = {other.parameters for other in self._in_headers(function.name)}
        in_file = {other.parameters for other in self.functions[function.name] if other.path == path}
        return max(len(in_headers), len(in_file)) > 1

    def whole_name(self, name: str | None) -> str | None:
        """A name with the namespace that its first word is an alias of, in place of this."""
        first, separator, rest = (name or "").partition("::")
        return self._namespaces.get(first, first) + separator + rest if rest else name

    def _levels_before(self, name: str, scope: Sequence[str]) -> tuple[str, ...]:
        """The namespaces before the name of a function that no file declares, as C++ finds the name's first word."""
        levels, (first, separator, _) = _levels(scope), name.partition("::")
        if not separator:
            return levels
        for depth in range(len(levels) if first else 0, -1, -1):
            if (*levels[:depth], first) in self._scopes:
                return levels[:depth]
        return () if not first or first in _GLOBAL_NAMESPACES else levels

    def _header_of(self, function: CppFunction) -> CppFunction | None:
        """The declaration of a function in a header, with the same types if there is one."""
        plain = function.name.rpartition("::")[2]
        if not self._in_headers(function.name):
            self.read_headers_with(plain)
        declared = self._in_headers(function.name)
        return next((other for other in declared if other.parameters == function.parameters), None) or next(
            iter(declared), None
        )

    def _in_headers(self, name: str) -> list[CppFunction]:
        """The declarations of a name in headers."""
        return [other for other in self.functions[name] if other.path.endswith(CPP_HEADERS)]

    def read_headers_with(self, word: str) -> bool:
        """Read the headers that have a word and that no source includes; whether there are any."""
        files = [file for file in self._more_headers.get(word, ()) if file.path not in self._read_headers]
        for file in files:
            self._read_headers.add(file.path)
            header = read_cpp(file.path, file.text)
            for statement in statements(header):
                self._add(statement, header)
        return bool(files)

    def find(self, name: str, scope: Sequence[str], path: str) -> CppFunction | None:
        """The function that a name means in a scope of a file, which may have others of the name than headers."""
        wanted = name.removeprefix("::")
        levels = _levels(scope)
        opened = () if name.startswith("::") else self._opened.get(path, ())
        whole = ["::".join([*levels[:depth], wanted]) for depth in range(len(levels) if wanted == name else 0, -1, -1)]
        function = next(filter(None, (self._named(each, path) for each in whole)), None)
        if function is None:
            # Names that `using namespace` gives: one of two would be ambiguous.
            around = ["::".join([*levels[:depth], ""]) for depth in range(len(levels), -1, -1)]
            given = ([self._named(f"{outer}{each}::{wanted}", path) for outer in around] for each in {*opened})
            functions = {next(filter(None, named)) for named in given if any(named)}
            function = functions.pop() if len(functions) == 1 else None
        return function

    def _named(self, name: str, path: str) -> CppFunction | None:
        """The function with a whole name, or the one that the name is given by `using`."""
        names = [name]
        for around, inner in sorted(self.inline.items()) if name not in self.functions else ():
            # Names in an inline namespace are also those of the namespace around it.
            begin = f"{around}::" if around else ""
            outside = [each for each in names if each.startswith(begin)]
            names += [f"{each}::{whole.removeprefix(begin)}" for whole in outside for each in inner][:MOST_OVERLOADS]
        functions = [other for each in names for other in self.functions.get(each, ())]
        # Other files cannot name a function that its file hides.
        same = [other for other in functions if not other.is_hidden or other.path == path]
        for given, target, scope, where in self._used if not same else ():
            named = "::".join([*_levels(scope), target.removeprefix("::")]), target.removeprefix("::")
            if given == name and (where == path or where.endswith(CPP_HEADERS)):
                same = [other for each in named for other in self.functions.get(each, ()) if not other.is_hidden]
        return min(same, key=lambda other: (other.path != path, not other.path.endswith(CPP_HEADERS)), default=None)

    def _add(self, statement: Statement, source: CppSource) -> None:
        function = function_of(statement, source.path)
        texts = [token.text for token in statement.head]
        if texts[:1] == ["using"] and "::" in texts and not {"=", "namespace"}.intersection(texts):
            name = "::".join([*filter(None, statement.scope), texts[-1]])
            self._used.append((name, "".join(texts[1:]), statement.scope, source.path))
        if function is not None:
            # Every file that includes a header can name what is static there.
            in_header = source.path.endswith(CPP_HEADERS)
            # Macros such as `C10_ALWAYS_INLINE` have the word, and each source has its own of an anonymous namespace.
            is_shared = function.is_hidden or not _SHARED.isdisjoint(texts) or "inline" in " ".join(texts).lower()
            if in_header and statement.body and not is_shared:
                self._defined_once.setdefault(source.path, []).append(function.name)
            self.add(function._replace(is_hidden=function.is_hidden and not in_header))
            if texts[:2] == ["extern", '"C"']:
                self._of_c.add(function.name)


def _opened_namespaces(tokens: Sequence[Token]) -> Iterator[str]:
    """The namespaces that code names by `using namespace`, in whatever block.

    >>> from opwright.syntax.cpp_tokens import cpp_tokens
    >>> [*_opened_namespaces([*cpp_tokens("using namespace a::b; void f() { using namespace c; }")])]
    ['a::b', 'c']
    """
    for index in range(len(tokens) - 2):
        if tokens[index].text == "using" and tokens[index + 1].text == "namespace":
            end = next((at for at in range(index + 2, len(tokens)) if tokens[at].text == ";"), len(tokens))
            yield text_of(tokens[index + 2 : end]).removeprefix("::")


def _levels(scope: Sequence[str]) -> tuple[str, ...]:
    """The words of a scope, without anonymous namespaces."""
    return tuple([word for part in scope for word in part.split("::") if word])
