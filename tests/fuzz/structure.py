"""Damage to entries as what they are, YAML values and schemas: what a person gets wrong who knows the language."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random
from typing import Any

import yaml

Entry = dict[str, Any]
Change = Callable[[list[Entry], Random], None]

TYPES = (
    "Tensor", "Tensor?", "Tensor[]", "Tensor?[]", "Tensor[]?", "Tensor[2]", "Tensor(a!)", "Tensor(a)", "Tensor(a!)[]",
    "Tensor(a -> *)", "int", "int?", "int[]", "int[2]", "int[1]?", "SymInt", "SymInt?", "SymInt[]", "SymInt[1]?",
    "SymInt[2]", "float", "float?", "float[]?", "bool", "bool?", "bool[3]", "Scalar", "Scalar?", "Scalar[]", "str",
    "str?", "ScalarType", "ScalarType?", "Layout?", "Device?", "MemoryFormat?", "Generator?", "Storage", "Stream",
    "DeviceIndex", "SymBool", "QScheme", "int[][]", "Tensor??",
)  # fmt: skip
DEFAULTS = ("None", "0", "-1", "[]", "[0,1]", "True", "0.5", "1e-05", "long", "Mean", "'a'", '"b"', "{}", "1" * 30)
NAMES = ("self", "other", "out", "dim", "size", "dtype", "layout", "device", "pin_memory", "result", "grad", "a_b", "T")
KEYS = (
    "CPU", "CUDA", "CPU, CUDA", "Meta", "MPS", "SparseCPU", "QuantizedCPU", "CompositeImplicitAutograd",
    "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional", "ZeroTensor", "NestedTensorCPU", "Autograd",
    "AutogradCPU", "CompositeImplicitAutogradNestedTensor",
)  # fmt: skip
VALUES: tuple[object, ...] = (
    True, False, None, 3, 1.5, "", "x", "function", "method", "function, method", "add.out", "core", "at::x", [], {},
    ["x"], {"CPU": "kernel"}, "NoCheck", "NoGuard", "linalg", "nn", "TensorIteratorBase", "add (AllAndComplex)",
    ["dim -> int dim"], "grad", "not_implemented(\"x\")", "non_differentiable", "auto_linear", "result",
)  # fmt: skip
FIELDS = (
    "variants", "dispatch", "autogen", "device_check", "tags", "structured", "structured_delegate", "python_module",
    "structured_inherits", "precomputed", "ufunc_inner_loop", "cpp_no_default_args", "device_guard", "desc",
    "use_const_ref_for_mutable_tensors", "category_override", "manual_kernel_registration", "output_differentiability",
    "self", "other", "result", "name", "aten", "manual_cpp_binding", "operators", "include_all_operators",
)  # fmt: skip

_ARGUMENT = re.compile(r"(?<=[(,])\s*[A-Za-z][^,()]*(?:\([^()]*\)[^,()]*)?(?=[,)])")
_TYPE = re.compile(r"\b(?:Tensor|Scalar|int|SymInt|float|bool|str|ScalarType|Generator)(?:\([^()]*\))?(?:\[\d*\]|\?)*")


def schema_field(entry: Entry) -> str | None:
    """The field of an entry that is a schema, if it has one."""
    return next((field for field in ("func", "name") if isinstance(entry.get(field), str)), None)


def changed_schema(text: str, random: Random) -> str:
    """A schema after one change to its arguments, types, returns or name."""
    match random.randrange(8):
        case 0:
            return _with_argument(text, random)
        case 1:
            return _replaced(_ARGUMENT, text, "", random).replace("(,", "(").replace(",,", ",").replace(",)", ")")
        case 2 | 3:
            return _replaced(_TYPE, text, random.choice(TYPES), random)
        case 4:
            head, arrow, returns = text.rpartition(" -> ")
            count = random.randrange(4)
            made = ", ".join(random.choice((returns.strip("()") or "Tensor", *TYPES[:8])) for _ in range(count))
            return f"{head}{arrow}{made if count == 1 else f'({made})'}"
        case 5:
            return re.sub(r"=[^,)]*", "", text, count=1) if "=" in text else _with_argument(text, random)
        case 6:
            name = re.match(r"[\w.:]*", text)
            assert name is not None
            ending = random.choice(("_", ".out", ".x", "_copy", "_backward", "_functional", ""))
            return f"{name.group().partition('.')[0].rstrip('_')}{ending}{text[name.end() :]}"
        case _:
            return re.sub(r"\(([a-z])!\)", random.choice((r"", r"(\1)", r"(b!)", r"(\1! -> *)")), text, count=1)


def _with_argument(text: str, random: Random) -> str:
    """The schema with one more argument at either end, or before what is passed by name."""
    default = f"={random.choice(DEFAULTS)}" if random.random() < 0.5 else ""
    argument = f"{random.choice(TYPES)} {random.choice(NAMES)}{default}"
    match random.randrange(3):
        case 0:
            return re.sub(r"\((?=\w)", lambda _: f"({argument}, ", text, count=1)
        case 1:
            return text.replace(") ->", f", {argument}) ->", 1)
    return text.replace(", *", f", {argument}, *", 1)


def _replaced(form: re.Pattern[str], text: str, new: str, random: Random) -> str:
    places = list(form.finditer(text))
    if not places:
        return text
    place = random.choice(places)
    return text[: place.start()] + new + text[place.end() :]


def change_schema(entries: list[Entry], random: Random) -> None:
    """Changes one schema."""
    entry = random.choice(entries)
    field = schema_field(entry)
    if field is not None:
        entry[field] = changed_schema(entry[field], random)


def change_schemas_alike(entries: list[Entry], random: Random) -> None:
    """Makes the same change to all schemas, so that a group stays one."""
    seed = random.random()
    for entry in entries:
        field = schema_field(entry)
        if field is not None:
            entry[field] = changed_schema(entry[field], Random(seed))


def set_field(entries: list[Entry], random: Random) -> None:
    """Gives a field some value."""
    random.choice(entries)[random.choice(FIELDS)] = random.choice(VALUES)


def delete_field(entries: list[Entry], random: Random) -> None:
    """Deletes a field."""
    entry = random.choice(entries)
    if entry:
        del entry[random.choice(list(entry))]


def move_field(entries: list[Entry], random: Random) -> None:
    """Copies a field from one entry to another."""
    source, target = random.choice(entries), random.choice(entries)
    if source:
        field = random.choice(list(source))
        target[field] = source[field]


def change_kernels(entries: list[Entry], random: Random) -> None:
    """Adds a kernel under a key, or takes one away."""
    entry = random.choice(entries)
    table = entry.get("dispatch")
    if isinstance(table, dict) and table and random.random() < 0.5:
        del table[random.choice(list(table))]
    else:
        kernel = random.choice(("kernel", "kernel_symint", "other::kernel", "zeros_like"))
        entry["dispatch"] = {**(table if isinstance(table, dict) else {}), random.choice(KEYS): kernel}


def delete_entry(entries: list[Entry], random: Random) -> None:
    """Deletes an entry."""
    if len(entries) > 1:
        del entries[random.randrange(len(entries))]


def repeat_entry(entries: list[Entry], random: Random) -> None:
    """Writes an entry again, with another name."""
    entry = dict(random.choice(entries))
    field = schema_field(entry)
    if field is not None:
        entry[field] = changed_schema(entry[field], random)
    entries.insert(random.randrange(len(entries) + 1), entry)


CHANGES: tuple[Change, ...] = (
    change_schema,
    change_schema,
    change_schemas_alike,
    set_field,
    delete_field,
    move_field,
    change_kernels,
    delete_entry,
    repeat_entry,
)


def _entries_below(root: Entry, random: Random) -> list[Entry]:
    """The mapping itself, or the mappings in one of its lists, such as the operators of a library."""
    lists = [value for value in root.values() if isinstance(value, list) and value]
    inner = [value for value in lists if all(isinstance(item, dict) for item in value)]
    return random.choice(inner) if inner and random.random() < 0.6 else [root]


def changed_entries(text: str, random: Random) -> str | None:
    """A list of mappings after one or two changes; None where the text is no such list."""
    try:
        root = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError:
        # Modules are no YAML, and some cases have mistakes in theirs.
        return None
    entries = _entries_below(root, random) if isinstance(root, dict) else root
    if not isinstance(entries, list) or not entries or not all(isinstance(entry, dict) for entry in entries):
        return None
    for _ in range(random.choice((1, 1, 2))):
        random.choice(CHANGES)(entries, random)
    width = random.choice((40, 120, 10_000))
    return yaml.dump(root, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper), sort_keys=False, width=width)
