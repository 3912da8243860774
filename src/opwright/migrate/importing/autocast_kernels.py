"""Finds kernels for autocast that do what a policy says: they cast all tensors, call the operator, and no more."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Final

from opwright.libraries.entry_fields import CAST_BACK
from opwright.source.records import NamedTuple
from opwright.syntax.cpp_functions import Statement, divide_template, statements, template_end, typed_parameters
from opwright.syntax.cpp_source import CppSource
from opwright.syntax.cpp_tokens import Token, arguments, closing_index, cpp_tokens, text_of

#: What a kernel names in its registration: a function, perhaps with the arguments of a template.
_NAMED: Final = re.compile(r"(?:(?:TORCH_FN|TORCH_BOX)?\()*&?((?:\w+::)*\w+)(?:<([^()]*)>)?\)*")
_BODY: Final = re.compile(
    r"c10::impl::ExcludeDispatchKeyGuard \w+\((?:c10::|at::)?DispatchKey::(?P<key>\w+)\);"
    r"return (?P<callee>(?:\w+::)*\w+)\((?P<given>.*?)\)(?:\.to\((?P<back>\w+)\.scalar_type\(\)\))?;"
)
_CAST: Final = re.compile(
    r"(?:at::)?autocast::cached_cast\((?P<dtype>.+?), (?P<name>\w+)"
    r"(?:, (?:c10::|at::)?(?:DeviceType::|k)(?P<device>\w+))?\)"
)
_LOWER: Final = re.compile(
    r"(?:at::)?autocast::get_(?:autocast_gpu_dtype\(\)|(?:autocast_dtype|lower_precision_fp_from_device_type)\([^()]*\))"
)
#: The device of the older name of a key, and of functions that name none.
_CUDA: Final = "CUDA"


class ReadPolicy(NamedTuple):
    """The policy of a kernel, and the function that it calls with as many parameters."""

    policy: str
    callee: str
    parameters: int


def casting_functions(source: CppSource) -> Iterator[tuple[str, Statement]]:
    """The functions of a source that cast tensors for autocast, with their names."""
    for statement in statements(source):
        opening = _opening(statement.head)
        if opening and any(token.text == "cached_cast" for token in statement.body):
            yield statement.head[opening - 1].text, statement


def named_function(kernel: Sequence[Token]) -> tuple[str, list[str]]:
    """The function that an argument passes, and the arguments of its template; an empty name for anything else."""
    match = _NAMED.fullmatch(text_of(kernel))
    if match is None:
        return "", []
    return match[1].rpartition("::")[2], [part.strip() for part in divide_template(match[2])] if match[2] else []


def read_policy(function: Statement, given: Sequence[str], key: str) -> ReadPolicy | None:
    """What a function with these arguments of its template does for a key; None if no policy does the same."""
    head, body = function.head, text_of(function.body)
    opening = _opening(head)
    parameters = typed_parameters(head, opening)
    words = [token.text for token in head[2 : template_end(head)]]
    names = [name for name, after in itertools.pairwise([*words, ","]) if after == ","]
    if len(names) != len(given):
        return None
    for name, value in zip(names, given, strict=True):
        body = re.sub(rf"\b{name}\b", lambda _, value=value: value, body)  # type: ignore[misc]
    match, device = _BODY.fullmatch(body), key.removeprefix("Autocast")
    if match is None or (match["key"].removeprefix("Autocast") or _CUDA) != device:
        return None
    call = [*cpp_tokens(f"({match['given']})")]
    passed = list(map(text_of, arguments(call, 0)))
    dtypes: set[str] = set()
    if closing_index(call, 0) != len(call) - 1 or len(passed) != len(parameters):
        return None
    for (type, name), text in zip(parameters, passed, strict=True):
        cast = _CAST.fullmatch(text)
        if "Tensor" not in type and text == name:
            continue
        if cast is None or cast["name"] != name or (cast["device"] or _CUDA) != device:
            return None
        dtypes.add("fp32" if cast["dtype"] in ("at::kFloat", "torch::kFloat") else cast["dtype"])
    (dtype,) = dtypes if len(dtypes) == 1 else ("",)
    if match["back"] is None:
        policy = "lower_precision_fp" if _LOWER.fullmatch(dtype) else dtype
    else:
        policy = CAST_BACK if dtype == "fp32" and match["back"] == parameters[0][1] else ""
    is_known = policy in ("fp32", "lower_precision_fp", CAST_BACK)
    return ReadPolicy(policy, match["callee"], len(parameters)) if is_known else None


def _opening(head: Sequence[Token]) -> int:
    """Where the parameters of a function begin; 0 for another statement."""
    return next((index for index in range(template_end(head), len(head)) if head[index].text == "("), 0)
