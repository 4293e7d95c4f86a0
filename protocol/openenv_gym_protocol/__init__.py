"""The ground both ends stand on: errors, messages, codecs and session rules, without input or output."""
