"""Inputs made from PyTorch's that the reference still takes: fewer operators, moved ones, more overloads.

Each function takes the texts of the YAML files by path and gives the changed ones. Choices are drawn from digests of
names, so that they are the same in every run and on every machine.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping

NATIVE = "ATen/native/native_functions.yaml"
DERIVATIVES = "autograd/derivatives.yaml"
DEPRECATED = "autograd/deprecated.yaml"
SHIM_TABLES = "torchgen/aoti/fallback_ops.py"

ENTRY = re.compile(r"^- (?:func|name): ", re.MULTILINE)
FUNC = re.compile(r"- func: ([\w:]+)(\.\w+)?\((.*)\) -> ")
FLOAT = re.compile(r"(?<=[( ])float(?=\?? )")
DELEGATE = re.compile(r"^  structured_delegate: (\w+)", re.MULTILINE)
DERIVED = re.compile(r"- name: (\w+)(\.\w+)?\(")
ALIASED = re.compile(r"^  aten: (\w+)\(", re.MULTILINE)


def keep_a_third(texts: Mapping[str, str]) -> dict[str, str]:
    """About a third of the operators, each with everything that the reference wants beside it."""
    head, entries = split_entries(texts[NATIVE])
    leaders = related_names(entries)
    kept = [entry for entry in entries if chance(leaders[base_name(entry)]) < 1 / 3]
    names = {base_name(entry) for entry in kept}
    return {NATIVE: head + "".join(kept), **without_unknown(texts, names)}


def simplify_numbers(texts: Mapping[str, str]) -> dict[str, str]:
    """All operators, with `int` for symbolic integers and `Scalar` for floats, so that more of them are simple.

    The reference tells two overloads of `bernoulli` apart by their floats.
    """
    lines = [
        FLOAT.sub("Scalar", line.replace("SymInt", "int")) if FUNC.match(line) and "bernoulli" not in line else line
        for line in texts[NATIVE].splitlines(keepends=True)
    ]
    return {NATIVE: "".join(lines)}


def move_to_namespace(texts: Mapping[str, str]) -> dict[str, str]:
    """About a tenth of the operators, those that stand alone, under two other namespaces."""
    head, entries = split_entries(texts[NATIVE])
    alone = standing_alone(entries)
    moved = set()
    for position, entry in enumerate(entries):
        name = base_name(entry)
        if name in alone and chance(name) < 0.5:
            namespace = "orchard" if chance(name + "!") < 0.5 else "workshop"
            entries[position] = entry.replace("- func: ", f"- func: {namespace}::", 1)
            moved.add(name)
    kept = {base_name(entry) for entry in entries} - moved
    return {NATIVE: head + "".join(entries), **without_unknown(texts, kept)}


def add_overloads(texts: Mapping[str, str]) -> dict[str, str]:
    """The operators, and for some of those that stand alone two more overloads with further arguments."""
    head, entries = split_entries(texts[NATIVE])
    alone = standing_alone(entries)
    grown = []
    for entry in entries:
        grown.append(entry)
        if base_name(entry) in alone and chance(base_name(entry)) < 0.5:
            grown.append(with_argument(entry, "extra", "SymInt[]? extra_sizes=None"))
            grown.append(with_argument(entry, "more", "bool exact=False"))
    return {NATIVE: head + "".join(grown)}


def register_by_hand(texts: Mapping[str, str]) -> dict[str, str]:
    """The operators, of which half of those without `dispatch` and `autogen` are registered without the generator."""
    head, entries = split_entries(texts[NATIVE])
    for position, entry in enumerate(entries):
        if not re.search(r"(?m)^  (dispatch|structured|autogen)", entry) and chance(entry) < 0.5:
            entries[position] = with_line(entry, "  manual_kernel_registration: True")
    return {NATIVE: head + "".join(entries)}


def with_line(entry: str, line: str) -> str:
    """The text of an entry with another line after its first one."""
    first, end, rest = entry.partition("\n")
    return f"{first}{end}{line}\n{rest}"


def change_derivatives(texts: Mapping[str, str]) -> dict[str, str]:
    """The derivatives of about half of the operators, and some formulas that compute something else."""
    head, entries = split_entries(texts[DERIVATIVES])
    repeated = {
        name.removeprefix("_foreach_")
        for entry in split_entries(texts[NATIVE])[1]
        if (name := base_name(entry)).startswith("_foreach_")
    }
    kept = []
    for entry in entries:
        match = DERIVED.match(entry)
        name = match.group(1) if match else ""
        # In-place operators may need an entry of their own where that of the functional one says that its results
        # are not differentiable.
        needed = name.endswith("_") or name in repeated or "output_differentiability" in entry
        if needed or chance(entry) < 0.5:
            kept.append(re.sub(r"(?m)^(  self: )(grad)$", r"\1grad.mul(2)", entry))
    return {DERIVATIVES: head + "".join(kept)}


def split_entries(text: str) -> tuple[str, list[str]]:
    """The text before the first entry of a YAML list, and the texts of the entries with the comments that follow."""
    starts = [match.start() for match in ENTRY.finditer(text)]
    return text[: starts[0]], [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]


def base_name(entry: str) -> str:
    """The name of the entry's operator without overload and without the underscore of an in-place operator."""
    match = FUNC.match(entry)
    assert match is not None, entry
    name = match.group(1)
    return name if name.endswith("__") else name.rstrip("_")


def chance(word: str) -> float:
    """A number between 0 and 1 that depends on `word` only."""
    return int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "big") / 2**32


def related_names(entries: Iterable[str]) -> dict[str, str]:
    """For each operator's name one name that all operators share which must be kept or dropped together."""
    leaders: dict[str, str] = {}

    def leader(name: str) -> str:
        while leaders.setdefault(name, name) != name:
            name = leaders[name]
        return name

    for entry in entries:
        name = base_name(entry)
        delegate = DELEGATE.search(entry)
        for other in (
            name,
            name.removesuffix("_copy"),
            name.removesuffix("_functional"),
            re.sub(r"_(scatter|inverse)$", "", name),
            # The derivatives of a foreach operator are made from those of the operator that it repeats.
            name.removeprefix("_foreach_"),
            *([delegate.group(1)] if delegate else []),
        ):
            leaders[leader(name)] = leader(other)
    return {name: leader(name) for name in list(leaders)}


def standing_alone(entries: Iterable[str]) -> set[str]:
    """The names with one functional entry that nothing else depends on: no variants, views or structured kernels."""
    listed = list(entries)
    counts: dict[str, int] = {}
    for entry in listed:
        counts[base_name(entry)] = counts.get(base_name(entry), 0) + 1
    tied = {leader for name, leader in related_names(listed).items() if name != leader}
    return {
        name
        for entry in listed
        if counts[name := base_name(entry)] == 1
        and name not in tied
        and not re.search(r"\(\w+!?\)|structured|^  tags: .*(core|view)|_copy|Generator|manual", entry, re.M)
        and re.search(r"^  dispatch:", entry, re.M)
        and re.search(r"\) -> (Tensor|\(Tensor)", entry)
        and not name.startswith("_")
    }


def with_argument(entry: str, overload: str, argument: str) -> str:
    """The entry again under another overload name and with one more keyword-only argument."""
    match = FUNC.match(entry)
    assert match is not None, entry
    name, own_overload, arguments = match.groups()
    star = "" if "*, " in arguments else "*, "
    joined = f"{arguments}, {star}{argument}" if arguments else f"{star}{argument}"
    full_name = f"{name}{own_overload}_{overload}" if own_overload else f"{name}.{overload}"
    rest = re.sub(r"(?m)^  autogen: .*$", f"  autogen: {full_name}_out", entry[match.end() :])
    return f"- func: {full_name}({joined}) -> {rest}"


def without_unknown(texts: Mapping[str, str], names: set[str]) -> dict[str, str]:
    """The derivatives and the deprecated signatures of the operators in `names` alone."""
    changed = {}
    for path, pattern in ((DERIVATIVES, DERIVED), (DEPRECATED, ALIASED)):
        head, entries = split_entries(texts[path])
        kept = []
        for entry in entries:
            match = pattern.search(entry)
            if match is not None and match.group(1).rstrip("_") in names:
                kept.append(entry)
        changed[path] = head + "".join(kept)
    return changed


def add_shims(texts: Mapping[str, str]) -> dict[str, str]:
    """The tables of operators with a C shim: some more operators, with and without guard, one less, other versions."""
    tables = texts[SHIM_TABLES]
    more = {
        "aten.sin.default": {},
        "aten.sin.out": {},
        "aten.add_.Tensor": {"since": "TORCH_VERSION_2_15_0"},
        "aten.sum.dim_IntList": {"v2": {"new_args": ["dtype"], "since": "TORCH_VERSION_2_14_1"}},
        "aten.split.Tensor": {},
        "aten.softmax.int": {"v3": {"new_args": ["dtype"]}},
        "aten.nosuchoperator.default": {},
    }
    rows = "".join(f'    "{name}": {row!r},\n' for name, row in more.items())
    for name in ("inductor_fallback_ops", "aten_shimified_ops"):
        tables = re.sub(rf"^({name}:.*\{{)$", rf"\1\n{rows}", tables, count=1, flags=re.MULTILINE)
    return {SHIM_TABLES: tables.replace('    "aten._fft_c2c.default": {},\n', "", 1)}


SLOT = re.compile(r"^([ \t]*)\$(?:(\w+)|\{(\w+)\})(?=\W|$)", re.MULTILINE)
INLINE_SLOT = re.compile(r"(?<=\S)\$\{(\w+)\}(?!\w)")


def change_templates(texts: Mapping[str, str], seed: str) -> dict[str, str]:
    """A third of the operators, and templates whose slots are indented, without braces, twice, or before text."""
    templates = {path: text for path, text in texts.items() if "/templates/" in path}
    return {
        **keep_a_third(texts),
        **{path: with_other_slots(text, f"{seed} {path}") for path, text in templates.items()},
    }


def with_other_slots(template: str, seed: str) -> str:
    """A template with other spaces, braces and texts around its slots; they get the same values, some of them twice."""

    def other(slot: re.Match[str]) -> str:
        indent, name = slot[1], slot[2] or slot[3]
        forms = (
            f"{indent}   ${{{name}}}",
            f"\t{indent}${name}",
            f"${{{name}}}",
            f"{indent}${name} // after ",
            f"{indent}${{{name}}}\n\n  ${{{name}}}",
            slot[0],
        )
        return forms[int(chance(f"{seed} {slot.start()}") * len(forms))]

    changed = INLINE_SLOT.sub(lambda slot: f"${slot[1]}" if chance(seed + slot[0]) < 0.5 else slot[0], template)
    changed = SLOT.sub(other, changed) + "// \u00e9nd of ${generated_comment}\n"
    return changed.replace("\n", "\r\n") if chance(seed) < 0.3 else changed
