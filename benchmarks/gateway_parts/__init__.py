"""What gateway.py measures: the servers it compares, and one module for each part of the results."""
