"""A `llama-server` for PATH: llama.cpp's own HTTP server, as xllamacpp carries it, under the program's options."""

import argparse
import os
import stat
import sys
import threading
from pathlib import Path


def put_on_path(folder: Path) -> Path:
    """Write a program `llama-server` into `folder`, and return it."""
    program = folder / "llama-server"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{__file__}" "$@"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


def main() -> None:
    import xllamacpp

    parser = argparse.ArgumentParser(allow_abbrev=False)
    for name in ("model", "mmproj", "host", "chat-template"):
        parser.add_argument(f"--{name}")
    for name in ("port", "seed", "ctx-size", "parallel", "threads", "threads-batch"):
        parser.add_argument(f"--{name}", type=int)
    parser.add_argument("--jinja", action="store_true")
    given = parser.parse_args()
    parameters = xllamacpp.CommonParams()
    parameters.model.path = given.model
    parameters.hostnames = [given.host]
    parameters.port = given.port
    parameters.api_keys = [os.environ["LLAMA_API_KEY"]]
    parameters.cors_origins = os.environ["LLAMA_ARG_CORS_ORIGINS"]
    parameters.cors_credentials = os.environ["LLAMA_ARG_CORS_CREDENTIALS"] == "1"
    parameters.ui = os.environ["LLAMA_ARG_UI"] == "1"
    parameters.endpoint_slots = os.environ["LLAMA_ARG_ENDPOINT_SLOTS"] == "1"
    parameters.cache_ram_mib = int(os.environ["LLAMA_ARG_CACHE_RAM"])
    parameters.verbosity = int(os.environ["LLAMA_ARG_LOG_VERBOSITY"])
    parameters.n_ctx = given.ctx_size
    parameters.n_parallel = given.parallel
    parameters.cpuparams.n_threads = given.threads
    parameters.cpuparams_batch.n_threads = given.threads_batch
    if given.mmproj is not None:
        parameters.mmproj.path = given.mmproj
    if given.chat_template is not None:
        parameters.chat_template = given.chat_template
    if given.seed is not None:
        parameters.sampling.seed = given.seed
    try:
        server = xllamacpp.Server(parameters)
    except RuntimeError:
        sys.exit(1)
    threading.Event().wait()
    del server


if __name__ == "__main__":
    main()
