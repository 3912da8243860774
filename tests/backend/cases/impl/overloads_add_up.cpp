at::Tensor PrivateUse1NativeFunctions::add(const at::Tensor & self, const at::Tensor & other, const at::Scalar & alpha) { return self; }
at::Tensor PrivateUse1NativeFunctions::add(const at::Tensor & self, const at::Scalar & other, const at::Scalar & alpha) { return self; }
