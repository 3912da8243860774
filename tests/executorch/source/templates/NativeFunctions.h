#pragma once

// ${generated_comment}

#include <vector>
${headers}

${nativeFunctions_declarations}
