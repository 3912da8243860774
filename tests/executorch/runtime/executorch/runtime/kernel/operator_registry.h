#pragma once

#include <executorch/runtime/core/evalue.h>
