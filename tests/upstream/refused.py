"""Makes calls that entries do not allow: `python refused.py MODULE FILE [SHARED]`.

A build of the library is on the path, or is a shared object alone.

It prints as JSON, for each call, what it does, and what it does in a trace: the error, `returns`, or `crash`. Each call
is made in a copy of the process, which it may end. It imports nothing of the project.
"""

from __future__ import annotations

import importlib
import json
import logging
import os
import sys
from collections.abc import Callable
from typing import Any

import torch
import yaml
from torch._subclasses.fake_tensor import FakeTensorMode


def outcomes(module: str, call: str) -> list[str]:
    """What a call does, and what it does in a trace."""
    names = {name: getattr(torch, name) for name in ("ones", "zeros")}
    operators = getattr(torch.ops, module)
    name, _, text = call.partition("(")
    arguments = eval(f"[{text.removesuffix(')')}]", names)
    with FakeTensorMode() as mode:
        faked = [mode.from_tensor(each) if isinstance(each, torch.Tensor) else each for each in arguments]
        traced = outcome(getattr(operators, name), faked)
    return [outcome(getattr(operators, name), arguments), traced]


def outcome(operator: Callable[..., Any], arguments: list[Any]) -> str:
    """The first line of the error of a call, or `returns`."""
    try:
        operator(*arguments)
    except Exception as error:
        return str(error).partition("\n")[0]
    return "returns"


def in_a_copy(module: str, call: str) -> list[str]:
    """The outcomes in a copy of the process, or `crash`."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        os.write(writing, json.dumps(outcomes(module, call)).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as told:
        text = told.read()
    _, status = os.waitpid(process, 0)
    found: list[str] = json.loads(text) if status == 0 else ["crash", ""]
    return found


def main(module: str, path: str, shared: str = "") -> None:
    """Make the calls of a library."""
    torch.set_num_threads(1)
    # Refused traces are expected, and their tracebacks take longer than the calls.
    logging.disable(logging.ERROR)
    if shared:
        torch.ops.load_library(shared)
    else:
        importlib.import_module(module)
    with open(path) as file:
        calls = yaml.safe_load(file)[module]
    print(json.dumps([in_a_copy(module, call) for call, _ in calls]))


if __name__ == "__main__":
    main(*sys.argv[1:])
