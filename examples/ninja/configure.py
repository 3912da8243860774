"""Writes `settings.ninja`: where Python and PyTorch are, and what runs the compiler; links to headers, in `links`.

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
    "launcher": " ".join(sys.argv[1:]),
}
os.makedirs("links", exist_ok=True)
for package in (torch, opwright):
    link = os.path.join("links", package.name)
    if os.path.islink(link):
        os.unlink(link)
    os.symlink(os.path.join(os.path.dirname(package.origin), "include"), link)
with open("settings.ninja", "w", encoding="utf-8") as file:
    file.writelines(f"{name} = {value}\n" for name, value in settings.items())
