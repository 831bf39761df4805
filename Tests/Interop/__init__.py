"""What libmosquitto does, what we do, and every difference between the two."""
