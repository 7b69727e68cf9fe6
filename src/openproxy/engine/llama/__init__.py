"""llama-server's transcription contract as functions on values; the routes are in `engine.app`."""
