at::Tensor MyPrivateUse1NativeFunctions::abs(const at::Tensor & self) { return self; }
