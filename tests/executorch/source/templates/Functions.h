#pragma once

// ${generated_comment}

#include <tuple>

${static_dispatch_extra_headers}

${Functions_declarations}
