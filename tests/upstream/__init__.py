"""The tests of libraries of others, run with the original and with what Opwright made of it."""
