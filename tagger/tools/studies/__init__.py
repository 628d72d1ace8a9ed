"""Studies, which compare training runs that differ in a setting by paired differences.

Page in `docs/how_to`: `studies`.
"""
