"""What prepares data, and what studies and improves taggers. The core does not need it."""
