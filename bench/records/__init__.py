"""What a record is: its file, its validation, the fingerprint of code."""
