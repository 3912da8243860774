"""Templates, parsed once and filled many times, and those of a run, each loaded when it is first needed.

A slot is written `$name`, `${name}`, `${,name}` or `${name,}`; a `$` before anything else is plain text.

- A slot that only blanks precede on its line takes its value line by line: each line gets the slot's indentation
  and loses its trailing whitespace, and the last line loses the blank lines after it. A list gives each item lines
  of its own; an empty item gives none.
- Any other slot takes a string as it is, and a list joined by `, `; `${,name}` and `${name,}` put one more `, ` before
  or after a list that is not empty.
- Once filled, a docstring that ends right before a class or function gets a blank line after it.

Line breaks in a template are read as LF, whichever the file has.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Sequence

from opwright.emit.emitter import Slots
from opwright.release.rules import Rules
from opwright.source.codes import MISSING_SLOT
from opwright.source.diagnostic import Fault, Suggestion, did_you_mean
from opwright.source.lazy import lazy_pattern
from opwright.source.records import NamedTuple
from opwright.source.text import SourceFile

_SLOT = lazy_pattern(r"\$(?:(?P<bare>[^\W\d]\w*)|\{(?P<before>,?)(?P<braced>[^\W\d]\w*)(?P<after>,?)\})")
_AFTER_DOCSTRING = lazy_pattern(r'"""\n+((?:\s*@.+\n)*\s*(?:class|def))')


class TemplatePart(NamedTuple):
    """A slot and the plain text after it, up to the next slot. `indent` is None if text shares the slot's line."""

    name: str
    indent: str | None
    before: str
    after: str
    rest: str


class Template:
    """A template's text, cut at its slots.

    >>> template = Template(SourceFile("f.h", "namespace at {\\n  ${body}\\n} // $name(${args})\\n"))
    >>> template.names
    ('body', 'name', 'args')
    >>> print(template.render({"body": ["int f();", "int g();\\n"], "name": "at", "args": ["a", "b"]}), end="")
    namespace at {
      int f();
      int g();
    } // at(a, b)
    """

    __slots__ = ("_starts", "names", "opening", "parts", "source")

    separator = "\n"
    """The text between the chunks that several units put into a slot."""

    separates_docstrings = True
    """Whether a blank line follows docstrings that end right before a class or function."""

    source: SourceFile
    names: tuple[str, ...]
    """The slots in the order in which they stand, each as often as it does."""

    def __init__(self, source: SourceFile) -> None:
        text = source.text.replace("\r\n", "\n").replace("\r", "\n")
        slots = list(_SLOT.finditer(text))
        stops = [slot.start() for slot in slots] + [len(text)]
        parts = []
        # PyTorch's generator copies a byte order mark as it does other text.
        mark = "\ufeff" if source.prefix_bytes else ""
        opening = mark + text[: stops[0]]
        for slot, stop in zip(slots, stops[1:], strict=True):
            line_start = text.rfind("\n", 0, slot.start()) + 1
            lead = text[line_start : slot.start()] if line_start else mark + text[: slot.start()]
            bare, before, braced, after = slot.group("bare", "before", "braced", "after")
            separators = ", " if before else "", ", " if after else ""
            indent, rest = None if lead.strip() else lead, text[slot.end() : stop]
            parts.append(TemplatePart(bare or braced, indent, *separators, rest))
        self.source = source
        self.names = tuple(part.name for part in parts)
        self._starts = tuple(stops[:-1])
        self.opening, self.parts = _without_lead(opening, parts)

    def __repr__(self) -> str:
        return f"Template({self.source.path!r})"

    @property
    def text(self) -> str:
        """Text that the template was made from."""
        return self.source.text

    def render(self, slots: Slots) -> str:
        """The template's text with every slot filled; values for other names are left unused.

        Raises Fault (E0601) at the first slot that has no value.
        """
        return self.with_docstring_lines(self.filled(slots))

    def filled(self, slots: Slots) -> str:
        """The filled text without the blank lines after docstrings."""
        texts = [self.opening]
        add = texts.append
        try:
            for name, indent, before, after, rest in self.parts:
                add(self.filled_slot(slots[name], indent, before, after))
                add(rest)
        except KeyError:
            raise self.missing_slot(slots) from None
        return "".join(texts)

    @staticmethod
    def chunk(value: str | Sequence[str], indent: str) -> str | None:
        """Lines that one unit puts into a slot, with the blank ones at the end, for more may follow; None for none.

        Each is indented and without trailing whitespace, and blank ones stay empty.

        >>> Template.chunk(["int f();\\n\\n", "int g();\\n\\n"], "  ")
        '  int f();\\n\\n  int g();\\n'
        >>> Template.chunk(["", ""], "") is None
        True
        """
        items = [value] if isinstance(value, str) else value
        if len(items) == 1:
            # Nearly all fragments have one text for a slot.
            (text,) = items
            if not text:
                return None
            if text[-1] == "\n":
                text = text[:-1]
        else:
            texts = [item[:-1] if item[-1] == "\n" else item for item in items if item]
            if not texts:
                return None
            text = "\n".join(texts)
        # Without indentation, a blank line at the end is one like others.
        open_end = " \n" if indent else " "
        if not text or text[-1] in open_end or not text.isascii() or indent.strip(" \t") or has_uneven_lines(text):
            lines = [line.rstrip() for item in items for line in item.splitlines()]
            # A character of the indentation may end a line too.
            parts = [(indent + line).splitlines() if line else [""] for line in lines]
            return "\n".join([part.rstrip() for parts_of_line in parts for part in parts_of_line])
        if not indent:
            return text
        return (indent + text.replace("\n", "\n" + indent)).replace(indent + "\n", "\n")

    @classmethod
    def with_docstring_lines(cls, text: str) -> str:
        """The text with a blank line after each docstring that ends right before a class or function."""
        has_docstrings = cls.separates_docstrings and '"""\n' in text
        return _AFTER_DOCSTRING.sub(r'"""\n\n\1', text) if has_docstrings else text

    @classmethod
    def filled_slot(cls, value: str | Sequence[str], indent: str | None, before: str, after: str) -> str:
        """Text of a slot with a value."""
        if indent is not None:
            return (cls.chunk(value, indent) or "").rstrip()
        if isinstance(value, str):
            return value
        return f"{before}{', '.join(value)}{after}" if value else ""

    def check_lines(self, inline: Collection[str]) -> None:
        """Raises Fault (E0601) for the first slot beside other text that is not one of these."""
        for index, part in enumerate(self.parts):
            if part.indent is None and part.name not in inline:
                help = did_you_mean(part.name, inline, "give it a line of its own, as PyTorch does")
                raise self._slot_fault(index, " beside other text", help)

    def missing_slot(self, slots: Slots) -> Fault:
        """Fault of the first slot that has no value."""
        index, name = next((index, name) for index, name in enumerate(self.names) if name not in slots)
        return self._slot_fault(index, "", did_you_mean(name, slots))

    def _slot_fault(self, index: int, where: str, help: Suggestion) -> Fault:
        """Fault of a slot by its number that has no value, which the words may narrow down."""
        start = _offset_in_file(self.source.text, self._starts[index])
        slot = _SLOT.match(self.source.text, start)
        return Fault.at(
            MISSING_SLOT,
            f"no value for slot `{self.names[index]}` of template `{os.path.basename(self.source.path)}`{where}",
            self.source.span(start, slot.end() if slot else start + 1),
            label="no value",
            help=help,
        )


class UnevenTemplate(Template):
    """A template that PyTorch before 2.8 fills: lines keep their trailing whitespace, and blank ones are indented.

    >>> UnevenTemplate(SourceFile("f.h", "{\\n  ${body}\\n}\\n")).render({"body": ["int f();  \\n\\nint g();\\n\\n"]})
    '{\\n  int f();  \\n  \\n  int g();\\n}\\n'
    """

    __slots__ = ()
    separates_docstrings = False

    @staticmethod
    def chunk(value: str | Sequence[str], indent: str) -> str | None:
        """Lines that one unit puts into a slot; None where there are none."""
        items = [value] if isinstance(value, str) else value
        lines = [indent + line for item in items for line in item.splitlines()]
        return "\n".join(lines) if lines else None


WHOLE_TEXT = "text"
"""The slot of an output without template: its text, or its texts one after the other, are the whole file."""


class WholeText(Template):
    """Template of an output that has none: the texts in the slot `text` are the file."""

    __slots__ = ()
    separator = ""
    separates_docstrings = False

    def __init__(self) -> None:
        super().__init__(SourceFile("", f"${{{WHOLE_TEXT}}}"))

    @staticmethod
    def chunk(value: str | Sequence[str], indent: str) -> str | None:
        """Texts of one unit, joined."""
        return WholeText.filled_slot(value, indent, "", "") or None

    def missing_slot(self, slots: Slots) -> Fault:
        """Fault that no unit and no file slot gives the slot `text`."""
        del slots
        return Fault.at(MISSING_SLOT, f"an output without template has no slot `{WHOLE_TEXT}`")

    @classmethod
    def filled_slot(cls, value: str | Sequence[str], indent: str | None, before: str, after: str) -> str:
        """Text of the slot with a value."""
        del indent, before, after
        return value if isinstance(value, str) else "".join(value)


def _without_lead(opening: str, parts: Sequence[TemplatePart]) -> tuple[str, tuple[TemplatePart, ...]]:
    """Parts without the blanks before indented slots, which are the slots' own to write."""
    leads = [len(part.indent or "") for part in parts] + [0]
    opening = opening[: len(opening) - leads[0]]
    return opening, tuple(
        part._replace(rest=part.rest[: len(part.rest) - lead]) for part, lead in zip(parts, leads[1:], strict=True)
    )


def _offset_in_file(text: str, offset: int) -> int:
    """Offset in a text of an offset that counts each CR LF pair as one character."""
    for pair in re.finditer("\r\n", text):
        if pair.start() >= offset:
            break
        offset += 1
    return offset


def has_uneven_lines(text: str) -> bool:
    """Whether a line of an ASCII text may end in whitespace, or elsewhere than at LF. Tabs are rare enough to count."""
    # Nine scans at memory speed: a pattern or a loop over the characters takes several times as long.
    return (
        " \n" in text
        or "\t" in text
        or "\r" in text
        or "\x0b" in text
        or "\x0c" in text
        or "\x1c" in text
        or "\x1d" in text
        or "\x1e" in text
        or "\x1f" in text
    )


LAUNCHER = "torchgen/gen.py"
"""The program that `generated_comment` names: the reference's own, so that the outputs are the same bytes."""

STUBS_LAUNCHER = "tools/pyi/gen_pyi.py"
"""The comment of the stub files of torch."""

PLUGIN_LAUNCHER = "opwright"
"""The comment of files of plug-ins with templates of their own."""


def template_kind(rules: Rules) -> Callable[[SourceFile], Template]:
    """How the templates of a release are filled."""
    return Template if rules.templates_strip_lines else UnevenTemplate


def generated_comment(template: str, launcher: str = LAUNCHER) -> str:
    """Comment that says by which program a text was made from which template."""
    # In two pieces here, so that no tool takes this file for a generated one.
    return "@" + f"generated by {launcher} from {template}"


def template_comment(template: str, folder: str) -> str:
    """Comment that says from which template in which folder a text of autograd was made."""
    return "@" + f"generated from {folder}/{template}"


class LoadedTemplate(NamedTuple):
    """A template and the value of its slot `generated_comment`."""

    template: Template
    comment: str


class Templates:
    """Templates by name. `load` gives the file of a name, `comment` its generated comment.

    >>> templates = Templates(lambda name: SourceFile(name, "// ${generated_comment}\\n"))
    >>> templates["Function.h"].template.names
    ('generated_comment',)
    """

    __slots__ = ("_comment", "_kind", "_load", "_templates")

    def __init__(
        self,
        load: Callable[[str], SourceFile],
        comment: Callable[[str], str] = generated_comment,
        kind: Callable[[SourceFile], Template] = Template,
    ) -> None:
        self._kind = kind
        self._load = load
        self._comment = comment
        self._templates: dict[str, LoadedTemplate] = {}

    def __getitem__(self, name: str) -> LoadedTemplate:
        """Template of a name. Raises Fault if it cannot be read."""
        loaded = self._templates.get(name)
        if loaded is None:
            loaded = self._templates[name] = LoadedTemplate(self._kind(self._load(name)), self._comment(name))
        return loaded


class UnitTemplate:
    """A template whose filled text is a part of a file: its empty lines are left out. Comments name the `launcher`.

    >>> from opwright.source.text import SourceFile
    >>> template = UnitTemplate(SourceFile("unit.ini", "namespace {\\n\\n${body}\\n\\n}\\n"))
    >>> print(template({"body": ["int f();", "int g();"]}))
    namespace {
    int f();
    int g();
    }
    """

    __slots__ = ("_comment", "_is_plain", "_template")

    def __init__(
        self,
        source: SourceFile,
        launcher: str = LAUNCHER,
        kind: Callable[[SourceFile], Template] = Template,
    ) -> None:
        self._template = kind(source)
        self._comment = generated_comment(os.path.basename(source.path), launcher)
        commented = "generated_comment" in self._template.names
        self._is_plain = not commented and all(not part.indent for part in self._template.parts)

    @property
    def text(self) -> str:
        """Text of the template."""
        return self._template.source.text

    def __call__(self, slots: Slots) -> str:
        """Filled text. Raises Fault (E0601) at the first slot that has no value."""
        text = self._plain_text(slots) if self._is_plain else None
        if text is None:
            text = self._template.render({"generated_comment": self._comment, **slots})
        return "\n".join(filter(None, text.split("\n")))

    def _plain_text(self, slots: Slots) -> str | None:
        """The filled text but for empty lines, at a third of the time; None if it takes more than joining texts."""
        parts = [self._template.opening]
        for name, indent, _, _, rest in self._template.parts:
            value = slots.get(name)
            if value is None or (indent is None and not isinstance(value, str)):
                return None
            parts += (value if isinstance(value, str) else "\n".join(value), rest)
        text = "".join(parts)
        return None if has_uneven_lines(text) or not text.isascii() or '"""' in text else text
