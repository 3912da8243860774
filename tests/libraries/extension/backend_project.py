"""The files that the project of `opwright new backend` shares with the example of a backend.

The example's files are the originals. `python -m tests.libraries.extension.backend_project` copies them into the
project, with names in place of the example's.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "examples" / "backend"
PROJECT = ROOT / "src" / "opwright" / "libraries" / "extension" / "projects" / "backend"

SHARED = (
    "csrc/library.cpp",
    "csrc/runtime/*",
    "csrc/kernels/host.h",
    "csrc/kernels/loops.h",
    "csrc/kernels/tensors.cpp",
    "torch_acme/amp.py",
    "torch_acme/compile.py",
    "torch_acme/device.py",
    "torch_acme/distributed.py",
    "torch_acme/exchange.py",
    "torch_acme/random.py",
    "tests/conftest.py",
    "tests/skips.py",
    "tests/test_device.py",
    "tests/test_features.py",
    "tests/test_mixed_devices.py",
    "tests/test_models.py",
    "tests/test_opinfo.py",
    "tests/test_opinfo_devices.py",
    "tests/test_platform.py",
    "tests/test_processes.py",
    "tests/test_random_numbers.py",
    "tests/test_upstream.py",
    "tests/upstream.py",
    "tests/upstream_processes.py",
    "tests/upstream_worker.py",
)


def shared_files() -> Iterator[tuple[Path, str]]:
    """The path and the text of each shared file of the project."""
    for pattern in SHARED:
        for path in sorted(EXAMPLE.glob(pattern)):
            inner = with_names(path.relative_to(EXAMPLE).as_posix())
            yield PROJECT / f"{inner}.in", with_names(path.read_text(encoding="utf-8"))


def with_names(text: str) -> str:
    """A text of the example, with names that projects replace."""
    return text.replace("acme", "@device@").replace("Acme", "@display@")


if __name__ == "__main__":
    for path, text in shared_files():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
