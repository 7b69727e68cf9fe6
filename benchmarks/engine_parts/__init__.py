"""What engine.py measures: one module for each part of the results."""
