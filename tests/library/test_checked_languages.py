"""Kernels in Python and in C++ stand behind the same checks: generated code refuses the same calls for both."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.library.conftest import generated_code, source_of_abi

OWN = Path(__file__).parent / "required"

_ENTRY = re.compile(r"^- func: ([\w.]+)\((?:.|\n(?!- ))*", re.MULTILINE)
_KERNEL = re.compile(r"^  dispatch: \{CPU: \w+\}$", re.MULTILINE)
_CHECKS = re.compile(r"^namespace opwright_checks \{\n(.*?)^\} // namespace opwright_checks$", re.MULTILINE | re.DOTALL)


def in_python(text: str) -> str:
    """A library file whose kernels for the CPU are functions in Python."""

    def changed(entry: re.Match[str]) -> str:
        return _KERNEL.sub(f'  dispatch: {{CPU: {{python: "called:{entry[1].replace(".", "_")}"}}}}', entry[0])

    return _ENTRY.sub(changed, text)


@pytest.mark.parametrize("abi", ["native", "stable"])
def test_checks_are_those_of_kernels_in_cpp(abi: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The functions that check calls have the same text, and as many places call each."""
    sources = []
    for is_python in (False, True):
        folder = source_of_abi(abi, OWN, tmp_path_factory.mktemp(f"languages_{abi}_{is_python}"))
        file = folder / "operators.yaml"
        text = file.read_text()
        if is_python:
            assert len(_KERNEL.findall(text)) > 15
            text = in_python(text)
        file.write_text(text)
        generated = generated_code(file, tmp_path_factory)
        sources.append("".join(path.read_text() for path in sorted(generated.glob("src/*/*.cpp"))))
    in_cpp, with_python = sources
    checks = _CHECKS.findall(in_cpp)
    assert len(checks) > 0
    assert _CHECKS.findall(with_python) == checks
    names = re.findall(r"^static inline void (\w+)\(", "".join(checks), re.MULTILINE)
    assert len(names) > 15
    for name in names:
        call = re.compile(rf"::opwright_checks::{name}<")
        assert len(call.findall(in_cpp)) == len(call.findall(with_python)), name
    for layout in ("contiguous", "channels_last", "aligned", "last_contiguous"):
        passed = re.compile(rf"::opwright::{layout}\(\w+\)[,)]")
        assert sorted(passed.findall(in_cpp)) == sorted(passed.findall(with_python))
