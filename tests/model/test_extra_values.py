"""Values of extra keys are read as the type that a plug-in asks for, or not at all."""

from __future__ import annotations

import pytest

from opwright.model.extra_values import NO_VALUES, ExtraValue, ExtraValues
from opwright.source.nodes import MappingNode
from opwright.source.text import SourceFile
from opwright.source.yaml import load_yaml

FIELDS = ExtraValues({"size": "self"})
VALUES: dict[str, ExtraValue] = {
    "yes": True, "no": False, "text": "a", "empty": "", "texts": ("a", "b"), "none": None, "mixed": ("a", 1),
    "number": 1, "fields": FIELDS,
}  # fmt: skip
#: What each method gives for the values that it can give, and for a key that is not there.
READ: dict[str, dict[str, ExtraValue]] = {
    "flag": {"yes": True, "no": False, "none": False, "missing": False},
    "text": {"text": "a", "empty": "", "none": "", "missing": ""},
    "texts": {"texts": ("a", "b"), "none": (), "missing": ()},
    "fields": {"fields": FIELDS, "none": NO_VALUES, "missing": NO_VALUES},
}


@pytest.mark.parametrize("method", READ)
def test_values_have_the_type_that_is_asked_for(method: str) -> None:
    """A missing value is an empty one, and a value of another type is an error that shows it."""
    values = ExtraValues(VALUES)
    for name in (*VALUES, "missing"):
        if name in READ[method]:
            read = getattr(values, method)(name)
            assert (read, type(read)) == (READ[method][name], type(READ[method][name]))
        else:
            with pytest.raises(TypeError, match=f"`{name}` is"):
                getattr(values, method)(name)


def test_values_are_a_mapping_that_knows_its_places() -> None:
    """Values of the file have their nodes and spans, defaults have none; equality is that of the values alone."""
    root = load_yaml(SourceFile("f.yaml", "text: a\n"))
    assert isinstance(root, MappingNode)
    nodes = {key.value: (key, value) for key, value in root.entries}
    values = ExtraValues({"text": "a", "no": False}, nodes)
    assert values.names_in_file == ("text",)
    assert values.node("text") is nodes["text"][1]
    assert [span and span.text for span in (values.span("text"), values.key_span("text"))] == ["a", "text"]
    assert (values.node("no"), values.span("no"), values.key_span("no")) == (None, None, None)
    assert (len(values), dict(values)) == (2, {"text": "a", "no": False})
    same = ExtraValues({"text": "a", "no": False})
    assert (values == same, hash(values) == hash(same), repr(values)) == (True, True, repr(same))
    assert values != ExtraValues({"text": "a", "no": 0})
    assert values != dict(values)
