"""The local engine: one loaded model behind `POST /v1/audio/transcriptions`, on this machine, without a key."""
