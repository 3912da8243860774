"""Source trees between two releases: the newer one's files, with some of the changes of its generator taken back.

Each change is the lines that differ between the generators of the two releases, in the files that it touches. So a tree
is what PyTorch's main branch could have been at some commit, and the generator in it runs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import SequenceMatcher
from functools import cache
from itertools import product
from pathlib import Path
from typing import NamedTuple

from tests.conformance.inputs import (
    BUILD_PROGRAM,
    CACHE,
    Files,
    files_digest,
    folder_files,
    input_folder,
    selection_files,
    write_folder,
)

OLDER, NEWER = "2.14.1", "2.15.0"
#: What both trees have as their version: that of the main branch after the older release was branched off.
VERSION = "2.15.0a0"
BETWEEN = "between-"
#: The tree with all files of the older release, right after it was branched off.
BEHIND = f"{BETWEEN}behind"


class GeneratorChange(NamedTuple):
    """A change of the generator: the behaviour that it makes, and a pattern of the lines it touches, by file."""

    behaviour: str
    lines: Mapping[str, str]
    templates: tuple[str, ...] = ()


_AOT = r"(?i)native_?aot"
_GEN, _REGISTER = "torchgen/gen.py", "torchgen/dest/register_dispatch_key.py"
_VARIABLES = "tools/autograd/gen_variable_type.py"

CHANGES = (
    GeneratorChange("complex_gradients", {_VARIABLES: "nan_to_num"}),
    GeneratorChange("storage_saved_flags_reserved", {_VARIABLES: "_storage_saved"}),
    GeneratorChange("foreach_nodes_looped_by_reference", {_VARIABLES: r"grad_fn = grad_fns\[i\]"}),
    GeneratorChange(
        "single_output_view_replay", {"torchgen/gen_functionalization_type.py": "SINGLE_OUTPUT|view_copy_arm|views_arm"}
    ),
    GeneratorChange(
        "device_export_macros",
        {
            "torchgen/dest/native_functions.py": "",
            _GEN: "DLL|OrderedDict|equivalence_key|dedupe|get_ns|declaration per string|validate_cpu_dll",
            _REGISTER: "torch_api_key_word_prefix|export",
        },
    ),
    GeneratorChange(
        "native_aot_stubs",
        {_GEN: _AOT, _REGISTER: f"{_AOT}|dataclass"},
        ("aten/src/ATen/templates/NativeAotStubs.h", "aten/src/ATen/templates/NativeAotStubs.cpp"),
    ),
)

#: A tree after the newer release, whose generator has what no release has: a dispatch key with a header of functions
#: and C shims, one of a device, such a header for a known key, one key less, a base type with forms in C++, Python and
#: C, and a field of entries and of tags.
NEXT = f"{BETWEEN}next"
NEXT_EDITS = (
    ("version.txt", VERSION, "2.16.0a0"),
    ("torchgen/model.py", "    ZeroTensor = auto()\n", "    ZeroTensor = auto()\n    Tachyon = auto()\n"),
    (
        "torchgen/model.py",
        "    DispatchKey.ZeroTensor,\n",
        "    DispatchKey.Tachyon,\n    DispatchKey.SparseMTIA,\n    DispatchKey.ZeroTensor,\n",
    ),
    (
        "torchgen/model.py",
        '        python_module = e.pop("python_module", None)\n',
        '        python_module = e.pop("python_module", None)\n        e.pop("team", None)\n',
    ),
    ("torchgen/model.py", "    DispatchKey.QuantizedMeta,\n", ""),
    ("torchgen/model.py", "    GraphModule = auto()\n", "    GraphModule = auto()\n    Event = auto()\n"),
    (
        "torchgen/api/types/types.py",
        'streamT = BaseCppType("at", "Stream")\n',
        'streamT = BaseCppType("at", "Stream")\neventT = BaseCppType("c10", "Event")\n',
    ),
    (
        "torchgen/api/types/types.py",
        "    BaseTy.Stream: streamT,\n",
        "    BaseTy.Stream: streamT,\n    BaseTy.Event: eventT,\n",
    ),
    (
        "torchgen/api/python.py",
        "            BaseTy.Stream,\n            BaseTy.SymInt,\n",
        "            BaseTy.Stream,\n            BaseTy.Event,\n            BaseTy.SymInt,\n",
    ),
    (
        "torchgen/api/python.py",
        '            return "memoryformat"\n',
        '            return "memoryformat"\n        elif t.name == BaseTy.Event:\n            return "eventHandle"\n',
    ),
    (
        "torchgen/gen_aoti_c_shim.py",
        '    BaseTy.Generator: "AtenGeneratorHandle",\n',
        '    BaseTy.Generator: "AtenGeneratorHandle",\n    BaseTy.Event: "AtenEventHandle",\n',
    ),
    (
        "torchgen/gen_aoti_c_shim.py",
        '    BaseTy.Generator: "at::Generator",\n',
        '    BaseTy.Generator: "at::Generator",\n    BaseTy.Event: "c10::Event",\n',
    ),
    (
        "torchgen/gen_aoti_c_shim.py",
        '    BaseTy.Generator: "*generator_handle_to_generator_pointer",\n',
        '    BaseTy.Generator: "*generator_handle_to_generator_pointer",\n    BaseTy.Event: "*event_pointer",\n',
    ),
    (
        "torchgen/gen.py",
        "        DispatchKey.MTIA,\n    }\n",
        "        DispatchKey.MTIA,\n        DispatchKey.Tachyon,\n        DispatchKey.QuantizedCPU,\n    }\n",
    ),
    (
        "torchgen/gen.py",
        "    aoti_backends = {\n",
        "    aoti_backends = {\n        DispatchKey.Tachyon,\n",
    ),
    (
        "torchgen/aoti/fallback_ops.py",
        '    "aten.abs.default": {},\n',
        '    "aten.abs.default": {},\n    "aten.paused.default": {},\n',
    ),
    ("aten/src/ATen/native/tags.yaml", "- tag: core\n", "- tag: core\n  team: compiler\n"),
    (
        "aten/src/ATen/native/native_functions.yaml",
        "    SparseCPU, SparseCUDA, SparseMPS, SparseXPU: sgn_sparse_out\n",
        "    SparseCPU, SparseCUDA, SparseMPS, SparseXPU: sgn_sparse_out\n    SparseMTIA: sgn_out_mtia\n",
    ),
    (
        "aten/src/ATen/native/native_functions.yaml",
        ", QuantizedMeta: empty_unknown_quantized\n",
        ": empty_unknown_quantized\n",
    ),
    (
        "aten/src/ATen/native/native_functions.yaml",
        "- func: erf(Tensor self) -> Tensor\n",
        "- func: tachyon_speed(Tensor self, int[] dim, *, Scalar? factor=None) -> Tensor\n"
        "  variants: function, method\n  team: tachyon\n  dispatch:\n    Tachyon: tachyon_speed\n"
        "    CPU, SparseMTIA: speed\n\n- func: paused(Tensor self, Event event, Event? other=None) -> Tensor\n"
        "  variants: function, method\n  dispatch:\n    CPU, Tachyon: paused\n\n- func: erf(Tensor self) -> Tensor\n",
    ),
)

#: Which of the changes a tree has.
Mix = tuple[bool, ...]


def mix_name(mix: Mix) -> str:
    """The name of the inputs with these changes: `between-101000`."""
    return BETWEEN + "".join("1" if has else "0" for has in mix)


def every_mix() -> list[Mix]:
    """All trees that there can be."""
    return list(product((False, True), repeat=len(CHANGES)))


@cache
def release_tree(release: str) -> Files:
    """The files of a release, by their paths in a source tree."""
    places = {
        "torchgen/packaged/ATen/": "aten/src/ATen/",
        "torchgen/packaged/autograd/": "tools/autograd/",
        "torchgen/": "torchgen/",
        "torch/_native/": "torch/_native/",
    }
    files: Files = {"tools/__init__.py": b"", "version.txt": f"{VERSION}\n".encode()}
    files[BUILD_PROGRAM] = Path(__file__).with_name("build_program.py").read_bytes()
    for path, content in folder_files(input_folder(release)).items():
        start = next((start for start in places if path.startswith(start)), None)
        if start is not None:
            files[places[start] + path.removeprefix(start)] = content
    return {**files, **selection_files()}


def mixed_files(mix: Mix) -> Files:
    """The files of the newer release, without the changes that the tree does not have."""
    files = dict(release_tree(NEWER))
    missing = [change for change, has in zip(CHANGES, mix, strict=True) if not has]
    for path in {path for change in missing for path in change.lines}:
        patterns = [change.lines[path] for change in missing if path in change.lines]
        files[path] = without_changes(path, patterns).encode()
    for template in (template for change in missing for template in change.templates):
        del files[template]
    return files


def without_changes(path: str, patterns: list[str]) -> str:
    """A file of the newer release, with the older lines in each place that differs and matches one of the patterns."""
    lines: list[str] = []
    for old_lines, new_lines in differing_lines(path):
        text = "".join(old_lines + new_lines)
        is_missing = old_lines != new_lines and any(re.search(pattern, text) for pattern in patterns)
        lines += old_lines if is_missing else new_lines
    return "".join(lines)


@cache
def differing_lines(path: str) -> list[tuple[list[str], list[str]]]:
    """The lines of a file in both releases, in turns equal and not."""
    before, after = (release_tree(release)[path].decode().splitlines(keepends=True) for release in (OLDER, NEWER))
    codes = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return [(before[start:end], after[new_start:new_end]) for _, start, end, new_start, new_end in codes]


def edited_files(files: Files) -> Files:
    """The files of a release with the edits that make it the next one."""
    files = dict(files)
    for path, old, new in NEXT_EDITS:
        text = files[path].decode()
        assert text.count(old) == 1, (path, old)
        files[path] = text.replace(old, new).encode()
    return files


def tree_folder(name: str) -> Path:
    """The folder of the tree with this name."""
    if name == BEHIND:
        return files_folder(name, release_tree(OLDER))
    if name == NEXT:
        return files_folder(name, edited_files(release_tree(NEWER)))
    return files_folder(name, mixed_files(tuple(bit == "1" for bit in name.removeprefix(BETWEEN))))


def files_folder(name: str, files: Files) -> Path:
    """The folder with these files, written on first use."""
    folder = CACHE / "inputs" / f"{name}-{files_digest(files)[:12]}"
    if not folder.is_dir():
        write_folder(folder, files)
    return folder
