// ${generated_comment}
// PyTorch defines the namespace `aten`, so that a library can only add to it.
#include <torch/library.h>

namespace at {
TORCH_LIBRARY_FRAGMENT(aten, m) {
  ${aten_schema_registrations};
}
${schema_registrations}
}  // namespace at
