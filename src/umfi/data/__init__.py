"""The table and its response: reading, kinds, missing values."""
