"""Calls the operators of a built library with changed samples, and prints as JSON what became of the calls.

It runs with AddressSanitizer, which ends the process at its first report. So calls are made in a copy of the process,
and the next copy goes on after the call that was reported.
"""

from __future__ import annotations

import importlib
import json
import logging
import mmap
import os
import random
import re
import signal
import struct
import sys
from collections.abc import Callable
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from typing import TYPE_CHECKING, Any

import torch

from tests.library.required.test_required import CALLING_OTHERS, faked, mutated, on_one_device, outcome

if TYPE_CHECKING:
    from typing import TypeAlias

    #: An argument of a call, or generated tests.
    Value: TypeAlias = Any

_OUT_DTYPE = re.compile(r"Expected out tensor to have dtype (.+), but got (.+) instead")
#: PyTorch's dtypes by the names that its C++ has for them.
_CPP_DTYPES = {
    "float": "torch.float32",
    "double": "torch.float64",
    "c10::Half": "torch.float16",
    "c10::BFloat16": "torch.bfloat16",
    "c10::complex<float>": "torch.complex64",
    "c10::complex<double>": "torch.complex128",
    "unsigned char": "torch.uint8",
    "signed char": "torch.int8",
    "short int": "torch.int16",
    "int": "torch.int32",
    "long int": "torch.int64",
    "bool": "torch.bool",
}
#: What comes between the words of an operator that a kernel calls through PyTorch's stable interface, and the place of
#: that call.
_CALLED_AT = " (originally from "
#: How many seconds the calls of one process take at most.
_SECONDS = 900


def is_changed(value: Value) -> bool:
    """Whether arguments like this one can be changed."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_number or isinstance(value, torch.Tensor) or (isinstance(value, list) and len(value) > 0)


def makers(tests: Value, name: str) -> dict[str, list[Callable[[], Value]]]:
    """Overloads of an operator that generated tests know, with what makes the arguments of each sample."""
    tested = tests.OPERATORS[name]
    made: dict[str, list[Callable[[], Value]]] = {name: [partial(tests.arguments, sample) for sample in tested.samples]}
    if tested.inplace:
        made[tested.inplace] = made[name]
    if tested.out:
        made[tested.out] = [partial(written, tests, name, sample) for sample in tested.samples]
    return made


def written(tests: Value, name: str, sample: Callable[[], Value]) -> Value:
    """The arguments of a sample for the out overload."""
    return tests.with_outputs(name, tests.arguments(sample))


def call(
    tests: Value, name: str, makers: list[Callable[[], Value]], number: int, is_traced: bool, positions: list[str]
) -> tuple[bool, str]:
    """Make a call with one or two arguments changed, and zero in arguments that hold positions.

    Tells whether it is refused, and how its trace differs.
    """
    chance = random.Random(f"{name} {number}")
    made = chance.choice(makers)()
    values, names = [*made.args, *made.kwargs.values()], list(made.kwargs)
    places = [place for place, value in enumerate(values) if is_changed(value)]
    for _ in range(chance.choice([1, 1, 2])):
        place = chance.choice(places)
        if is_changed(values[place]):
            values[place] = mutated(torch, chance, values[place])
    operator = tests.operator(name)
    for argument, value in zip(operator._schema.arguments if positions else (), values, strict=False):
        if argument.name in positions and value.device.type == "cpu":
            value.untyped_storage().fill_(0)
    count = len(made.args)

    def run(*values: Value) -> Value:
        torch.manual_seed(0)
        return operator(*values[:count], **dict(zip(names, values[count:], strict=True)))

    traced = None
    has_tensor = any(
        isinstance(item, torch.Tensor) for value in values for item in (value if isinstance(value, list) else [value])
    )
    if is_traced and has_tensor and on_one_device(torch, values):
        # Sizes that depend on values are symbols.
        symbols = importlib.import_module("torch.fx.experimental.symbolic_shapes").ShapeEnv()
        with importlib.import_module("torch._subclasses.fake_tensor").FakeTensorMode(shape_env=symbols) as mode:
            traced = outcome(run, faked(torch, mode, values))
    eager = outcome(run, values)
    # As in the tests of that library: what these overloads call says which tensors share memory, and with the stable
    # interface tensors without memory are looked at in traces alone.
    is_excused = "memory" in f"{eager}{traced}" and (name in CALLING_OTHERS or "meta" in str(values))
    differs = traced is not None and not are_alike(eager, traced) and not is_excused
    return isinstance(eager, str), f"{name}{values}: {eager} / {traced}" if differs else ""


def are_alike(eager: Value, traced: Value) -> bool:
    """Whether outcomes are the same, but for sizes that traces do not know, and strides of results without elements.

    PyTorch's own operators have other words in traces: of those that a kernel calls, the same one has to refuse. So
    have its checks of the dtype of `out`, where C++ and Python name dtypes.
    """
    if isinstance(eager, str) and isinstance(traced, str):
        refused = _OUT_DTYPE.fullmatch(eager)
        if refused is not None:
            expected, given = [_CPP_DTYPES.get(name, name) for name in refused.groups()]
            return bool(traced == f"Expected out tensor to have dtype {expected}, but got {given} instead")
        place = eager.partition(_CALLED_AT)[2]
        return eager == traced or (place != "" and place == traced.partition(_CALLED_AT)[2])
    if isinstance(eager, str) or isinstance(traced, str):
        return False
    for (sizes, dtype, strides), (own_sizes, own_dtype, own_strides) in zip(eager, traced, strict=True):
        known = [isinstance(size, int) for size in own_sizes]
        if dtype != own_dtype or len(sizes) != len(known):
            return False
        if any(is_known and size != own for is_known, size, own in zip(known, sizes, own_sizes, strict=True)):
            return False
        if all(known) and 0 not in sizes and strides != own_strides:
            return False
    return True


def count_calls(
    tests: Value, name: str, makers: list[Callable[[], Value]], count: int, traced: int, positions: list[str]
) -> dict[str, int]:
    """Make so many calls of an overload, and count what became of them."""
    shared = mmap.mmap(-1, 24)
    reports = number = 0
    while number < count:
        sys.stdout.flush()
        process = os.fork()
        if process == 0:
            signal.alarm(_SECONDS)
            for current in range(number, count):
                _, refused, different = struct.unpack("3q", shared[:24])
                shared[:8] = struct.pack("q", current)
                is_refused, difference = call(tests, name, makers, current, current < traced, positions)
                if difference:
                    print(difference, file=sys.stderr, flush=True)
                shared[8:24] = struct.pack("2q", refused + is_refused, different + bool(difference))
            os._exit(0)
        _, status = os.waitpid(process, 0)
        if status == 0:
            break
        reports += 1
        number = struct.unpack("q", shared[:8])[0] + 1
    _, refused, different = struct.unpack("3q", shared[:24])
    traced = min(traced, count)
    return {"calls": count, "refused": refused, "reports": reports, "traced": traced, "different": different}


def main(shared: str, modules: str, path: str, count: str, traced: str, positions: str) -> None:
    """Load the library, and call each overload."""
    torch.set_num_threads(1)
    # Refused traces are expected, and their tracebacks take longer than the calls.
    logging.disable(logging.ERROR)
    torch.ops.load_library(shared)
    sys.path.insert(0, modules)
    package = next(entry for entry in os.listdir(modules) if os.path.isdir(os.path.join(modules, entry)))
    importlib.import_module(f"{package}._ops")
    spec = spec_from_file_location("generated_tests", path)
    assert spec is not None
    assert spec.loader is not None
    tests = module_from_spec(spec)
    spec.loader.exec_module(tests)
    counted = {}
    with torch.no_grad():
        for name in tests.OPERATORS:
            for overload, made in makers(tests, name).items():
                counted[overload] = count_calls(tests, overload, made, int(count), int(traced), positions.split())
    print(json.dumps(counted))


if __name__ == "__main__":
    main(*sys.argv[1:])
