"""Kernels in Python and in C++ stand behind the same checks: generated code refuses the same calls for both."""

from __future__ import annotations

import random
import re
from itertools import product
from pathlib import Path
from types import ModuleType

import pytest

from tests.library.conftest import generated_code, loaded_operators, source_of_abi
from tests.library.required.test_required import CALLING_OTHERS, called, calls, mutated, outcome, overload

OWN = Path(__file__).parent / "required"

KERNELS = "tests.library.required.in_python"

_ENTRY = re.compile(r"^- func: ([\w.]+)\((?:.|\n(?!- ))*", re.MULTILINE)
_KERNEL = re.compile(r"^  dispatch: \{CPU: \w+\}$", re.MULTILINE)
_CHECKS = re.compile(r"^namespace opwright_checks \{\n(.*?)^\} // namespace opwright_checks$", re.MULTILINE | re.DOTALL)


def in_python(text: str) -> str:
    """A library file whose kernels for the CPU are functions in Python."""

    def changed(entry: re.Match[str]) -> str:
        if entry[1] == "both_of":
            # With the stable interface, C++ calls no function that returns values of different types.
            return entry[0]
        return _KERNEL.sub(f'  dispatch: {{CPU: {{python: "{KERNELS}:{entry[1].replace(".", "_")}"}}}}', entry[0])

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
        # With the stable interface, a function in Python gets the tensors of the call, which are put in the layout.
        passed = re.compile(rf"::opwright::(?:{layout}|put_in_layout<&::opwright::Concrete::{layout}>)\((\w+)[,)]")
        assert sorted(passed.findall(in_cpp)) == sorted(passed.findall(with_python))


@pytest.fixture(scope="session")
def languages(program: str, torch: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> dict[str, ModuleType]:
    """The operators of the library by its namespace, which says the interface and the language of kernels."""
    operators = {}
    for abi, language in product(("native", "stable"), ("cpp", "python")):
        name = f"required_{abi}_{language}"
        folder = source_of_abi(abi, OWN, tmp_path_factory.mktemp(name), name)
        file = folder / "operators.yaml"
        if language == "python":
            file.write_text(in_python(file.read_text(encoding="utf-8")), encoding="utf-8")
        generated = generated_code(file, tmp_path_factory)
        operators[name] = loaded_operators(program, torch, generated, folder / "kernels.cpp", tmp_path_factory)
    return operators


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
def test_all_languages_refuse_the_same_calls(torch: ModuleType, languages: dict[str, ModuleType]) -> None:
    """Each of 5,000 changed calls has results of the same sizes, or is refused with the same words."""
    different, refused, count, skipped = [], set(), 0, 0
    makers = calls(torch)
    for name, make in makers.items():
        chance = random.Random(name)
        for _ in range(-(-5000 // len(makers))):
            seed, outcomes = chance.getrandbits(32), []
            for namespace, operators in languages.items():
                own, arguments = random.Random(seed), make()
                for _ in range(own.choice([1, 1, 2])):
                    place = own.randrange(len(arguments))
                    arguments[place] = mutated(torch, own, arguments[place])
                outcome_of = outcome(called(overload(operators, name)), arguments)
                outcomes.append(outcome_of.replace(namespace, "") if isinstance(outcome_of, str) else outcome_of)
            count += 1
            first, *others = outcomes
            if "memory" in str(outcomes) and (name in CALLING_OTHERS or "meta" in str(arguments)):
                # What these overloads call says which tensors share memory. Tensors without memory are looked at in
                # traces alone.
                skipped += 1
                continue
            if isinstance(first, str):
                refused.add(first)
            if any(other != first for other in others):
                different.append((name, arguments, outcomes))
    assert different == [], f"{len(different)} of {count}:\n" + "\n".join(map(str, different[:20]))
    assert count >= 5000
    assert skipped < count // 100
    assert len(refused) > 100
