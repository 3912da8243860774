"""Programs of processes that import a user's modules, and ask the PyTorch in the process about them.

`python -m opwright.migrate.importing.programs NAME ARGUMENT MODULE...` runs one of `PROGRAMS`. Modules share its
output, so an answer is a line of JSON behind `MARK`.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import json
import os
import random
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import module_from_spec, spec_from_file_location
from runpy import run_path
from types import ModuleType
from typing import Any, Final, TypeAlias

from opwright.migrate.calls.compared_calls import compare_outcomes, tried_facts
from opwright.migrate.calls.outcomes import Repeater, find_operator, read_outcomes, repeat_calls
from opwright.migrate.calls.recorder import CallFile, functions_in, is_extension, module_name, operator_name
from opwright.migrate.calls.stored_calls import read_calls
from opwright.source.terminal import tell

#: PyTorch has no types here.
_Torch: TypeAlias = Any
_Tensor: TypeAlias = Any
_Operator: TypeAlias = Any

MARK: Final = "opwright: "
#: Ends the path of a library, in place of the name of a module.
LIBRARY_SUFFIXES: Final = (".so", ".dylib", ".pyd", ".dll")


def _answer(value: object) -> None:
    # An empty line first: a module may leave one without its end.
    tell("", f"{MARK}{json.dumps(value)}", flush=True)


def _import_modules(modules: Sequence[str]) -> None:
    for name in modules:
        folder, _ = os.path.split(name)
        if name.endswith(LIBRARY_SUFFIXES):
            import_module("torch").ops.load_library(os.path.abspath(name))
            _import_extension(os.path.abspath(name))
            continue
        if folder:
            sys.path.insert(0, os.path.abspath(folder))
        import_module(module_name(name))


def _import_extension(path: str) -> None:
    """Import a library that is a module of Python too, by the name that it has for Python."""
    name = module_name(path)
    if hasattr(ctypes.CDLL(path), f"PyInit_{name}"):
        spec = spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])


#: A kernel in the text of an operator: one that another takes the place of is inactive. The author may choose what
#: stands for the place.
_KERNEL_LINE: Final = re.compile(r"(\w+)(?:\[alias\])?: (?:registered (?:at|by) )?(.*?) ?:: .* \[ (.*)\]")
_ALIAS_LINE: Final = re.compile(r"^alias analysis kind: (\w+)$", re.MULTILINE)


def print_registrations(schemas: Sequence[str], modules: Sequence[str]) -> None:
    """Answer with the operators that modules add, the other operators with kernels of theirs, by key, and schemas.

    Of each operator these are namespace, schema, tags, alias analysis, the kernels with their keys, and what
    `torch.library` knows of it. A kernel is its key, the place of its registration, and what it is. Schemas are those
    of the argument, as PyTorch writes them. Last are the functions of modules that are no Python, and the schemas of
    what TorchScript alone has, those of methods behind the name of the class.
    """
    torch: _Torch = import_module("torch")
    before = _dumps(torch)
    scripted = _of_torchscript(torch, before)
    fallbacks = _fallbacks(torch)
    of_pytorch = _OfPyTorch(torch)
    sys.meta_path.insert(0, of_pytorch)
    _import_modules(modules)
    after = _dumps(torch)
    added = sorted(after.keys() - before - of_pytorch.operators)
    rows = [row for name in added if (row := _registration_row(torch, name)) is not None]
    others: dict[str, list[str]] = {}
    for name in sorted(before.keys() & after):
        if before[name] != after[name]:
            kernels = set(_kernel_lines(before[name]))
            for kernel in _kernel_lines(after[name]):
                if kernel not in kernels and f"{name.replace('::', '/')}/{kernel[0]}" not in of_pytorch.kernels:
                    others.setdefault(kernel[0], []).append(name)
    for key in sorted(_fallbacks(torch) - fallbacks):
        others.setdefault(key, []).append("all operators")
    parsed = {}
    for schema in schemas:
        with contextlib.suppress(RuntimeError):
            parsed[schema] = str(torch._C.parse_schema(schema))
    own_scripted = _of_torchscript(torch, after) - scripted
    _answer([rows, others, parsed, [*_functions(modules)], sorted(own_scripted)])


class _OfPyTorch(MetaPathFinder):
    """Knows what PyTorch's own modules register: a library may be the first to import these.

    `kernels` are those that Python registers, such as `aten/add.Tensor/CPU`.
    """

    def __init__(self, torch: _Torch) -> None:
        self.operators: Final[set[str]] = set()
        self.kernels: Final[set[str]] = set()
        self._torch = torch
        self._is_inside = False

    def _registered(self) -> tuple[set[str], set[str]]:
        return set(self._torch._C._dispatch_get_all_op_names()), set(self._torch.library._impls)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module as Python finds it, whose code runs while this counts what it adds."""
        if self._is_inside or not fullname.startswith("torch."):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.loader is None:
            return None
        loader: Any = spec.loader
        loader.exec_module = partial(self._counted, loader.exec_module)
        return spec

    def _counted(self, execute: Callable[[ModuleType], None], module: ModuleType) -> None:
        operators, kernels = self._registered()
        self._is_inside = True
        try:
            execute(module)
        finally:
            self._is_inside = False
            operators_now, kernels_now = self._registered()
            self.operators.update(operators_now - operators)
            self.kernels.update(kernels_now - kernels)


def _dumps(torch: _Torch) -> dict[str, str]:
    """The operators of the dispatcher, each with the text that lists its kernels."""
    return {name: torch._C._dispatch_dump(name) for name in torch._C._dispatch_get_all_op_names()}


#: The class of a method in its schema, which is the type of its first argument.
_CLASS: Final = re.compile(r"\(__torch__\.(torch\.classes\.[\w.]+)")


def _of_torchscript(torch: _Torch, operators: Collection[str]) -> set[str]:
    """The schemas of operators that the dispatcher does not have, and of the methods of classes in C++."""
    schemas = torch._C._jit_get_all_schemas()
    alone = [each for each in schemas if f"{each.name}.{each.overload_name}".rstrip(".") not in operators]
    methods = list(map(str, torch._C._jit_get_custom_class_schemas()))
    classes = [(match[1], text) for text in methods if (match := _CLASS.search(text)) is not None]
    return {*map(str, alone), *[f"{name}.{text}" for name, text in classes]}


def _functions(modules: Sequence[str]) -> Iterator[tuple[str, str, list[str]]]:
    """The functions of modules of pybind11 and others that are no Python, in the packages of modules, with theirs.

    Each has the signatures that its text has, one for each overload.
    """
    packages = {module_name(name).partition(".")[0] for name in modules}
    for name, module in sorted(sys.modules.items()):
        is_inside = is_extension(sys.modules.get(name.rpartition(".")[0]))
        if name.partition(".")[0] in packages and is_extension(module) and not is_inside:
            for path, _, function in functions_in(module):
                written = re.escape(path.rpartition(".")[2])
                signatures = re.findall(rf"(?m)^(?:\d+\. )?({written}\(.*)$", str(getattr(function, "__doc__", "")))
                given = [text for text in signatures if "*args, **kwargs" not in text]
                yield name, path, given


def _fallbacks(torch: _Torch) -> set[str]:
    """The keys with a kernel for all operators."""
    keys = torch._C.DispatchKey.__members__
    return {key for key, value in keys.items() if torch._C._dispatch_has_backend_fallback(value)}


def _kernel_lines(dump: str) -> Iterator[tuple[str, str, str]]:
    """The kernels in the text of an operator: the key, the place of the registration, and what the kernel is."""
    for line in dump.splitlines():
        if (match := _KERNEL_LINE.fullmatch(line)) is not None:
            kind = "fallthrough" if "fallthrough" in match[3] else "" if "unboxed" in match[3] else "boxed"
            yield match[1], match[2] or "", kind


def _registration_row(torch: _Torch, name: str) -> list[Any] | None:
    """What the dispatcher and `torch.library` know of an operator; None if only kernels are registered for it."""
    try:
        schema, tags = _schema_and_tags(torch, name)
    except (RuntimeError, AttributeError):
        return None
    dump = torch._C._dispatch_dump(name)
    match = _ALIAS_LINE.search(dump)
    alias = match[1].lower() if match is not None else ""
    namespace, _, text = schema.partition("::")
    return [namespace, text, tags, alias, [*_kernel_lines(dump)], _in_python(torch, name)]


def _schema_and_tags(torch: _Torch, name: str) -> tuple[str, list[str]]:
    """The schema of an operator and its tags. Raises RuntimeError or AttributeError if there is none."""
    operator, _, overload = name.partition(".")
    schema = torch._C._dispatch_find_schema_or_throw(operator, overload).schema()
    return str(schema), [tag.name for tag in torch._C._get_operation_overload(operator, overload)[2]]


def _in_python(torch: _Torch, name: str) -> list[str]:
    """What Python registers for an operator beside the dispatcher: a fake, rules, kernels, an effect, a module."""
    operator, _, overload = name.partition(".")
    registered = []
    entry = import_module("torch._library.simple_registry").singleton._data.get(name)
    if entry is not None and entry.fake_impl.kernel is not None:
        registered.append("a fake")
    if entry is not None and getattr(entry, "torch_dispatch_rules", None) is not None:
        rules = getattr(entry.torch_dispatch_rules, "_data", None) or {}
        registered += ["a rule for a mode or a subclass"] if rules else []
    effect = getattr(getattr(entry, "effect", None), "effect", None)
    registered += [f"the effect {effect.name}"] if effect is not None else []
    kernels = getattr(find_operator(torch, name, ()), "py_kernels", None) or {}
    registered += [f"a kernel of `py_impl` for {getattr(key, 'name', key)}" for key in kernels]
    if pystub := torch._C._dispatch_pystub(operator, overload):
        registered.append(f"the Python module `{pystub[0]}` with its fake")
    return registered


def print_dispatcher(keys: Sequence[str], modules: Sequence[str]) -> None:
    """Answer with what the dispatcher has for a device, whose own key is the first.

    These are for each key the operators with kernels, of further keys those that the modules add; the operators that
    can be called; and whether the device has a fallback.
    """
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    torch: _Torch = import_module("torch")
    own, *further = keys

    def registered(key: str) -> set[str]:
        has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
        return {name for name in torch._C._dispatch_get_all_op_names() if has_kernel(name, key)}

    before = {key: registered(key) for key in further}
    _import_modules(modules)
    direct = {own: sorted(registered(own)), **{key: sorted(registered(key) - before[key]) for key in further}}
    can_be_called = torch._C._dispatch_has_computed_kernel_for_dispatch_key
    runs = [name for name in torch._C._dispatch_get_all_op_names() if can_be_called(name, own)]
    _answer([direct, runs, torch._C._dispatch_has_backend_fallback(getattr(torch._C.DispatchKey, own))])


#: The file of stubs, for the dispatcher; its line is the number of a registration.
_STUBS: Final = "opwright"
_TABLE_LINE: Final = re.compile(r"(\w+): (fallthrough )?registered at (.*?)(?::(\d+))? \[([^]]*)\]")


def print_answers(path: str, _modules: Sequence[str]) -> None:
    """Answer with PyTorch's release, and with what its dispatcher says of the operators of each side in a file."""
    torch: _Torch = import_module("torch")
    with open(path, encoding="utf-8") as file:
        sides = json.load(file)
    _answer([torch.__version__, [_side_answers(torch, side) for side in sides]])


def _side_answers(torch: _Torch, rows: Sequence[Any]) -> list[list[Any]]:
    """What the dispatcher says of operators while the registrations of a side are loaded, and which it refuses."""
    before = set(torch._C._dispatch_get_all_op_names())
    # Registrations are undone when these are.
    libraries: list[Any] = []
    refused, answers, custom = [], [], {}
    for number, (what, namespace, name, text, tags, keys) in enumerate(rows):
        try:
            if what == "custom_op":
                custom[namespace, name] = number
                libraries.append(_custom_op(torch, f"{namespace}::{name}", text, tags, keys))
                continue
            kind = "IMPL" if namespace == "_" else "FRAGMENT"
            library = torch._C._dispatch_library(kind, namespace, "", _STUBS, number)
            libraries.append(library)
            if what == "define":
                library.define(text, "", [getattr(torch.Tag, tag) for tag in tags if hasattr(torch.Tag, tag)])
            elif namespace == "_":
                getattr(library, what)(text, *([] if what.endswith("fallthrough") else [_stub]))
            else:
                library.impl(name, text, torch.library.fallthrough_kernel if what == "fallthrough" else _stub)
        except (RuntimeError, ValueError, NotImplementedError) as error:
            refused.append([number, str(error).strip().partition("\n")[0]])
    for namespace, name in dict.fromkeys((namespace, name) for _, namespace, name, *_ in rows if namespace != "_"):
        with contextlib.suppress(RuntimeError, AttributeError):
            schema, tags = _schema_and_tags(torch, f"{namespace}::{name}")
            table = torch._C._dispatch_dump_table(f"{namespace}::{name}")
            answers.append([namespace, name, schema, tags, _answers_by_row(table, custom.get((namespace, name)))])
    for library in libraries:
        library.reset()
    left = set(torch._C._dispatch_get_all_op_names()) - before
    if left:
        raise RuntimeError(f"the dispatcher keeps {', '.join(sorted(left))}")
    return [answers, refused]


def _stub(*_values: object, **_more: object) -> None:
    raise RuntimeError("a stub was called")


class _CustomOp:
    """An operator of `custom_op`, until it is reset."""

    def __init__(self, name: str, definition: _Operator) -> None:
        self._operators = import_module("torch._library.custom_ops").OPDEFS
        self._name = name
        self._library = definition._lib

    def reset(self) -> None:
        self._operators.pop(self._name, None)
        self._library._destroy()


def _custom_op(torch: _Torch, name: str, schema: str, tags: Sequence[str], keys: Sequence[str]) -> _CustomOp:
    """An operator as `custom_op` registers it, with kernels for the devices of keys."""
    parsed = torch._C.parse_schema(schema)
    mutated = [argument.name for argument in parsed.arguments if argument.alias_info and argument.alias_info.is_write]
    devices = [key.lower() for key in keys if not key.startswith("Composite")] or None
    text = schema[schema.index("(") :]
    known_tags = [getattr(torch.Tag, tag) for tag in tags if hasattr(torch.Tag, tag) and tag != "pt2_compliant_tag"]
    given = {"tags": known_tags} if known_tags else {}
    define = torch.library.custom_op
    return _CustomOp(name, define(name, _stub, mutates_args=mutated, schema=text, device_types=devices, **given))


def _answers_by_row(table: str, custom: int | None) -> list[tuple[int | str, list[str]]]:
    """The keys of a table of the dispatcher by what answers for them: the number of a row, or what PyTorch does."""
    keys: dict[int | str, list[str]] = {}
    for line in table.splitlines():
        match = _TABLE_LINE.fullmatch(line)
        if match is None:
            continue
        key, fallthrough, file, number, kind = match.groups()
        if file == _STUBS:
            answer: int | str = int(number)
        elif kind == "backend fallback" or custom is None:
            answer = f"PyTorch's {'fallthrough' if fallthrough else 'fallback' if 'fallback' in kind else 'kernel'}"
        else:
            answer = custom
        keys.setdefault(answer, []).append(key)
    return list(keys.items())


def print_samples(start: Sequence[Any], modules: Sequence[str]) -> None:
    """Run the samples of PyTorch's own tests for a dispatch key, from the operator of a number on.

    The first answer is the number of operators. Each operator has one before and one after its samples, so that the
    last answer tells which operator ended the process.
    """
    key, first = start
    torch: _Torch = import_module("torch")
    _import_modules(modules)
    operators = import_module("torch.testing._internal.common_methods_invocations").op_db
    device = torch._C._get_privateuse1_backend_name() if key == "PrivateUse1" else key.lower()
    _answer(len(operators))
    for index, operator in enumerate(operators):
        if index >= first:
            name = ".".join(filter(None, [operator.name, operator.variant_test_name]))
            _answer([index, name])
            _answer([index, name, _failure(torch, operator, device)])


def _failure(torch: _Torch, operator: _Operator, device: str) -> str | None:
    """What the first samples that the CPU takes do otherwise on the device; empty for nothing, None without samples."""
    dtype = torch.float32 if torch.float32 in operator.dtypes else min(operator.dtypes, key=str, default=None)
    if dtype is None:
        return None
    compared = _ComparedCalls(torch, operator, device)
    samples = itertools.islice(operator.sample_inputs("cpu", dtype, requires_grad=False), 2)
    differences = [compared.difference((sample.input, *sample.args), sample.kwargs) for sample in samples]
    told = [difference for difference in differences if difference is not None]
    return next(filter(None, told), "") if told else None


class _ComparedCalls:
    """Calls of an operator of PyTorch's tests on a device and on the CPU."""

    def __init__(self, torch: _Torch, operator: _Operator, device: str) -> None:
        self._torch = torch
        self._trees = import_module("torch.utils._pytree")
        self._operator = operator
        self._device = device

    def difference(self, given: Sequence[Any], named: Mapping[str, Any]) -> str | None:
        """What a call does otherwise on the device: its error, also with `out`, or other arguments after the call.

        It is empty for nothing, and None if the CPU does not take the arguments.
        """
        arguments = (tuple(given), dict(named))
        on_cpu = self._copied(arguments)
        try:
            results = self._call(on_cpu)
        except Exception:
            return None
        try:
            on_device = self._moved(arguments)
            self._call(on_device)
            if not self._are_alike(on_cpu, on_device):
                # Operators on random numbers leave other ones each time.
                again = self._copied(arguments)
                self._call(again)
                if self._are_alike(on_cpu, again):
                    return "arguments have other values after the call than on the CPU"
            out = self._taken_out(arguments, results)
            if out is not None:
                self._call(self._moved(arguments), out=self._moved(out))
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return ""

    def _call(self, arguments: Any, **more: object) -> Any:  # noqa: ANN401
        given, named = arguments
        return self._operator.op(*given, **named, **more)

    def _taken_out(self, arguments: Any, results: Any) -> Any:  # noqa: ANN401
        """Tensors for results that the form with `out` takes on the CPU; None if there is none."""
        if not getattr(self._operator, "supports_out", False):
            return None
        try:
            out = self._trees.tree_map(self._torch.empty_like, results)
            self._call(self._copied(arguments), out=out)
        except Exception:
            return None
        return out

    def _copied(self, values: Any) -> Any:  # noqa: ANN401
        return self._trees.tree_map(
            lambda value: value.clone() if isinstance(value, self._torch.Tensor) else value, values
        )

    def _moved(self, values: Any) -> Any:  # noqa: ANN401
        return self._trees.tree_map(self._on_device, values)

    def _on_device(self, value: Any) -> Any:  # noqa: ANN401
        if isinstance(value, self._torch.Tensor):
            return value.detach().to(self._device).requires_grad_(value.requires_grad)
        return self._torch.device(self._device) if value == "cpu" or value == self._torch.device("cpu") else value

    def _are_alike(self, left: Any, right: Any) -> bool:  # noqa: ANN401
        """Whether the tensors in two trees have the same values, but for what the precision of float32 explains."""
        torch = self._torch
        leaves = zip(self._trees.tree_leaves(left), self._trees.tree_leaves(right), strict=True)
        pairs = [(tensor, other.cpu()) for tensor, other in leaves if isinstance(tensor, torch.Tensor)]
        # What compares tensors does not take all dtypes.
        dense = [pair for pair in pairs if pair[0].layout is torch.strided and not pair[0].is_quantized]
        wide = [torch.complex128 if tensor.is_complex() else torch.float64 for tensor, _ in dense]
        return all(
            tensor.shape == other.shape
            and torch.allclose(tensor.to(dtype), other.to(dtype), rtol=1e-3, atol=1e-3, equal_nan=True)
            for (tensor, other), dtype in zip(dense, wide, strict=True)
        )


def print_outputs(operators: Sequence[str], modules: Sequence[str]) -> None:
    """Answer with the `outputs` of operators, by name, that calls with tensors on the device meta prove.

    An operator counts as proven if at least eight calls with three shapes and two dtypes have results that one form
    explains in all of them: `like`, `broadcast`, or the sizes of an argument.
    """
    samples = _Samples(import_module("torch"))
    _import_modules(modules)
    answers = {}
    for name in operators:
        overload = find_operator(samples.torch, name, ())
        if overload is not None and not any(argument.alias_info for argument in overload._schema.arguments):
            answers[name] = samples.proven(overload)
    _answer({name: form for name, form in answers.items() if form})


class _Samples:
    """Calls of operators with arguments that a generator of random numbers chooses."""

    def __init__(self, torch: _Torch) -> None:
        self.torch = torch
        self._random = random.Random(0)
        self._dtypes = (torch.float32, torch.float64, torch.float16, torch.int64)

    def proven(self, overload: _Operator) -> str | None:
        """What `outputs` can say of the results of an operator; None if nothing is proven."""
        arguments = overload._schema.arguments
        optional = {argument.name for argument in arguments if str(argument.type).startswith("Optional")}
        forms: list[list[str]] | None = None
        shapes: set[tuple[int, ...]] = set()
        dtypes: set[object] = set()
        calls = 0
        for _ in range(200):
            stream = self._shapes()
            dtype = self._random.choice(self._dtypes)
            try:
                values = {argument.name: self._sample(argument, stream, dtype) for argument in arguments}
                positional = [values[argument.name] for argument in arguments if not argument.kwarg_only]
                keywords = {argument.name: values[argument.name] for argument in arguments if argument.kwarg_only}
                results = overload(*positional, **keywords)
            except KeyError:
                return None
            except Exception:
                continue
            results = results if isinstance(results, tuple) else (results,)
            if not all(isinstance(result, self.torch.Tensor) for result in results):
                return None
            tensors = {
                name: value
                for name, value in values.items()
                if isinstance(value, self.torch.Tensor) and name not in optional
            }
            fitting = [list(self._forms(tensors, result)) for result in results]
            if forms is not None:
                fitting = [[form for form in old if form in new] for old, new in zip(forms, fitting, strict=False)]
            forms = fitting
            shapes.update(tuple(value.shape) for value in tensors.values())
            dtypes.update(value.dtype for value in tensors.values())
            calls += 1
        if forms and all(forms) and calls >= 8 and len(shapes) > 2 and len(dtypes) > 1:
            first = [fitting[0] for fitting in forms]
            return first[0] if len(first) == 1 else f"[{', '.join(first)}]"
        return None

    def _tensor(self, shape: Sequence[int], dtype: object) -> _Tensor:
        tensor = self.torch.empty(shape, dtype=dtype, device="meta")
        return tensor.transpose(0, -1) if self._random.random() < 0.4 and tensor.dim() > 1 else tensor

    def _sample(self, argument: _Operator, shapes: Iterator[list[int]], dtype: object) -> object:
        """A value for an argument. Raises KeyError for types that have none."""
        if argument.has_default_value() and self._random.random() < 0.5:
            return argument.default_value
        text = str(argument.type)
        if text.startswith("Optional["):
            if self._random.random() < 0.5:
                return None
            text = text.removeprefix("Optional[").rstrip("]")
        if text == "Tensor":
            return self._tensor(
                next(shapes), dtype if self._random.random() < 0.7 else self._random.choice(self._dtypes)
            )
        values = {
            "int": self._random.randint(0, 3),
            "SymInt": self._random.randint(0, 3),
            "float": 0.5,
            "bool": self._random.random() < 0.5,
            "number": 2,
            "Scalar": 2,
            "str": "sum",
        }
        return values[text]

    def _shapes(self) -> Iterator[list[int]]:
        """Shapes for the tensors of one call: all the same, some that broadcast, or any."""
        chosen = self._random
        base = [chosen.randint(2, 6) for _ in range(chosen.randint(1, 3))]
        kind = chosen.randint(0, 3)
        while True:
            if kind < 2:
                yield base
            elif kind == 2:
                yield [1 if chosen.random() < 0.3 else size for size in base][chosen.randint(0, len(base) - 1) :]
            else:
                yield [chosen.randint(2, 6) for _ in base]

    def _forms(self, tensors: Mapping[str, _Tensor], result: _Tensor) -> Iterator[str]:
        """The forms of `outputs` that a result has beside the tensors of the call."""
        torch = self.torch
        for name, given in tensors.items():
            if given.dtype == result.dtype and given.shape == result.shape:
                if torch.empty_like(given).stride() == result.stride():
                    yield f"like({name})"
                if torch.empty(given.shape, device="meta").stride() == result.stride():
                    yield f"{{size: {name}.sizes(), dtype: {name}.dtype}}"
        for count in range(2, 4):
            for group in itertools.combinations(tensors.items(), count):
                try:
                    shape = torch.broadcast_shapes(*[given.shape for _, given in group])
                except RuntimeError:
                    continue
                dtype = group[0][1].dtype
                for _, given in group[1:]:
                    dtype = torch.promote_types(dtype, given.dtype)
                if shape == result.shape and dtype == result.dtype and result.is_contiguous():
                    yield f"broadcast({', '.join(name for name, _ in group)})"


def print_samples_of_file(argument: Sequence[str], modules: Sequence[str]) -> None:
    """Store the calls that a Python file yields, and answer with how many it yields.

    The function `calls` of the file gives tuples: an operator, a list of arguments, and perhaps a mapping of keywords.
    """
    source, path = argument
    torch: _Torch = import_module("torch")
    _import_modules(modules)
    file = CallFile(torch, path)
    count = 0
    for row in run_path(source)["calls"]():
        operator, given, *rest = row
        named = rest[0] if rest else {}
        name = operator if isinstance(operator, str) else operator_name(torch, operator, given, named)
        file.add(name.removesuffix(".default"), given, named)
        count += 1
    file.close()
    _answer(count)


def print_repeated(argument: Sequence[Any], modules: Sequence[str]) -> None:
    """Repeat stored calls from one on, and append what they do to a file. The last line is the number of a call."""
    calls, path, first, twice, namespaces = argument
    torch: _Torch = import_module("torch")
    _import_modules(modules)
    torch.set_num_threads(1)
    repeater = Repeater(torch, modules, namespaces)
    for number in repeat_calls(repeater, read_calls(calls), first, path, twice=twice):
        tell("", f"{MARK}{number}", flush=True)
    _answer("done")


def print_compared(argument: Sequence[str], _modules: Sequence[str]) -> None:
    """Answer with how the outcomes of two processes differ, or with what one of them says."""
    calls, *paths = argument
    torch: _Torch = import_module("torch")
    outcomes = [read_outcomes(torch, path) for path in paths]
    records = read_calls(calls)
    if len(outcomes) == 1:
        _answer(tried_facts(records, outcomes[0]))
    else:
        _answer(compare_outcomes(torch, records, *outcomes))


PROGRAMS: Final[Mapping[str, Callable[[Any, Sequence[str]], None]]] = {
    "answers": print_answers,
    "compared": print_compared,
    "dispatcher": print_dispatcher,
    "outputs": print_outputs,
    "registrations": print_registrations,
    "repeated": print_repeated,
    "sample file": print_samples_of_file,
    "samples": print_samples,
}

if __name__ == "__main__":
    PROGRAMS[sys.argv[1]](json.loads(sys.argv[2]), sys.argv[3:])
