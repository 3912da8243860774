#pragma once

// ${generated_comment}

#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

${headers}

${nativeFunctions_declarations}
