"""Random changes of operator libraries: what a verdict calls compatible, saved programs of the old form show."""
