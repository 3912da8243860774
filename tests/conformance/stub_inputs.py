"""Source trees for the stub files of torch, with templates made from the stub files that an installed PyTorch ships.

A shipped stub file is its template with hints in place of slots. Each slot is found by the text that stands before and
after it, which PyTorch's developers write; nothing here knows what Opwright generates.
"""

from __future__ import annotations

import re
from pathlib import Path

from tests.conformance.inputs import (
    CACHE,
    STUBS,
    Files,
    files_digest,
    pytorch_files,
    reference_package,
    reference_version,
    write_folder,
)

#: Stub file -> its template.
TEMPLATES = {
    "torch/_C/__init__.pyi": "torch/_C/__init__.pyi.in",
    "torch/_C/_VariableFunctions.pyi": "torch/_C/_VariableFunctions.pyi.in",
    "torch/_VF.pyi": "torch/_C/_VariableFunctions.pyi.in",
    "torch/_C/_nn.pyi": "torch/_C/_nn.pyi.in",
    "torch/return_types.pyi": "torch/_C/return_types.pyi.in",
    "torch/nn/functional.pyi": "torch/nn/functional.pyi.in",
}
MODULES = ("torch/_torch_docs.py", "torch/_tensor_docs.py")
LIST = r"__all__ = \[\n(?:    .*\n)*\]"

#: Stub file -> its slots, each with patterns of the text before it, of what stands for it, and of the text after it.
SLOTS: dict[str, dict[str, tuple[str, str, str]]] = {
    "torch/_C/__init__.pyi": {
        "dtype_class_hints": (r"class finfo:\n(?:    .*\n|\n)*", r"\w(?s:.*?)", r"\n\n# Defined in torch/csrc/Layout"),
        "tag_attributes": (r"class Tag\(Enum\):\n    ", r"(?s:.*?)", r"\n\n"),
        "dispatch_key_hints": (r"class DispatchKey\(Enum\):\n    ", r"(?s:.*?)", r"\n\n"),
        "torch_dispatch_mode_key_hints": (r"class _TorchDispatchModeKey\(Enum\):\n    ", r"(?s:.*?)", r"\n\n"),
        "legacy_storage_base_hints": (r"# Defined in torch/csrc/Storage.cpp\n", r"(?s:.*?)", r"\n\n"),
        "legacy_class_hints": (r"# TODO: where\n", r"(?s:.*?)", r"\n\n"),
        "index_type_def": (r"class _TensorMeta\(type\): ...\n\n", r".*", r"\n\n"),
        # The attributes of tensors are template text; `__abs__` is the first of the sorted names after them.
        "tensor_method_hints": (r"class TensorBase\((?s:.*?)\n    (?=def __abs__)", r"(?s:.*)", r"\n\n_TensorBase ="),
    },
    "torch/_C/_VariableFunctions.pyi": {
        "all_directive": (r"\n\n", LIST, r"\n\n"),
        "function_hints": (r"all_directive}\n\n", r"(?s:.*)", r"\n\Z"),
    },
    "torch/_C/_nn.pyi": {
        "c_nn_function_hints": (r"# Defined in .*python_nn_functions.cpp\n\n", r"(?s:.*?)", r"\n\n# Defined in"),
    },
    "torch/return_types.pyi": {
        "return_types___all__": (r"\n\n", LIST, r"\n\n"),
        "structseq_defs": (r"\n\n(?=class )", r"(?s:.*)", r"\n\nall_return_types"),
    },
    "torch/nn/functional.pyi": {
        "imported_hints": (r"\n\n", r"from torch import \((?s:.*?)", r"\n\n@overload"),
        "dispatched_hints": (r"imported_hints}\n\n", r"(?s:.*?)", r"\n\n__all__ \+="),
        "extra_nn_functional___all__": (r"dispatched_hints}\n\n", r"(?s:.*)", r"\n\Z"),
    },
}


def template(text: str, slots: dict[str, tuple[str, str, str]]) -> str:
    """The template of a shipped stub file.

    >>> template("# made\\n\\nA = 1\\nB = 2\\n\\nC = 3\\n", {"names": (r"\\n\\n", r"(?s:.*?)", r"\\n\\n")})
    '# ${generated_comment}\\n\\n${names}\\n\\nC = 3\\n'
    """
    text = re.sub(r"\A# .*", "# ${generated_comment}", text)
    for slot, (before, hints, after) in slots.items():
        text, count = re.subn(f"({before}){hints}({after})", rf"\g<1>${{{slot}}}\g<2>", text, count=1)
        assert count == 1, f"no place for {slot}"
    return text


def shipped_stubs(release: str) -> Files:
    """The stub files of a release's wheel, or of the installed one, and its modules with docstrings."""
    if not release:
        return {path: (reference_package().parent / path).read_bytes() for path in (*TEMPLATES, *MODULES)}
    from tests.conformance.release_inputs import wheel

    kept = CACHE / "shipped" / f"stubs-{release}"
    if not kept.is_dir():
        write_folder(kept, wheel(release).read_members([*TEMPLATES, *MODULES]))
    return {path: (kept / path).read_bytes() for path in (*TEMPLATES, *MODULES)}


def stub_tree(inputs: str) -> Files:
    """The files of a small source tree for `stubs`, or `stubs@RELEASE`, and in `shipped` what is to be made of it."""
    release = inputs.removeprefix(STUBS).lstrip("@")
    shipped = shipped_stubs(release)
    files: Files = {}
    for stub, name in TEMPLATES.items():
        files[f"shipped/{stub}"] = shipped[stub]
        if stub in SLOTS:
            files[name] = template(shipped[stub].decode(), SLOTS[stub]).encode()
    for module in MODULES:
        files[module] = files[f"shipped/{module}"] = shipped[module]
    places = {"ATen": "aten/src/ATen", "autograd": "tools/autograd"}
    for path, text in packaged_files(release).items():
        top, _, inner = path.partition("/")
        files[f"{places[top]}/{inner}"] = text
    files["version.txt"] = f"{release or reference_version()}\n".encode()
    return files


def packaged_files(release: str) -> Files:
    """PyTorch's YAML and templates of a release, or the installed ones."""
    if not release:
        return pytorch_files()
    from tests.conformance.release_inputs import release_folder

    packaged = release_folder(release) / "torchgen" / "packaged"
    paths = [path for path in packaged.rglob("*") if path.suffix == ".yaml" or path.parent.name == "templates"]
    return {path.relative_to(packaged).as_posix(): path.read_bytes() for path in paths if path.is_file()}


def stub_folder(inputs: str) -> Path:
    """The folder with these inputs, written on first use."""
    files = stub_tree(inputs)
    folder = CACHE / "inputs" / f"{inputs}-{files_digest(files)[:12]}"
    if not folder.is_dir():
        write_folder(folder, files)
    return folder
