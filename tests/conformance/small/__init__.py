"""Many small inputs, each compared file by file: one process for each side runs them all."""
