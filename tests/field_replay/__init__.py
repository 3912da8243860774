"""Libraries of others, imported and generated again: `make field-replay`."""
