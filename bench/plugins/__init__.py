"""How plugins are declared, configured, found and scaffolded."""
