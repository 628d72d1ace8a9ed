"""HTML reports with figures on training runs, and the parts shared with other pages.

Page in `docs/how_to`: `reports`.
"""
