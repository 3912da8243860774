"""Runs the checks of a module in a process with a backend: `python -m tests.backend.checks LIBRARY MODULE`.

It prints one line of JSON for each function `check_...` of the module: its name, and the traceback if it fails.
"""

from __future__ import annotations

import json
import sys
import traceback
import types
from importlib import import_module

import torch

__all__ = ["ACME", "calls"]

ACME = "acme"
"""The name of the device."""


def load_device(library: str) -> None:
    """Load a backend and give its device a name."""
    torch.ops.load_library(library)
    torch.utils.rename_privateuse1_backend(ACME)
    module = types.ModuleType(f"torch.{ACME}")
    module.is_available = module.is_initialized = lambda: True  # type: ignore[attr-defined]
    module.get_rng_state = lambda *_: torch.get_rng_state()  # type: ignore[attr-defined]
    module.set_rng_state = lambda state, *_: torch.set_rng_state(state)  # type: ignore[attr-defined]
    module.device_count = lambda: 2  # type: ignore[attr-defined]
    module.current_device = torch.ops.test_device.current_device  # type: ignore[attr-defined]
    module._is_in_bad_fork = lambda: False  # type: ignore[attr-defined]
    module.manual_seed_all = lambda _: None  # type: ignore[attr-defined]
    torch._register_device_module(ACME, module)


def calls() -> list[str]:
    """The kernels that ran since the last call, each with the device that was current."""
    noted: list[str] = torch.ops.acme_test.take_calls()
    return noted


def main(library: str, module: str) -> None:
    """Run all checks."""
    load_device(library)
    for name, check in list(vars(import_module(module)).items()):
        if name.startswith("check_"):
            failure = ""
            try:
                torch.ops.acme_test.take_calls()
                check()
            except Exception:
                failure = traceback.format_exc()
            print(json.dumps([name, failure]), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
