at::Tensor PrivateUse1NativeFunctions::abs(const at::Tensor & self) {
  return self;
}
at::Tensor twice(const at::Tensor & self) { return acme::PrivateUse1NativeFunctions::abs(self); }
