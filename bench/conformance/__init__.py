"""Checks for the authors of plugins."""
