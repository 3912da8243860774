"""What pages and messages claim, and what proves it."""
