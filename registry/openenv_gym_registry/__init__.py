"""Names of environments to what runs them: manifests, the catalogue, Gymnasium's ids."""
