export OPENPROXY_API_KEY=...
openproxy media stt transcribe \
  --provider openai \
  --model "openai/whisper-1" \
  --file ./speech.mp3
