"""What a client may release besides its encodings."""
