"""The admin side of the gateway: one file for each noun below /api."""
