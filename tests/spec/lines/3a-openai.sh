curl -sS http://127.0.0.1:4623/v1/audio/transcriptions \
  -H "Authorization: Bearer $OPENPROXY_API_KEY" \
  -F file=@./speech.mp3 \
  -F model="openai/whisper-1" \
  -F language=en \
  -F response_format=json
