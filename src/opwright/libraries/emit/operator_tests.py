"""Pytest file of a library, which tests its operators on the samples that their entries give."""

from __future__ import annotations

from collections.abc import Sequence
from json import dumps
from typing import Final

from opwright.emit.emitter import AnyEmitter, Emitter, FilePerUnit, FragmentContext, Job, Slots, per_job
from opwright.libraries.emit.build_namespace import operators_expression
from opwright.libraries.emit.drawn_samples import (
    AllowedDtypes,
    drawn_samples,
    floating_dtypes,
    refusals,
    wide_samples,
)
from opwright.libraries.emit.openings import opening_body
from opwright.libraries.emit.python.calls import calls_of
from opwright.libraries.emit.requirements import has_checks
from opwright.libraries.entry_fields import library_fields, recording_operator, requirements_of
from opwright.libraries.operator_library import BUILD_NAMESPACE, OperatorLibrary, RunLibraries
from opwright.model.derivatives import DEFAULT_KEY, DifferentiableFunction
from opwright.model.dispatch_key import META
from opwright.model.native_function import NativeFunction
from opwright.schema.function import Argument, SchemaKind
from opwright.source.records import NamedTuple


class OperatorTest(NamedTuple):
    """What is tested of an operator: its samples, the overloads that do the same, and its derivatives.

    `drawn` are the samples that nobody wrote.
    `gradients` are the arguments with a derivative, all of which have a formula for forward mode if `forward` is true.
    `again` is true if the derivatives have derivatives.
    """

    function: NativeFunction
    inplace: NativeFunction | None
    out: NativeFunction | None
    gradients: tuple[str, ...]
    forward: bool
    again: bool = False
    drawn: tuple[str, ...] = ()


class LibraryTests(NamedTuple):
    """Tests of a library, its Python package, and the module that loads its operators."""

    package: str
    module: str
    namespace: str
    operators: tuple[OperatorTest, ...]
    devices: tuple[str, ...]


@per_job
def library_tests(job: Job) -> Sequence[LibraryTests]:
    """Tests of each library of the run with samples."""
    tests = [
        LibraryTests(
            library.python_package,
            f"{library.python_package}.torch" if library.takes_views else library.python_package,
            library.library.namespace,
            tuple(_operator_tests(library)),
            _devices(library),
        )
        for library in job.of(RunLibraries).libraries
        if library.owner is None
    ]
    return [test for test in tests if test.operators]


def _devices(library: OperatorLibrary) -> tuple[str, ...]:
    """The names of the CPU, which runs what calls other operators, and of the devices that kernels are for."""
    keys = {key for function in library.catalog.functions for key in function.kernels if key.is_dense} - {META}
    return ("cpu", *sorted({key.name.lower().replace("use1", "useone") for key in keys} - {"cpu"}))


def _operator_tests(library: OperatorLibrary) -> list[OperatorTest]:
    # The derivative of an operator that saves results is that of the internal one which it calls.
    derivatives = {item.function.schema: item for item in library.derivatives.matched.functions}
    operators: dict[str, list[NativeFunction]] = {}
    for function in library.catalog.functions:
        if not library_fields(function).saved:
            operators.setdefault(function.name.name, []).append(function)
    tests = []
    for name, overloads in operators.items():
        for call in calls_of(overloads):
            # Samples have no outputs, which are made like the results of the overload without them.
            if call.plain is None:
                continue
            drawn = drawn_samples(call.plain)
            if _written_samples(call.plain) or drawn:
                inplace = _inplace(call.plain, operators.get(f"{name}_", ()))
                differentiated = library_fields(call.plain).returned_from or call.plain.schema
                test = _test(call.plain, inplace, call.out, derivatives.get(differentiated))
                tests.append(test._replace(drawn=drawn))
    return tests


def _test(
    function: NativeFunction,
    inplace: NativeFunction | None,
    out: NativeFunction | None,
    derivatives: DifferentiableFunction | None,
) -> OperatorTest:
    info = derivatives.infos.get(DEFAULT_KEY) if derivatives is not None else None
    if recording_operator(function) and (derivatives is None or not derivatives.infos):
        names = [argument.name for argument in function.arguments.all if argument.type.is_tensor_like]
        return OperatorTest(function, inplace, out, _with_gradients(function, names), True, True)
    if derivatives is None or info is None or not info.has_derivatives or function.schema.kind is SchemaKind.inplace:
        return OperatorTest(function, inplace, out, (), False)
    gradients = _with_gradients(function, [argument.name for argument in info.differentiable_arguments])
    tangents = {name for formula in derivatives.forward.get(DEFAULT_KEY, ()) for name in formula.tangents}
    is_forward = tangents.issuperset(gradients) or bool(recording_operator(function) and not tangents)
    return OperatorTest(function, inplace, out, gradients, is_forward)


def _with_gradients(function: NativeFunction, names: list[str]) -> tuple[str, ...]:
    return tuple(filter(AllowedDtypes(requirements_of(function)).can_be_floating, names))


def _inplace(function: NativeFunction, overloads: Sequence[NativeFunction]) -> NativeFunction | None:
    """The in-place overload with the same arguments as a functional one."""
    wanted = _plain_arguments(function.arguments.all)
    return next((overload for overload in overloads if _plain_arguments(overload.arguments.all) == wanted), None)


def _plain_arguments(arguments: Sequence[Argument]) -> list[tuple[str, str]]:
    return [(argument.name, argument.type.text) for argument in arguments]


def _is_mapped(function: NativeFunction) -> bool:
    """Whether vmap can map an operator that has no rule for batches: it calls the operator for each element."""
    schema = function.schema
    is_random = any(argument.type.is_generator_like for argument in schema.arguments.all)
    is_view = any(result.annotation is not None for result in schema.returns)
    has_tensor = any(argument.type.is_tensor_like for argument in schema.arguments.all)
    has_list = any(argument.type.is_tensor_like and argument.type.list_like for argument in schema.arguments.all)
    is_plain = schema.kind is SchemaKind.functional and not (is_random or is_view)
    returns_tensors = bool(schema.returns) and all(result.type.text == "Tensor" for result in schema.returns)
    # What is made of other operators needs no rule of its own.
    return is_plain and has_tensor and returns_tensors and not (has_list and function.is_abstract)


def _batched(function: NativeFunction) -> tuple[str, ...]:
    """Tensors that may get a first dimension with more elements, each of which an operator computes on its own."""
    requirements = requirements_of(function)
    if requirements is None or any(requirements.sums) or function.arguments.writes or None in requirements.results:
        return ()
    packs = {dims.first_pack for dims in requirements.results if dims is not None}
    batched = [(name, dims) for name, dims in requirements.dims if dims.has_pack]
    packs.update([dims.first_pack for _, dims in batched])
    return tuple([name for name, _ in batched]) if len(packs) == 1 and packs != {""} else ()


#: How many calls of a generator of samples tests make.
_GENERATED: Final = 4


def _written_samples(function: NativeFunction) -> list[str]:
    """Expressions of the calls of the author, and of their generator."""
    fields = library_fields(function)
    texts = [f"call({sample.strip()})" for sample in fields.samples]
    if fields.sample_generator:
        texts += [f"generated({dumps(fields.sample_generator)}, {seed})" for seed in range(_GENERATED)]
    return texts


def _value_fields(test: OperatorTest) -> list[str]:
    """Drawn calls for kinds of values and for sizes, and the tensors whose numbers may be any, and any finite ones."""
    requirements, drawn = requirements_of(test.function), test.drawn
    if requirements is None or not drawn:
        return []
    dtypes = AllowedDtypes(requirements)
    words: dict[str, set[str]] = {}
    for value in requirements.values:
        words.setdefault(value.name, set()).add(value.written)
    numbers = [name for name, _ in requirements.dims if dtypes.can_be_floating(name)]
    free = [name for name in numbers if words.get(name, set()) <= {"finite"}]
    finite = [name for name in free if name in words]
    valued = [drawn[0], *drawn[2:3]] if free else []
    texts = {"valued": valued, "wide": wide_samples(test.function)}
    fields = [
        f"{field}=[{''.join([f'{chr(10)}        lambda: call({sample}),' for sample in samples])}\n    ]"
        for field, samples in texts.items()
        if samples
    ]
    return [*fields, f"free={dumps(free)}", *([f"finite={dumps(finite)}"] if finite else [])]


def _row(test: OperatorTest) -> str:
    """Row of an operator in the table of tests."""
    function = test.function
    calls = [*_written_samples(function), *[f"call({sample})" for sample in test.drawn]]
    samples = "".join([f"\n        lambda: {call}," for call in calls])
    fields = [f"samples=[{samples}\n    ]"]
    if test.inplace is not None:
        fields.append(f'inplace="{test.inplace.name}"')
    if test.out is not None:
        outputs = [output.name for output in test.out.arguments.out]
        fields += [f'out="{test.out.name}"', f"outputs={dumps(outputs)}"]
    if has_checks(function) and not function.arguments.writes:
        fields.append(f"refusals={dumps(refusals(function))}")
    reference = library_fields(function).reference
    if reference is not None:
        fields.append(f"reference={dumps(reference.path)}")
        fields.append(f"dtypes={dumps(floating_dtypes(function))}")
        fields.append(f"tolerances={dumps(dict(reference.tolerances))}")
        fields += _value_fields(test)
    dtypes = floating_dtypes(function)
    if dtypes and "float32" not in dtypes:
        fields.append(f'dtype="{dtypes[0]}"')
    if test.gradients:
        fields.append(f"gradients={dumps(test.gradients)}")
    if batched := _batched(function):
        fields.append(f"batched={dumps(batched)}")
    flags = {
        "conditional": bool(library_fields(function).condition),
        "forward": test.forward,
        "again": test.again,
        # Compiled code can return tensors and lists of them.
        "compared": all(result.type.is_tensor_like for result in function.schema.returns),
        "mapped": _is_mapped(function),
    }
    fields += [f"{name}=True" for name, value in flags.items() if value]
    listed = "".join([f"\n    {field}," for field in fields])
    return f'"{function.name}": Operator({listed}\n),'


def _tests(tests: LibraryTests, context: FragmentContext) -> Slots:
    rows = "\n".join(map(_row, tests.operators))
    library = operators_expression(tests.package, tests.namespace)
    # Tests of a library for several frameworks are skipped where PyTorch is not installed.
    skip = 'pytest.importorskip("torch")\n' if tests.module != tests.package else ""
    return {
        "torch_import": f"{skip}import torch",
        "package": tests.package,
        "module": tests.module,
        "namespace": tests.namespace,
        "library": library,
        "engine": opening_body("judging").strip(),
        "devices": dumps(tests.devices),
        "operators": rows,
    }


def _path(tests: LibraryTests) -> str:
    name = tests.package.replace(".", "_") if tests.namespace == BUILD_NAMESPACE else tests.namespace
    return f"test_{name}.py"


def emitters(job: Job) -> list[AnyEmitter]:
    """Emitter of the tests."""
    return [
        Emitter(
            name="library_operator_tests",
            family="library",
            template="library/test_operators.py.in",
            folder="tests",
            units=library_tests,
            fragment=_tests,
            layout=FilePerUnit(_path),
        )
    ]
