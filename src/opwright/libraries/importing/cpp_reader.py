"""Reads what C++ sources register: `TORCH_LIBRARY` and its relatives, `RegisterOperators`, and modules of pybind11."""

from __future__ import annotations

import keyword
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import Final

from opwright.libraries.importing.argument_uses import (
    MAYBE_WRITTEN,
    READ,
    ArgumentUses,
    DefinedFunctions,
    Definition,
    Use,
)
from opwright.libraries.importing.autograd_classes import AppliedClass, AutogradClass, applied_classes, autograd_classes
from opwright.libraries.importing.cpp_arguments import (
    dispatch_parts,
    forwarded_name,
    function_name,
    key_of,
    tag_variables,
    tags_of,
    text_value,
)
from opwright.libraries.importing.pybind import (
    MODULE_MACROS,
    BoundFunction,
    BoundModule,
    ModuleCall,
    bound_arguments,
    default_text,
    header_text,
    lambda_function,
    module_calls,
    overload_cast,
    python_names,
    schema_text,
    use_note,
)
from opwright.libraries.importing.registration import RegistrationStatement, SourcePlace
from opwright.model.dispatch_key import COMPOSITE_IMPLICIT, CPU, CUDA
from opwright.model.library import BUILD_NAMESPACE
from opwright.source.codes import TOO_MUCH_WORK
from opwright.source.diagnostic import Fault, shorten
from opwright.source.limits import SOURCE_REGISTRATIONS
from opwright.source.record_fields import NamedTuple
from opwright.source.span import SourceText
from opwright.source.text import SourceFile
from opwright.syntax.cpp_functions import (
    CppFunction,
    Statement,
    called_names,
    function_of,
    inferred_schema,
    plain_cpp_type,
    result_types,
    schema_type,
    statements,
)
from opwright.syntax.cpp_source import (
    CppSource,
    included_headers,
    parse_cpp,
    read_cpp,
    registering_macros,
    with_registrations,
)
from opwright.syntax.cpp_tokens import Macro, Token, arguments, closing_index, cpp_tokens, text_of

CPP_SUFFIXES: Final = (".cpp", ".cc", ".cxx", ".c++", ".cu", ".hip", ".mm", ".h", ".hpp", ".cuh")
CPP_HEADERS: Final = (".h", ".hpp", ".cuh")

#: Blocks of registrations. Projects have their own macros in the place of `TORCH_LIBRARY_IMPL`.
_BLOCK: Final = re.compile(
    r"(STABLE_)?TORCH_LIBRARY(?:_FRAGMENT|_IMPL|_EXPAND|_THREAD_UNSAFE_LAZY_INIT)*|\w+_LIBRARY_IMPL"
)
_ALIASES: Final = {"CatchAll": COMPOSITE_IMPLICIT.name, "Math": COMPOSITE_IMPLICIT.name}
#: Methods that name the Python module with the fakes of the operators that follow.
_PYTHON_MODULES: Final = ("set_python_module", "impl_abstract_pystub")
#: PyTorch's macros for operators under autocast, in `ATen/autocast_mode.h`. The device is in the name, or the first
#: argument; then come operator, overload and policy. Those that call another overload name the operator second.
_POLICIES: Final = re.compile(r"KERNEL(?P<named>_DIFFERENT_REDISPATCH_SIGNATURE)?(?P<device>_[A-Z]+)?")
#: Words that files with registrations have, one of them at least, or a macro for registrations.
_WORDS: Final = ("_LIBRARY", "RegisterOperators", ".impl(", *MODULE_MACROS)
#: Words of files whose functions may record gradients.
_RECORDING: Final = ("Function<", "::apply(")
#: Declarations of one name that are remembered.
_MOST_OVERLOADS: Final = 200
_WORD: Final = re.compile(r"\w+")
#: Tokens of the declaration of an alias; a longer one is no type of schemas.
_LONGEST_ALIAS: Final = 100


class CppRegistrations(NamedTuple):
    """What C++ sources register, and what else they say about it.

    `modules` are those of pybind11 and nanobind, and `header` declares their functions that no header does. `headers`
    declare the kernels, but for those of `undeclared`. `unknown_macros` are those that names of namespaces
    need, by the namespace. `wholes` are statements and blocks that only register, each with the places inside: without
    these nothing of it is needed. `classes` are those of autograd, with the functions that apply them. `declared` are
    the functions that a name can mean, with the headers that declare them, or without. `fallbacks` are the kernels for
    all operators, by their keys, as texts; one under a condition of the preprocessor is only unread.
    `staying` was read, and no library file takes its place.
    """

    statements: Sequence[RegistrationStatement]
    unread: Sequence[tuple[SourcePlace, str]]
    headers: Sequence[str]
    undeclared: Sequence[str]
    unknown_macros: Mapping[str, str]
    wholes: Sequence[tuple[SourcePlace, Sequence[SourcePlace]]]
    classes: Sequence[tuple[AppliedClass, AutogradClass]]
    declared: Mapping[str, str]
    fallbacks: Mapping[str, tuple[SourcePlace, str]]
    staying: Sequence[tuple[SourcePlace, str]] = ()
    modules: Sequence[BoundModule] = ()
    header: str = ""


class ModuleOptions(NamedTuple):
    """How modules of pybind11 become operators.

    `namespace` is that of their operators, by default the module's name. `name` is that of a module whose build gives
    it. `written` are the arguments that functions write, where the sources do not decide it.
    """

    namespace: str = ""
    name: str = ""
    written: Mapping[str, Sequence[str]] = MappingProxyType({})


_NO_OPTIONS: Final = ModuleOptions()


class _Statement(NamedTuple):
    """A call that registers something, with what the block around it says."""

    method: str
    arguments: Sequence[Sequence[Token]]
    place: SourcePlace
    conditions: tuple[str, ...]


class _Block(NamedTuple):
    """A block of registrations: its namespace and key, the namespaces of C++ around it, and its variables with tags."""

    namespace: str
    key: str
    scope: tuple[str, ...]
    is_stable: bool
    tags: Mapping[str, Sequence[str]] = MappingProxyType({})
    python_module: str = ""


def files_with_registrations(files: Sequence[SourceFile]) -> list[SourceFile]:
    """Those of C++ files that may register something, or have a macro that does."""
    chosen = [file for file in files if any(word in file.text for word in _WORDS)]
    headers = [parse_cpp(file.path, file.text) for file in chosen if file.path.endswith(CPP_HEADERS)]
    words = (*_WORDS, *_RECORDING, *registering_macros(headers))
    return [file for file in files if any(word in file.text for word in words)]


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
    parsed = [parse_cpp(file.path, file.text) for file in files]
    count, parsed = len(parsed), [*parsed, *included_headers(parsed)]
    shared = registering_macros([source for source in parsed if source.path.endswith(CPP_HEADERS)])
    expanded = [with_registrations(source, {**lists, **shared}) for source in parsed]
    return _Reader(expanded[:count], expanded, macros, headers, DefinedFunctions(expanded, others), options).read()


class _Reader:
    def __init__(
        self,
        sources: Sequence[CppSource],
        headers_too: Sequence[CppSource],
        macros: Mapping[str, str],
        more_headers: Sequence[SourceFile],
        defined: DefinedFunctions,
        options: ModuleOptions,
    ) -> None:
        self._sources = sources
        self._defined = defined
        self._options = options
        self._uses = ArgumentUses(defined)
        self._modules: list[BoundModule] = []
        self._to_declare: list[CppFunction] = []
        #: What names of functions mean in a scope of a file.
        self._named_before: dict[tuple[str, tuple[str, ...], str], list[Definition]] = {}
        seen = {os.path.realpath(source.path) for source in headers_too}
        #: Other headers by the words in them.
        self._more_headers: dict[str, list[SourceFile]] = {}
        for file in more_headers:
            if os.path.realpath(file.path) not in seen:
                for word in set(_WORD.findall(file.text)):
                    self._more_headers.setdefault(word, []).append(file)
        self._read_headers: set[str] = set()
        self._macros = {name: text for source in reversed(headers_too) for name, text in source.words.items()}
        self._macros.update(macros)
        #: By their whole names.
        self._functions: dict[str, list[CppFunction]] = {}
        self._headers: dict[str, None] = {}
        self._undeclared: dict[str, None] = {}
        #: The names proposed for functions of one name that files hide, by the name and the file.
        self._proposed: dict[tuple[str, str], str] = {}
        self._unread: list[tuple[SourcePlace, str]] = []
        self._fallbacks: dict[str, tuple[SourcePlace, str]] = {}
        self._staying: list[tuple[SourcePlace, str]] = []
        self._unknown: dict[str, str] = {}
        self._wholes: list[tuple[SourcePlace, list[SourcePlace]]] = []
        self._aliases: dict[str, str] = {}
        self._namespaces: dict[str, str] = {}
        for source in headers_too:
            for statement in statements(source):
                texts = [token.text for token in statement.head]
                if texts[:1] == ["namespace"] and texts[2:3] == ["="]:
                    self._namespaces[texts[1]] = text_of(statement.head[3:_LONGEST_ALIAS])
                elif texts[:1] == ["using"] and texts[2:3] == ["="]:
                    self._aliases[texts[1]] = text_of(statement.head[3:_LONGEST_ALIAS])
                elif texts[:1] == ["typedef"] and 2 < len(texts) < _LONGEST_ALIAS:
                    self._aliases[texts[-1]] = text_of(statement.head[1:-1])
                self._add_function(statement, source)

    def _add_function(self, statement: Statement, source: CppSource) -> None:
        function = function_of(statement, source.path)
        if function is not None:
            # Every file that includes a header can name what is static there.
            function = function._replace(is_hidden=function.is_hidden and not source.path.endswith(CPP_HEADERS))
            overloads = self._functions.setdefault(function.name, [])
            if len(overloads) < _MOST_OVERLOADS:
                overloads.append(function)

    def read(self) -> CppRegistrations:
        read = [registration for source in self._sources for registration in self._registrations_of(source)]
        applied = [*self._applied_classes()]
        recording = self._recording_functions(applied)
        read = [row._replace(records=recording.get(row.kernel, "")) for row in read]
        declared = dict.fromkeys(
            [other.name for same in self._functions.values() for other in same if not other.is_hidden], ""
        )
        declared |= {
            other.name: other.path
            for same in self._functions.values()
            for other in same
            if other.path.endswith(CPP_HEADERS)
        }
        return CppRegistrations(
            read,
            self._unread,
            [*self._headers],
            [*self._undeclared],
            self._unknown,
            self._wholes,
            applied,
            declared,
            self._fallbacks,
            self._staying,
            self._modules,
            header_text(self._to_declare, self._aliases) if self._to_declare else "",
        )

    def _applied_classes(self) -> Iterator[tuple[AppliedClass, AutogradClass]]:
        """The functions that apply a class of autograd; a name means the class of its own file first."""
        classes: dict[str, list[AutogradClass]] = {}
        for source in self._sources:
            for given in autograd_classes(source):
                classes.setdefault(given.name, []).append(given)
        for source in self._sources:
            for name, function in applied_classes(source, classes):
                same = [given for given in classes[name] if given.place.path == source.path] or classes[name]
                if len(same) == 1:
                    yield function, self._with_whole_names(same[0])

    def _with_whole_names(self, given: AutogradClass) -> AutogradClass:
        """A class whose functions call others by their whole names."""
        forward, called = self._resolved(given.forward, given)
        dispatched = [other.dispatches for function in called for other in self._functions[function.name]]
        backward, called = self._resolved(given.backward, given)
        hidden = given.hidden or next((function.name for function in called if function.is_hidden), "")
        return given._replace(forward=forward, backward=backward, hidden=hidden, dispatched=tuple(dispatched))

    def _resolved(self, body: Sequence[Token], given: AutogradClass) -> tuple[list[Token], list[CppFunction]]:
        """A body with the whole names of the functions that it calls, and these functions."""
        tokens: list[Token] = []
        called: list[CppFunction] = []
        index = 0
        for first, end, name in called_names(body):
            whole = self._whole_name(name) or ""
            function = self._find(whole, given.scope, given.place.path)
            if function is None and self._read_headers_with(name.rpartition("::")[2]):
                function = self._find(whole, given.scope, given.place.path)
            if function is not None:
                tokens += [*body[index:first], body[first]._replace(text=function.name)]
                called.append(function)
                index = end
        return [*tokens, *body[index:]], called

    def _recording_functions(self, applied: Sequence[tuple[AppliedClass, AutogradClass]]) -> dict[str, str]:
        """The functions that record gradients: they apply a class of autograd, whose name this gives, or call one."""
        recording = {"::".join([*filter(None, row.scope), row.function]): given.name for row, given in applied}
        calls: dict[str, set[str]] = {}
        for source in self._sources if recording else ():
            for statement in statements(source):
                function = function_of(statement, source.path)
                if function is not None and statement.body:
                    called = [
                        self._find(name, statement.scope, source.path) for _, _, name in called_names(statement.body)
                    ]
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
            end = 0
            for index, token in enumerate(statement.head[:-1]):
                if index < end or token.kind != "name" or statement.head[index + 1].text != "(":
                    continue
                if statement.body and (match := _BLOCK.fullmatch(token.text)):
                    given = arguments(statement.head, index + 1)
                    block = self._block(statement, given, match)
                    if block is not None:
                        yield from self._policies(statement.body, block, source.path)
                        calls = [*_calls(statement.body, text_of(given[-1]), source)]
                        if sum(token.text == ";" for token in statement.body) == len(calls):
                            self._add_whole(statement, [call.place for call in calls])
                        for call in calls:
                            if call.method in _PYTHON_MODULES and call.arguments:
                                named = call.arguments[0]
                                module = text_value(named, self._macros) or text_of(named)
                                block = block._replace(python_module=module)
                            yield from self._registration(call, block)
                        break
                elif token.text in MODULE_MACROS and statement.body:
                    yield from self._module(statement, arguments(statement.head, index + 1), source)
                    break
                elif token.text == "RegisterOperators":
                    rows, end = self._read_chain(statement, index, source)
                    self._add_whole(statement, [row.place for row in rows])
                    yield from rows

    def _add_whole(self, statement: Statement, places: list[SourcePlace]) -> None:
        if places:
            self._wholes.append((SourcePlace(places[0].path, statement.head[0].line, statement.last_line), places))

    def _module(
        self, statement: Statement, given: Sequence[Sequence[Token]], source: CppSource
    ) -> Iterator[RegistrationStatement]:
        """The functions of a module of pybind11 or nanobind."""
        if len(given) < 2:
            return
        name = self._name_of(given[0])
        name = self._options.name or name if name == BUILD_NAMESPACE else name
        place = SourcePlace(source.path, statement.head[0].line, statement.last_line)
        namespace = self._options.namespace or name
        if not name.isidentifier():
            self._unread.append((place, f"the name of the module is `{shorten(name)}`"))
            return
        if any(module.namespace == namespace for module in self._modules):
            self._unread.append((place, f"another module has the name `{namespace}`: import its sources by themselves"))
            return
        submodules: dict[str, str] = {}
        values: dict[str, str] = {}
        functions: list[BoundFunction] = []
        missing: list[tuple[SourcePlace, str]] = []
        doc = ""
        places: list[SourcePlace] = []
        names: dict[str, int] = {}
        block = _Block(namespace, "", statement.scope, False)
        for call in module_calls(statement.body, given[1][-1].text, self._text_of):
            at = SourcePlace(source.path, call.tokens[0].line, call.last_line)
            value = self._constant(call.value)
            text = self._text_of(call.arguments[0]) if call.arguments else None
            if call.method == "doc" and self._text_of(call.value) is not None:
                doc = self._text_of(call.value) or ""
            elif call.method == "def_submodule" and text and _is_name(text):
                path = f"{call.submodule}.{text}" if call.submodule else text
                submodules[path] = (self._text_of(call.arguments[1]) if len(call.arguments) > 1 else "") or ""
            elif call.method == "attr" and text and _is_name(text) and value is not None and not call.submodule:
                values[text] = value
            elif call.method == "def" and text and _is_name(text) and len(call.arguments) > 1:
                operator = f"{call.submodule.replace('.', '_')}_{text}" if call.submodule else text
                names[operator] = names.get(operator, 0) + 1
                overload = operator if names[operator] == 1 else f"{operator}.overload{names[operator]}"
                row, bound = self._bound(
                    call, RegistrationStatement(namespace, overload, at, is_bound=True), block, text
                )
                if isinstance(bound, str):
                    missing.append((at, bound))
                    names[operator] -= 1
                    continue
                places.append(at)
                functions.append(bound._replace(operator=operator))
                yield row
            else:
                missing.append((at, f"`{shorten(text_of(call.tokens))}`"))
        self._unread += [(at, f"{what} of the module `{name}` stays in the source") for at, what in missing]
        if places and not missing:
            self._wholes.append((place, places))
        self._modules.append(BoundModule(name, namespace, doc, place, functions, submodules, values, missing))

    def _text_of(self, tokens: Sequence[Token]) -> str | None:
        return text_value(tokens, self._macros)

    def _constant(self, tokens: Sequence[Token]) -> str | None:
        """A constant as Python writes it; None if it has no such form."""
        values = (default_text(tokens, type, self._text_of) for type in ("int", "float", "bool", "str"))
        return next((value for value in values if value is not None), None)

    def _bound(
        self, call: ModuleCall, row: RegistrationStatement, block: _Block, name: str
    ) -> tuple[RegistrationStatement, BoundFunction | str]:
        """A function of a module as an operator, and for Python; or in place of this, why it is none."""
        kernel = call.arguments[1]
        bound = bound_arguments(call.arguments[2:], self._text_of)
        if bound.unread:
            return row, f"`{name}` with `{shorten(bound.unread)}`"
        given = self._definition(kernel, block, row.place.path)
        if given is None:
            return row, f"`{name}`, whose types were not found in `{shorten(text_of(kernel))}`,"
        function = given.function
        types = [schema_type(text, self._aliases, is_narrow=True) for text in function.parameters]
        results = result_types(function.result, self._aliases, is_narrow=True)
        unlike = [text for text, type in zip(function.parameters, types, strict=True) if type is None]
        if unlike or results is None:
            return row, f"`{name}`, because schemas have no `{unlike[0] if unlike else function.result}`,"
        if bound.named and len(bound.named) != len(types):
            return row, f"`{name}` with {len(types)} arguments, of which {len(bound.named)} have names,"
        wanted = [argument.name for argument in bound.named] or list(function.names) or [""] * len(types)
        arguments = python_names(wanted)
        defaults: list[str] = []
        for argument, type in zip(bound.named, types, strict=False):
            tokens = [token for part in argument.default for token in self._expanded(part)]
            default = default_text(tokens, str(type), self._text_of) if tokens else ""
            if default is None:
                return row, f"`{name}` with the default `{shorten(text_of(argument.default))}`"
            defaults.append(default)
        defaults += [""] * (len(types) - len(defaults))
        shown = [
            f"{argument}={default}" if default else argument
            for argument, default in zip(arguments, defaults, strict=True)
        ]
        written, notes = self._written(given, [str(type) for type in types], arguments, name)
        returned = self._returned(given)
        if returned is not None and returned not in written and results == ["Tensor"]:
            notes.append(f"`{name}` may give back its argument `{arguments[returned]}`, which an operator cannot")
        returned = returned if returned in written else None
        schema = schema_text(row.name, list(map(str, types)), results, shown, written, returned, bound.keywords)
        row = row._replace(schema=schema, conditions=call.tokens[0].conditions)
        keys, key_notes = self._keys_of(given, types)
        row = self._with_kernel(row, list(keys), kernel, block)
        if self._undeclared.pop(row.kernel, "") is None:
            self._to_declare.append(function)
        row = row._replace(notes=(*row.notes, *key_notes, *notes))
        parameters = list(shown)
        first_keyword = len(types) if bound.keywords is None else bound.keywords
        if first_keyword < len(types):
            parameters.insert(first_keyword, "*")
        positions = bound.positions if bound.named else len(types)
        if positions:
            parameters.insert(positions, "/")
        passed = [
            argument if number < first_keyword else f"{argument}={argument}"
            for number, argument in enumerate(arguments)
        ]
        return row, BoundFunction(name, call.submodule, row.name, parameters, passed, bound.doc, row.place)

    def _expanded(self, token: Token) -> Sequence[Token]:
        """A token, or what stands for the macro of its name."""
        return [*cpp_tokens(self._macros[token.text])] if token.text in self._macros else (token,)

    def _written(
        self, given: Definition, types: Sequence[str], names: Sequence[str], function: str
    ) -> tuple[list[int], list[str]]:
        """The arguments that a function writes, and notes about them."""
        told = self._options.written.get(function)
        if told is not None:
            return [number for number, name in enumerate(names) if name in told], []
        written: list[int] = []
        notes: list[str] = []
        const: list[str] = []
        for number, (type, name) in enumerate(zip(types, names, strict=True)):
            parameter = given.function.parameters[number]
            if "Tensor" not in type or not given.body:
                continue
            use = self._uses.use(given, number)
            is_const = parameter.startswith("const ")
            if use.level == READ and parameter.endswith("&") and not is_const:
                use = Use(MAYBE_WRITTEN)
            if use.level == READ:
                continue
            if use.level == MAYBE_WRITTEN and is_const:
                const.append(name)
                continue
            written.append(number)
            notes.append(use_note(name, use))
        if const:
            shown = ", ".join([f"`{name}`" for name in const])
            notes.append(f"{shown}: const, and taken as not written, though code that was not read gets the memory")
        return written, notes

    def _returned(self, given: Definition) -> int | None:
        """The argument that a function gives back; None if that is none."""
        body = [token.text for token in given.body]
        returned = {
            body[index + 1] for index in range(len(body) - 2) if body[index] == "return" and body[index + 2] == ";"
        }
        return next((number for number, name in enumerate(given.function.names) if name in returned), None)

    def _keys_of(self, given: Definition, types: Sequence[str | None]) -> tuple[tuple[str, ...], list[str]]:
        """The dispatch keys for which a function of a module is a kernel, and notes about them."""
        composite = (COMPOSITE_IMPLICIT.name,)
        if not any("Tensor" in str(type) for type in types):
            return composite, []
        if not given.body:
            return composite, ["the definition was not read, so the kernel is for all devices: name its `dispatch`"]
        traits = self._uses.traits(given)
        if traits.has_gradient or not traits.has_memory:
            # Its operators choose the device, and record the gradients.
            return composite, []
        if traits.chooses_device:
            return (CPU.name, CUDA.name), ["the kernel chooses the device itself: name those that it has"]
        return (CUDA.name if traits.is_cuda else CPU.name,), []

    def _definition(self, kernel: Sequence[Token], block: _Block, path: str) -> Definition | None:
        """Function that a definition passes; None if its types are not known."""
        closure = lambda_function(kernel, path)
        if closure is not None:
            name, _ = forwarded_name(kernel)
            defined = self._named(self._whole_name(name) or "", block, path) if name else []
            same = [given for given in defined if given.function.parameters == closure.function.parameters]
            if same:
                names = closure.function.names
                return same[0]._replace(function=same[0].function._replace(names=names))
            if len(defined) == 1 and not closure.function.result:
                return closure._replace(function=closure.function._replace(result=defined[0].function.result))
            return closure if closure.function.result else None
        chosen, types = overload_cast(kernel)
        name = self._whole_name(function_name(chosen)) or ""
        same = self._named(name, block, path) if name else []
        if types is not None and len(same) > 1:
            wanted = list(map(plain_cpp_type, types))
            same = [given for given in same if wanted == list(map(plain_cpp_type, given.function.parameters))]
        return same[0] if len(same) == 1 else None

    def _named(self, name: str, block: _Block, path: str) -> list[Definition]:
        """Functions that a name means in a block, one for each list of types, those with bodies if there are."""
        before = self._named_before.get((name, block.scope, path))
        if before is not None:
            return before
        candidates = self._defined.named(name.rpartition("::")[2])[:_MOST_OVERLOADS]
        for given in candidates:
            overloads = self._functions.setdefault(given.function.name, [])
            if given.function not in overloads and len(overloads) < _MOST_OVERLOADS:
                overloads.append(given.function)
        function = self._find(name, block.scope, path)
        by_types: dict[tuple[str, ...], Definition] = {}
        for given in candidates:
            if function is not None and given.function.name == function.name:
                key = tuple(map(plain_cpp_type, given.function.parameters))
                if given.function.is_hidden and given.function.path != path:
                    continue
                if key not in by_types or (given.body and not by_types[key].body):
                    by_types[key] = given
        definitions = self._named_before[name, block.scope, path] = list(by_types.values())
        return definitions

    def _block(self, statement: Statement, given: Sequence[Sequence[Token]], macro: re.Match[str]) -> _Block | None:
        if len(given) != 3 and (len(given) != 2 or macro[0].endswith("_IMPL")):
            return None
        key = self._name_of(given[1]) if len(given) == 3 else ""
        namespace = self._name_of(given[0])
        if macro[0].endswith("_EXPAND") or len(given[0]) > 1:
            unknown = [token.text for token in given[0][-4:] if self._is_unknown_macro(token.text)]
            if unknown:
                self._unknown[namespace] = unknown[0]
        is_stable, tags = macro[1] is not None, tag_variables(statement.body)
        return _Block(namespace, _ALIASES.get(key, key), statement.scope, is_stable, tags)

    def _policies(self, body: Sequence[Token], block: _Block, path: str) -> Iterator[RegistrationStatement]:
        """The operators that a block for autocast gives a policy by PyTorch's macros."""
        for index in range(len(body) - 1 if block.key.startswith("Autocast") else 0):
            match = _POLICIES.fullmatch(body[index].text)
            if match is None or body[index + 1].text != "(":
                continue
            given = [text_of(part) for part in arguments(body, index + 1)][0 if match["device"] else 1 :]
            end = min(closing_index(body, index + 1), len(body) - 1)
            place = SourcePlace(path, body[index].line, body[end].line)
            if len(given) < (2 if match["named"] is None else 3):
                self._unread.append((place, f"`{match[0]}` names no operator with a policy"))
                continue
            name = ".".join(given[:-1]) if match["named"] is None else given[1].strip('"')
            yield RegistrationStatement(
                block.namespace, name, place, keys=(block.key,), conditions=body[index].conditions, policy=given[-1]
            )

    def _read_chain(
        self, statement: Statement, index: int, source: CppSource
    ) -> tuple[list[RegistrationStatement], int]:
        """The operators of `RegisterOperators("acme::f", &f).op(...)`, and the index of its last bracket."""
        tokens = statement.head
        rows: list[RegistrationStatement] = []
        block = _Block("", "", statement.scope, False)
        method = "op"
        while index + 1 < len(tokens) and tokens[index + 1].text == "(":
            given, end = arguments(tokens, index + 1), closing_index(tokens, index + 1)
            if given and method == "op":
                place = SourcePlace(source.path, tokens[index].line, tokens[min(end, len(tokens) - 1)].line)
                rows += self._registration(_Statement("def", given, place, tokens[index].conditions), block)
            if end + 2 >= len(tokens) or tokens[end + 1].text != ".":
                return rows, end
            index, method = end + 2, tokens[end + 2].text
        return rows, index

    def _registration(self, call: _Statement, block: _Block) -> Iterator[RegistrationStatement]:
        """What a call of `def` or `impl` registers."""
        given = list(call.arguments)
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
            return
        text = text_value(given[0], self._macros)
        if text is None:
            self._unread.append((call.place, f"the name is `{shorten(text_of(given[0]))}`, not a text"))
            return
        head, parenthesis, _ = text.partition("(")
        namespace, _, name = head.strip().rpartition("::")
        row = RegistrationStatement(
            namespace or block.namespace,
            name.strip(),
            call.place,
            conditions=call.conditions,
            is_stable=block.is_stable,
        )
        rest = given[1:]
        if call.method == "def":
            row = row._replace(tags=tuple([tag for part in rest for tag in tags_of(part)]))
            rest = [part for part in rest if not tags_of(part) and text_of(part) != "{}"]
            row = row._replace(tags=(*row.tags, *[tag for part in rest for tag in block.tags.get(text_of(part), ())]))
            rest = [part for part in rest if text_of(part) not in block.tags]
            schema = " ".join(text.split())
            schema = schema.partition("::")[2] if namespace else schema
            row = row._replace(schema=schema if parenthesis else "", python_module=block.python_module)
        keys, kernels = [block.key] if block.key else [], []
        for part in rest:
            key = key_of(part)
            if key:
                keys.append(key)
            else:
                kernels.append(part)
        if kernels:
            keys, kernel = dispatch_parts(kernels[0], keys)
            row = self._with_kernel(row, keys or [COMPOSITE_IMPLICIT.name], kernel, block)
        if call.method == "def" and not row.schema:
            yield self._with_inferred_schema(row)
        else:
            yield row

    def _with_kernel(
        self, row: RegistrationStatement, keys: list[str], kernel: Sequence[Token], block: _Block
    ) -> RegistrationStatement:
        row = row._replace(keys=tuple([_ALIASES.get(key, key) for key in keys]))
        path = row.place.path
        name = self._whole_name(function_name(kernel))
        if name is None:
            callee = self._forwarded(*forwarded_name(kernel), block.scope, path)
            if callee is None:
                return row._replace(by_hand=shorten(text_of(kernel)))
            name = f"::{callee.name}"
        function = self._find(name, block.scope, path)
        if function is None:
            if any(token.text == "static_cast" for token in kernel):
                return row._replace(by_hand=shorten(text_of(kernel)))
            scope = [] if name.startswith("::") else [part for part in block.scope if part]
            return row._replace(kernel="::".join([*scope, name.removeprefix("::")]))
        if function.is_hidden:
            function = self._forwarded(function.forwards_to, function.parameters, block.scope, path) or function
        if self._is_overloaded(function, path):
            told = f"`{function.name}`, of which the sources have several: name one function for this operator"
            return row._replace(by_hand=shorten(text_of(kernel)), notes=(told,))
        if function.is_hidden:
            return self._with_hidden_kernel(row, function)
        header = self._header_of(function)
        if header is not None and header.parameters == function.parameters:
            self._headers[header.path] = None
        elif header is None:
            self._undeclared[function.name] = None
        else:
            where = os.path.relpath(header.path, os.path.dirname(path) or ".")
            note = f"`{where}` declares `{function.name}` with other types: correct the declaration"
            row = row._replace(notes=(*row.notes, note))
        return row._replace(kernel=function.name, parameters=function.parameters)

    def _with_hidden_kernel(self, row: RegistrationStatement, function: CppFunction) -> RegistrationStatement:
        """A registration with a kernel that needs to move, and another name if files have several of its name."""
        note = f"`{function.name}` can only be named in its own file: move it out of its anonymous namespace"
        name = function.name
        if len({other.path for other in self._functions[name] if other.is_hidden}) > 1:
            earlier = self._proposed.get((name, function.path))
            stem = re.sub(r"\W", "_", os.path.splitext(os.path.basename(function.path))[0])
            taken = set(self._proposed.values())
            suffixes = (row.keys[0].lower(), stem.lower(), *[f"{row.keys[0].lower()}_{number}" for number in range(99)])
            proposed = earlier or next(f"{name}_{suffix}" for suffix in suffixes if f"{name}_{suffix}" not in taken)
            self._proposed[name, function.path] = name = proposed
            note += f", and call it `{proposed.rpartition('::')[2]}`, because other files have one of its name"
        return row._replace(kernel=name, parameters=function.parameters, notes=(*row.notes, note))

    def _forwarded(self, name: str, parameters: Sequence[str], scope: Sequence[str], path: str) -> CppFunction | None:
        """The one function of the sources to which another one with the same parameters only hands these."""
        function = self._find(self._whole_name(name) or "", scope, path) if name else None
        if function is None or function.parameters != tuple(parameters) or self._is_overloaded(function, path):
            return None
        return function

    def _is_overloaded(self, function: CppFunction, path: str) -> bool:
        """Whether a name alone does not say which function is meant. A wrong declaration of a header is no overload."""
        self._header_of(function)
        same = self._functions[function.name]
        in_headers = {other.parameters for other in same if other.path.endswith(CPP_HEADERS)}
        return max(len(in_headers), len({other.parameters for other in same if other.path == path})) > 1

    def _whole_name(self, name: str | None) -> str | None:
        """A name with the namespace that its first word is an alias of, in place of this."""
        first, separator, rest = (name or "").partition("::")
        return self._namespaces.get(first, first) + separator + rest if rest else name

    def _header_of(self, function: CppFunction) -> CppFunction | None:
        """The declaration of a function in a header, with the same types if there is one."""
        plain = function.name.rpartition("::")[2]
        declared = [
            declared_header
            for declared_header in self._functions[function.name]
            if declared_header.path.endswith(CPP_HEADERS)
        ]
        if not declared and self._read_headers_with(plain):
            declared = [
                declared_header
                for declared_header in self._functions[function.name]
                if declared_header.path.endswith(CPP_HEADERS)
            ]
        return next(
            (declared_header for declared_header in declared if declared_header.parameters == function.parameters),
            next(iter(declared), None),
        )

    def _read_headers_with(self, word: str) -> bool:
        """Read the headers that have a word and that no source includes; whether there are any."""
        files = [file for file in self._more_headers.get(word, ()) if file.path not in self._read_headers]
        for file in files:
            self._read_headers.add(file.path)
            header = read_cpp(file.path, file.text)
            for statement in statements(header):
                self._add_function(statement, header)
        return bool(files)

    def _find(self, name: str, scope: Sequence[str], path: str) -> CppFunction | None:
        """The function that a name means in a scope of a file, which may have others of the name than headers."""
        wanted = name.removeprefix("::")
        levels = [part for part in scope if part]
        for depth in range(len(levels) if not name.startswith("::") else 0, -1, -1):
            named = self._functions.get("::".join([*levels[:depth], wanted]), [])
            # Other files cannot name a function that its file hides.
            same = [other for other in named if not other.is_hidden or other.path == path]
            if same:
                return min(same, key=lambda names: (names.path != path, not names.path.endswith(CPP_HEADERS)))
        return None

    def _with_inferred_schema(self, row: RegistrationStatement) -> RegistrationStatement:
        """A registration without a schema, with the one that PyTorch infers from the kernel."""
        hidden = {proposed: name for (name, path), proposed in self._proposed.items() if path == row.place.path}
        name = hidden.get(row.kernel, row.kernel)
        function = self._find(f"::{name}", (), row.place.path) if name else None
        schema = (
            None if function is None else inferred_schema(row.name, function.result, function.parameters, self._aliases)
        )
        if schema is None:
            what = row.by_hand or row.kernel or row.name
            self._unread.append(
                (row.place, f"the schema of `{row.name}` is inferred from `{what}`, which was not read")
            )
            return row
        return row._replace(schema=schema, notes=(*row.notes, "the schema is the one that PyTorch infers"))

    def _is_unknown_macro(self, name: str) -> bool:
        return name.isupper() and name not in self._macros and name.isidentifier() and not name.startswith("_")

    def _name_of(self, tokens: Sequence[Token], replaced: frozenset[str] = frozenset()) -> str:
        """The name that tokens stand for, with macros replaced. A macro with arguments joins them, as `CONCAT` does."""
        if len(tokens) > 1 and tokens[1].text == "(":
            return "".join([self._name_of(part, replaced) for part in arguments(tokens, 1)])
        name = text_of(tokens)
        text = self._macros.get(name)
        if not text or name in replaced:
            return name
        return self._name_of([*cpp_tokens(text)], replaced | {name})


def _calls(body: Sequence[Token], variable: str, source: CppSource) -> Iterator[_Statement]:
    """The calls of methods of a variable in a block, also those that follow each other."""
    index = 0
    while index + 3 < len(body):
        if (
            body[index].text != variable
            or body[index + 1].text != "."
            or (index and body[index - 1].text in (".", "::"))
        ):
            index += 1
            continue
        first = index
        while index + 3 < len(body) and body[index + 1].text == ".":
            method, opening = body[index + 2].text, index + 3
            if body[opening].text != "(":
                break
            end = closing_index(body, opening)
            after = body[end + 1] if end + 1 < len(body) else None
            last = body[min(end, len(body) - 1)] if after is None or after.text != ";" else after
            place = SourcePlace(source.path, body[first].line, last.line)
            yield _Statement(method, arguments(body, opening), place, body[first].conditions)
            index = end
        index += 1


def _is_name(text: str) -> bool:
    """Whether a text is a name that a Python module can define."""
    return text.isidentifier() and not keyword.iskeyword(text)
