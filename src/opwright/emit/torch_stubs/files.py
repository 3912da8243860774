"""Emitters of the stub files of torch itself, which PyTorch ships beside its C++ modules."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from opwright.emit.emitter import AnyEmitter, Emitter, Job, OneFile, Slots
from opwright.emit.torch_stubs.hand_written import listed_names, written_hints
from opwright.emit.torch_stubs.hints import function_hints, method_hints, overloads_by_name, result_classes

#: What an index of a tensor can be, apart from nested sequences.
_INDEX_ITEMS: Final = "_bool | _int | slice | EllipsisType | Tensor | None"
_INDEX: Final = f"_Index: TypeAlias = SupportsIndex | {_INDEX_ITEMS} | _NestedSequence[{_INDEX_ITEMS}]  # fmt: skip"


def _list_of_names(start: str, names: Iterable[str]) -> list[str]:
    return [start, *[f'    "{name}",' for name in names], "]"]


def _module_slots(job: Job) -> Slots:
    return {
        "dtype_class_hints": [f"{dtype.name}: dtype = ..." for dtype in listed_names("dtypes", job.rules)],
        "tag_attributes": [f"{tag} = {number}" for number, tag in enumerate(sorted(job.catalog.tags))],
        "dispatch_key_hints": [f"{key.name} = ..." for key in listed_names("dispatch keys", job.rules)],
        "torch_dispatch_mode_key_hints": [f"{key.name} = ..." for key in listed_names("dispatch modes", job.rules)],
        "legacy_storage_base_hints": ["class StorageBase: ..."],
        "legacy_class_hints": [
            f"class {tensor.name}(Tensor): ..." for tensor in listed_names("legacy tensors", job.rules)
        ],
        "index_type_def": [_INDEX],
        "tensor_method_hints": [hint for hints in method_hints(job).values() for hint in hints],
        **_function_slots(job),
        **_result_slots(job),
    }


def _function_slots(job: Job) -> Slots:
    hints = function_hints(job)
    return {
        "all_directive": _list_of_names("__all__ = [", sorted({*hints, *result_classes(job)})),
        "function_hints": [hint for texts in hints.values() for hint in texts],
    }


def _result_slots(job: Job) -> Slots:
    classes = result_classes(job)
    return {
        "return_types___all__": _list_of_names(
            "__all__ = [", ["pytree_register_structseq", "all_return_types", *classes]
        ),
        "structseq_defs": [f"{text}\n" for text in classes.values()],
    }


def _functional_slots(job: Job) -> Slots:
    imported = {
        module: listed_names(f"functions of {module} in torch.nn.functional", job.rules)
        for module in ("torch", "torch._C._nn")
    }
    dispatched = listed_names("functions of torch.nn.functional with indices", job.rules)
    lines = []
    for module, functions in imported.items():
        names = sorted(f"    {function.name} as {function.alias}," for function in functions)
        lines += [f"from {module} import (", *names, ")"]
    exported = [function.alias for functions in (*imported.values(), dispatched) for function in functions]
    return {
        "imported_hints": lines,
        "dispatched_hints": overloads_by_name(written_hints("nn_functional", job.rules)),
        "extra_nn_functional___all__": _list_of_names("__all__ += [", exported),
    }


#: The lines that declare a function, or the class of its results.
_FUNCTION_LINE: Final = r" *(?:def|class) (?P<operator>\w+)\("


def _emitter(name: str, path: str, template: str, file_slots: Callable[[Job], Slots]) -> AnyEmitter:
    return Emitter(
        name=name,
        family="torch_stubs",
        template=template,
        folder="torch_stubs",
        layout=OneFile(path),
        file_slots=file_slots,
        line_names=_FUNCTION_LINE,
    )


def emitters(job: Job) -> list[AnyEmitter]:
    """Emitters of the six files."""
    functions = "torch/_C/_VariableFunctions.pyi.in"
    return [
        _emitter("torch_module_stub", "torch/_C/__init__.pyi", "torch/_C/__init__.pyi.in", _module_slots),
        _emitter("torch_functions_stub", "torch/_C/_VariableFunctions.pyi", functions, _function_slots),
        _emitter("torch_vf_stub", "torch/_VF.pyi", functions, _function_slots),
        _emitter("return_types_stub", "torch/return_types.pyi", "torch/_C/return_types.pyi.in", _result_slots),
        _emitter("nn_functional_stub", "torch/nn/functional.pyi", "torch/nn/functional.pyi.in", _functional_slots),
        _emitter(
            "nn_module_stub",
            "torch/_C/_nn.pyi",
            "torch/_C/_nn.pyi.in",
            lambda job: {"c_nn_function_hints": overloads_by_name(written_hints("nn", job.rules))},
        ),
    ]
