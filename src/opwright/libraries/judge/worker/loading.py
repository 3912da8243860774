"""The candidate: a function, or an operator."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from typing import Any, Final

from .protocol import JsonMessage, Torch


class LoadedCandidate:
    """What is called, once it is loaded."""

    def __init__(self, torch: Torch) -> None:
        self._torch: Final = torch
        self.function: Callable[..., Any] = _missing
        #: How many results the operator has.
        self.returns = 1

    def load(self, message: JsonMessage) -> JsonMessage:
        """Load a candidate: a file of Python, a shared object, or a module. It is an operator, or a function."""
        self.returns = message["returns"]
        if message.get("clock"):
            _change_clock(message["clock"])
        path, function = message["path"], message["function"]
        module: Any = None
        if message["kind"] == "module":
            sys.path += filter(None, [message["folder"]])
            module = import_module(path)
        elif message["libraries"]:
            for library in message["libraries"]:
                self._torch.ops.load_library(library)
                # What `opwright.inline` builds registers its operators when it is asked to.
                register = getattr(ctypes.CDLL(library), "opwright_register", None)
                if register is not None:
                    register.restype = ctypes.c_char_p
                    if fault := register(1):
                        raise ImportError(fault.decode("utf-8", "replace"))
            if message["package"]:
                self._execute("candidate", message["package"], os.path.dirname(message["package"]))
        else:
            module = self._execute("candidate", path)
        for name in () if function else (message["operator"],):
            namespace, _, operator = name.partition("::")
            packet, _, overload = operator.partition(".")
            overloads = getattr(getattr(self._torch.ops, namespace), packet, None)
            chosen = None if overloads is None else getattr(overloads, overload or "default", None)
            if chosen is not None:
                self.function = chosen
                return {"form": "operator", "schema": str(chosen._schema)}
        if module is None and "::" in function:
            namespace, _, operator = function.partition("::")
            named: Any = getattr(getattr(self._torch.ops, namespace), operator).default
            self.function = named
            return {"form": "operator", "schema": str(named._schema)}
        names = [function] if function else message["names"]
        for name in names:
            value = getattr(module, name, None)
            if callable(value):
                self.function = value
                return {"form": "function", "name": name}
        return {"missing": names}

    def _execute(self, name: str, path: str, *folders: str) -> Any:  # noqa: ANN401
        spec = spec_from_file_location(name, path, submodule_search_locations=list(folders) or None)
        assert spec is not None
        assert spec.loader is not None
        module = module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        return module


def _missing(*_: object, **__: object) -> Any:  # noqa: ANN401
    raise RuntimeError("no candidate is loaded")


def _change_clock(days: int) -> None:
    """Let Python's clock be some days ahead, and forget variables of the environment that programs do not need."""
    clock: Any = import_module("time")
    dates: Any = import_module("datetime")
    seconds, real = days * 86400, clock.time
    clock.time = lambda: real() + seconds
    clock.time_ns = lambda: int(clock.time() * 1e9)

    def now(cls: Any, tz: Any = None) -> Any:  # noqa: ANN401
        return cls.fromtimestamp(clock.time(), tz)

    def today(cls: Any) -> Any:  # noqa: ANN401
        return cls.fromtimestamp(clock.time())

    moved = {"now": classmethod(now), "today": classmethod(today), "utcnow": classmethod(now)}
    dates.datetime = type("datetime", (dates.datetime,), moved)
    dates.date = type("date", (dates.date,), {"today": classmethod(today)})
    needed = ("PATH", "LD_", "HOME", "TMPDIR", "LANG", "LC_", "TRITON", "NUMBA", "CUDA", "OMP_", "MKL_")
    for name in [name for name in os.environ if not name.startswith(needed)]:
        del os.environ[name]
