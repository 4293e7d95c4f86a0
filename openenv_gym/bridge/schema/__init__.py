"""Which codec a model gets: derived from its JSON Schema, or of the exact space that is declared for it."""
