"""Trees between releases: their generators tell what they write, and their versions only what else is not seen."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import opwright
from opwright.cli.main import main
from opwright.dialects.dialect import LoadContext
from opwright.dialects.table import NATIVE_FUNCTIONS
from opwright.model.catalog import Catalog
from opwright.model.dispatch_key import KEYS, LEARNED_KEYS, dispatch_keys
from opwright.release.generator_files import GENERATOR
from opwright.release.inputs import Inputs, from_source_path
from opwright.release.rules import Rules
from opwright.release.tree import facts_of, rules_of
from opwright.release.tree_facts import LISTS
from opwright.release.version import parse_version
from opwright.run.loading import ignored_keys
from opwright.schema.base_types import LEARNED_TYPES
from opwright.schema.types import BASES
from opwright.source.diagnostic import Diagnostics, Fault, FaultsFound
from opwright.source.text import SourceFile
from opwright.torchgen.forwarding import module_file
from opwright.workspace.overlay import with_texts
from tests.release.fake_torch import generator_files, write_files, write_source_tree
from tests.release.rule_values import rule_values

#: The rows whose change is in none of the files that are read.
WITHOUT_MARK = {
    "compiled_nodes_know_outputs",
    "compiled_nodes_pack_values",
    "helpers_keep_blank_lines",
    "registrations_end_without_semicolon",
    "stub_foreach_returns_lists",
    "torch_stub_files",
}


def tree(folder: Path, version: str, generator: Mapping[str, str]) -> Inputs:
    """The inputs of a small source tree with files of a generator, of which those not given have no text of their own.

    Each file has what the generators have two releases before the version and older.
    """
    write_source_tree(folder, version)
    write_files(folder, generator_files(version, generator))
    return from_source_path(folder)


#: A file, a text in it, and the text in its place.
Edit = tuple[str, str, str]


def edited(version: str, *edits: Edit) -> Inputs:
    """The installed PyTorch as if it were a tree of a version, with texts in some of its files replaced."""
    installed = opwright.open_inputs()
    texts: dict[str, SourceFile] = {}
    for name, old, new in edits:
        source = texts.get(name) or installed.read_text(name)
        assert old in source.text, (name, old)
        texts[name] = SourceFile(source.path, source.text.replace(old, new))
    return Inputs(with_texts(installed, texts)._store, "a tree", version)


def test_every_change_has_a_mark_in_a_file_that_is_read() -> None:
    """A row can be seen in a tree, or is one of those known not to be."""
    without = set()
    for row in Rules.rows():
        for change in row.changes[1:]:
            if change.mark is None:
                without.add(row.name)
            else:
                assert change.mark.file in GENERATOR, row.name
                assert change.mark.text, row.name
    assert without == WITHOUT_MARK
    assert set(LISTS) <= set(GENERATOR)


def test_a_tree_shows_what_its_version_does_not(tmp_path: Path) -> None:
    """The generator of one release in a tree that has the version of the next one; what is there already, too."""
    behind = rules_of(tree(tmp_path / "behind", "2.14.0a0", {"torchgen/gen.py": "IGNORED = set()\n"}))
    assert not behind.xpu_subkeys_need_xpu
    assert Rules(behind.version).xpu_subkeys_need_xpu
    ahead = rules_of(tree(tmp_path / "ahead", "2.14.0a0", {"torchgen/gen.py": 'XPU_KEYS = ["NativeAotStubs.h"]\n'}))
    assert (ahead.xpu_subkeys_need_xpu, ahead.native_aot_stubs) == (True, True)


def test_a_behaviour_that_ended_is_seen_too(tmp_path: Path) -> None:
    """The mark of an ended behaviour is a text that is gone."""
    file, text = "torchgen/dest/native_functions.py", "device_torch_api_key_word_mapping"
    kept = rules_of(tree(tmp_path / "kept", "2.14.0a0", {file: f"{text} = {{}}\n"}))
    ended = rules_of(tree(tmp_path / "ended", "2.14.0a0", {file: ""}))
    assert (kept.structured_classes_exported_for_xpu, ended.structured_classes_exported_for_xpu) == (True, False)


def test_what_cannot_be_seen_goes_by_the_version(tmp_path: Path) -> None:
    """New text around a change of long ago shows nothing."""
    assert rules_of(tree(tmp_path / "old", "2.12.0a0", {})).view_meta_owns_tensors is False
    new = from_source_path(write_source_tree(tmp_path / "new", "2.17.0a0"))
    write_files(tmp_path / "new", {**generator_files("2.4"), "torchgen/gen.py": "rewritten = True\n"})
    assert rules_of(new).enum_tag_is_header_only


def test_a_generator_of_another_release_is_told(tmp_path: Path) -> None:
    """A text that two releases before the version have is missing: the rules are unknown, unless the user says them."""
    old = tree(tmp_path, "2.14.0a0+git12ab", {})
    path = tmp_path / "torchgen/gen.py"
    path.write_text(path.read_text().replace("headeronly", ""))
    with pytest.raises(Fault) as caught:
        rules_of(old)
    diagnostic = caught.value.diagnostic
    assert diagnostic.code == "E0525"
    assert diagnostic.message == "the version is 2.14.0a0, but the generator lacks what PyTorch has from 2.12 on"
    assert diagnostic.notes == ("from 2.12 on: `headeronly` in `torchgen/gen.py`",)
    assert diagnostic.span is not None
    assert diagnostic.span.file.path == str(tmp_path / "version.txt")
    assert rules_of(old, "2.12") == Rules(parse_version("2.12"))


def test_a_generator_of_a_later_release_is_told(tmp_path: Path) -> None:
    """What the tree has holds, and a warning names the release that the version should be."""
    sink = Diagnostics()
    rules = rules_of(tree(tmp_path, "2.13.0a0", {"torchgen/gen.py": '["NativeAotStubs.h"]\n'}), sink=sink)
    assert rules.native_aot_stubs
    (diagnostic,) = sink
    assert (diagnostic.code, diagnostic.span is not None) == ("W0506", True)
    assert "the generator has what PyTorch has from 2.15 on" in diagnostic.message


def test_own_files_of_an_older_generator_are_refused(tmp_path: Path) -> None:
    """A tree of 2.7, or one right after it, has no files written, and the version is shown at its place."""
    for version in ("2.6.0a0", "2.7.0a0", "2.8.0a0"):
        inputs = tree(tmp_path / version, version, {})
        with pytest.raises(Fault) as caught:
            generated(inputs, tmp_path / "out", "headers")
        diagnostic = caught.value.diagnostic
        assert (diagnostic.code, diagnostic.span is not None) == ("E0524", True)
        assert "name PyTorch 2.8 or newer" in str(diagnostic.help)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("version", ["2.13.0", "2.13.0+cpu"])
def test_a_known_release_follows_the_table(tmp_path: Path, version: str) -> None:
    """Where the version is that of a release, or a release is named, the generator is not asked."""
    inputs = tree(tmp_path, version, {"torchgen/gen.py": "XPU_KEYS = {}\n"})
    assert rules_of(inputs) == Rules(parse_version("2.13"))
    between = tree(tmp_path, "2.13.0a0", {"torchgen/gen.py": "XPU_KEYS = {}\n"})
    assert rules_of(between).xpu_subkeys_need_xpu
    assert rules_of(between, "2.13") == Rules(parse_version("2.13"))


def test_no_file_of_a_tree_is_missed_in_silence(tmp_path: Path) -> None:
    """A tree between releases without a file that tells its rules is refused, whichever it is, with what to do."""
    assert rules_of(tree(tmp_path, "2.14.0a0", {})) != Rules(parse_version("2.14"))
    for name in ("version.txt", *GENERATOR):
        path = tmp_path / (f"tools/{name}" if name.startswith("autograd/") else name)
        kept = path.read_bytes()
        path.unlink()
        with pytest.raises(Fault) as caught:
            rules_of(from_source_path(tmp_path), are_written=True)
        assert caught.value.diagnostic.code == ("E0513" if name == "version.txt" else "E0514")
        assert path.name in " ".join([caught.value.diagnostic.message, *caught.value.diagnostic.notes])
        assert "input of the build action" in str(caught.value.diagnostic.help)
        assert rules_of(from_source_path(tmp_path), "2.14") == Rules(parse_version("2.14"))
        path.write_bytes(kept)


def test_a_tree_with_opwright_for_its_generator_follows_the_table(tmp_path: Path) -> None:
    """Modules that forward to Opwright show no behaviours."""
    forwarding = {name: module_file(name) for name in GENERATOR}
    assert rules_of(tree(tmp_path / "replaced", "2.14.0a0", forwarding)) == Rules(parse_version("2.14"))


def test_the_installed_generator_shows_its_release() -> None:
    """What the marks and the lists tell of a release is what the tables have of it, whichever of the two versions."""
    installed = opwright.open_inputs()
    version = parse_version(str(installed.version_text))
    table = Rules(version)
    for text in (f"{version.series}.0a0", f"2.{version.minor + 1}.0a0"):
        shown = rules_of(edited(text))
        assert shown.tree is not None
        assert set(shown.tree.lists) >= {name for names in LISTS.values() for name in names if name[0] != "_"}
        assert {name for name, value in rule_values(shown) if value != table.value(name)} <= WITHOUT_MARK
        assert shown.complex_gradients == table.complex_gradients
        assert (shown.tree.types, shown.tree.fields >= {"func", "dispatch", "tags"}) == ((), True)


def test_the_sets_of_keys_in_the_installed_generator_are_those_of_the_rows() -> None:
    """What rows have of keys is what the generator's lists and sets say, read as text."""
    rules = rules_of(edited("2.14.0a0"))
    assert rules.tree is not None
    assert rules.tree.key_sets.keys() == {"has_functions_header", "has_c_shim", "has_structured"}
    for key in dispatch_keys():
        read = (rules.has_functions_header(key), rules.has_c_shim(key), key.name in rules.tree.structured_keys)
        assert read == (key.has_functions_header, key.has_c_shim, key.has_structured), key.name
    assert {key.name for key in rules.tree.keys} == {key.name for key in dispatch_keys()}
    assert {key.name for key in rules.tree.keys if key.needs_flag} == {
        key.name for key in dispatch_keys() if key.flag and (not key.flag_rule or rules.value(key.flag_rule))
    }


@pytest.mark.thorough
def test_what_a_tree_says_of_known_keys_comes_before_their_rows(tmp_path: Path) -> None:
    """A tree may give a key a functions header or shims, or have it no more; other inputs keep what the rows say."""
    inputs = edited(
        "2.14.0a0",
        ("torchgen/gen.py", "        DispatchKey.MTIA,\n    }\n", "        DispatchKey.QuantizedCPU,\n    }\n"),
        ("torchgen/model.py", "    DispatchKey.QuantizedMeta,\n", ""),
        (YAML, ", QuantizedMeta: empty_unknown_quantized", ": empty_unknown_quantized"),
    )
    text = generated(inputs, tmp_path, "headers", "sources")
    names = {path.name for path in tmp_path.rglob("*")}
    assert {"QuantizedCPUFunctions.h", "RegisterQuantizedCPU_0.cpp"} <= names
    assert "RegisterQuantizedMeta_0.cpp" not in names
    assert "namespace quantizedcpu {" in text
    plain = Rules(parse_version("2.13"))
    assert not plain.has_functions_header(KEYS["QuantizedCPU"])
    assert plain.has_key(KEYS["QuantizedMeta"])


def test_the_lists_of_a_tree_come_before_the_tables() -> None:
    """A name that the tree's generator lists, or no longer lists, is what emitters read."""
    from opwright.release.operator_names.autograd import VIEWS
    from opwright.release.operator_names.functionalization import NOT_FUNCTIONALIZED

    rules = rules_of(
        edited(
            "2.14.0a0",
            ("autograd/gen_variable_type.py", '    "nanmean",\n', '    "nan_to_num",\n'),
            ("autograd/gen_inplace_or_view_type.py", '    "alias": "self",\n', '    "new_view": "base",\n'),
            ("torchgen/gen_functionalization_type.py", '"record_stream",', '"record_new",'),
        )
    )
    assert rules.complex_gradients.intersection(("nanmean", "nan_to_num")) == {"nan_to_num"}
    assert VIEWS.in_release(rules)["new_view"] == "base"
    assert "alias" not in VIEWS.in_release(rules)
    assert NOT_FUNCTIONALIZED.in_release(rules).intersection(("record_stream", "record_new")) == {"record_new"}


def test_rules_differ_with_the_tree(tmp_path: Path) -> None:
    """A change of the generator makes other rules, so files that were made by the old ones are made again."""
    first = rules_of(tree(tmp_path, "2.14.0a0", {}))
    assert rules_of(from_source_path(tmp_path)) == first
    second = rules_of(tree(tmp_path, "2.14.0a0", {"torchgen/gen.py": "XPU_KEYS = {}\n"}))
    assert first != second
    assert first.identity != second.identity
    assert facts_of(from_source_path(tmp_path), second.version) == second.tree


def test_version_and_generator_are_inputs(tmp_path: Path) -> None:
    """Runs look at the version and at the generator's files again when they change."""
    paths = tree(tmp_path, "2.14.0a0", {}).paths()
    assert paths is not None
    expected = {
        tmp_path / "version.txt",
        tmp_path / "torchgen/gen.py",
        tmp_path / "tools/autograd/gen_variable_type.py",
    }
    assert expected <= {Path(path) for path in paths.files}


def test_the_note_about_a_new_version_has_its_suffix(tmp_path: Path) -> None:
    """A tree before the release is not told to be the release."""
    sink = Diagnostics()
    rules_of(tree(tmp_path, "2.99.0a0+git12ab", {}), sink=sink)
    assert [diagnostic.message.partition(" is ")[0] for diagnostic in sink] == ["PyTorch 2.99.0a0"]


def test_summaries_name_the_version_of_the_tree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run says that its inputs are those before a release, and says it again when it has nothing to do."""
    tree(tmp_path, "2.14.0a0+git12ab", {})
    words = ["generate", "--source-path", str(tmp_path), "--only", "declarations_yaml", "--out", str(tmp_path / "out")]
    words.append("--tolerate-generator-edits")
    for _ in range(2):
        assert main(words) == 0
        assert capsys.readouterr().out.startswith(f"PyTorch 2.14.0a0 from the source tree {tmp_path}\n")


def test_a_tree_behind_its_version_needs_no_later_template(tmp_path: Path) -> None:
    """The installed release with the version of one after it makes the files that it made before."""
    inputs = edited("2.15.0a0")
    request = opwright.Request(inputs, opwright.build_folders(str(tmp_path)), families=("headers",))
    generation = opwright.Generation(request)
    outputs = {output.path for output in generation.plan().outputs}
    assert "Functions.h" in outputs
    assert generation.job.rules.native_aot_stubs is ("NativeAotStubs.h" in outputs) is False


@pytest.fixture
def known_keys() -> Iterator[list[str]]:
    """The names of the keys that entries may name; the keys and types that a test adds are forgotten afterwards."""
    saved, types = dict(KEYS), dict(BASES)
    yield [key.name for key in dispatch_keys()]
    KEYS.clear()
    KEYS.update(saved)
    LEARNED_KEYS.clear()
    BASES.clear()
    BASES.update(types)
    LEARNED_TYPES.clear()


#: The place of new entries among those of the installed release.
BEFORE = "- func: erf(Tensor self) -> Tensor\n"
YAML, MODEL = "native/native_functions.yaml", "torchgen/model.py"

#: What a tree adds to the generator and the inputs of the installed release: keys, and a field of entries and of tags.
NEXT: tuple[Edit, ...] = (
    (
        MODEL,
        "    DispatchKey.ZeroTensor,\n",
        '    DispatchKey.Tachyon,\n    DispatchKey.SparseMTIA,\n    DispatchKey.ZeroTensor,\n# e.pop("team", None)\n',
    ),
    (
        YAML,
        BEFORE,
        "- func: speed(Tensor self) -> Tensor\n  team: tachyon\n  dispatch:\n    Tachyon: speed_tachyon\n"
        f"    SparseMTIA: speed_mtia\n\n{BEFORE}",
    ),
    ("native/tags.yaml", "- tag: core\n", "- tag: core\n  team: compiler\n"),
)


class NewType:
    """The edits that give a tree a type which no release has: an entry with it, and its forms in C++ and in Python."""

    def __init__(self, name: str) -> None:
        self.member: Edit = (MODEL, "    GraphModule = auto()\n", f"    GraphModule = auto()\n    {name} = auto()\n")
        self.entry: Edit = (
            YAML,
            BEFORE,
            f"- func: paused(Tensor self, {name} at, {name}? other=None) -> Tensor\n  variants: function, method\n"
            f"  dispatch:\n    CPU: paused_cpu\n\n{BEFORE}",
        )
        self.cpp: tuple[Edit, ...] = (
            ("torchgen/api/types/types.py", "streamT = ", f'newT = BaseCppType("c10", "{name}")\nstreamT = '),
            (
                "torchgen/api/types/types.py",
                "    BaseTy.Stream: streamT,\n",
                f"    BaseTy.Stream: streamT,\n    BaseTy.{name}: newT,\n",
            ),
        )
        self.python: tuple[Edit, ...] = (
            (
                "torchgen/api/python.py",
                "            BaseTy.Stream,\n            BaseTy.SymInt,\n",
                f"            BaseTy.Stream,\n            BaseTy.{name},\n            BaseTy.SymInt,\n",
            ),
            (
                "torchgen/api/python.py",
                "        elif t.name == BaseTy.MemoryFormat:\n            return ",
                f'        elif t.name == BaseTy.{name}:\n            return "handle"\n'
                "        elif t.name == BaseTy.MemoryFormat:\n            return ",
            ),
        )


def load_inputs(inputs: Inputs) -> tuple[Catalog, Diagnostics]:
    """The catalog of inputs, and what was said of them."""
    sink = Diagnostics()
    rules = rules_of(inputs)
    ignored = ignored_keys(rules)
    catalog = NATIVE_FUNCTIONS.load_inputs(LoadContext(sink, rules, inputs, ignored_keys=ignored))
    assert catalog is not None
    return catalog, sink


def test_a_tree_teaches_keys_and_fields(known_keys: list[str]) -> None:
    """A key that only the tree has gets its kernels, at the place in the tree's list; a new field is noted once."""
    catalog, sink = load_inputs(edited("2.15.0a0", *NEXT))
    assert not sink.has_errors
    assert [diagnostic.code for diagnostic in sink] == ["W0303", "W0303"]
    kernels = {key.name: kernel.name for key, kernel in catalog["speed"].kernels.items()}
    assert kernels == {"Tachyon": "speed_tachyon", "SparseMTIA": "speed_mtia"}
    names = [key.name for key in dispatch_keys()]
    place = known_keys.index("ZeroTensor")
    assert names == [*known_keys[:place], "Tachyon", "SparseMTIA", *known_keys[place:]]


def test_what_a_tree_teaches_is_of_this_tree(known_keys: list[str]) -> None:
    """Without the generator's word for them, keys and fields are mistakes; other inputs do not get the keys."""
    del known_keys
    entries = [edit for edit in NEXT if edit[0] != MODEL]
    for version in ("2.13.0", "2.15.0a0"):
        _, sink = load_inputs(edited(version, *entries))
        assert {"E0303", "E0310"} <= {diagnostic.code for diagnostic in sink}
    load_inputs(edited("2.15.0a0", *NEXT))
    assert {key.name for key in ignored_keys(Rules(parse_version("2.13")))} >= {"Tachyon", "SparseMTIA"}


def generated(inputs: Inputs, folder: Path, *families: str) -> str:
    """The texts of all files of these families, which are written to a folder."""
    request = opwright.Request(inputs, opwright.build_folders(str(folder), families), families=families)
    opwright.Generation(request).write()
    return "".join(path.read_text() for path in sorted(folder.rglob("*")) if path.is_file())


@pytest.mark.thorough
def test_a_tree_teaches_types(known_keys: list[str], tmp_path: Path) -> None:
    """A type that only the tree's generator has gets the forms that its files show."""
    del known_keys
    new = NewType("Event")
    inputs = edited("2.15.0a0", new.member, new.entry, *new.cpp, *new.python)
    parameters = "const at::Tensor & self, c10::Event at, ::std::optional<c10::Event> other"
    assert f"at::Tensor paused_cpu({parameters}=::std::nullopt);" in generated(inputs, tmp_path / "cpp", "headers")
    bindings = generated(inputs, tmp_path / "python", "python")
    assert "paused(Tensor input, Event at, Event? other=None)" in bindings
    assert "_r.handle(1), _r.handleOptional(2)" in bindings


def test_a_type_without_a_form_in_cpp_needs_a_row(known_keys: list[str]) -> None:
    """Where the C++ type cannot be read, the entry is reported, and the row to add is named."""
    del known_keys
    new = NewType("Pause")
    _, sink = load_inputs(edited("2.15.0a0", new.member, new.entry))
    assert [diagnostic.code for diagnostic in sink] == ["E0347", "E0347"]
    assert all(
        "add a row `Pause` to `BASE_TYPE_ROWS` in `opwright/schema/base_types.py`" in str(diagnostic.help)
        for diagnostic in sink
    )


@pytest.mark.thorough
def test_a_type_without_a_form_in_python_needs_a_row(known_keys: list[str], tmp_path: Path) -> None:
    """Files in C++ are made without Python's forms; bindings report the entry, and name the row to add."""
    del known_keys
    new = NewType("Watch")
    inputs = edited("2.15.0a0", new.member, new.entry, *new.cpp)
    assert "c10::Watch at" in generated(inputs, tmp_path / "cpp", "headers")
    with pytest.raises(FaultsFound) as caught:
        generated(inputs, tmp_path / "python", "python")
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "E1024"
    assert "add a row `Watch` to `BASE_TYPE_ROWS`" in str(diagnostic.help)


@pytest.mark.thorough
def test_a_type_is_of_the_tree_that_has_it(known_keys: list[str]) -> None:
    """Inputs of a release, and trees without the type, do not get it from a tree that the process read before."""
    del known_keys
    new = NewType("Epoch")
    _, sink = load_inputs(edited("2.15.0a0", new.member, new.entry, *new.cpp))
    assert not sink.has_errors
    for version in ("2.13.0", "2.15.0a0"):
        _, sink = load_inputs(edited(version, new.entry))
        assert [diagnostic.code for diagnostic in sink] == ["E0202", "E0202"]


def test_a_structured_kernel_of_a_new_key_needs_a_row(known_keys: list[str]) -> None:
    """Where the tree has structured kernels for its key, nothing says how they get outputs: the row is named."""
    del known_keys
    inputs = edited(
        "2.15.0a0",
        (MODEL, "STRUCTURED_DISPATCH_KEYS = {", "STRUCTURED_DISPATCH_KEYS = {DispatchKey.Tachyon, "),
        (MODEL, "    DispatchKey.ZeroTensor,\n", "    DispatchKey.Tachyon,\n    DispatchKey.ZeroTensor,\n"),
        (
            YAML,
            "    CPU, CUDA, MPS, MTIA: erf_out\n",
            "    CPU, CUDA, MPS, MTIA: erf_out\n    Tachyon: erf_out_tachyon\n",
        ),
    )
    _, sink = load_inputs(inputs)
    (diagnostic,) = sink
    assert diagnostic.code == "E0353"
    assert "`_ROWS` in `opwright/model/dispatch_key.py`" in str(diagnostic.help)


@pytest.mark.thorough
def test_a_slot_that_only_the_tree_fills_names_its_emitter(tmp_path: Path) -> None:
    """A template of the tree with a new slot is an error at the slot, which names the emitter and its module."""
    new_slot: Edit = ("templates/Functions.h", "${Functions_includes}\n", "${Functions_includes}\n${new_slot}\n")
    with pytest.raises(FaultsFound) as caught:
        generated(edited("2.15.0a0", new_slot), tmp_path, "headers")
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.span is not None) == ("E0601", True)
    (note,) = diagnostic.notes
    assert "of the module `opwright.emit.aten." in note


def test_actions_for_a_tree_read_what_shows_its_rules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Described actions name no release, and list the version and the generator's files; for a release they name it."""
    words: dict[str, list[str]] = {}
    listed: dict[str, set[str]] = {}
    for version in ("2.14.0a0", "2.14.0"):
        top = tmp_path / version
        tree(top, version, {})
        source = ("--source-path", str(top / "aten/src/ATen"), "--only", "declarations_yaml", "--out", str(top / "out"))
        assert main(["generate", *source, "--tolerate-generator-edits", "--describe", "json"]) == 0
        (action,) = json.loads(capsys.readouterr().out)["actions"]
        words[version] = action["arguments"]
        listed[version] = set(action["torch_files"])
    assert ["--release" in given for given in words.values()] == [False, True]
    assert ["version.txt" in paths for paths in listed.values()] == [True, False]
    assert "torchgen/gen.py" in listed["2.14.0a0"]
