"""The UNIREX paper in numbers: its published tables, and tables of methods to compare with them."""
