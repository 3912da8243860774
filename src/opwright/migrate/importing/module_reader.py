"""Reads modules of pybind11 and nanobind in C++ sources: what their functions are as operators, and for Python."""

from __future__ import annotations

import keyword
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from opwright.libraries.operator_library import BUILD_NAMESPACE
from opwright.migrate.importing.always_run import AlwaysRun
from opwright.migrate.importing.argument_uses import (
    MAYBE_WRITTEN,
    READ,
    ArgumentUses,
    DefinedFunctions,
    Definition,
    Traits,
    Use,
)
from opwright.migrate.importing.cpp_arguments import forwarded_name, function_name, text_value
from opwright.migrate.importing.kernel_names import MOST_OVERLOADS, KernelNames
from opwright.migrate.importing.pybind import (
    BoundFunction,
    BoundModule,
    ModuleCall,
    bound_arguments,
    default_text,
    lambda_function,
    module_calls,
    overload_cast,
    python_names,
    schema_text,
    use_note,
)
from opwright.migrate.importing.registration import RegistrationStatement, SourcePlace
from opwright.migrate.importing.registration_calls import call_chains, is_split_up, local_names
from opwright.model.dispatch_key import COMPOSITE_IMPLICIT, CPU, CUDA
from opwright.source.diagnostic import shorten
from opwright.source.records import NamedTuple
from opwright.source.terminal import counted
from opwright.syntax.cpp_functions import Statement, plain_cpp_type, result_types, schema_type
from opwright.syntax.cpp_source import CppSource
from opwright.syntax.cpp_tokens import Token, cpp_tokens, text_of


class ModuleOptions(NamedTuple):
    """How modules of pybind11 become operators.

    `namespace` is that of their operators, by default the module's name. `name` is that of a module whose build gives
    it. `written` are the arguments that functions write, where the sources do not decide it. `tried` are those that
    calls were given, by their names or numbers: how many calls leave one as it is, 0 if one writes it.
    """

    namespace: str = ""
    name: str = ""
    written: Mapping[str, Sequence[str]] = MappingProxyType({})
    tried: Mapping[str, Mapping[str, int]] = MappingProxyType({})


class ModuleReader:
    """Reads modules one after the other, which `modules` are.

    `unread` gets what stays in the sources, and `wholes` the modules of which nothing stays, with the places inside.
    """

    def __init__(
        self,
        names: KernelNames,
        defined: DefinedFunctions,
        macros: Mapping[str, str],
        options: ModuleOptions,
        unread: list[tuple[SourcePlace, str]],
        wholes: list[tuple[SourcePlace, list[SourcePlace]]],
    ) -> None:
        self._names = names
        self._defined = defined
        self._macros = macros
        self._options = options
        self._uses = ArgumentUses(defined)
        #: What names of functions mean in a scope of a file.
        self._named_before: dict[tuple[str, tuple[str, ...], str], list[Definition]] = {}
        self.modules: Final[list[BoundModule]] = []
        self._unread = unread
        self._wholes = wholes

    def read(
        self, name: str, statement: Statement, variable: str, source: CppSource
    ) -> Iterator[RegistrationStatement]:
        """The functions of a module with this name, whose block calls its `variable`."""
        name = self._options.name or name if name == BUILD_NAMESPACE else name
        place = SourcePlace(source.path, statement.head[0].line, statement.last_line, statement.head[0].start)
        namespace = self._options.namespace or name
        if not name.isidentifier():
            self._unread.append((place, f"the name of the module is `{shorten(name)}`"))
            return
        if any(module.namespace == namespace for module in self.modules):
            self._unread.append((place, f"another module has the name `{namespace}`: import its sources by themselves"))
            return
        submodules: dict[str, str] = {}
        values: dict[str, str] = {}
        functions: list[BoundFunction] = []
        missing: list[tuple[SourcePlace, str]] = []
        doc = ""
        places: list[SourcePlace] = []
        names: dict[str, int] = {}
        always = AlwaysRun(statement.body)
        local = local_names(statement.body, call_chains(statement.body, variable, source))
        for call in module_calls(statement.body, variable, self._text_of):
            at = SourcePlace(source.path, call.tokens[0].line, call.last_line, call.tokens[0].start)
            value = self._constant(call.value)
            text = self._text_of(call.arguments[0]) if call.arguments else None
            if call.method == "doc" and (told := self._text_of(call.value)) is not None:
                doc = told
            elif call.method == "def_submodule" and text and _is_name(text):
                path = f"{call.submodule}.{text}" if call.submodule else text
                submodules[path] = (self._text_of(call.arguments[1]) if len(call.arguments) > 1 else "") or ""
            elif call.method == "attr" and text and _is_name(text) and value is not None and not call.submodule:
                values[text] = value
            elif always.is_behind_jump(call.tokens[0]):
                missing.append((at, f"`{shorten(text_of(call.tokens))}`, behind a condition,"))
            elif is_split_up(call.tokens):
                missing.append((at, f"`{shorten(text_of(call.tokens))}`, of which the preprocessor chooses parts,"))
            elif call.method == "def" and text and _is_name(text) and len(call.arguments) > 1:
                operator = f"{call.submodule.replace('.', '_')}_{text}" if call.submodule else text
                names[operator] = names.get(operator, 0) + 1
                overload = operator if names[operator] == 1 else f"{operator}.overload{names[operator]}"
                row, bound = self._bound(
                    call, RegistrationStatement(namespace, overload, at, is_bound=True), statement.scope, text, local
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
        self.modules.append(BoundModule(name, namespace, doc, place, functions, submodules, values, missing))

    def _text_of(self, tokens: Sequence[Token]) -> str | None:
        return text_value(tokens, self._macros)

    def _constant(self, tokens: Sequence[Token]) -> str | None:
        """A constant as Python writes it; None if it has no such form."""
        values = (default_text(tokens, type, self._text_of) for type in ("int", "float", "bool", "str"))
        return next((value for value in values if value is not None), None)

    def _bound(
        self, call: ModuleCall, row: RegistrationStatement, scope: tuple[str, ...], name: str, local: Collection[str]
    ) -> tuple[RegistrationStatement, BoundFunction | str]:
        """A function of a module as an operator, and for Python; or in place of this, why it is none."""
        kernel = call.arguments[1]
        bound = bound_arguments(call.arguments[2:], self._text_of)
        if bound.unread:
            return row, f"`{name}` with `{shorten(bound.unread)}`"
        is_renamed = self._names.is_renamed(kernel, local, row.place.path)
        given = self._definition(kernel, scope, row.place.path) if not is_renamed else None
        if given is None:
            return row, f"`{name}`, whose types were not found in `{shorten(text_of(kernel))}`,"
        declared = given.function
        types = [schema_type(text, self._names.aliases, is_narrow=True) for text in declared.parameters]
        results = result_types(declared.result, self._names.aliases, is_narrow=True)
        unlike = [text for text, type in zip(declared.parameters, types, strict=True) if type is None]
        if unlike or results is None:
            return row, f"`{name}`, because schemas have no `{unlike[0] if unlike else declared.result}`,"
        if bound.named and len(bound.named) != len(types):
            return row, f"`{name}` with {len(types)} arguments, of which {len(bound.named)} have names,"
        wanted = [argument.name for argument in bound.named] or list(declared.names) or [""] * len(types)
        names = python_names(wanted)
        shown = [*names]
        for number, argument in enumerate(bound.named):
            tokens = [token for part in argument.default for token in self._expanded(part)]
            default = default_text(tokens, str(types[number]), self._text_of) if tokens else ""
            if default is None:
                return row, f"`{name}` with the default `{shorten(text_of(argument.default))}`"
            shown[number] += f"={default}" if default else ""
        written, notes = self._written(given, [str(type) for type in types], names, name)
        returned = self._returned(given)
        if returned is not None and returned not in written:
            if results == ["Tensor"]:
                notes.append(f"`{name}` may give back its argument `{names[returned]}`, which an operator cannot")
            returned = None
        schema = schema_text(row.name, list(map(str, types)), results, shown, written, returned, bound.keywords)
        row = row._replace(schema=schema, conditions=call.tokens[0].conditions)
        keys, key_notes = self._keys_of(given, types)
        row = self._names.with_kernel(row, list(keys), kernel, scope, ())
        row = row._replace(notes=(*row.notes, *key_notes, *notes))
        first_keyword = len(types) if bound.keywords is None else bound.keywords
        passed = [*names[:first_keyword], *[f"{argument}={argument}" for argument in names[first_keyword:]]]
        if first_keyword < len(types):
            shown.insert(first_keyword, "*")
        if positions := bound.positions if bound.named else len(types):
            shown.insert(positions, "/")
        function = BoundFunction(
            name, call.submodule, row.name, shown, passed, bound.doc, row.place, bool(row.conditions)
        )
        return row, function

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
        tried = self._options.tried.get(function, {})
        for number, (type, name) in enumerate(zip(types, names, strict=True)):
            leaving = tried.get(name, tried.get(f"argument {number}"))
            if leaving == 0:
                written.append(number)
                notes.append(f"`{name}` is written, as calls show")
                continue
            parameter = given.function.parameters[number]
            if "Tensor" not in type or not given.body:
                continue
            use = self._uses.use(given, number)
            is_const = parameter.startswith("const ")
            if use.level == READ and parameter.endswith("&") and not is_const:
                use = Use(MAYBE_WRITTEN)
            if use.level == MAYBE_WRITTEN and leaving:
                calls = f"none of {counted(leaving, 'call')} writes it, and it is taken as not written"
                notes.append(f"{use_note(name, use)}; {calls}")
            elif use.level == MAYBE_WRITTEN and is_const:
                const.append(name)
            elif use.level != READ:
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
        has_tensors = any("Tensor" in str(type) for type in types)
        if has_tensors and not given.body:
            return composite, ["the definition was not read, so the kernel is for all devices: name its `dispatch`"]
        traits = self._uses.traits(given) if has_tensors else Traits()
        if traits.has_gradient or not traits.has_memory:
            # Its operators choose the device, and record the gradients.
            return composite, []
        if traits.chooses_device:
            return (CPU.name, CUDA.name), ["the kernel chooses the device itself: name those that it has"]
        return (CUDA.name if traits.is_cuda else CPU.name,), []

    def _definition(self, kernel: Sequence[Token], scope: tuple[str, ...], path: str) -> Definition | None:
        """Function that a definition passes; None if its types are not known."""
        closure = lambda_function(kernel, path)
        if closure is not None:
            name, _ = forwarded_name(kernel)
            defined = self._named(self._names.whole_name(name) or "", scope, path) if name else []
            same = [given for given in defined if given.function.parameters == closure.function.parameters]
            if same:
                names = closure.function.names
                return same[0]._replace(function=same[0].function._replace(names=names))
            if len(defined) == 1 and not closure.function.result:
                return closure._replace(function=closure.function._replace(result=defined[0].function.result))
            return closure if closure.function.result else None
        chosen, types = overload_cast(kernel)
        name = self._names.whole_name(function_name(chosen)) or ""
        same = self._named(name, scope, path) if name else []
        if types is not None and len(same) > 1:
            wanted = list(map(plain_cpp_type, types))
            same = [given for given in same if wanted == list(map(plain_cpp_type, given.function.parameters))]
        return same[0] if len(same) == 1 else None

    def _named(self, name: str, scope: tuple[str, ...], path: str) -> list[Definition]:
        """Functions that a name means in a block, one for each list of types, those with bodies if there are."""
        key = name, scope, path
        if key in self._named_before:
            return self._named_before[key]
        candidates = self._defined.named(name.rpartition("::")[2])[:MOST_OVERLOADS]
        for given in candidates:
            self._names.add(given.function)
        meant = self._names.find(name, scope, path)
        by_types: dict[tuple[str, ...], Definition] = {}
        for given in candidates:
            function = given.function
            if meant is not None and function.name == meant.name and not (function.is_hidden and function.path != path):
                types = tuple(map(plain_cpp_type, function.parameters))
                if types not in by_types or (given.body and not by_types[types].body):
                    by_types[types] = given
        return self._named_before.setdefault(key, list(by_types.values()))


def _is_name(text: str) -> bool:
    """Whether a text is a name that a Python module can define."""
    return text.isidentifier() and not keyword.iskeyword(text)
