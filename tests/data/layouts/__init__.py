"""Files of random layouts with known contents, read as `start` and `convert` read them."""
