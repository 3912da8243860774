// The operators of the library, for whoever calls them from C++.
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <ATen/ops/halves.h>
#include <ATen/ops/pad_to.h>
#include <ATen/ops/row.h>
#include <ATen/ops/row_copy.h>
#include <ATen/ops/twice.h>
