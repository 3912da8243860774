"""Random sources whose registrations `opwright import --edit` cuts out."""
