"""How a model is trained on what a defense releases: a head on frozen vectors, or the encoder along with it."""
