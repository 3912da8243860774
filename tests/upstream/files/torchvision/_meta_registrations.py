"""What results are is in the entries of the library file; a size that depends on values is registered from Python."""

import torchvision.extension  # noqa: F401, I001
import torchvision._fakes  # noqa: F401
