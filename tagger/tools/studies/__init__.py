"""Studies: training runs that differ in a setting, with paired differences.

Page in `docs/how_to`: `studies`.
"""
