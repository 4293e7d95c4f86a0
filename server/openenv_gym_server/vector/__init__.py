"""The vector wire's server side: many lanes on one connection. The wire's rules are in docs/vector-wire.md."""
