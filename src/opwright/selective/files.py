"""The files that programs for selective builds read, in two ways that give the same values.

`QuickFiles` reads files of the simple kind that programs write, without the import of PyYAML and of diagnostics. For
anything else, mistakes included, it raises `NotPlain`. The program then starts again with `PlacedFiles`, which knows
all of YAML and reports each mistake with its place.
"""

from __future__ import annotations

from opwright.source.plain_yaml import NotPlain, read_plain_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from opwright.model.selection import Selection
    from opwright.selective.shapes import Shape

    class Files(Protocol):
        """What programs ask of their input files."""

        def selection(self, path: str) -> Selection:
            """The selection that a file describes."""
            ...

        def value(self, path: str, shape: Shape, what: str) -> object:
            """The values of a YAML file with a shape; `what` names the file in messages."""
            ...

        def text(self, path: str) -> str:
            """The text of a file."""
            ...

        def data(self, path: str) -> bytes:
            """The bytes of a file."""
            ...

        def refuse(self, code: str, message: str, *, path: str = "", name: str = "", help: str = "") -> None:
            """Report a mistake, at a name in a file if that file has it."""
            ...

        def warn(self, code: str, message: str, *, path: str = "", name: str = "", help: str = "") -> None:
            """Report what may be a mistake."""
            ...

        def are_sound(self) -> bool:
            """Whether no mistake is reported yet."""
            ...

        def operator_name(self, schema: str, path: str) -> str:
            """The qualified name of the operator with a schema."""
            ...


class QuickFiles:
    """Files of the simple kind. Every method raises NotPlain where there is more to do."""

    __slots__ = ()

    def selection(self, path: str) -> Selection:
        """The selection that a file describes."""
        from opwright.dialects.selection.quick import selection_of

        return selection_of(read_plain_file(path))

    def value(self, path: str, shape: Shape, what: str) -> object:
        """The values of a YAML file with a shape."""
        from opwright.selective.shapes import fits

        value = read_plain_file(path)
        if not fits(value, shape):
            raise NotPlain(what)
        return value

    def text(self, path: str) -> str:
        """The text of a file."""
        try:
            return self.data(path).decode("utf-8")
        except ValueError:
            raise NotPlain from None

    def data(self, path: str) -> bytes:
        """The bytes of a file."""
        try:
            with open(path, "rb") as stream:
                return stream.read()
        except OSError:
            raise NotPlain from None

    def refuse(self, code: str, message: str, *, path: str = "", name: str = "", help: str = "") -> None:
        """Leave the report of a mistake to `PlacedFiles`."""
        del message, path, name, help
        raise NotPlain(code)

    warn = refuse

    def are_sound(self) -> bool:
        """Whether no mistake is reported yet."""
        return True

    def operator_name(self, schema: str, path: str) -> str:
        """The qualified name of the operator with a schema."""
        del path
        from opwright.schema.fault import SchemaFault
        from opwright.selective.schemas import schema_name

        try:
            return schema_name(schema)
        except SchemaFault:
            raise NotPlain from None
