"""From records to boards."""
