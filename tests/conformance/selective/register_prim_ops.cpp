static Kernel prim_ops[] = {
    // aten::sym_size.int(Tensor self, int dim) -> SymInt
    Kernel("aten::sym_size.int", [](Context& context, Stack& stack) { (void)context; }),
    Kernel ("executorch_prim::et_view.default", &et_view),
};

static Kernel others[] = {Kernel("executorch_prim::other", &other)};
