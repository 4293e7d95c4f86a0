"""Several processes of one server: a router takes connections and hands each to the process that it belongs to."""
