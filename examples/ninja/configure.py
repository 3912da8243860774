"""Writes `settings.ninja`: where Python, PyTorch and the headers of Opwright are, and what runs the compiler.

    python configure.py ccache
"""

import os
import sys
from importlib.util import find_spec

torch, opwright = find_spec("torch"), find_spec("opwright")
if not (torch and torch.origin and opwright and opwright.origin):
    sys.exit("configure.py: run it with a Python that has PyTorch and Opwright")
settings = {
    "python": sys.executable,
    "site": os.path.dirname(os.path.dirname(torch.origin)),
    "opwright_include": os.path.join(os.path.dirname(opwright.origin), "include"),
    "launcher": " ".join(sys.argv[1:]),
}
with open("settings.ninja", "w", encoding="utf-8") as file:
    file.writelines(f"{name} = {value}\n" for name, value in settings.items())
