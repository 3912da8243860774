"""Hints of functions and methods in the stub files of torch, hand-written or from operators, and their checks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from opwright.convention.python.bound import NN, TENSOR_METHODS, TORCH, PythonModule
from opwright.convention.python.hints import Hints, corrected
from opwright.convention.python.overloads import Pair, sort_pairs
from opwright.emit.emitter import Job, per_job
from opwright.emit.python.units import bindings
from opwright.emit.torch_stubs.hand_written import WrittenHint, written_hints
from opwright.model.more_inputs import Docstring
from opwright.model.native_function import NativeFunction
from opwright.release.operator_names.python_bindings import WITHOUT_GENERATED_HINTS
from opwright.source.codes import BROKEN_DOCSTRING, CLASSES_DIFFER, HINT_WITHOUT_OPERATOR
from opwright.source.diagnostic import Diagnostics, Fault, FaultsFound, Label


@per_job
def hints_of(job: Job) -> Hints:
    """Hints of the release, which keep those that they made."""
    return Hints(job.rules)


def generated_hints(job: Job, module: PythonModule, left_out: frozenset[str]) -> Mapping[str, list[str]]:
    """Hints of a module's functions, or of the methods, by name; those of one name are its overloads.

    Overloads stand in the order in which all signatures of the module are sorted together, which for a few names is
    not the parser's. Functions that are `left_out` keep the hints of their deprecated signatures.
    """
    pairs: list[Pair] = []
    for binding in bindings(job, module):
        # Methods have no hints of their deprecated signatures, functions have them.
        pairs += [pair for pair in binding.pairs if module is not TENSOR_METHODS or not pair.signature.deprecated]
    hints = hints_of(job)
    texts: dict[str, list[str]] = {}
    for signature, _, out in sort_pairs(pairs):
        if not signature.deprecated and signature.name in left_out:
            continue
        of_name, with_out = texts.setdefault(signature.name, []), out is not None
        # A deprecated signature with `out` has one without beside it.
        if signature.deprecated and with_out:
            of_name.append(hints.declaration(signature, with_out=False))
        of_name.append(hints.declaration(signature, with_out=with_out))
        # Sizes may be spread over positional arguments.
        spread = hints.spread_declaration(signature, with_out=with_out)
        of_name += [] if spread is None else [spread]
    return texts


@per_job
def classes_by_name(job: Job) -> Mapping[str, Mapping[str, NativeFunction]]:
    """Classes of named results by the name of the function: each text with the first overload that has it."""
    hints = hints_of(job)
    classes: dict[str, dict[str, NativeFunction]] = {}
    for module in (TORCH, TENSOR_METHODS):
        for binding in bindings(job, module):
            for signature, function in binding.overloads:
                # Deprecated signatures return the class of the others.
                text = None if signature.deprecated else hints.result_class(signature)
                if text is not None:
                    classes.setdefault(signature.name, {}).setdefault(text, function)
    return classes


def result_classes(job: Job) -> Mapping[str, str]:
    """Classes of named results by the names of the functions of `torch` and the methods that give them, sorted."""
    return {name: next(iter(texts)) for name, texts in sorted(classes_by_name(job).items())}


#: Module -> the file with its hand-written hints, and the beginning of the full names of its functions.
WRITTEN = {TORCH: ("functions", "torch."), TENSOR_METHODS: ("methods", "torch._C.TensorBase.")}


def docstrings(job: Job) -> Mapping[str, Docstring]:
    """Docstrings of functions and methods by their full names."""
    return cast("Mapping[str, Docstring]", job.more_inputs.get("docstrings") or {})


def overloads(hints: Sequence[str]) -> list[str]:
    """Hints of one name, marked as overloads if there are several.

    >>> overloads(["def one() -> _int: ..."]), overloads(["def f() -> _int: ...", "def f(x: _int) -> _int: ..."])[0]
    (['def one() -> _int: ...'], '@overload\\ndef f() -> _int: ...')
    """
    return [f"@overload\n{hint}" for hint in hints] if len(hints) > 1 else list(hints)


def overloads_by_name(hints: Iterable[WrittenHint]) -> list[str]:
    """Hand-written hints in the order of their names."""
    by_name: dict[str, list[str]] = {}
    for hint in hints:
        by_name.setdefault(hint.name, []).append(hint.text)
    return [text for _, texts in sorted(by_name.items()) for text in overloads(texts)]


@per_job
def function_hints(job: Job) -> Mapping[str, list[str]]:
    """Hints of the functions of `torch` by name, sorted."""
    return _hints_by_name(job, TORCH)


@per_job
def method_hints(job: Job) -> Mapping[str, list[str]]:
    """Hints of the methods and attributes of tensors by name, sorted."""
    return _hints_by_name(job, TENSOR_METHODS)


def _hints_by_name(job: Job, module: PythonModule) -> Mapping[str, list[str]]:
    file, prefix = WRITTEN[module]
    by_name: dict[str, list[str]] = {}
    last = []
    for hint in written_hints(file, job.rules):
        if hint.section == "last":
            last.append(hint)
        else:
            by_name.setdefault(hint.name, []).append(hint.text)
    for name, texts in generated_hints(job, module, WITHOUT_GENERATED_HINTS.in_release(job.rules)).items():
        by_name.setdefault(name, []).extend(texts)
    for hint in last:
        by_name.setdefault(hint.name, []).append(hint.text)
    documented = docstrings(job)
    hints = {}
    for name, texts in sorted(by_name.items()):
        hints[name] = overloads([corrected(text) for text in texts] if module is TORCH else texts)
        docstring = documented.get(prefix + name)
        if docstring is not None:
            lines = docstring_lines(docstring.text)
            hints[name] = [hint_with_docstring(hint, lines) for hint in hints[name]]
    return hints


def hint_with_docstring(hint: str, lines: Sequence[str]) -> str:
    """A hint with a docstring, of which the lines have no indentation in common.

    >>> print(hint_with_docstring("def one() -> _int: ...", ["The number 1.", "", "It is odd."]))
    def one() -> _int:
        r\"\"\"
        The number 1.
    <BLANKLINE>
        It is odd.
        \"\"\"
    >>> hint_with_docstring("is_cpu: _bool", ["Whether it is."])
    'is_cpu: _bool\\nr\"\"\"Whether it is.\"\"\"'
    """
    if "..." not in hint:
        text = "\n".join(lines)
        return f'{hint}\nr"""{text}"""'
    body = [f"    {line}".rstrip() for line in ('r"""', *lines, '"""')]
    return "\n".join([hint.removesuffix("...").rstrip(), *body])


def docstring_lines(text: str) -> list[str]:
    """Lines of a docstring without the indentation that all but the first have in common.

    Python's function decides what indentation is, because PyTorch's program calls it: Python 3.13 changed it.
    """
    from inspect import cleandoc

    return cleandoc(text).strip().splitlines()


#: File of hand-written hints -> the modules whose operators they are of.
_MODULES = {"functions": (TORCH,), "methods": (TENSOR_METHODS,), "nn": (NN, TORCH)}


def check_written_hints(job: Job, sink: Diagnostics) -> None:
    """Warn of hand-written hints without an operator, and of docstrings that end too early."""
    for file, modules in _MODULES.items():
        bound = {name for module in modules for name in _bound_names(job, module)}
        for hint in written_hints(file, job.rules):
            if bound and hint.section == "operators" and hint.name not in bound:
                message = f"the hand-written hint of `{modules[0].name}.{hint.name}` is of no operator"
                sink.warning(HINT_WITHOUT_OPERATOR, message, help="remove the hint from `tools/pyi/gen_pyi.py` too")
                bound.add(hint.name)
    for name, docstring in docstrings(job).items():
        if '"""' in docstring.text:
            message = f"the docstring of `{name}` has three quotation marks in it"
            sink.warning(BROKEN_DOCSTRING, message, docstring.span, help="write single quotation marks")


def check_result_classes(job: Job, sink: Diagnostics) -> None:
    """Report overloads of one function whose named results have different classes."""
    try:
        classes = classes_by_name(job)
    except FaultsFound:
        return
    for texts in classes.values():
        first, *others = texts.values()
        for function in others:
            message = f"the named results of `{function.name}` differ from those of `{first.name}`"
            label = Label(first.entry, "the other", primary=False)
            help = "give the fields the same names and types, or leave the names out"
            sink.add(Fault.at(CLASSES_DIFFER, message, function.entry, also=(label,), help=help).diagnostic)


def _bound_names(job: Job, module: PythonModule) -> set[str]:
    try:
        return {binding.name.name for binding in bindings(job, module)}
    except FaultsFound:
        # Another check reports them.
        return set()
