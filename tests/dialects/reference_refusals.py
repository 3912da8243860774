"""A program for the reference's interpreter: what it says to each of a list of texts.

Reads a JSON list of YAML texts from standard input, prints a JSON list with an error's text or null for each. The
argument is the text of tags.yaml.
"""

from __future__ import annotations

import json
import sys

import yaml
from torchgen import gen


def refusal(text: str, tags: set[str]) -> str | None:
    """What the reference says to a text, or None where it accepts it."""
    try:
        parsed = gen.parse_native_yaml_struct(yaml.load(text, Loader=gen.LineLoader), tags)
        grouped = gen.get_grouped_native_functions(parsed.native_functions)
        gen.get_grouped_by_view_native_functions(parsed.native_functions)
        gen.get_ns_grouped_kernels(
            grouped_native_functions=grouped,
            backend_indices=parsed.backend_indices,
            native_function_decl_gen=lambda *_: [],
        )
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def tags_refusal(text: str) -> str | None:
    """What the reference says to a text as tags.yaml, or None."""
    try:
        gen.parse_tags_yaml_struct(yaml.load(text, Loader=gen.LineLoader))
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def main() -> None:
    """Answers for all texts."""
    texts = json.load(sys.stdin)
    if sys.argv[1] == "--tags":
        json.dump([tags_refusal(text) for text in texts], sys.stdout)
        return
    tags = gen.parse_tags_yaml_struct(yaml.load(sys.argv[1], Loader=gen.LineLoader))
    json.dump([refusal(text, tags) for text in texts], sys.stdout)


if __name__ == "__main__":
    main()
