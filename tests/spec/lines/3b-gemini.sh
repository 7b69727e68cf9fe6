curl -sS http://127.0.0.1:4623/v1/audio/transcriptions \
  -H "Authorization: Bearer $OPENPROXY_API_KEY" \
  -F file=@./interview.wav \
  -F model="gemini/gemini-2.5-flash" \
  -F language=en
