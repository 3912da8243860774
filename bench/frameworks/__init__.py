"""What one project for several frameworks costs beside glue that is written by hand."""
