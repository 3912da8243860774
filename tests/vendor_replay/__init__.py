"""Vendors' inputs generated again, and compared with the headers that the vendors published: `make vendor-replay`."""
