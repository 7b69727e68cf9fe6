openproxy media providers add --provider openai --kind stt --name openai-stt \
  --from-file - <<'JSON'
{"apiKey": "sk-..."}
JSON
