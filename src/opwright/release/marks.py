"""Marks: texts in the files of a PyTorch that tell its release, or one behaviour of its generator."""

from __future__ import annotations

from opwright.source.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from opwright.release.view import Inputs

__all__ = ["Mark"]


class Mark(NamedTuple):
    """A file with a text in it; without a text, a file that exists. A `gone` text is one that the file has no more.

    >>> import opwright
    >>> Mark("native/tags.yaml", "- tag: core").is_in(opwright.open_inputs())
    True
    """

    file: str
    text: str = ""
    gone: bool = False

    def is_in(self, inputs: Inputs) -> bool | None:
        """Whether inputs have the mark; None if they lack the file that would have the text."""
        source = inputs.read_optional(self.file)
        if source is None:
            return None if self.text else self.gone
        # A checkout on Windows may have other line ends.
        text = source.text.replace("\r\n", "\n") if "\n" in self.text else source.text
        return (self.text in text) is not self.gone

    def __str__(self) -> str:
        text = f"{'no ' if self.gone else ''}`{self.text}` in " if self.text else ""
        return f"{text}`{self.file}`"
