command -v openproxy && openproxy --version || echo "not installed"
openproxy --robot server status 2>/dev/null || echo "server not running"
curl -sS http://127.0.0.1:4623/health
