curl -sS http://127.0.0.1:4623/v1/audio/transcriptions \
  -H "Authorization: Bearer $OPENPROXY_API_KEY" \
  -F file=@./call.wav \
  -F model="deepgram/nova-3" \
  -F language=en \
  -F deepgram_smart_format=true \
  -F deepgram_punctuate=true
