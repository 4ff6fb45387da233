"""Mathematics that plugins may build on."""
