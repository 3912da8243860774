"""Skips of PyTorch's tests on a device: a YAML file as the dictionary that the tests read."""

from opwright.plugin import Choice, Dialect, Either, ExtraKey, ListOf, Plugin, Table, file_family, load_yaml

DTYPES = Choice(*"bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128".split())
TESTS = Table(Either(Choice("all"), ListOf(DTYPES)))
SKIPS = ExtraKey("test_skips", Table(TESTS), help="operator -> test -> dtypes, or `all`", is_required=True)
HEAD = '''"""Tests that the device does not run, by operator."""

import unittest

import torch
from torch.testing._internal.opinfo.core import DecorateInfo

SKIPS = {
'''


def load(files, context):
    roots = [load_yaml(file) for file in files]
    values = [SKIPS.read(root.get("test_skips"), context.sink) for root in roots]
    return {name: tests for part in values for name, tests in (part or {}).items()}


def decorator(test, dtypes):
    cls_name, _, test_name = test.partition(".")
    names = [repr(cls_name), *([repr(test_name)] if test_name else [])]
    if dtypes != "all":
        names.append(f"dtypes=({', '.join([f'torch.{dtype}' for dtype in dtypes])},)")
    return f'        DecorateInfo(unittest.skip("not supported"), {", ".join(names)}),\n'


def text(unit, context):
    name, tests = unit
    return f"    {name!r}: (\n" + "".join([decorator(test, dtypes) for test, dtypes in tests.items()]) + "    ),\n"


dialect = Dialect("test_skips", fields=("test_skips",), loads_into=dict, loader=load)
family = file_family(
    "test_skips",
    "the tests that a device does not run",
    path="test_skips.py",
    units=lambda job: sorted((job.more_inputs["test_skips"] or {}).items()),
    text=text,
    head=HEAD,
    end="}\n",
    dialects=["test_skips"],
)
plugin = Plugin("test_skips", api=1, dialects=[dialect], families=[family])
