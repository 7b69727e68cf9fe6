openproxy key add <NAME> --auto
# Or pass your own secret positionally: openproxy key add <NAME> '<SECRET>'
# If no key exists yet, capture the one-shot admin key from:
openproxy --robot server init | jq -r '.data.admin_key.key'
# Or recover the dashboard password for a running server:
openproxy auth reset-password --show
