"""The report: executed notebooks, curves and the library's pages as one site."""
