"""A program that runs PyTorch's own generators of Python bindings: `autograd_program.py PACKAGED OUT`.

They are imported under another name than torchgen's, so that only what they import is Opwright's under the hook.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path

packaged, out = Path(sys.argv[1]), sys.argv[2]
autograd, native = packaged / "autograd", packaged / "ATen" / "native"
spec = importlib.util.spec_from_file_location(
    "generators", autograd / "__init__.py", submodule_search_locations=[str(autograd)]
)
assert spec is not None
sys.modules["generators"] = importlib.util.module_from_spec(spec)

inputs = str(native / "native_functions.yaml"), str(native / "tags.yaml")
functions = importlib.import_module("generators.gen_python_functions")
functions.gen(out, *inputs, str(autograd / "deprecated.yaml"), str(autograd / "templates"))
importlib.import_module("generators.gen_annotated_fn_args").gen_annotated(*inputs, out, str(autograd))
print(sys.modules["torchgen.model"].NativeFunction.__module__.partition(".")[0])
