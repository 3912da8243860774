"""Library files with every pair of what an entry can say: all that `opwright check` accepts is compiled."""
