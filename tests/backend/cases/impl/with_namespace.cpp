at::Tensor acme::PrivateUse1NativeFunctions::abs(const at::Tensor & self) { return self; }
