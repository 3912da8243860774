"""What lean files save: seconds of compilers, and what edits rebuild (`make bench-lean`)."""
