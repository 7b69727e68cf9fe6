openproxy server start --detach --no-open
curl -sS http://127.0.0.1:4623/v1 | jq .endpoints
