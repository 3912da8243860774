"""Inputs with as many operators as asked: PyTorch's own file, and a backend file that names its operators.

PyTorch's files grow by copies of their entries under other names. With few operators they have some of the entries.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from tests.backend.write_large import section, write_large
from tests.conformance.inputs import input_folder
from tests.conformance.mutate import (
    DEPRECATED,
    DERIVATIVES,
    NATIVE,
    base_name,
    related_names,
    split_entries,
    without_unknown,
)

__all__ = ["write_backend", "write_tree"]

#: Where the files are in a source tree.
_FOLDERS = {"ATen": "aten/src/ATen", "autograd": "tools/autograd"}

#: How many entries PyTorch's own file has, about.
_OWN_ENTRIES = 2600
_SECTION = re.compile(r"(?m)^(symint|supported|autograd):")
#: The names of operators in an entry, which a copy has with a prefix.
_NAMES = re.compile(r"(?m)^(- func: |- name: |  structured_delegate: |  autogen: )([^#\n]*)")
#: Operators that rules of PyTorch name, or whose kind follows from their names, so that they have no copies.
_BOUND = re.compile(
    r".*__|(_fill_mem_eff_dropout_mask|_flash_attention_forward_no_dropout_inplace|_slow_conv2d_backward|"
    r"adaptive_avg_pool3d_backward|polygamma|record_stream|requires_grad|resize|resize_as|set|to)$"
)
#: The same by schema: operators that make tensors, draw random numbers, or return something else than tensors.
_BOUND_SCHEMA = re.compile(r"[^\n]*(ScalarType|Generator|-> (?!\(?Tensor))")


def write_tree(folder: Path, count: int) -> Path:
    """Write a source tree with about this many entries in `native_functions.yaml`, and their derivatives; its ATen."""
    packaged = input_folder("pytorch") / "torchgen" / "packaged"
    for name, place in _FOLDERS.items():
        shutil.copytree(packaged / name, folder / place)
    texts = {name: (packaged / name).read_text(encoding="utf-8") for name in (NATIVE, DERIVATIVES, DEPRECATED)}
    head, entries = split_entries(texts[NATIVE])
    bound = {base_name(entry) for entry in entries if _BOUND.match(base_name(entry)) or _BOUND_SCHEMA.match(entry)}
    free = [entry for entry in entries if base_name(entry) not in bound]
    if count < len(entries):
        entries = _part(free, count)
        texts |= without_unknown(texts, {base_name(entry) for entry in entries})
    texts[NATIVE] = head + "".join(entries)
    for number in range(1, 1 + -(-(count - len(entries)) // len(free))):
        copied = _part(free, count - len(entries) - (number - 1) * len(free))
        formulas = without_unknown(texts, {base_name(entry) for entry in copied})[DERIVATIVES]
        texts[NATIVE] += _renamed(copied, number)
        texts[DERIVATIVES] += _renamed(split_entries(formulas)[1], number)
    for name, text in texts.items():
        part, _, path = name.partition("/")
        (folder / _FOLDERS[part] / path).write_text(text, encoding="utf-8")
    return folder / _FOLDERS["ATen"]


def _part(entries: list[str], count: int) -> list[str]:
    """The entries of the first operations, with everything that belongs to them, until there are enough."""
    leaders = related_names(entries)
    sizes: dict[str, int] = {}
    for entry in entries:
        leader = leaders[base_name(entry)]
        sizes[leader] = sizes.get(leader, 0) + 1
    kept: set[str] = set()
    for leader, size in sizes.items():
        if count > 0:
            kept.add(leader)
            count -= size
    return [entry for entry in entries if leaders[base_name(entry)] in kept]


def _renamed(entries: Iterable[str], number: int) -> str:
    """Copies of entries whose operators have the number in front of their names."""

    def rename(match: re.Match[str]) -> str:
        names = match[2].split(", ") if match[1].startswith("  ") else [match[2]]
        return match[1] + ", ".join(f"copy{number}_{name}" for name in names)

    return "".join([_NAMES.sub(rename, entry) for entry in entries])


def write_backend(folder: Path, count: int) -> tuple[Path, Path]:
    """Write a backend file with this many operators, and a source tree that has them; the file and its ATen.

    At most some 1,800 of them are operators of PyTorch, the others are copies.
    """
    aten = write_tree(folder, max(_OWN_ENTRIES, round(count * 1.3)))
    file = folder / "backend.yaml"
    write_large(aten / "native/native_functions.yaml", file)
    head, *sections = _SECTION.split(file.read_text(encoding="utf-8"))
    lists = {
        name: re.findall(r"(?m)^- (.*)$", entries) for name, entries in zip(sections[::2], sections[1::2], strict=True)
    }
    supported = dict.fromkeys(lists["supported"][:count])
    autograd = lists["autograd"][: count // 10]
    symint = [name for name in lists["symint"] if name in supported]
    text = "".join([section(name, names) for name, names in (("supported", supported), ("autograd", autograd))])
    file.write_text(head + section("symint", symint) + text, encoding="utf-8")
    return file, aten
