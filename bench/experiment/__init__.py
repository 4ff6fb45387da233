"""One cell or one training run from end to end."""
