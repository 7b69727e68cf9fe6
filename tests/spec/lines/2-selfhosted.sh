curl -sS -X POST http://127.0.0.1:4623/api/media-providers \
  -H "Authorization: Bearer $OPENPROXY_API_KEY" \
  -H 'content-type: application/json' \
  -d '{
        "name": "local-whisper",
        "provider": "selfhosted-stt",
        "apiKey": "local",
        "baseUrl": "http://127.0.0.1:8080/v1/audio/transcriptions",
        "mediaType": "stt"
      }'
