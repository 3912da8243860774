void f() { PrivateUse1NativeFunctions::abs(x); PrivateUse1NativeFunctions::exp(x); }
void PrivateUse1NativeFunctions::exp(x); void PrivateUse1NativeFunctions::abs(y);
