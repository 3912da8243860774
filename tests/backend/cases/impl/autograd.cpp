at::Tensor PrivateUse1NativeFunctions::abs(const at::Tensor & self) {
  return self;
}
at::Tensor PrivateUse1NativeFunctions::mul(const at::Tensor & self, const at::Tensor & other) { return self; }
