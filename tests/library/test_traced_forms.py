"""Tags and warnings about tracing, for each form of a schema that writes: `torch.compile` and `torch.export` decide."""

from __future__ import annotations

import itertools
import logging
import warnings
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Final

import pytest

from opwright.emit.checks import check_emittable
from opwright.emit.emitter import Job, Options
from opwright.libraries import stable_convention as stable
from opwright.libraries.emit.checks import check_cpp, check_shapes
from opwright.libraries.emit.meta_kernels import has_meta_kernel
from opwright.libraries.operator_library import RunLibraries
from opwright.model.native_function import NativeFunction
from opwright.schema.tag_rules import TAG_RULES
from opwright.source.diagnostic import Diagnostics
from opwright.syntax.dispatcher_schemas import read_written_schema
from tests.dialects.test_library import loaded
from tests.emit.emitting import RULES

if TYPE_CHECKING:
    import torch.library as torch_library
    from torch import Tensor

_WRITTEN: Final = (
    "Tensor(a!)", "Tensor(a!)?", "Tensor(a!)[]", "Tensor(a!)?[]", "Tensor(a!)[]?", "Tensor(a!)?[]?",
)  # fmt: skip
_RESULTS: Final = (
    "()", "Tensor", "Tensor(a!)", "Tensor(a!)?", "Tensor(a!)[]", "(Tensor(a!), Tensor)", "(Tensor, Tensor(a!))", "int",
    "Tensor[]",
)  # fmt: skip


def _forms() -> Iterator[str]:
    """Schemas: a written argument of each type, at each place and under each name, with each result."""
    for name, type, result in itertools.product(("f", "f_", "f.out"), _WRITTEN, _RESULTS):
        other = type.replace("a!", "b!")
        for arguments in (
            f"{type} self, Tensor y",
            f"{type} x, Tensor y",
            f"Tensor y, {type} self",
            f"Tensor y, *, {type} out",
            f"{type} self, {other} other, Tensor y",
        ):
            yield f"{name}({arguments}) -> {result}"


FORMS: Final = list(_forms())


class _Verdict:
    """What Opwright says of a schema in a library with a C++ interface."""

    def __init__(self, schema: str, abi: str) -> None:
        name = schema.partition("(")[0]
        new = ", ".join("like(y)" for result in read_written_schema(schema).returns if result.annotation is None)
        is_declared = new and not schema.endswith(("int", "Tensor[]"))
        outputs = f"  outputs: [{new}]\n" if is_declared else ""
        entry = f"- func: '{schema}'\n{outputs}  dispatch: {{CPU: {name.replace('.', '_')}}}\n"
        libraries, sink = loaded(f"namespace: traced\nabi: {abi}\noperators:\n{entry}")
        self.function: NativeFunction | None = None
        if not sink.has_errors:
            (self.function,) = libraries[0].catalog.functions
            job = Job(libraries[0].catalog, RULES, Options(), guests=[RunLibraries(libraries)])
            _check(job, sink)
        self.codes: Final = {diagnostic.code for diagnostic in sink}
        self.is_refused: Final = sink.has_errors
        self.has_shapes: Final = "W1119" not in self.codes


def _check(job: Job, sink: Diagnostics) -> None:
    for check in (check_emittable, check_cpp, check_shapes):
        check(job, sink)


def _tensors(value: object) -> list[Tensor]:
    """The tensors of an argument or a result, in a flat list."""
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in _tensors(item)]
    return [] if value is None or isinstance(value, int) else [value]


class _Operator:
    """An operator of `torch.library` that adds its argument `y` to what it writes."""

    def __init__(
        self, torch: ModuleType, library: torch_library.Library, name: str, function: NativeFunction, tags: list[str]
    ) -> None:
        schema = function.schema
        base, _, overload = schema.name.text.partition(".")
        name = f"{name}_{base}"
        whole = f"{name}.{overload}" if overload else name
        library.define(str(schema).replace(schema.name.text, whole, 1), tags=[getattr(torch.Tag, tag) for tag in tags])
        self.call: Final = getattr(getattr(library_operators(torch, library), name), overload or "default")
        self.schema: Final = self.call._schema
        self._torch: Final = torch
        torch.library.impl(library, whole, "CPU")(self._kernel)
        if has_meta_kernel(function):
            torch.library.impl(library, whole, "Meta")(self._shapes)

    def _bind(self, given: tuple[object, ...], named: dict[str, object]) -> dict[str, object]:
        names = [argument.name for argument in self.schema.arguments]
        return dict(zip(names, given, strict=False)) | named

    def _results(self, values: dict[str, object], new: Callable[[Tensor], Tensor]) -> object:
        by_alias = {
            frozenset(argument.alias_info.before_set): argument.name
            for argument in self.schema.arguments
            if argument.alias_info is not None
        }
        results: list[object] = []
        for result in self.schema.returns:
            if result.alias_info is not None:
                name = by_alias.get(frozenset(result.alias_info.before_set))
                # The annotation of a list is that of its tensors, so it is not the one of a single tensor.
                written = _tensors(values[next(iter(by_alias.values()))])[:1]
                other = written if "List" in str(result.type) else written[0]
                results.append(other if name is None else values[name])
            elif str(result.type) == "int":
                results.append(7)
            else:
                results.append([new(values["y"])] if "List" in str(result.type) else new(values["y"]))
        return None if not results else results[0] if len(results) == 1 else tuple(results)

    def _kernel(self, *given: object, **named: object) -> object:
        values = self._bind(given, named)
        for argument in self.schema.arguments:
            if argument.alias_info is not None and argument.alias_info.is_write:
                for tensor in _tensors(values[argument.name]):
                    tensor.add_(values["y"])
        return self._results(values, lambda y: y * 3)

    def _shapes(self, *given: object, **named: object) -> object:
        return self._results(self._bind(given, named), self._torch.empty_like)

    def use(self, x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        """What the operator wrote, and what it returned."""
        written = [x * 1, x * 2]
        given: list[object] = []
        named: dict[str, object] = {}
        rest = iter(written)
        for argument in self.schema.arguments:
            value: object = y if argument.name == "y" else next(rest)
            value = [value] if "List" in str(argument.type) else value
            if argument.kwarg_only:
                named[argument.name] = value
            else:
                given.append(value)
        returned = self.call(*given, **named)
        return (*written, *[tensor + 0 for tensor in _tensors(returned)])


def library_operators(torch: ModuleType, library: torch_library.Library) -> object:
    """`torch.ops` of a library."""
    return getattr(torch.ops, library.ns)


@pytest.fixture(scope="module")
def library(torch: ModuleType) -> Iterator[torch_library.Library]:
    """A namespace for operators, of which PyTorch logs nothing."""
    logging.disable(logging.CRITICAL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own = torch.library.Library("traced", "DEF")
        yield own
        own._destroy()
    logging.disable(logging.NOTSET)


def _outcome(torch: ModuleType, function: Callable[..., tuple[Tensor, ...]], how: str) -> str:
    """What tracing a function gives: the results of eager execution (`same`), others, or an error."""
    module = type("Uses", (torch.nn.Module,), {"forward": lambda self, x, y: function(x, y)})()
    inputs = (torch.ones(2), torch.full((2,), 5.0))
    wanted = function(*inputs)
    torch._dynamo.reset()
    try:
        if how == "compile":
            found = torch.compile(module, backend="aot_eager", fullgraph=True)(*inputs)
        else:
            found = torch.export.export(module, inputs).run_decompositions().module()(*inputs)
    except Exception:
        return "error"
    return "same" if all(map(torch.equal, wanted, found)) and len(wanted) == len(found) else "different"


def _is_wrong(torch: ModuleType, library: torch_library.Library, number: int, abi: str = "native") -> str:
    """What Opwright says of a form and tracing denies; empty if they agree."""
    schema = FORMS[number]
    verdict = _Verdict(schema, abi)
    if verdict.function is None or verdict.is_refused:
        return ""
    tags = stable.registered_tags(verdict.function) if abi == "stable" else sorted(verdict.function.tags)
    operator = _Operator(torch, library, f"{abi}{number}", verdict.function, tags)
    try:
        operator.use(torch.ones(2), torch.ones(2))
    except RuntimeError:
        return ""  # The dispatcher has no such results.
    if verdict.has_shapes and any(result.alias_info is None for result in operator.schema.returns):
        torch.library.register_fake(operator.call, operator._shapes, lib=library)
    wanted = "error" if verdict.codes & {"W0470", "W1119"} else "same"
    found = {how: _outcome(torch, operator.use, how) for how in ("compile", "export")}
    return "" if set(found.values()) == {wanted} else f"{schema} {tags} {sorted(verdict.codes)}: {found}"


def test_tags_are_those_that_pytorch_takes(torch: ModuleType) -> None:
    """PyTorch's check of the tags `inplace` and `out` accepts the same schemas, whatever they are called."""
    checks = {"inplace": torch.library._validate_inplace_schema, "out": torch.library._validate_out_schema}
    for text, (tag, (fits, _)) in itertools.product(FORMS, TAG_RULES.items()):
        try:
            checks[tag](text)
            is_taken = True
        except ValueError:
            is_taken = False
        assert fits(read_written_schema(text)) is is_taken, (tag, text)


def test_a_tag_that_does_not_fit_is_refused() -> None:
    """C++ registers any tag, and tracing believes it."""
    entry = "- func: 'bump_(Tensor(a!)[] self) -> ()'\n  tags: {tag}\n  dispatch: {{CPU: bump_}}\n"
    for tag in TAG_RULES:
        _, sink = loaded("namespace: traced\noperators:\n" + entry.format(tag=tag))
        assert [diagnostic.code for diagnostic in sink] == ["E1127"]


@pytest.mark.thorough
@pytest.mark.parametrize("abi", ["native", "stable"])
def test_a_sample_of_forms_is_traced_as_said(torch: ModuleType, library: torch_library.Library, abi: str) -> None:
    """What no finding warns of is compiled and exported with the results of eager execution; the rest fails."""
    sample = range(0, len(FORMS), 61)
    assert [found for number in sample if (found := _is_wrong(torch, library, number, abi))] == []


@pytest.mark.thorough
@pytest.mark.parametrize("abi", ["native", "stable"])
@pytest.mark.parametrize("part", range(4))
def test_forms_are_traced_as_said(torch: ModuleType, library: torch_library.Library, part: int, abi: str) -> None:
    """So it is with every form of a schema."""
    numbers = [number for number in range(part, len(FORMS), 4) if number % 61]
    assert [found for number in numbers if (found := _is_wrong(torch, library, number, abi))] == []
