// at::Tensor PrivateUse1NativeFunctions::abs(const at::Tensor & self);
