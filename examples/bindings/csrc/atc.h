// What every binding of PyTorch to another language needs in C: handles, values, errors, tensors from memory.
// The generated header aten.h has the operators.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// A tensor. Whoever gets one frees it with atc_free. NULL stands for no tensor where one is optional.
typedef struct atc_tensor_value* atc_tensor;

// A generator of random numbers. NULL stands for the default one.
typedef struct atc_generator_value* atc_generator;

// A number of any kind; `kind` says which member holds it.
enum { ATC_INT = 0, ATC_FLOAT = 1, ATC_BOOL = 2, ATC_COMPLEX = 3 };
typedef struct {
  int32_t kind;
  int64_t integer;
  double real;
  double imaginary;
} atc_scalar;

// A device: a c10::DeviceType and an index, -1 for the current device of the type.
typedef struct {
  int32_t type;
  int32_t index;
} atc_device;

// What every function returns. After a failure, atc_last_error() has the message, until the next failure of the thread.
enum { ATC_OK = 0, ATC_TORCH_ERROR = 1, ATC_OTHER_ERROR = 2 };
const char* atc_last_error(void);

// Frees a tensor, and a list of tensors or other values that a function gave (not the tensors in it).
void atc_free(atc_tensor tensor);
void atc_free_list(void* list);

// A new tensor with a copy of memory of the CPU; `dtype` is a c10::ScalarType, such as 6 for float.
int32_t atc_from_data(const void* data, const int64_t* sizes, size_t sizes_len, int32_t dtype, atc_tensor* result);
// Copies the elements of a tensor into memory of so many bytes, which must be its size.
int32_t atc_to_data(atc_tensor tensor, void* data, size_t bytes);
// The number of dimensions.
int32_t atc_dim(atc_tensor tensor, int64_t* result);
// The gradient; a tensor that is not defined if there is none.
int32_t atc_grad(atc_tensor tensor, atc_tensor* result);
bool atc_is_defined(atc_tensor tensor);

// A generator of the CPU.
int32_t atc_generator_new(uint64_t seed, atc_generator* result);
void atc_generator_free(atc_generator generator);

#ifdef __cplusplus
}
#endif
