"""Proves which declared outputs do what the kernels for Meta of a library do: a process runs both on samples."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Final

from opwright.libraries.importing.process import answer_of

#: What the process runs: it calls operators with tensors on the device meta, of which kernels read only the shapes.
#: An operator counts as proven if at least eight calls with three shapes and two dtypes have results that one form
#: explains in all of them: `like`, `broadcast`, or the sizes of an argument.
_PROGRAM: Final = """
import importlib, itertools, json, random, sys
import torch
for name in sys.argv[2:]:
    importlib.import_module(name)
chosen = random.Random(0)
dtypes = (torch.float32, torch.float64, torch.float16, torch.int64)

def tensor(shape, dtype):
    made = torch.empty(shape, dtype=dtype, device="meta")
    return made.transpose(0, -1) if chosen.random() < 0.4 and made.dim() > 1 else made

def sample(argument, shapes, dtype):
    if argument.has_default_value() and chosen.random() < 0.5:
        return argument.default_value
    text = str(argument.type)
    if text.startswith("Optional[") and chosen.random() < 0.5:
        return None
    text = text.removeprefix("Optional[").rstrip("]") if text.startswith("Optional[") else text
    if text == "Tensor":
        return tensor(next(shapes), dtype if chosen.random() < 0.7 else chosen.choice(dtypes))
    values = {"int": chosen.randint(0, 3), "SymInt": chosen.randint(0, 3), "float": 0.5, "bool": chosen.random() < 0.5,
              "number": 2, "Scalar": 2, "str": "sum"}
    return values[text]

def shapes_of():
    base = [chosen.randint(2, 6) for _ in range(chosen.randint(1, 3))]
    kind = chosen.randint(0, 3)
    while True:
        if kind < 2:
            yield base
        elif kind == 2:
            yield [1 if chosen.random() < 0.3 else size for size in base][chosen.randint(0, len(base) - 1):]
        else:
            yield [chosen.randint(2, 6) for _ in base]

def candidates(named, result):
    for name, given in named:
        if given.dtype == result.dtype and given.shape == result.shape:
            if torch.empty_like(given).stride() == result.stride():
                yield f"like({name})"
            if torch.empty(given.shape, device="meta").stride() == result.stride():
                yield "{size: %s.sizes(), dtype: %s.dtype}" % (name, name)
    for count in range(2, 4):
        for pairs in itertools.combinations(named, count):
            try:
                shape = torch.broadcast_shapes(*[given.shape for _, given in pairs])
            except RuntimeError:
                continue
            dtype = pairs[0][1].dtype
            for _, given in pairs[1:]:
                dtype = torch.promote_types(dtype, given.dtype)
            if shape == result.shape and dtype == result.dtype and result.is_contiguous():
                yield f"broadcast({', '.join(name for name, _ in pairs)})"

def proven(overload):
    forms, shapes, kinds, calls = None, set(), set(), 0
    for _ in range(200):
        stream = shapes_of()
        dtype = chosen.choice(dtypes)
        try:
            values = {argument.name: sample(argument, stream, dtype) for argument in overload._schema.arguments}
            positional = [values[own.name] for own in overload._schema.arguments if not own.kwarg_only]
            keywords = {own.name: values[own.name] for own in overload._schema.arguments if own.kwarg_only}
            results = overload(*positional, **keywords)
        except KeyError:
            return None
        except Exception:
            continue
        results = results if isinstance(results, tuple) else (results,)
        if not all(isinstance(result, torch.Tensor) for result in results):
            return None
        optional = {own.name for own in overload._schema.arguments if str(own.type).startswith("Optional")}
        named = [(name, own) for name, own in values.items() if isinstance(own, torch.Tensor) and name not in optional]
        own = [list(candidates(named, result)) for result in results]
        forms = own if forms is None else [[form for form in old if form in new] for old, new in zip(forms, own)]
        shapes.update(tuple(value.shape) for _, value in named)
        kinds.update(value.dtype for _, value in named)
        calls += 1
    if forms and all(forms) and calls >= 8 and len(shapes) > 2 and len(kinds) > 1:
        picked = [old[0] for old in forms]
        return picked[0] if len(picked) == 1 else f"[{', '.join(picked)}]"

answers = {}
for name in json.loads(sys.argv[1]):
    space, _, base = name.partition("::")
    operation, _, overload = base.partition(".")
    try:
        found = getattr(getattr(getattr(torch.ops, space), operation), overload or "default")
    except AttributeError:
        continue
    if not any(argument.alias_info is not None for argument in found._schema.arguments):
        answers[name] = proven(found)
print("\\nopwright import:", json.dumps({name: form for name, form in answers.items() if form}))
"""

_FORM_OF_ONE: Final = r"(?:like\(\w+\)|broadcast\(\w+(?:, \w+)+\)|\{size: \w+\.sizes\(\), dtype: \w+\.dtype\})"
#: What the program says of an operator.
_FORM: Final = re.compile(rf"{_FORM_OF_ONE}|\[{_FORM_OF_ONE}(?:, {_FORM_OF_ONE})*\]")


def proven_outputs(modules: Sequence[str], operators: Sequence[str]) -> dict[str, str]:
    """What `outputs` can say of operators, by their names, where kernels for Meta say the same of all samples.

    This runs the code of the modules, in a process of its own. Raises Fault if they cannot be imported.
    """
    answer = answer_of(_PROGRAM, json.dumps(operators), modules)
    forms = answer.items() if isinstance(answer, dict) else ()
    # The modules share the output of the process: only the forms that the program knows become YAML.
    return {name: form for name, form in forms if isinstance(form, str) and _FORM.fullmatch(form)}
