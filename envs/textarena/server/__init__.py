"""Where OpenEnv's tools look for the application."""
