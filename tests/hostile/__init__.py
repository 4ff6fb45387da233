"""Inputs that mean harm, by kind: what a stranger may hand to this project, and what must come of it."""
