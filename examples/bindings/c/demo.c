// Calls PyTorch from C: adds, multiplies, differentiates, and shows the message of an error.
#include <stdio.h>
#include <stdlib.h>

#include "aten.h"

enum { FLOAT = 6 };  // c10::ScalarType::Float

static void check(int32_t code) {
  if (code != ATC_OK) {
    fprintf(stderr, "error %d: %s\n", code, atc_last_error());
    exit(1);
  }
}

static atc_tensor matrix(const float* data) {
  const int64_t sizes[] = {2, 2};
  atc_tensor tensor;
  check(atc_from_data(data, sizes, 2, FLOAT, &tensor));
  return tensor;
}

static void show(const char* name, atc_tensor tensor) {
  float data[4];
  check(atc_to_data(tensor, data, sizeof data));
  printf("%s: %g %g %g %g\n", name, data[0], data[1], data[2], data[3]);
}

int main(void) {
  const float numbers[] = {1, 2, 3, 4}, ones[] = {1, 1, 1, 1};
  atc_tensor x = matrix(numbers), y = matrix(ones);
  check(at_requires_grad_(x, true));

  atc_tensor sum, product, total, gradient;
  const atc_scalar two = {.kind = ATC_INT, .integer = 2};
  check(at_add_Tensor(x, y, two, &sum));
  show("x + 2 y", sum);
  check(at_matmul(x, sum, &product));
  show("x (x + 2 y)", product);

  check(at_sum(product, NULL, &total));
  check(at__backward(total, NULL, 0, NULL, NULL, false));
  check(atc_grad(x, &gradient));
  show("gradient of x", gradient);

  const int64_t sizes[] = {3};
  atc_tensor wrong, result = NULL;
  check(atc_from_data(numbers, sizes, 1, FLOAT, &wrong));
  if (at_matmul(x, wrong, &result) == ATC_TORCH_ERROR) {
    printf("error: %s\n", atc_last_error());
  }

  atc_tensor tensors[] = {x, y, sum, product, total, gradient, wrong};
  for (size_t i = 0; i < sizeof tensors / sizeof *tensors; ++i) {
    atc_free(tensors[i]);
  }
  return 0;
}
