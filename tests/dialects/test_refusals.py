"""What the reference refuses in PyTorch's entries with mistakes, Opwright refuses, and hardly more."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.conformance.inputs import reference_package
from tests.dialects.loading import load_text
from tests.dialects.mutations import Mutator

PROGRAM = Path(__file__).with_name("reference_refusals.py")
COUNT = 800

#: Mistakes that the reference does not see: schema syntax that its splitting at commas skips over, defaults of the
#: wrong type, repeated arguments, required ones after optional ones, repeated dispatch keys, kernels that are no C++
#: names, overloads named by `autogen` that are not made, overloads with two entries, wrong annotations, words
#: that are none.
SILENT = {"E0201", "E0204", "E0205", "E0206", "E0207", "E0312", "E0313", "E0352", "E0410", "E0431"}

#: Mistakes that the reference finds when it generates code, not when it loads: types and defaults without a form in
#: C++, and methods that are called on no tensor.
LATER = {"E0347", "E0348", "E0349", "E0350"}

#: The reference takes one letter for the name of an alias set; the schema language of PyTorch's C++ takes a word.
LONG_ALIAS = "unrecognized alias annotation"


def test_refusals_are_those_of_the_reference() -> None:
    """Of many texts with mistakes, those that only one of the two refuses are of known kinds."""
    folder = reference_package() / "packaged" / "ATen" / "native"
    tags = (folder / "tags.yaml").read_text(encoding="utf-8")
    mutator = Mutator((folder / "native_functions.yaml").read_text(encoding="utf-8"))
    texts = [mutator.text(number) for number in range(COUNT)]
    command = [sys.executable, str(PROGRAM), tags]
    answer = subprocess.run(command, input=json.dumps(texts), capture_output=True, text=True, check=True)
    refused = 0
    for text, refusal in zip(texts, json.loads(answer.stdout), strict=True):
        _, sink = load_text(text, tags)
        codes = {diagnostic.code for diagnostic in sink}
        if refusal is None:
            assert codes <= SILENT | LATER, (text, [diagnostic.message for diagnostic in sink])
        elif LONG_ALIAS not in refusal:
            assert codes, (text, refusal)
            refused += 1
    assert refused > COUNT / 2
