#pragma once
// The header that is proposed for PyTorch with macros for kernel files of backends. No release has it yet; if PyTorch
// has it, its macros come first.

#if defined(__has_include_next)
#if __has_include_next(<ATen/native/PrivateUse1NativeFunctionsHelper.h>)
#include_next <ATen/native/PrivateUse1NativeFunctionsHelper.h>
#endif
#endif

#include <opwright/privateuse1.h>
