"""A program that runs one side on many inputs: `both_sides.py SIDE`, with a task in JSON on each line of its input.

A task names a folder of inputs, an output folder and flags. Each of a side's programs runs in a copy of this process
that has imported everything already: that costs little, and no state passes from one run to the next. The answer to a
task is a line of JSON with the exit status of each program and what it said.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import pkgutil
import sys
import tempfile
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import ModuleType
from typing import TypedDict


class Task(TypedDict):
    """Where inputs are and outputs go, and the flags of the main program."""

    inputs: str
    output: str
    flags: list[str]


Program = Callable[[Sequence[str], Sequence[str]], object]
Programs = Mapping[str, Program]

FOLDERS = ("--install-dir", "aten", "--aoti-install-dir", "aoti", "--headeronly-install-dir", "headeronly")


def reference_programs() -> Programs:
    """The reference's programs by name; each takes the flags of the main program and the paths of the others."""
    from torchgen import gen, gen_aoti_c_shim
    from torchgen.aoti import fallback_ops
    from torchgen.packaged.autograd import gen_annotated_fn_args, gen_autograd
    from torchgen.selective_build.selector import SelectiveBuilder

    def run_main(flags: Sequence[str], _: Sequence[str]) -> None:
        sys.argv = ["gen.py", *flags]
        # The tables are code of the reference, and an input to us.
        importlib.reload(fallback_ops)
        importlib.reload(gen_aoti_c_shim)
        gen.main()

    nothing_left_out = SelectiveBuilder.get_nop_selector()
    return {
        "aten": started_as(gen, run_main),
        "autograd": started_as(gen_autograd, lambda _, paths: gen_autograd.gen_autograd(*paths, nothing_left_out)),
        "python": started_as(gen_autograd, lambda _, paths: gen_autograd.gen_autograd_python(*paths)),
        "annotated": started_as(gen_annotated_fn_args, lambda _, paths: gen_annotated_fn_args.gen_annotated(*paths)),
    }


def started_as(module: ModuleType, program: Program) -> Program:
    """The program as if its module had been started: the reference writes that script's name into files."""
    import __main__

    def run(flags: Sequence[str], paths: Sequence[str]) -> object:
        __main__.__file__ = module.__file__ or ""
        return program(flags, paths)

    return run


def opwright_programs() -> Programs:
    """Opwright's programs that take the place of those."""
    from opwright.torchgen import gen, gen_annotated_fn_args, gen_autograd, gen_autograd_python

    return {
        "aten": lambda flags, _: gen.main(flags),
        "autograd": lambda _, paths: gen_autograd.main(paths),
        "python": lambda _, paths: gen_autograd_python.main(paths),
        "annotated": lambda _, paths: gen_annotated_fn_args.main(paths),
    }


def import_all(package: str) -> None:
    """Import all modules of a package, so that copies of this process need not."""
    for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)


def run_copy(program: Callable[[], object]) -> tuple[int, str]:
    """Run `program` in a copy of this process; its exit status and what it says."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as said:
        child = os.fork()
        if not child:
            status = 1
            try:
                os.dup2(said.fileno(), 1)
                os.dup2(said.fileno(), 2)
                status = int(str(program() or 0))
            except BaseException:
                traceback.print_exc()
            finally:
                with contextlib.suppress(ValueError):
                    sys.stdout.flush()
                    sys.stderr.flush()
                os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        said.seek(0)
        return status, said.read()


def run_task(programs: Programs, task: Task) -> dict[str, tuple[int, str]]:
    """Run every program of a side on the inputs of `task`; how each of them ended, by name.

    Each writes into a folder of its own name.
    """
    packaged, endings = task["inputs"], {}
    native = f"{packaged}/ATen/native"
    for name, program in programs.items():
        os.makedirs(f"{task['output']}/{name}")
        os.chdir(f"{task['output']}/{name}")
        flags = ["--source-path", f"{packaged}/ATen", *FOLDERS, *task["flags"]]
        paths = [f"{native}/native_functions.yaml", f"{native}/tags.yaml", "out", f"{packaged}/autograd"]
        endings[name] = run_copy(partial(program, flags, paths))
    return endings


def main() -> None:
    """Run all tasks, and answer each with a line that tells how its programs ended."""
    if sys.argv[1] == "reference":
        programs = reference_programs()
    else:
        import_all("opwright")
        programs = opwright_programs()
    answers = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        print(json.dumps(run_task(programs, json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    main()
