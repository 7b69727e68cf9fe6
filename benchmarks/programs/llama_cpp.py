"""llama.cpp's own server, as xllamacpp carries it: `python llama_cpp.py MODEL PROJECTOR CONTEXT`.

Says its address, and serves until standard input closes.
"""

import sys

import xllamacpp

_QUIET = 1


def main() -> None:
    """Serve one GGUF with one thread and one slot, as the engine beside it does."""
    model, projector, context = sys.argv[1:]
    parameters = xllamacpp.CommonParams()
    parameters.model.path = model
    parameters.mmproj.path = projector
    parameters.n_ctx = int(context)
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = 1
    parameters.cpuparams_batch.n_threads = 1
    parameters.cache_ram_mib = 0
    parameters.verbosity = _QUIET
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    server = xllamacpp.Server(parameters)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
