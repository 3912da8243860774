"""A program for the reference's interpreter: what it says to each of a list of derivatives.

Reads a JSON list of YAML texts from standard input, prints a JSON list with an error's text or null for each. The
arguments are the paths of native_functions.yaml and tags.yaml.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from torchgen.api import cpp
from torchgen.api.autograd import gen_differentiable_outputs, match_differentiability_info
from torchgen.context import native_function_manager
from torchgen.gen import parse_native_yaml
from torchgen.packaged.autograd.load_derivatives import load_derivatives


def refusal(path: Path, native: str, tags: str) -> str | None:
    """What the reference says to a file of derivatives, or None where it accepts it."""
    try:
        infos, _ = load_derivatives(str(path), native, tags)
        functions = sorted(
            parse_native_yaml(native, tags).native_functions, key=lambda function: cpp.name(function.func)
        )
        for match in match_differentiability_info(functions, infos):
            with native_function_manager(match.func):
                for key in match.info or ():
                    gen_differentiable_outputs(match, key)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def main(native: str, tags: str) -> None:
    """Answers for all texts."""
    answers = []
    with tempfile.TemporaryDirectory() as folder:
        for number, text in enumerate(json.load(sys.stdin)):
            path = Path(folder) / f"{number}.yaml"
            path.write_text(text, encoding="utf-8")
            answers.append(refusal(path, native, tags))
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
