"""Where the lines of a full run come from: each line that shows an operator leads to that operator's entry."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from opwright.emit.emitter import FilePerUnit
from opwright.emit.registry import build_folders, emitters
from opwright.model.native_function import NativeFunction
from opwright.release.inputs import open_inputs
from opwright.run.generation import Generation
from opwright.run.request import Request
from opwright.workspace import provenance
from opwright.workspace.provenance import FileOrigin

SCHEMA = re.compile(r"\w+(?:\.\w+)?\(.*?\) -> [^\"/]*")
INCLUDE = re.compile(r"#include <ATen/ops/(\w+?)(?:_ops|_native|_meta|_[a-z]+_dispatch)?\.h>")
#: Lines that name one overload: as a structure of `ATen/ops`, in its calls, and where its kernel is registered.
FORMS = tuple(
    map(
        re.compile,
        (r"struct TORCH_API (\w+) \{", r"[\w:&<>, ]+ (\w+)::(?:call|redispatch)\(", r'm\.impl\("([\w.]+)"'),
    )
)

Entry = tuple[str, int]


@pytest.fixture(scope="module")
def generation(tmp_path_factory: pytest.TempPathFactory) -> Generation:
    """A run of all families of PyTorch's operators."""
    return Generation(Request(inputs=open_inputs(), folders=build_folders(str(tmp_path_factory.mktemp("full")))))


@pytest.fixture(scope="module")
def origins(generation: Generation) -> Mapping[str, FileOrigin]:
    """Where the lines of each file of the run come from."""
    return provenance.origins(generation, generation.write_after(None))


def lines_with_entries(target: str, origin: FileOrigin) -> Iterator[tuple[str, frozenset[Entry]]]:
    """Each line of a file, with the entries that it is said to come from."""
    lines = Path(target).read_text(encoding="utf-8").split("\n")
    entries: list[set[Entry]] = [set() for _ in lines]
    for first, last, path, line, _ in origin.lines:
        for place in range(first - 1, last):
            entries[place].add((path, line))
    return ((line, frozenset(entry)) for line, entry in zip(lines, entries, strict=True))


def entry(function: NativeFunction) -> Entry:
    """The entry of a function."""
    return str(Path(function.entry.file.path).absolute()), function.entry.line


@pytest.fixture(scope="module")
def template_lines(generation: Generation) -> frozenset[str]:
    """All lines of all templates."""
    names = {emitter.template for emitter in emitters(generation.job, generation.request.families)}
    texts = [generation._templates[name].template.text for name in names if name]
    return frozenset(line.strip() for text in texts for line in text.split("\n"))


@pytest.mark.thorough
def test_a_line_that_shows_an_overload_comes_from_its_entry_alone(
    generation: Generation, origins: Mapping[str, FileOrigin], template_lines: frozenset[str]
) -> None:
    """Whole schemas and the names of single overloads lead to their entries, and to no neighbour."""
    functions = generation.job.catalog.functions
    by_schema = {str(function.schema): function for function in functions}
    by_name = {name: function for function in functions for name in (function.name.text, function.name.unambiguous)}
    checked: Counter[str] = Counter()
    wrong = []
    for target, origin in origins.items():
        for line, entries in lines_with_entries(target, origin):
            text = line.strip()
            if text in template_lines:
                continue
            schemas = [by_schema[schema] for schema in map(str.rstrip, SCHEMA.findall(line)) if schema in by_schema]
            named = [by_name.get(match.group(1)) for form in FORMS for match in [form.match(text)] if match]
            shown = schemas[-1] if schemas else next(iter(named), None)
            if shown is not None:
                checked[origin.emitter] += 1
                if entries != {entry(shown)}:
                    wrong.append((target, text, entries))
    assert not wrong, wrong[:5]
    assert len(checked) > 30
    assert checked.total() > 80_000


@pytest.mark.thorough
def test_a_line_that_a_unit_made_does_not_come_from_a_template(
    generation: Generation, origins: Mapping[str, FileOrigin], template_lines: frozenset[str]
) -> None:
    """Every line of a fragment leads to an entry, but for those that the file slots or a template have too."""
    job = generation.job
    targets = {(planned.folder, planned.path): planned.target for planned in generation.plan().outputs}
    lost = []
    for emitter in emitters(job, generation.request.families):
        if isinstance(emitter.layout, FilePerUnit) or emitter.name == "register_schema_source":
            continue
        file_lines = text_lines(emitter.file_slots(job).values())
        units = [unit for unit in emitter.units(job) if unit is not None]
        made = {
            line for unit in units for line in text_lines(emitter.fragment(unit, job.context(emitter.reads)).values())
        }
        made -= file_lines | template_lines
        for (folder, path), target in targets.items():
            if folder == emitter.folder and origins[target].emitter == emitter.name and made:
                lost += [(path, line) for line, entries in lines_with_entries(target, origins[target])
                         if not entries and line.strip() in made]  # fmt: skip
    assert not lost, lost[:5]


def text_lines(values: object) -> set[str]:
    """The lines of the values of slots, without those that are empty."""
    texts = [text for value in values for text in ([value] if isinstance(value, str) else value)]  # type: ignore[attr-defined]
    return {line.strip() for text in texts for line in text.split("\n")} - {""}


@pytest.mark.thorough
def test_a_header_that_a_whole_file_includes_leads_to_its_operator(
    generation: Generation, origins: Mapping[str, FileOrigin]
) -> None:
    """Files that are made of includes alone know the operators of each."""
    checked = 0
    for target, origin in origins.items():
        if Path(target).name not in ("Operators.h", "MethodOperators.h", "NativeFunctions.h", "CPUFunctions_inl.h"):
            continue
        for line, entries in lines_with_entries(target, origin):
            match = INCLUDE.match(line)
            overloads = generation.job.by_root.get(match.group(1), ()) if match else ()
            if overloads:
                checked += 1
                assert entries == {entry(overload) for overload in overloads}, (target, line)
    assert checked > 3_000


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("file", "line", "operators"),
    [
        ("ATen/core/aten_interned_strings.h", "_(aten, addmv_) \\", {"addmv_"}),
        ("/enum_tag.h", "core,", {"core"}),
        ("python_enum_tag.cpp", '.value("core", at::Tag::core)', {"core"}),
        ("python_return_types.h", "PyTypeObject* get_aminmax_structseq();", {"aminmax"}),
        ("annotated_fn_args.py", "torch._C._nn.gelu_: [{", {"gelu_"}),
        ("RegisterSchema.cpp", 'm.def("add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", tags_',
         {"add.Scalar"}),
        ("c_shim_cpu.cpp", "AOTITorchError aoti_torch_cpu__fft_c2c(", {"_fft_c2c"}),
    ],
)  # fmt: skip
def test_lines_of_file_slots_lead_to_what_they_name(
    origins: Mapping[str, FileOrigin], file: str, line: str, operators: set[str]
) -> None:
    """Lines that are made for all operators together know the operator, or the tag, of each."""
    named = []
    for target, origin in origins.items():
        if target.endswith(file):
            for number, text in enumerate(Path(target).read_text(encoding="utf-8").split("\n"), 1):
                if text.strip().startswith(line):
                    named.append({entry.operator for entry in origin.lines if entry.first <= number <= entry.last})
    assert named
    assert all(names == operators for names in named)
