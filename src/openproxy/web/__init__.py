"""The HTTP side that both servers share: request bodies, error envelopes, event streams."""
