openproxy media providers add --provider openai --kind stt --name openai-primary \
  --from-file - <<'JSON'
{"apiKey": "sk-primary...", "extra": {"note": "primary key"}}
JSON

openproxy media providers add --provider openai --kind stt --name openai-backup \
  --from-file - <<'JSON'
{"apiKey": "sk-backup...", "extra": {"note": "backup key"}}
JSON
