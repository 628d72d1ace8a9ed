"""Tools that prepare data, and that study and improve taggers. The core does not need them."""
