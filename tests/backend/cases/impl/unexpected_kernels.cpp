at::Tensor PrivateUse1NativeFunctions::abs(const at::Tensor & self) {
  return self;
}
int PrivateUse1NativeFunctions::no_such_operator() { return 0; }
