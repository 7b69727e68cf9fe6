curl -sS -X POST http://127.0.0.1:4623/api/media-providers \
  -H "Authorization: Bearer $OPENPROXY_API_KEY" \
  -H 'content-type: application/json' \
  -d '{
        "name": "openai-stt",
        "provider": "openai",
        "apiKey": "sk-...",
        "mediaType": "stt"
      }'
