"""The servers of an environment's lanes: how they are found or started together, and spares for those that fail."""
