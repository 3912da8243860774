"""Reads what C++ sources register: `TORCH_LIBRARY` and its relatives, `RegisterOperators`, and modules of pybind11."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice, pairwise
from types import MappingProxyType
from typing import Final

from opwright.libraries.entry_fields import CAST_BACK
from opwright.migrate.importing.always_run import AlwaysRun, declares_always
from opwright.migrate.importing.argument_uses import (
    DefinedFunctions,
)
from opwright.migrate.importing.autocast_kernels import (
    casting_functions,
    named_function,
    read_policy,
)
from opwright.migrate.importing.autograd_classes import AppliedClass, AutogradClass, applied_classes, autograd_classes
from opwright.migrate.importing.cpp_arguments import (
    dispatch_parts,
    key_of,
    tag_variables,
    tags_of,
    text_value,
)
from opwright.migrate.importing.kernel_names import KEY_ALIASES, KernelNames
from opwright.migrate.importing.module_reader import ModuleOptions, ModuleReader
from opwright.migrate.importing.pybind import (
    MODULE_MACROS,
    BoundModule,
)
from opwright.migrate.importing.recording_kernels import with_recorded
from opwright.migrate.importing.registration import RegistrationStatement, SourcePlace
from opwright.migrate.importing.registration_calls import (
    RegistrationCall,
    call_chains,
    is_split_up,
    local_names,
)
from opwright.migrate.importing.source_edits import HiddenKernel
from opwright.migrate.importing.unread_code import UnreadCode, code_outside, unread_code
from opwright.model.dispatch_key import COMPOSITE_IMPLICIT
from opwright.source.codes import TOO_MUCH_WORK
from opwright.source.diagnostic import Fault, shorten
from opwright.source.records import NamedTuple
from opwright.source.span import SourceText
from opwright.source.text import SourceFile
from opwright.syntax.cpp_functions import (
    CppFunction,
    Statement,
    called_names,
    functions,
    inferred_schema,
    statements,
)
from opwright.syntax.cpp_source import (
    CPP_HEADERS,
    CUDA_SUFFIXES,
    CppSource,
    included_headers,
    namespace_macros,
    parse_cpp,
    registering_macros,
    registers,
    with_registrations,
)
from opwright.syntax.cpp_tokens import Macro, Token, arguments, closing_index, cpp_tokens, text_of

#: Blocks of registrations. Projects have their own macros in the place of `TORCH_LIBRARY_IMPL`.
_BLOCK: Final = re.compile(
    r"(STABLE_)?TORCH_LIBRARY(?:_FRAGMENT|_IMPL|_EXPAND|_THREAD_UNSAFE_LAZY_INIT)*|\w+_LIBRARY_IMPL"
)
#: Methods that name the Python module with the fakes of the operators that follow.
_PYTHON_MODULES: Final = ("set_python_module", "impl_abstract_pystub")
#: PyTorch's macros for operators under autocast, in `ATen/autocast_mode.h`. The device is in the name, or the first
#: argument; then come operator, overload and policy. Those that call another overload name the operator second.
_POLICIES: Final = re.compile(r"KERNEL(?P<named>_DIFFERENT_REDISPATCH_SIGNATURE)?(?P<device>_[A-Z]+)?")
#: What files with registrations have, at least once, or a macro for registrations. A file that has none is not parsed.
_REGISTERING: Final = re.compile(
    r"_LIBRARY|RegisterOperators|\bLibrary\b|\b(?:impl|registerDef|registerImpl|registerFallback|registerName)\s*\("
    rf"|aoti_torch_library|\bclass_\s*<|{'|'.join(MODULE_MACROS)}"
)
#: What TorchScript may assume of an operator.
_ALIAS_ANALYSIS: Final = re.compile(r"AliasAnalysisKind::(?!FROM_SCHEMA)(\w+)")
#: Operators and kernels that a source registers. PyTorch has 3,100 overloads.
SOURCE_REGISTRATIONS: Final = 10_000
#: What builds with CUDA define.
_WITH_CUDA: Final = "defined(USE_CUDA)"
#: Words of files whose functions may record gradients.
_RECORDING: Final = ("Function<", "::apply(")
_WORD: Final = re.compile(r"\w+")
_DEFINE: Final = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)


class CppRegistrations(NamedTuple):
    """What C++ sources register, and what else they say about it.

    `modules` are those of pybind11 and nanobind. `headers` declare the kernels, but for those of `undeclared`;
    `hidden` are the kernels that only their own files can name. `unknown_macros` are those that names of namespaces
    need, by the namespace. `wholes` are statements and blocks that only register, each with the places inside: without
    these nothing of it is needed. `classes` are those of autograd, with the functions that apply them. `declared` are
    the functions that a name can mean, as headers declare them if any does, and `aliases` names of types. `fallbacks`
    are the kernels for all operators, by their keys, as texts; one under a condition of the preprocessor is only
    unread. `staying` was read, and no library file takes its place. `others` are the places of tokens in blocks of
    registrations that belong to no registration, by file. `code` gets libraries of registrations, and was not read.
    `inline` are the whole names of inline namespaces, and `names` those of all that the sources declare.
    """

    statements: Sequence[RegistrationStatement]
    unread: Sequence[tuple[SourcePlace, str]]
    headers: Sequence[str]
    undeclared: Mapping[str, CppFunction]
    hidden: Sequence[HiddenKernel]
    aliases: Mapping[str, str]
    unknown_macros: Mapping[str, str]
    wholes: Sequence[tuple[SourcePlace, Sequence[SourcePlace]]]
    classes: Sequence[tuple[AppliedClass, AutogradClass]]
    declared: Mapping[str, CppFunction]
    fallbacks: Mapping[str, tuple[SourcePlace, str]]
    staying: Sequence[tuple[SourcePlace, str]] = ()
    modules: Sequence[BoundModule] = ()
    others: Mapping[str, Sequence[int]] = MappingProxyType({})
    code: Sequence[UnreadCode] = ()
    inline: Collection[str] = ()
    names: Collection[str] = ()


_NO_OPTIONS: Final = ModuleOptions()


class _Block(NamedTuple):
    """A block of registrations: its namespace and key, the namespaces of C++ around it, and its variables with tags.

    What it declares is `local`.
    """

    namespace: str
    key: str
    scope: tuple[str, ...]
    is_stable: bool
    tags: Mapping[str, Sequence[str]] = MappingProxyType({})
    python_module: str = ""
    local: Collection[str] = ()


class _PolicyKernel(NamedTuple):
    """A registration of a kernel that does what a policy says: with the policy, and what names the kernel."""

    row: RegistrationStatement
    tokens: Sequence[Token]
    scope: tuple[str, ...]
    function: Statement


def files_with_registrations(files: Sequence[SourceFile]) -> list[SourceFile]:
    """Those of C++ files that may register something, or have a macro that does."""
    chosen = {file.path: file for file in files if _REGISTERING.search(file.text)}
    headers = [parse_cpp(path, file.text) for path, file in chosen.items() if path.endswith(CPP_HEADERS)]
    words = (*_RECORDING, *registering_macros(headers))
    return [file for file in files if file.path in chosen or any(word in file.text for word in words)]


def read_cpp_sources(
    files: Sequence[SourceFile],
    macros: Mapping[str, str],
    headers: Sequence[SourceFile] = (),
    lists: Mapping[str, Macro] = MappingProxyType({}),
    others: Sequence[SourceFile] = (),
    options: ModuleOptions = _NO_OPTIONS,
) -> CppRegistrations:
    """What sources register. Macros are those of the compiler's command line, and `lists` those of PyTorch's headers.

    Headers that the sources include by a relative path are read too, for the functions and macros that they have. Other
    `headers` are read if they may declare a kernel that no other declares, and `others`, sources and headers, if they
    may define a function of a module of pybind11, or one that such a function calls.
    """
    return _Reader(files, macros, headers, lists, others, options).read()


class _Reader:
    def __init__(
        self,
        files: Sequence[SourceFile],
        macros: Mapping[str, str],
        headers: Sequence[SourceFile],
        lists: Mapping[str, Macro],
        others: Sequence[SourceFile],
        options: ModuleOptions,
    ) -> None:
        parsed = [parse_cpp(file.path, file.text) for file in files]
        parsed += included_headers(parsed)
        # What a source includes is a header, whatever its name ends with.
        own = [source for source in parsed[: len(files)] if source.path.endswith(CPP_HEADERS)]
        shared = {**lists, **registering_macros(parsed[len(files) :]), **registering_macros(own)}
        namespaces = namespace_macros(parsed)
        self._headers_too = [with_registrations(source, shared, namespaces) for source in parsed]
        self._sources = sources = self._headers_too[: len(files)]
        #: The macros that sources define for themselves, by file, and all of these.
        self._own_macros = {
            file.path: {name for name in _DEFINE.findall(file.text) if name not in macros}
            for file in (*files, *others)
            if not file.path.endswith(CPP_HEADERS)
        }
        self._any_own_macros = frozenset[str]().union(*self._own_macros.values())
        #: The macros for registrations.
        self._registering = {macro.name for source in parsed for macro in source.macros if registers(macro)}
        self._macros = {name: text for source in reversed(parsed) for name, text in source.words.items()}
        self._macros.update(macros)
        self._names = KernelNames(self._headers_too, headers, {*filter(None, map(_registering_header, sources))})
        self._unread: list[tuple[SourcePlace, str]] = []
        self._fallbacks: dict[str, tuple[SourcePlace, str]] = {}
        self._staying: list[tuple[SourcePlace, str]] = []
        self._unknown: dict[str, str] = {}
        self._wholes: list[tuple[SourcePlace, list[SourcePlace]]] = []
        self._others: dict[str, list[int]] = {}
        #: Functions that cast for autocast, and the kernels among them that do what a policy says.
        self._casting = {
            (source.path, name): function for source in sources for name, function in casting_functions(source)
        }
        self._policy_kernels: list[_PolicyKernel] = []
        #: How often registrations name functions.
        self._uses: Counter[str] = Counter()
        self._code: list[UnreadCode] = []
        #: The characters of blocks and chains of registrations, by file.
        self._blocks: dict[str, list[tuple[int, int]]] = {}
        defined = DefinedFunctions(self._headers_too, others)
        self._modules = ModuleReader(self._names, defined, self._macros, options, self._unread, self._wholes)

    def read(self) -> CppRegistrations:
        read = [registration for source in self._sources for registration in self._registrations_of(source)]
        # The functions for callers of operators have other names where kernels may have these.
        with_kernels = {row.kernel.rpartition("::")[0] for row in read}
        defined = {f"{row.namespace}::{row.name}" for row in read if row.schema and row.namespace not in with_kernels}
        applied = [*self._applied_classes(defined)]
        recording = self._recording_functions(applied)
        read = [*self._with_policies(read, recording)]
        read = [row._replace(records=recording.get(row.kernel, ""), refusal=self._refusal(row)) for row in read]
        read = [*with_recorded(read, self._sources)]
        for source in self._headers_too:
            self._code += code_outside(source, self._blocks.get(source.path, ()), self._registering)
        self._unread += [
            (code.place, f"{code.text} {'was not read' if code.defines else 'may register operators and kernels'}")
            for code in self._code
        ]
        return CppRegistrations(
            read,
            self._unread,
            [*self._names.headers],
            self._names.undeclared,
            self._names.hidden,
            self._names.aliases,
            self._unknown,
            self._wholes,
            applied,
            self._names.declared(),
            self._fallbacks,
            self._staying,
            self._modules.modules,
            self._others,
            self._code,
            [name for names in self._names.inline.values() for name in names],
            self._names.names,
        )

    def _refusal(self, row: RegistrationStatement) -> str:
        """Why generated code cannot have the conditions of a statement: a source defines their macros for itself."""
        path = row.place.path
        defined = self._any_own_macros if path.endswith(CPP_HEADERS) else self._own_macros.get(path, frozenset())
        dependent = [condition for condition in row.conditions if not defined.isdisjoint(_WORD.findall(condition))]
        return f"the condition `{dependent[0]}` depends on what a source defines" if dependent else ""

    def _policy_kernel(
        self, row: RegistrationStatement, kernel: Sequence[Token], scope: tuple[str, ...]
    ) -> _PolicyKernel | None:
        """A kernel for autocast that does what a policy says: it only calls the operator with casted tensors."""
        name, given = named_function(kernel)
        function = self._casting.get((row.place.path, name))
        if function is None or len(row.keys) != 1 or not row.keys[0].startswith("Autocast") or row.conditions:
            return None
        policy = read_policy(function, given, row.keys[0])
        whole = self._names.whole_name(policy.callee) if policy is not None else None
        called = self._names.find(whole, scope, row.place.path) if whole else None
        if policy is None or called is None:
            return None
        operator = f"{row.namespace}::{row.name}"
        is_operator = any(
            other.dispatches == operator and len(other.parameters) == policy.parameters
            for other in self._names.functions[called.name]
        )
        row = row._replace(policy=policy.policy)
        return _PolicyKernel(row, kernel, scope, function) if is_operator else None

    def _with_policies(
        self, read: Iterable[RegistrationStatement], recording: Collection[str]
    ) -> Iterator[RegistrationStatement]:
        """Registrations with policies of autocast in the place of kernels.

        A policy casts back results with real numbers alone: that results have these, a class of autograd shows.
        """
        read = list(read)
        graded = {
            row.operator for row in read if row.keys and row.keys[0].startswith("Autograd") and row.kernel in recording
        }
        kernels = {kernel.row: kernel for kernel in self._policy_kernels}
        staying = {row for row in kernels if row.policy == CAST_BACK and row.operator not in graded}
        for row in read:
            if row in staying:
                kernel = kernels[row]
                row = self._names.with_kernel(row._replace(policy=""), [*row.keys], kernel.tokens, kernel.scope, ())
            yield row
        for (_, name), function in self._casting.items():
            users = [kernel.row for kernel in kernels.values() if kernel.function is function]
            if users and staying.isdisjoint(users) and self._uses[name] == len(users):
                self._add_whole(function, [row.place for row in users])

    def _applied_classes(self, operators: Collection[str]) -> Iterator[tuple[AppliedClass, AutogradClass]]:
        """The functions that apply a class of autograd; a name means the class of its own file first.

        Backward functions call these `operators` by their own names.
        """
        classes: dict[str, list[AutogradClass]] = {}
        for source in self._sources:
            for given in autograd_classes(source):
                classes.setdefault(given.name, []).append(given)
        for source in self._sources:
            for name, function in applied_classes(source, classes):
                same = [given for given in classes[name] if given.place.path == source.path] or classes[name]
                if len(same) == 1:
                    yield function, self._with_whole_names(same[0], operators)

    def _with_whole_names(self, given: AutogradClass, operators: Collection[str]) -> AutogradClass:
        forward, called = self._resolved(given.forward, given)
        dispatched = [other.dispatches for function in called for other in self._names.functions[function.name]]
        backward, called = self._resolved(given.backward, given, operators)
        hidden = given.hidden or next((function.name for function in called if function.is_hidden), "")
        return given._replace(forward=forward, backward=backward, hidden=hidden, dispatched=tuple(dispatched))

    def _resolved(
        self, body: Sequence[Token], given: AutogradClass, operators: Collection[str] = ()
    ) -> tuple[list[Token], list[CppFunction]]:
        """A body with the whole names of the functions that it calls, and these functions.

        One that only calls one of the `operators` has the name that this has in formulas.
        """
        tokens: list[Token] = []
        called: list[CppFunction] = []
        index = 0
        where = given.scope, given.place.path
        for first, end, name in called_names(body):
            whole = self._names.whole_name(name) or ""
            function = self._names.find(whole, *where)
            if function is None and self._names.read_headers_with(name.rpartition("::")[2]):
                function = self._names.find(whole, *where)
            if function is not None:
                name = function.name
                for other in self._names.functions[function.name] if operators else ():
                    if other.parameters == function.parameters and other.dispatches in operators:
                        takes_symbols = any("SymInt" in parameter for parameter in other.parameters)
                        name = other.dispatches + ("_symint" if takes_symbols else "")
                tokens += [*body[index:first], body[first]._replace(text=name)]
                called.append(function)
                index = end
        return [*tokens, *body[index:]], called

    def _recording_functions(self, applied: Sequence[tuple[AppliedClass, AutogradClass]]) -> dict[str, str]:
        """The functions that record gradients: they apply a class of autograd, whose name this gives, or call one."""
        recording = {"::".join([*filter(None, row.scope), row.function]): given.name for row, given in applied}
        calls: dict[str, set[str]] = {}
        for source in self._sources if recording else ():
            for function, statement in functions(source):
                names = [name for _, _, name in called_names(statement.body)]
                called = [self._names.find(name, statement.scope, source.path) for name in names]
                calls.setdefault(function.name, set()).update(other.name for other in called if other is not None)
        waiting = list(recording)
        while waiting:
            name = waiting.pop()
            callers = [caller for caller, called in calls.items() if name in called and caller not in recording]
            recording.update(dict.fromkeys(callers, recording[name]))
            waiting += callers
        return recording

    def _registrations_of(self, source: CppSource) -> list[RegistrationStatement]:
        rows = list(islice(self._read_source(source), SOURCE_REGISTRATIONS + 1))
        if len(rows) > SOURCE_REGISTRATIONS:
            file = SourceText(source.path, source.text)
            start = file.line_starts[rows[-1].place.first - 1]
            message = f"the source registers more than {SOURCE_REGISTRATIONS:,} operators and kernels"
            raise Fault.at(TOO_MUCH_WORK, message, file.span(start))
        return rows

    def _read_source(self, source: CppSource) -> Iterator[RegistrationStatement]:
        for statement in statements(source):
            end = depth = 0
            for index, token in enumerate(statement.head[:-1]):
                depth += (token.text == "(") - (token.text == ")")
                if index < end or token.kind != "name" or statement.head[index + 1].text != "(":
                    continue
                name = token.text if _BLOCK.fullmatch(token.text) else self._macros.get(token.text, "")
                match = _BLOCK.fullmatch(name)
                # What stands before the macro of a block is a statement without its sign, such as a macro.
                block_statement = statement._replace(head=statement.head[index:])
                # The body is not that of a block which a macro is given.
                has_lines = bool(statement.body) or statement.last_line > statement.head[-1].line
                is_block = match is not None and not depth and has_lines
                if match is not None and is_block and not is_split_up(block_statement.head):
                    given = arguments(statement.head, index + 1)
                    block = self._block(statement, given, match)
                    if block is not None:
                        self._add_block(source, block_statement)
                        self._add_included(source, block_statement, block)
                        yield from self._read_block(block_statement, block, text_of(given[-1]), source)
                        break
                elif token.text in MODULE_MACROS and not depth and statement.body:
                    given = arguments(statement.head, index + 1)
                    if len(given) > 1:
                        self._add_block(source, block_statement)
                        yield from self._modules.read(
                            self._name_of(given[0]), block_statement, given[1][-1].text, source
                        )
                    break
                elif token.text == "RegisterOperators":
                    self._add_block(source, statement)
                    rows, end = self._read_chain(statement, index, source)
                    self._add_whole(statement, [row.place for row in rows])
                    yield from rows

    def _add_included(self, source: CppSource, statement: Statement, block: _Block) -> None:
        for name, line in source.includes:
            if statement.head[0].line < line <= statement.last_line:
                place = SourcePlace(source.path, line, line)
                self._tell_code(place, block, f"the included `{shorten(name)}`")

    def _tell_code(self, place: SourcePlace, block: _Block, text: str, operator: str = "") -> None:
        """Remember code that may register a kernel, for one operator or any of the block."""
        self._code.append(UnreadCode(place, text, block.namespace, block.key, operator))

    def _add_block(self, source: CppSource, statement: Statement) -> None:
        last = (statement.body or statement.head)[-1]
        self._blocks.setdefault(source.path, []).append((statement.head[0].start, last.end))

    def _read_block(
        self, statement: Statement, block: _Block, variable: str, source: CppSource
    ) -> Iterator[RegistrationStatement]:
        body = statement.body
        always = AlwaysRun(body, self._registering)
        owned: list[tuple[int, int]] = []
        read_tokens: list[tuple[int, int]] = []
        places: list[SourcePlace] = []
        for first, last, row in self._policies(body, block, source.path):
            owned.append((first, last))
            yield row._replace(at_run_time=not always.runs(first))
        chains = [*call_chains(body, variable, source)]
        block = block._replace(local=local_names(body, chains))
        for chain in chains:
            is_read = True
            read_tokens.append((chain.first, chain.last))
            for call in chain.calls:
                places.append(call.place)
                if call.method in _PYTHON_MODULES and call.arguments:
                    named = call.arguments[0]
                    module = text_value(named, self._macros) or text_of(named)
                    block = block._replace(python_module=module)
                rows = [*self._registration(call, block)]
                is_read = is_read and bool(rows)
                yield from [row._replace(at_run_time=not always.runs(chain.first)) for row in rows]
            if is_read:
                owned.append((chain.first, chain.last))
        if sum(token.text == ";" for token in body) == len(places):
            self._add_whole(statement, places)
        self._add_unread(body, [*owned, *read_tokens], block, variable, source.path)
        others = self._others.setdefault(source.path, [])
        at = 0
        for first, last in [*sorted(owned), (len(body), len(body))]:
            others += [token.start for token in body[at:first] if token.text != ";"]
            at = last + 1

    def _add_unread(
        self, body: Sequence[Token], read_tokens: Sequence[tuple[int, int]], block: _Block, variable: str, path: str
    ) -> None:
        told = {place.at for place, _ in self._unread}
        for code, gets in unread_code(body, read_tokens, variable, UnreadCode(SourcePlace(path, 0, 0), "", *block[:2])):
            if code.place.at not in told and gets:
                self._code.append(code)
            elif code.place.at not in told:
                self._unread.append((code.place, f"{code.text} was not read"))

    def _add_whole(self, statement: Statement, places: list[SourcePlace]) -> None:
        if places:
            first = statement.head[0]
            self._wholes.append((SourcePlace(places[0].path, first.line, statement.last_line, first.start), places))

    def _block(self, statement: Statement, given: Sequence[Sequence[Token]], macro: re.Match[str]) -> _Block | None:
        if len(given) != 3 and (len(given) != 2 or macro[0].endswith("_IMPL")):
            return None
        key = self._name_of(given[1]) if len(given) == 3 else ""
        namespace = self._name_of(given[0])
        if macro[0].endswith("_EXPAND") or len(given[0]) > 1:
            for name in [token.text for token in reversed(given[0][-4:])]:
                if name.isupper() and name.isidentifier() and not name.startswith("_") and name not in self._macros:
                    self._unknown[namespace] = name
        is_stable, tags = macro[1] is not None, tag_variables(statement.body)
        return _Block(namespace, KEY_ALIASES.get(key, key), statement.scope, is_stable, tags)

    def _policies(
        self, body: Sequence[Token], block: _Block, path: str
    ) -> Iterator[tuple[int, int, RegistrationStatement]]:
        """The operators that a block for autocast gives a policy by PyTorch's macros, with the indices of these."""
        for index in range(len(body) - 1 if block.key.startswith("Autocast") else 0):
            match = _POLICIES.fullmatch(body[index].text)
            if match is None or body[index + 1].text != "(":
                continue
            given = [text_of(part) for part in arguments(body, index + 1)][0 if match["device"] else 1 :]
            end = min(closing_index(body, index + 1), len(body) - 1)
            place = SourcePlace(path, body[index].line, body[end].line, body[index].start)
            if len(given) < (2 if match["named"] is None else 3) or not given[-1].isidentifier():
                self._unread.append((place, f"`{match[0]}` names no operator with a policy"))
                continue
            name = ".".join(given[:-1]) if match["named"] is None else given[1].strip('"')
            row = RegistrationStatement(
                block.namespace, name, place, keys=(block.key,), conditions=body[index].conditions, policy=given[-1]
            )
            yield index, end, row

    def _read_chain(
        self, statement: Statement, index: int, source: CppSource
    ) -> tuple[list[RegistrationStatement], int]:
        """The operators of `RegisterOperators("acme::f", &f).op(...)`, and the index of its last bracket."""
        tokens, first, end = statement.head, index, index
        rows: list[RegistrationStatement] = []
        block = _Block("", "", statement.scope, False)
        method = "op"
        while index + 1 < len(tokens) and tokens[index + 1].text == "(":
            given, end = arguments(tokens, index + 1, has_types=True), closing_index(tokens, index + 1)
            if given and method == "op":
                last = tokens[min(end, len(tokens) - 1)]
                place = SourcePlace(source.path, tokens[index].line, last.line, tokens[0].start)
                is_split = is_split_up(tokens[index : end + 1])
                call = RegistrationCall("def", given, place, tokens[index].conditions, is_split)
                read = self._registration(call, block)
                rows += [row._replace(at_run_time=not declares_always(tokens[:first])) for row in read]
            if end + 2 >= len(tokens) or tokens[end + 1].text != ".":
                break
            index, method = end + 2, tokens[end + 2].text
        if end + 1 < len(tokens) or any(token.text == "RegisterOperators" for token in tokens[:first]):
            self._others.setdefault(source.path, []).append(tokens[0].start)
        return rows, end

    def _registration(self, call: RegistrationCall, block: _Block) -> Iterator[RegistrationStatement]:
        given = call.arguments
        if call.method not in ("def", "impl") or not given:
            if call.method == "fallback" and block.namespace == "_" and not call.conditions:
                self._fallbacks[block.key] = (call.place, text_of([token for part in given for token in part]))
                self._staying.append((call.place, "`fallback` stays in the source"))
            elif call.method in _PYTHON_MODULES:
                names = ", ".join(map(text_of, given))
                told = "which the library file cannot say: operators that it defines have no such module"
                self._staying.append((call.place, f"`{call.method}` names {names}, {told}"))
            elif call.method in ("fallback", "class_", "define"):
                self._unread.append((call.place, f"`{call.method}` stays in the source"))
            else:
                self._tell_code(call.place, block, f"`{call.method}`")
            return
        text = text_value(given[0], self._macros)
        if call.is_split:
            name = "" if text is None or is_split_up(given[0]) else _operator_of(text)[1]
            told = f"`{call.method}({shorten(text_of(given[0]))}, ...)`, of which the preprocessor chooses parts,"
            self._tell_code(call.place, block, told, name)
            return
        if text is None:
            name = shorten(text_of(given[0]))
            if call.method == "def":
                self._unread.append((call.place, f"the name is `{name}`, not a text"))
            else:
                self._tell_code(call.place, block, f"the call with the name `{name}`")
            return
        namespace, name = _operator_of(text)
        row = RegistrationStatement(namespace or block.namespace, name, call.place, conditions=call.conditions)
        row = row._replace(is_stable=block.is_stable)
        rest = given[1:]
        if call.method == "def":
            tags = [tags_of(part) or block.tags.get(text_of(part), ()) for part in rest]
            rest = [part for part, own in zip(rest, tags, strict=True) if not own and text_of(part) != "{}"]
            schema = " ".join(text.split())
            schema = schema.partition("::")[2] if namespace else schema
            kind = _ALIAS_ANALYSIS.search(text_of(given[0]))
            row = row._replace(
                tags=tuple([tag for own in tags for tag in own]),
                schema=schema if "(" in text else "",
                python_module=block.python_module,
                alias_analysis=kind[1].lower() if kind is not None else "",
            )
        keys = [*filter(None, [block.key, *map(key_of, rest)])]
        kernels = [part for part in rest if not key_of(part)]
        own, kernel = dispatch_parts(kernels[0], keys) if kernels else (keys, ())
        if own is None or (call.method == "impl" and len(kernels) > 1):
            # A call or a condition gives the key.
            self._tell_code(
                call.place, block._replace(namespace=row.namespace), f"`{shorten(text_of(kernels[0]))}`", row.name
            )
            if call.method == "impl":
                return
            told = f'the schema of `{row.name}` is generated: write `m.impl("{row.name}", ...)` in place of `m.def`'
            self._staying.append((call.place, told))
        elif kernels:
            keys = own
            own_keys = tuple([KEY_ALIASES.get(key, key) for key in keys])
            policy = self._policy_kernel(row._replace(keys=own_keys), kernel, block.scope)
            self._uses[named_function(kernel)[0]] += 1
            if policy is not None:
                self._policy_kernels.append(policy)
                row = policy.row
            else:
                row = self._names.with_kernel(row, keys or [COMPOSITE_IMPLICIT.name], kernel, block.scope, block.local)
        is_cuda = bool(row.keys) and all("CUDA" in key for key in row.keys) and call.place.path.endswith(CUDA_SUFFIXES)
        if is_cuda and call.method == "impl" and _WITH_CUDA not in row.conditions:
            # A build without CUDA has no such file.
            row = row._replace(conditions=(*row.conditions, _WITH_CUDA))
        if call.method == "def" and not row.schema:
            yield self._with_inferred_schema(row)
        else:
            yield row

    def _with_inferred_schema(self, row: RegistrationStatement) -> RegistrationStatement:
        """A registration without a schema, with the one that PyTorch infers from the kernel."""
        function = self._names.kernel_of(row)
        schema = None
        if function is not None:
            schema = inferred_schema(row.name, function.result, function.parameters, self._names.aliases)
        if schema is None:
            what = row.by_hand or row.kernel or row.name
            told = f"the schema of `{row.name}` is inferred from `{what}`, which was not read"
            self._unread.append((row.place, told))
            return row
        notes = (*row.notes, "the schema is the one that PyTorch infers")
        return row._replace(schema=schema, notes=notes, alias_analysis="conservative")

    def _name_of(self, tokens: Sequence[Token], replaced: frozenset[str] = frozenset()) -> str:
        """The name that tokens stand for, with macros replaced. A macro with arguments joins them, as `CONCAT` does."""
        if len(tokens) > 1 and tokens[1].text == "(":
            return "".join([self._name_of(part, replaced) for part in arguments(tokens, 1)])
        name = text_of(tokens)
        text = self._macros.get(name)
        if not text or name in replaced:
            return name
        return self._name_of([*cpp_tokens(text)], replaced | {name})


def _registering_header(source: CppSource) -> str:
    """The path of a header that has blocks of registrations; empty for other files."""
    is_one = any(_BLOCK.fullmatch(token.text) and after.text == "(" for token, after in pairwise(source.tokens))
    return source.path if source.path.endswith(CPP_HEADERS) and is_one else ""


def _operator_of(text: str) -> tuple[str, str]:
    """The namespace and the name that begin a schema, or are all of a text."""
    namespace, _, name = text.partition("(")[0].strip().rpartition("::")
    return namespace, name.strip()
