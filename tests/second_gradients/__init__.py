"""Random operators with formulas: second gradients are those of differences, or an error names what is missing."""
