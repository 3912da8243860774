"""Generated code, compiled against the installed PyTorch and called from Python."""
