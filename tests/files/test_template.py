"""Templates are filled byte for byte as the reference fills them."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from opwright.files.template import Template
from opwright.source.diagnostic import Fault
from opwright.source.text import SourceFile
from tests.files.reference import ReferenceTemplates

SLOT_NAMES = ("a", "body", "_x1", "größe")
# Every kind of line break and blank that Python knows, and what the rule about docstrings looks for.
PIECES = [
    *"ab;$(){},",
    *" \t\n\n\n",
    *"\r\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0\u2028",
    "  ",
    "\n    ",
    "\r\n",
    '"""',
    '"""\n',
    '"""\n\n\n',
    "@f\n",
    "  @f(x)\n",
    "class",
    "def",
    "default",
    "é",
]
SLOT_FORMS = ["${NAME}", "$NAME", "${,NAME}", "${NAME,}", "${,NAME,}", "\n${NAME}", "\n    ${NAME}", "\n\t$NAME", "$$"]

texts = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)
values = st.one_of(texts, st.lists(texts, max_size=5))
slot_values = st.fixed_dictionaries(dict.fromkeys(SLOT_NAMES, values))
slots_in_templates = st.builds(str.replace, st.sampled_from(SLOT_FORMS), st.just("NAME"), st.sampled_from(SLOT_NAMES))
templates = st.lists(st.one_of(st.sampled_from(PIECES), slots_in_templates), max_size=16).map("".join)


def packaged_templates() -> list[Path]:
    """Every template that the reference ships."""
    spec = importlib.util.find_spec("torchgen")
    assert spec is not None
    assert spec.origin is not None
    return sorted(path for path in Path(spec.origin).parent.glob("packaged/*/templates/*") if path.is_file())


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReferenceTemplates]:
    """The reference's template engine."""
    running = ReferenceTemplates(tmp_path_factory.mktemp("templates"))
    yield running
    running.close()


def rendered(template: str, slots: dict[str, str | list[str]]) -> str:
    """What we make of a template."""
    return Template(SourceFile("t", template)).render(slots)


def test_every_packaged_template_is_filled_alike(reference: ReferenceTemplates) -> None:
    """Each shipped template, with lists, with texts, and with nothing in its slots, gives the reference's bytes."""
    paths = packaged_templates()
    assert len(paths) > 60
    for path in paths:
        source = SourceFile.read(path)
        names = set(Template(source).names)
        fillings: list[dict[str, str | list[str]]] = [
            {name: [f"{name}();", "", f"{{\n  {name};  \n\n}}\n"] for name in names},
            {name: f"  {name}\n\n    last of {name}\n\n" for name in names},
            dict.fromkeys(names, ""),
            {name: [] for name in names},
        ]
        for slots in fillings:
            # A value for the comment keeps the launcher's name out of this.
            slots.setdefault("generated_comment", "comment")
            assert Template(source).render(slots) == reference.render(source.text, slots), path.name


@pytest.mark.thorough
@settings(max_examples=600, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(template=templates, slots=slot_values)
def test_any_template_is_filled_alike(
    reference: ReferenceTemplates, template: str, slots: dict[str, str | list[str]]
) -> None:
    """Whatever stands in a template and in its slots, the bytes are the reference's."""
    slots = {**slots, "generated_comment": "comment"}
    # Names run on into the letters after them, so a template may ask for slots of other names too.
    for name in Template(SourceFile("t", template)).names:
        slots.setdefault(name, ["one", "two"])
    assert rendered(template, slots) == reference.render(template, slots)


@pytest.mark.parametrize(
    "text",
    [
        '"""doc"""\nclass A: ...\n',
        '"""doc"""\n\n\n\ndef f(): ...\n',
        '    """doc"""\n    @overload\n    def f(): ...\n',
        '"""doc"""\n@a\n\n  @b(1)\nclass A: ...\n',
        '"""doc"""\n@a("""x""")\n@b\ndef f(): ...\n',
        '"""doc"""\n@a"""\ndef f(): ...\n"""\nclassic = 1\n',
        '"""doc"""\n  \n  definitely = 1\n',
        '"""doc"""\nimport os\nclass A: ...\n',
        '"""doc""" \nclass A: ...\n',
        '"""doc"""\n@\nclass A: ...\n',
    ],
)
def test_docstrings_before_definitions_are_spaced_alike(reference: ReferenceTemplates, text: str) -> None:
    """With or without decorators, and where it only looks so, the blank line comes where the reference's does."""
    slots: dict[str, str | list[str]] = {"a": text, "generated_comment": "comment"}
    assert rendered("${a}$a", slots) == reference.render("${a}$a", slots)
    assert rendered(text, slots) == reference.render(text, slots)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(template=templates, slots=slot_values, left_out=st.sampled_from(SLOT_NAMES))
def test_a_slot_without_value_is_missed_alike(
    reference: ReferenceTemplates, template: str, slots: dict[str, str | list[str]], left_out: str
) -> None:
    """A slot is missed exactly when the reference misses it, and it is the same slot."""
    kept = {"generated_comment": "comment", **slots}
    del kept[left_out]
    try:
        expected = reference.render(template, kept)
    except KeyError as missing:
        with pytest.raises(Fault, match=f"`{missing.args[0]}`"):
            rendered(template, kept)
    else:
        assert rendered(template, kept) == expected


def test_a_missing_slot_has_its_place_and_a_suggestion() -> None:
    """The fault of a missing slot spans the slot in the file and names the value that is spelled nearly so."""
    source = SourceFile("templates/Function.h", "#pragma once\r\n\r\n  ${operator_include}\r\n")
    with pytest.raises(Fault) as caught:
        Template(source).render({"operator_includes": []})
    diagnostic = caught.value.diagnostic
    assert diagnostic.code == "E0601"
    assert diagnostic.message == "no value for slot `operator_include` of template `Function.h`"
    assert diagnostic.help == "did you mean `operator_includes`?"
    assert diagnostic.span is not None
    assert (diagnostic.span.line, diagnostic.span.column) == (3, 3)
    assert diagnostic.span.text == "${operator_include}"


def test_a_slot_beside_other_text_has_no_value() -> None:
    """Slots with lines of several operators stand alone; a byte order mark is text, and is copied."""
    source = SourceFile.decode("f.h", b"\xef\xbb\xbf${comment}\n  ${lines}\nint a; ${lines}\n")
    template = Template(source)
    assert template.render({"comment": "// c", "lines": ["f;", "g;"]}) == "\ufeff// c\n  f;\n  g;\nint a; f;, g;\n"
    with pytest.raises(Fault) as caught:
        template.check_lines(["comment"])
    diagnostic = caught.value.diagnostic
    assert diagnostic.message == "no value for slot `lines` of template `f.h` beside other text"
    assert diagnostic.help == "give it a line of its own, as PyTorch does"
    assert diagnostic.span is not None
    assert (diagnostic.span.line, diagnostic.span.column) == (3, 8)
    template.check_lines(["comment", "lines"])


def test_large_texts_with_and_without_trailing_blanks_are_indented_alike() -> None:
    """Both ways of indenting, the one for even texts and the one for any text, give the same lines."""
    even = ["void f() {\n  g();\n\n}\n", "", "h();\n\n\n"] * 2000
    uneven = ["void f() {  \n  g();\n  \n}\n", "", "h();\n\n\n"] * 2000
    assert Template.filled_slot(even, "    ", "", "") == Template.filled_slot(uneven, "    ", "", "")
    assert "\n    \n" not in Template.filled_slot(even, "    ", "", "")


@pytest.mark.parametrize(
    "text",
    [
        "${a.__class__}",
        "${__import__('os').abort()}",
        "$(abort) `abort`",
        "{{ 7 * 7 }} {% raw %} <% abort %> #{abort} %(a)s {a}",
        "${a",
    ],
)
@pytest.mark.parametrize("place", ["template", "slot"])
def test_templates_are_text(place: str, text: str) -> None:
    """What other languages of templates would compute stays as it is, and what is filled in is not filled again."""
    template, value = (f"{text} | ${{b}}\n", "b") if place == "template" else ("${a} | b\n", text)
    assert rendered(template, {"a": value, "b": "b"}) == f"{text} | b\n"
