"""A program that runs PyTorch's generators: `autograd_program.py bindings|autograd PACKAGED OUT`.

They are imported under another name than torchgen's, so that only what they import is Opwright's under the hook.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path

part, packaged, out = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
autograd, native = packaged / "autograd", packaged / "ATen" / "native"
spec = importlib.util.spec_from_file_location(
    "generators", autograd / "__init__.py", submodule_search_locations=[str(autograd)]
)
assert spec is not None
sys.modules["generators"] = importlib.util.module_from_spec(spec)

inputs = str(native / "native_functions.yaml"), str(native / "tags.yaml")
if part == "bindings":
    functions = importlib.import_module("generators.gen_python_functions")
    functions.gen(out, *inputs, str(autograd / "deprecated.yaml"), str(autograd / "templates"))
    importlib.import_module("generators.gen_annotated_fn_args").gen_annotated(*inputs, out, str(autograd))
else:
    every = importlib.import_module("torchgen.selective_build.selector").SelectiveBuilder.get_nop_selector()
    importlib.import_module("generators.gen_autograd").gen_autograd(*inputs, out, str(autograd), every)
print(sys.modules["torchgen.model"].__name__.partition(".")[0])
