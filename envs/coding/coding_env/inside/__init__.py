"""Programs that run inside, where the code runs: plain Python, without this package and all others."""
