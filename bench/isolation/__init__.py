"""The attacker's view, its process, and the sandbox."""
