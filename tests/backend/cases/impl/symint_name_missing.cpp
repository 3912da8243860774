at::Tensor PrivateUse1NativeFunctions::view(const at::Tensor & self, c10::SymIntArrayRef size) { return self; }
