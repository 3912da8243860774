"""Keys that plug-ins declare reach the model as typed values, and mistakes in them have a place."""

from __future__ import annotations

import collections.abc
import json
from collections.abc import Callable
from functools import cache

import pytest

from opwright.backends.dialect.loader import load
from opwright.backends.external_backend import BackendEntry, ExternalBackend
from opwright.backends.rows import BACKEND
from opwright.backends.wrapper_options import NO_ENTRY_OPTIONS, NO_HEAD_OPTIONS
from opwright.dialects.dialect import BackendReader, LoadContext
from opwright.dialects.field import BACKEND_ENTRY, BACKEND_HEAD, LIBRARY_ENTRY, NATIVE_FUNCTION, mapping_schema
from opwright.dialects.native_functions.loader import load as load_native
from opwright.dialects.table import NATIVE_FUNCTIONS
from opwright.dialects.values import VERSION_FIELDS
from opwright.libraries.dialect.loader import load as load_operator_files
from opwright.model.catalog import Catalog
from opwright.model.extra_values import ExtraValues
from opwright.plugins.built_nodes import NodeValue, node_at, part_of, with_entries, without_entries
from opwright.plugins.extra_key_schemas import add_extra_keys
from opwright.plugins.extra_keys import (
    ANY_VALUE,
    CPP_CODE,
    CPP_EXPRESSION,
    CPP_IDENTIFIER,
    CPP_NAME,
    Choice,
    Either,
    ExtraKey,
    ExtraKeyReader,
    Fields,
    ListOf,
    Table,
)
from opwright.release.inputs import Inputs, open_inputs
from opwright.release.rules import Rules
from opwright.release.version import parse_version
from opwright.run.loading import load as load_pytorch
from opwright.source.diagnostic import Diagnostics, Fault
from opwright.source.nodes import MappingNode, Node, Scalar, SequenceNode
from opwright.source.text import SourceFile
from opwright.workspace.named_files import read_beside
from tests.dialects.loading import found_faults

RESULT = Fields(ExtraKey("size", CPP_EXPRESSION, is_required=True), ExtraKey("dtype", str, default="self"))
ENTRY_KEYS = (
    ExtraKey("profiled", bool, BACKEND_ENTRY, default=True, help="Whether the profiler sees the call."),
    ExtraKey("level", int, BACKEND_ENTRY),
    ExtraKey("kinds", list[str], BACKEND_ENTRY),
    ExtraKey("reduction", Choice("sum", "mean"), BACKEND_ENTRY),
    ExtraKey("guard_class", CPP_NAME, BACKEND_ENTRY),
    ExtraKey("macro", CPP_IDENTIFIER, BACKEND_ENTRY),
    ExtraKey("size", CPP_EXPRESSION, BACKEND_ENTRY),
    ExtraKey("code", CPP_CODE, BACKEND_ENTRY),
    ExtraKey("result", RESULT, BACKEND_ENTRY),
    ExtraKey("params", Table(CPP_EXPRESSION), BACKEND_ENTRY),
    ExtraKey("releases", Either(bool, list[str]), BACKEND_ENTRY),
    ExtraKey("pair", ListOf(Fields(ExtraKey("value", int), ExtraKey("other", int))), BACKEND_ENTRY),
    ExtraKey("free", ANY_VALUE, BACKEND_ENTRY),
    ExtraKey("names", ListOf(str, one_alone=True), BACKEND_ENTRY),
    ExtraKey("factor", float, BACKEND_ENTRY),
)  # fmt: skip
HEAD_KEYS = (ExtraKey("vendor_version", str, BACKEND_HEAD, default="1"), ExtraKey("jit", bool, BACKEND_HEAD))


@cache
def pytorch() -> Inputs:
    """The inputs of the installed PyTorch."""
    return open_inputs("auto")


@cache
def operators() -> Catalog:
    """The operators of the installed PyTorch."""
    return load_pytorch("auto")


def reading(keys: collections.abc.Mapping[str, tuple[ExtraKey, ...]]) -> Callable[[str], ExtraKeyReader | None]:
    """What reads these keys at each place, as a run with plug-ins does."""
    return lambda where: ExtraKeyReader(keys[where]) if where in keys else None


def acme_keys() -> dict[str, tuple[ExtraKey, ...]]:
    """The keys of these tests by their places."""
    return {
        key.where: tuple([other.of_plugin("acme") for other in (*ENTRY_KEYS, *HEAD_KEYS) if other.where == key.where])
        for key in (*ENTRY_KEYS, *HEAD_KEYS)
    }


def context_of(sink: Diagnostics, **fields: object) -> LoadContext:
    """A context with the operators of PyTorch and the keys of these tests."""
    rules = Rules(parse_version("2.13.0"))
    context = LoadContext(sink, rules, pytorch(), operators(), operators().functions, extra_keys=reading(acme_keys()))
    return context._replace(**fields)  # type: ignore[arg-type]


def loaded(text: str, **fields: object) -> tuple[ExternalBackend | None, Diagnostics]:
    """The backend of a text, None if it has none, and the faults."""
    sink = Diagnostics()
    backends = load([SourceFile("backend.yaml", text)], context_of(sink, **fields))
    return (backends[0] if backends else None), sink


def backend_of(text: str, **fields: object) -> ExternalBackend:
    """The backend of a text without faults."""
    backend, sink = loaded(text, **fields)
    assert backend is not None, list(sink)
    assert not list(sink)
    return backend


def entry_of(options: str, head: str = "") -> BackendEntry:
    """The entry of `relu` with these options."""
    text = f"backend: PrivateUse1\ncpp_namespace: acme\n{head}supported:\n- relu: {{{options}}}\n"
    return backend_of(text).sections[0].entries[0]


def faults_of(options: str) -> list[tuple[str, str, str]]:
    """The codes, messages and texts of the faults of an entry with these options."""
    text = f"backend: PrivateUse1\ncpp_namespace: acme\nsupported:\n- relu: {{{options}}}\n"
    _, sink = loaded(text)
    return [(each.code, each.message, each.span.text if each.span else "") for each in sink.sorted()]


VALUES = {
    "profiled: off": ("profiled", False),
    "level: 3": ("level", 3),
    "kinds: [a, b]": ("kinds", ("a", "b")),
    "reduction: mean": ("reduction", "mean"),
    "guard_class: 'acme::Guard'": ("guard_class", "acme::Guard"),
    "macro: ACME_GUARD": ("macro", "ACME_GUARD"),
    "size: 'self.sizes()[0]'": ("size", "self.sizes()[0]"),
    "code: 'f(); g();'": ("code", "f(); g();"),
    "result: {size: self}": ("result", ExtraValues({"size": "self", "dtype": "self"})),
    "params: {total: 'a + b'}": ("params", ExtraValues({"total": "a + b"})),
    "releases: true": ("releases", True),
    "releases: [v2.1, newest]": ("releases", ("v2.1", "newest")),
    "pair: [{value: 1, other: 2}]": ("pair", (ExtraValues({"value": 1, "other": 2}),)),
    "free: {a: [1, x, null]}": ("free", ExtraValues({"a": (1, "x", None)})),
    "names: one": ("names", ("one",)),
    "factor: 2": ("factor", 2.0),
    "level: [{value: 1, until: 2.12}, {value: 2, since: 2.12}]": ("level", 2),
    "pair: [{value: [{value: 7}], since: 2.12}]": ("pair", (ExtraValues({"value": 7, "other": None}),)),
}


@pytest.mark.parametrize("options", VALUES)
def test_values(options: str) -> None:
    """A value of each type reaches the entry, also one that only some releases have."""
    name, value = VALUES[options]
    values = entry_of(options).options.values
    assert repr(values[name]) == repr(value)
    assert values.names_in_file == (name,)
    assert values["profiled"] is (value if name == "profiled" else True)


MISTAKES = {
    "profiled: sometimes": ("E2330", "`profiled` is a string, not a boolean", "sometimes"),
    "profiled: [a]": ("E2330", "`profiled` is a list, not a boolean", "[a]"),
    "level: 1.5": ("E2330", "`level` is a number, not an integer", "1.5"),
    "kinds: [a, 2]": ("E2330", "`kinds` is an integer, not a string", "2"),
    "releases: 2.1": ("E2330", "`releases` is a number, not a boolean or a list of strings", "2.1"),
    "reduction: mena": ("E2331", "`reduction` cannot be `mena`", "mena"),
    "result: {size: self, dtpye: x}": ("E2332", "unknown key `dtpye` in `result`", "dtpye"),
    "result: {dtype: x}": ("E2333", "`result` has no `size`", "{dtype: x}"),
    "result: {size: 'f(self'}": ("E2334", "`result.size` is not a C++ expression: `(` is not closed", "("),
    "size: ''": ("E2334", "`size` is not a C++ expression: it is empty", "''"),
    "size: 'a; b'": ("E2334", "`size` is not a C++ expression: an expression has no `;`", ";"),
    "code: 'f(]'": ("E2334", "`code` is not C++ code: `]` where `)` closes the bracket", "]"),
    "guard_class: 'acme:Guard'": ("E2334", "`acme:Guard` is not a C++ name", "'acme:Guard'"),
    "macro: 'acme::GUARD'": ("E2334", "`acme::GUARD` is not a C++ identifier", "'acme::GUARD'"),
    "macro: class": ("E2334", "`class` is not a C++ identifier", "class"),
    "params: {a: 1, a: 2}": ("E0107", "the key `a` is repeated", "a"),
    "profild: true": ("E1335", "unknown option `profild`", "profild"),
}


@pytest.mark.parametrize("options", MISTAKES)
def test_mistakes(options: str) -> None:
    """A value that is not of its type is a diagnostic at the value, and an unknown name one at the name."""
    code, message, text = MISTAKES[options]
    assert faults_of(options) == [(code, message, text)]


def test_names_are_suggested() -> None:
    """The help for an unknown option names keys of plug-ins, and a fault says which plug-in declares the key."""
    _, sink = loaded("backend: PrivateUse1\ncpp_namespace: acme\nsupported:\n- relu: {profild: 1, level: x}\n")
    unknown, wrong = sink.sorted()
    assert str(unknown.help) == "did you mean `profiled`?"
    assert wrong.notes == ("the plug-in `acme` declares `level`",)


def test_head() -> None:
    """A head has the values of its keys, and a key that the file does not have its default."""
    text = "backend: PrivateUse1\ncpp_namespace: acme\njit: true\nsupported:\n- relu\n"
    values = backend_of(text).options.values
    assert (values["jit"], values["vendor_version"], values.names_in_file) == (True, "1", ("jit",))
    _, sink = loaded(text.replace("jit: true", "jti: true"))
    assert [str(each.help) for each in sink] == ["did you mean `jit`?"]
    _, sink = loaded(text.replace("jit: true", "jit: 3"))
    assert found_faults(sink) == ((3, 6, 1, "E2330"),)


def test_no_keys() -> None:
    """Without keys of plug-ins, entries and heads have no values, and a run of the drop-in program has no keys."""
    text = "backend: PrivateUse1\ncpp_namespace: acme\nsupported:\n- relu\n"
    backend = backend_of(text, extra_keys=None)
    assert backend.options == NO_HEAD_OPTIONS
    assert backend.sections[0].entries[0].options == NO_ENTRY_OPTIONS
    _, sink = loaded(text.replace("supported", "jit: true\nsupported"), tolerant=True)
    assert [each.message for each in sink] == ["unknown key `jit`"]


def test_native_functions() -> None:
    """Entries of `native_functions.yaml` have values, and a key without a value its default."""
    key = ExtraKey("cost", int, NATIVE_FUNCTION, default=1)
    files = {"native/tags.yaml": "- tag: core\n  desc: c\n"}
    text = "- func: a(Tensor self) -> Tensor\n  cost: 5\n- func: b(Tensor self) -> Tensor\n"

    class _Inputs:
        def read_text(self, name: str) -> SourceFile:
            return SourceFile(name, files[name])

        def names(self) -> list[str]:
            return list(files)

    sink = Diagnostics()
    context = context_of(sink, inputs=_Inputs(), extra_keys=reading({NATIVE_FUNCTION: (key,)}), catalog=None)
    catalog = load_native([SourceFile("native/native_functions.yaml", text)], context)
    assert [function.values["cost"] for function in catalog] == [5, 1]
    wrong = text.replace("5", "x") + "  csot: 1\n"
    load_native([SourceFile("native/native_functions.yaml", wrong)], context)
    assert [(each.code, str(each.help)) for each in sink.sorted()] == [("E2330", ""), ("E0303", "did you mean `cost`?")]


def test_library_entries() -> None:
    """Entries of library files have values, of the release of the run."""
    key = ExtraKey("cost", int, LIBRARY_ENTRY)
    sink = Diagnostics()
    text = "namespace: acme\noperators:\n- func: a(Tensor self) -> Tensor\n  cost: [{value: 3, since: 2.12}]\n"
    context = context_of(sink, extra_keys=reading({LIBRARY_ENTRY: (key,)}))
    libraries = load_operator_files([SourceFile("l.yaml", text)], context)
    assert not list(sink)
    assert libraries[0].catalog.functions[0].values["cost"] == 3


def test_values_are_values() -> None:
    """Two values are equal if they are of the same type and equal, wherever they stand; True and 1 are not."""
    there = entry_of("level: 3", head="jit: true\n").options.values
    here = entry_of("level: 3").options.values
    assert (here == there, hash(here) == hash(there)) == (True, True)
    assert here.span("level") != there.span("level")
    assert ExtraValues({"a": 1}) != ExtraValues({"a": True})


def test_declarations() -> None:
    """A declaration that makes no sense is an error where the plug-in makes it."""
    with pytest.raises(ValueError, match="is no place of keys"):
        ExtraKey("name", bool, "nowhere")
    with pytest.raises(ValueError, match="is no name of a key"):
        ExtraKey("a name", bool)
    with pytest.raises(ValueError, match="is no type of extra keys"):
        ExtraKey("name", dict)
    with pytest.raises(ValueError, match="is no plain value"):
        ExtraKey("name", bool, default=object())


VENDOR = """\
acme_version: 3
ops:
- {name: "relu(Tensor self) -> Tensor", fast: true}
- {name: "rellu(Tensor self) -> Tensor"}
"""


def rewrite(root: Node, context: LoadContext) -> MappingNode:
    """A backend file from a file of the vendor."""
    assert isinstance(root, MappingNode)
    ops = root.get("ops")
    assert isinstance(ops, SequenceNode)
    supported: list[NodeValue] = []
    for item in ops.items:
        assert isinstance(item, MappingNode)
        name = item.get("name")
        assert isinstance(name, Scalar)
        short = part_of(name, 0, name.value.index("("))
        options = without_entries(item, lambda key: key == "name")
        if options.entries:
            supported.append(
                MappingNode(item.file, item.start, item.end, [(short, with_entries(options, {"level": 2}))])
            )
        else:
            supported.append(short)
    if context.catalog is None:
        context.sink.error("E2341", "needs operators")
    head = node_at(root, {"backend": "PrivateUse1", "cpp_namespace": "acme", "supported": supported})
    assert isinstance(head, MappingNode)
    return head


def is_acme(root: Node) -> bool:
    """Whether a file is one of the vendor."""
    return isinstance(root, MappingNode) and root.get("acme_version") is not None


READER = BackendReader("acme file", is_acme, rewrite, plugin="acme")
FAST = ExtraKey("fast", bool, BACKEND_ENTRY)


def test_reader() -> None:
    """A vendor's file is read as a backend file, and a mistake has its place in the vendor's file."""
    keys = {BACKEND_ENTRY: (FAST, *ENTRY_KEYS)}
    backend, sink = loaded(VENDOR, backend_readers=(READER,), extra_keys=reading(keys))
    assert backend is not None
    entry = backend.sections[0].entries[0]
    assert (entry.function.name.text, entry.options.values["fast"], entry.options.values["level"]) == ("relu", True, 2)
    assert found_faults(sink) == ((4, 11, 5, "E1306"),)


def test_other_files() -> None:
    """A file that no reader recognises is read as it is."""
    text = "backend: PrivateUse1\ncpp_namespace: acme\nsupported:\n- relu\n"
    assert len(backend_of(text, backend_readers=(READER,)).sections[0].entries) == 1


def test_two_readers() -> None:
    """A file that two readers recognise is a diagnostic that names both."""
    _, sink = loaded(VENDOR, backend_readers=(READER, BackendReader("other", is_acme, rewrite)))
    assert [(each.code, each.message) for each in sink] == [
        ("E2340", "the reader `acme file` of the plug-in `acme` and the reader `other` both read `backend.yaml`")
    ]


def test_reading_beside() -> None:
    """A reader can read a file beside the vendor's one, and a file that is not there is a diagnostic."""
    read: list[str] = []

    def read_file(path: str) -> SourceFile:
        read.append(path)
        if path.endswith("more.yaml"):
            return SourceFile(path, "acme_version: 1\nops: []\n")
        raise Fault.at("E0001", f"no such file: `{path}`")

    root = MappingNode(SourceFile("folder/a.yaml", "x"), 0, 1, [])
    context = context_of(Diagnostics(), read_file=read_file)
    assert is_acme(read_beside(root, "more.yaml", context))
    with pytest.raises(Fault):
        read_beside(root, "other.yaml", context)
    assert read == ["folder/more.yaml", "folder/other.yaml"]


def test_schemas() -> None:
    """The JSON Schemas of files have the keys of plug-ins, with their values for releases and their help."""
    keys = acme_keys()
    schema = add_extra_keys(
        "backend", BACKEND.schema() or {}, {**keys, LIBRARY_ENTRY: (ExtraKey("cost", int, LIBRARY_ENTRY),)}
    )
    assert schema is not None
    (key,) = [key for key in keys[BACKEND_ENTRY] if key.name == "reduction"]
    text = json.dumps(schema)
    assert json.dumps({"reduction": _with_releases({"enum": ["sum", "mean"]})})[1:-1] in text, key.field
    assert text.count('"cost"') == 1
    assert '"jit"' in text
    help = "Whether the profiler sees the call. (plug-in acme)"
    assert text.count(json.dumps({"description": help})[1:-1]) == 1
    native = add_extra_keys(
        "native_functions",
        NATIVE_FUNCTIONS.schema() or {},
        {NATIVE_FUNCTION: (ExtraKey("cost", int, NATIVE_FUNCTION, is_required=True),)},
    )
    assert native is not None
    assert "cost" in json.loads(json.dumps(native))["items"]["required"]
    assert '"jit"' not in json.dumps(BACKEND.schema())


def _with_releases(values: dict[str, object]) -> dict[str, object]:
    schema = json.loads(json.dumps(mapping_schema(VERSION_FIELDS)))
    schema["properties"]["value"] = {"description": "The value in these releases.", **values}
    return {"description": "(plug-in acme)", "anyOf": [values, {"type": "array", "items": schema}]}
