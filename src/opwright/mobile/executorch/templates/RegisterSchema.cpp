// ${generated_comment}
#include <torch/library.h>

namespace at {

TORCH_LIBRARY_FRAGMENT(aten, m) {
  ${aten_schema_registrations};
}
${schema_registrations}

} // namespace at
