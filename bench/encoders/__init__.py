"""Text or image to vector: the built-in encoders, their weights, the cache of vectors."""
