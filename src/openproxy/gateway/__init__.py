"""The gateway: routes a transcription to the provider that owns the model, and walks that provider's accounts."""
