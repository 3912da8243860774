"""Loads the templates of the stub files of torch, and checks that they have the slots that hints go to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from opwright.dialects.dialect import LoadContext
from opwright.source.codes import INPUT_MISSING, NO_TEMPLATE, STUB_WITHOUT_SLOT
from opwright.source.diagnostic import Diagnostics, Fault
from opwright.source.text import SourceFile

#: Template -> its slots, apart from the comment that names the generator.
SLOTS: Final = {
    "torch/_C/__init__.pyi.in": (
        "dtype_class_hints",
        "tag_attributes",
        "dispatch_key_hints",
        "torch_dispatch_mode_key_hints",
        "legacy_storage_base_hints",
        "legacy_class_hints",
        "index_type_def",
        "tensor_method_hints",
    ),
    "torch/_C/_VariableFunctions.pyi.in": ("all_directive", "function_hints"),
    "torch/_C/return_types.pyi.in": ("return_types___all__", "structseq_defs"),
    "torch/_C/_nn.pyi.in": ("c_nn_function_hints",),
    "torch/nn/functional.pyi.in": ("imported_hints", "dispatched_hints", "extra_nn_functional___all__"),
}


def load(_files: Sequence[SourceFile], context: LoadContext) -> dict[str, SourceFile]:
    """Templates by their names."""
    templates = {}
    for name, slots in SLOTS.items():
        try:
            templates[name] = context.inputs.read_text(name)
        except Fault as fault:
            if fault.diagnostic.code != INPUT_MISSING:
                context.sink.add(fault.diagnostic)
                continue
            message = f"there is no template `{name}`"
            help = (
                "stub files are made from PyTorch's source tree: name its top with `--source-path` or `--template-dir`"
            )
            context.sink.error(
                NO_TEMPLATE, message, notes=fault.diagnostic.notes or (fault.diagnostic.message,), help=help
            )
        else:
            _check_slots(templates[name], slots, context.sink)
    return templates


def _check_slots(template: SourceFile, slots: Sequence[str], sink: Diagnostics) -> None:
    """Warn of slots that a template lacks."""
    names = set(re.findall(r"\$\{?,?(\w+)", template.text))
    for slot in slots:
        if slot not in names:
            message = f"`{template.path}` has no slot `{slot}`, so what PyTorch generates for it is in no file"
            sink.warning(STUB_WITHOUT_SLOT, message, template.span(0, len(template.line_text(1))))
