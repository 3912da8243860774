"""Random edits of PyTorch's own inputs, after which runs write what fresh runs write."""
