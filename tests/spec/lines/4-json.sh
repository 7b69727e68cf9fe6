curl -sS http://127.0.0.1:4623/v1/audio/transcriptions \
  -H "Authorization: Bearer $OPENPROXY_API_KEY" \
  -H 'content-type: application/json' \
  -d "$(jq -n --arg m "openai/whisper-1" \
        --arg b "$(base64 -i ./speech.mp3)" \
        '{model:$m, file_b64:$b, file_name:"speech.mp3", language:"en"}')"
