"""The codes of mistakes with dumps."""

from __future__ import annotations

from typing import Final

from opwright.source.codes import Code, register

BAD_DUMP: Final = register(
    Code(
        "E2101",
        "a file that is not a dump",
        """
        The file is not JSON, or not a dump that this version of Opwright can read: a document with the fields that
        `opwright schema dump` describes, of the format that it names.

            error[E2101]: `operators.json` is not a dump: it has no `format`

        Make the dump again with `opwright dump`. Opwright reads dumps of its own format only; the number changes when
        a field is removed or gets another meaning.
        """,
    )
)
NO_DATA: Final = register(
    Code(
        "E2102",
        "a value that a dump cannot hold",
        """
        A dump holds the contents of YAML files as JSON, which has texts, numbers, booleans, null, lists and mappings.
        YAML has more, such as dates and binary data. No field of an input file has such a value, so it is a mistake in
        the file.

            released: 2024-01-31
                      ^^^^^^^^^^ not text

        Put the value in quotes if it is meant as text.
        """,
    )
)
