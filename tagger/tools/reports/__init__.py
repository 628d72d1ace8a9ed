"""HTML reports with figures on training runs, and what other pages share.

Page in `docs/how_to`: `reports`.
"""
