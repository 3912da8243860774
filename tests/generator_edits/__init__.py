"""Edits of single places of PyTorch's generator in a tree: each is followed, or told."""
