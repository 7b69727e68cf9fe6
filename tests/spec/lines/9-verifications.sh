# 1. Route is live and advertised
curl -sS http://127.0.0.1:4623/health
curl -sS http://127.0.0.1:4623/v1 | jq -r '.endpoints[]' | grep transcriptions

# 2. A credential exists for the STT provider
openproxy media providers list --kind stt

# 3. The catalog knows STT models
curl -sS http://127.0.0.1:4623/v1/models/stt \
  -H "Authorization: Bearer $OPENPROXY_API_KEY" | jq '.data | length'

# 4. End-to-end transcription. Generate a short tone locally if you have no sample:
#   macOS:  say -o ./speech.aiff "openproxy speech to text smoke test"
#   Linux:  espeak -w ./speech.wav "openproxy speech to text smoke test"
curl -sS http://127.0.0.1:4623/v1/audio/transcriptions \
  -H "Authorization: Bearer $OPENPROXY_API_KEY" \
  -F file=@./speech.wav \
  -F model="openai/whisper-1" | jq -r .text

# 5. Same request over the CLI
openproxy --robot media stt transcribe --provider openai \
  --model "openai/whisper-1" --file ./speech.wav | jq -r '.data.text'
