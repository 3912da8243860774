int PrivateUse1NativeFunctions::abs(int x) { return x; }
