openproxy media providers list --kind stt
openproxy --robot media providers list --kind stt
