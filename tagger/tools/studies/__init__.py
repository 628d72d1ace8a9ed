"""Studies: training runs that differ in a setting, and pages about them."""
