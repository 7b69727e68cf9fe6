openproxy --robot media stt transcribe \
  --provider groq \
  --model "groq/whisper-large-v3" \
  --file ./speech.mp3 | jq -r '.data.text'
