"""From a guess and the truth to numbers."""
