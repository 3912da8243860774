"""Random edits of PyTorch's inputs, after which runs write what fresh runs write."""
