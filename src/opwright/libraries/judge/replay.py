"""Scripts that replay a finding without Opwright: five lines of Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from opwright.libraries.emit.python.references import unread_arguments
from opwright.libraries.entry_fields import library_fields
from opwright.libraries.judge.drawing import Case
from opwright.libraries.judge.entry import JudgedEntry

#: What a script is told of a call, and a worker is not: the call before, and one at the same time.
OF_SCRIPTS: Final = ("after", "kept", "beside", "step", "stopped")
#: How often two threads call the candidate, in how many turns.
_TIMES, _TURNS = 300, 20
_MAP: Final = "torch.utils._pytree.tree_map"
_STORAGES: Final = f"{_MAP}(lambda value: value.untyped_storage().fill_(91) if torch.is_tensor(value) else None"
_TENSORS: Final = "lambda old, new: old.copy_(new) if torch.is_tensor(old) else None"


def replay_script(
    entry: JudgedEntry, case: Case, candidate: str, folders: Sequence[str], what: Mapping[str, object]
) -> str:
    """Five lines that replay a call without Opwright. `candidate` is the line that loads one; `what` says how it is
    called.
    """
    reference = library_fields(entry.function).reference
    assert reference is not None
    if isinstance(stopped := what.get("stopped"), Case):
        # The results of the second call are wrong.
        case, what = stopped, {**what, "beside": case}
    module, _, function = reference.path.partition(":")
    other = next((each for name in OF_SCRIPTS if isinstance(each := what.get(name), Case)), None)
    before = what.get("after")
    others = [other] if other is not None else before if isinstance(before, list) else []
    names = f"arguments{'' if not others else ', others' if other is not None else ', *others'} = "
    texts = ", ".join([f"lambda: {_arguments(each)}" for each in (case, *others)])
    result = "candidate(*given, **named)"
    writes = bool(entry.function.arguments.writes)
    shown = f"{result}, given, named" if writes else result
    right = f"reference({_read(entry)})"
    settings, ending = _settings(what.get("settings"))
    given = "given, named = arguments(); "
    ending += f"{given}print({right})"
    match other, what:
        case None, {"settings": {"other": True}}:
            called = f"{given}pool.submit(lambda: print({shown})).result()"
        case None, _ if others:
            renewed = f"{_MAP}({_TENSORS}, (given, named), make())"
            called = f"{given}results = [{result} for make in (*others, arguments) if {renewed}]; "
            called += "print(results[-1], given, named)" if writes else "print(results[-1])"
        case None, {"late": True}:
            called = f"{given}result = {result}; {_STORAGES}, (given, named)); print(result)"
            called = f"{given}print({shown})" if writes else called
        case None, {"before": int(count)} if count:
            called = f"[{result} for given, named in [arguments()] for _ in range({count})]; {given}print({shown})"
        case None, _:
            called = f"{given}print({shown})"
        case _, {"kept": Case()}:
            called = f"results = [{result} for _ in range({_TURNS}) for given, named in (arguments(), others())]"
            called += "; print(results[0])"
        case _, {"step": int(step)}:
            called = "stopped, goes_on, steps = threading.Event(), threading.Event(), iter(range(1, 1 << 30)); "
            called += f"trace = lambda *_: (next(steps) == {step} and (stopped.set(), goes_on.wait(1)), trace)[1]; "
            run = f"lambda given, named: (sys.settrace(trace), print({shown}), stopped.set())"
            called += f"first = pool.submit({run}, *arguments()); stopped.wait(9); "
            called += f"second = pool.submit(lambda given, named: print({shown}), *others()); "
            called += "concurrent.futures.wait([second], 1); goes_on.set(); first.result(); second.result()"
        case _:
            run = f"run = lambda make: [({shown}) for given, named in [make() for _ in range({_TIMES})]]; "
            called = f"sys.setswitchinterval(1e-5); {run}print(*{{str(result) for _ in range({_TURNS}) "
            called += "for results in pool.map(run, (arguments, others)) for result in results}, sep='\\n')"
    if "beside" in what:
        ending = f"[print({right}) for given, named in (arguments(), others())]"
    modules = "importlib, sys, torch"
    if "pool." in called:
        modules = f"concurrent.futures, threading, {modules}"
        called = f"pool = concurrent.futures.ThreadPoolExecutor(2); {called}"
    lines = [
        f"import {modules}",
        f"sys.path[:0] = {list(folders)!r}; reference = importlib.import_module({module!r}).{function}",
        candidate,
        f"{names}{texts}",
        f"{settings}{called}; {ending}",
    ]
    return "\n".join(lines)


def _read(entry: JudgedEntry) -> str:
    """The arguments of a reference: it does not get those that are results alone."""
    unread = unread_arguments(entry.function)
    places = [place for place, each in enumerate(entry.function.arguments.positional) if each.name in unread]
    if not unread:
        return "*given, **named"
    given = f"*[value for place, value in enumerate(given) if place not in {places!r}]"
    return f"{given}, **{{name: value for name, value in named.items() if name not in {sorted(unread)!r}}}"


def _settings(settings: object) -> tuple[str, str]:
    """What sets the process so, and what sets it back."""
    match settings:
        case {"dtype": str(dtype)}:
            return f"torch.set_default_dtype(torch.{dtype}); ", "torch.set_default_dtype(torch.float32); "
        case {"threads": int(number)}:
            return f"torch.set_num_threads({number}); ", ""
        case {"inference": True}:
            return "mode = torch.inference_mode(); mode.__enter__(); ", ""
        case {"poison": int(byte)}:
            return f"import ctypes; ctypes.CDLL(None).mallopt(-6, {byte}); ", ""
    return "", ""


def _arguments(case: Case) -> str:
    """An expression of the arguments of a call: those by place, and those by name."""
    given, of_author, _ = case.script.partition("  # after torch.manual_seed(")
    call = f"(lambda *given, **named: (given, named))({given})"
    if not of_author:
        return call
    call = f"(torch.manual_seed({case.message.get('seed', 0)}), {call})[1]"
    if not case.message.get("dtype"):
        return call
    change = (
        f"value.to(torch.{case.message['dtype']}) if torch.is_tensor(value) and value.is_floating_point() else value"
    )
    return f"{_MAP}(lambda value: {change}, {call})"
