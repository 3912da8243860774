"""Following the hints of diagnostics: what a help line says to write is written, and the files are checked again."""
