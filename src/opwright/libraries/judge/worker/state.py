"""What a process has set for all that runs in it."""

from __future__ import annotations

import ctypes
import gc
import locale
import os
import re
import resource
import signal
import sys
import threading
from importlib import import_module
from typing import Any, Final

from .protocol import JsonMessage, Torch

#: Kernels of PyTorch's own operators that programs in Python replace. PyTorch adds those for other keys when it needs
#: them.
_OF_PYTORCH: Final = re.compile(r"aten/.*/(CPU|AutogradCPU)")
#: Modules of Python whose functions others call.
_MODULES: Final = (
    *("builtins", "copy", "ctypes", "functools", "gc", "importlib", "inspect", "io", "json", "math", "mmap", "os"),
    *("pickle", "random", "signal", "socket", "struct", "subprocess", "sys", "threading", "time", "traceback"),
)
#: What statements call.
_STATEMENTS: Final = ("__import__", "__build_class__")
#: Names in classes that are no functions, and those that PyTorch's compiler replaces once it is imported.
_CHANGING: Final = ("__dict__", "__weakref__", "torch.nn.Module.__init__", "torch.nn.Module.__setstate__")


def state(torch: Torch) -> JsonMessage:
    """What the process has set for all."""
    handlers = {number: signal.getsignal(number) for number in (1, 2, 6, 8, 11, 14, 15)}
    small = ctypes.c_float(1e-40)
    modes = import_module("torch.overrides")._get_current_function_mode_stack()
    modes += import_module("torch.utils._python_dispatch")._get_current_dispatch_mode_stack()
    sums = [first + second for first, second in ((0.1, 0.2), (-0.1, -0.2), (0.1, 0.7), (-0.1, -0.7))]
    return {
        "the default dtype": str(torch.get_default_dtype()),
        "the number of threads": torch.get_num_threads(),
        "the grad mode": torch.is_grad_enabled(),
        "the use of deterministic algorithms": torch.are_deterministic_algorithms_enabled(),
        "PyTorch's random numbers": hash(torch.default_generator.get_state().numpy().tobytes()),
        "Python's random numbers": hash(str(import_module("random").getstate())),
        "the working folder": os.getcwd(),
        "the handlers of signals": str(handlers),
        "the treatment of denormal numbers": float((torch.tensor([small.value]) * 1).item()),
        "the precision of matrix products": torch.get_float32_matmul_precision(),
        "the limit of recursion": sys.getrecursionlimit(),
        "the turns of threads": sys.getswitchinterval(),
        "tracing": str((sys.gettrace(), sys.getprofile(), threading.gettrace(), threading.getprofile())),
        "the rounding of numbers": str([number.hex() for number in sums]),
        "what finds modules": str([name for finder in sys.meta_path if (name := _home_of(finder)) == "candidate"]),
        "modes of PyTorch": str([type(mode).__name__ for mode in modes]),
        "autocast": str([torch.is_autocast_enabled(kind) for kind in ("cpu", "cuda")]),
        "the detection of anomalies": str((torch.is_anomaly_enabled(), torch.is_inference_mode_enabled())),
        "kernels of PyTorch": sorted([name for name in torch.library._impls if _OF_PYTORCH.fullmatch(name)]),
        "the collection of garbage": str((gc.isenabled(), gc.get_threshold(), gc.get_freeze_count())),
        "hooks of Python": str([id(hook) for hook in (sys.excepthook, sys.unraisablehook, sys.displayhook)]),
        "the standard streams": str([_facts_of_file(number) for number in range(3)]),
        "limits of the process": str([resource.getrlimit(number) for number in range(16)]),
        "the priority of the process": str((os.getpriority(os.PRIO_PROCESS, 0), os.sched_getaffinity(0))),
        "the mask of new files": _mask(),
        "timers": str([signal.getitimer(number)[0] > 0 for number in range(3)]),
        "the locale": locale.setlocale(locale.LC_ALL),
        **_numpy_state(),
        "environment": dict(os.environ),
        "functions": _functions(torch),
    }


def _functions(torch: Torch) -> dict[str, int]:
    """The identities of functions that others call."""
    homes = {
        "torch": torch,
        "torch.Tensor": torch.Tensor,
        "torch.nn.functional": torch.nn.functional,
        "torch.linalg": torch.linalg,
        "torch.testing": torch.testing,
        "torch.autograd": torch.autograd,
        "torch.cuda": torch.cuda,
        "torch.random": torch.random,
        "torch.nn.Module": torch.nn.Module,
        "torch.library": torch.library,
    }
    homes |= {name: import_module(name) for name in _MODULES}
    home_of_torch = os.path.dirname(torch.__file__)
    identities = {
        f"{home}.{name}": id(_original(value, home_of_torch))
        for home, holder in homes.items()
        for name, value in _members(holder).items()
    }
    return {name: identity for name, identity in identities.items() if not name.endswith(_CHANGING)}


def _original(value: Any, home: str) -> Any:  # noqa: ANN401
    """A function, or the one that code of PyTorch wraps, as its compiler does once it is imported."""
    home_of_code = getattr(getattr(value, "__code__", None), "co_filename", "")
    wrapped = getattr(value, "__wrapped__", None) if home_of_code.startswith(home) else None
    return value if wrapped is None else wrapped


def _members(holder: Any) -> dict[str, Any]:  # noqa: ANN401
    """The functions of a module, or of a class with those that it inherits."""
    if isinstance(holder, type):
        return {name: value for base in reversed(holder.__mro__) for name, value in list(vars(base).items())}
    return {
        name: value
        for name, value in list(vars(holder).items())
        if callable(value) and (name in _STATEMENTS or not name.startswith("__"))
    }


def _home_of(value: Any) -> object:  # noqa: ANN401
    """The module of a class, or of that of an object."""
    return getattr(value if isinstance(value, type) else type(value), "__module__", "")


def _facts_of_file(number: int) -> object:
    try:
        facts = os.fstat(number)
    except OSError as error:
        return error.strerror
    return facts.st_dev, facts.st_ino


def _mask() -> int:
    mask = os.umask(0o77)
    os.umask(mask)
    return mask


def _numpy_state() -> JsonMessage:
    """What NumPy has set, if it is here."""
    numpy: Any = sys.modules.get("numpy")
    if numpy is None:
        return {}
    return {
        "NumPy's random numbers": hash(str(numpy.random.get_state())),
        "NumPy's treatment of errors": str(numpy.geterr()),
    }
