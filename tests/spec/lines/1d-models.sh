curl -sS http://127.0.0.1:4623/v1/models/stt \
  -H "Authorization: Bearer $OPENPROXY_API_KEY"
