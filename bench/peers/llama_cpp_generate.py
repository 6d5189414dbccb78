#!/usr/bin/env python3
"""Generates text with llama.cpp from a GGUF file and prints one line of JSON: tokens/s of the generation alone, the median of several,
the seconds in which a prompt of 512 tokens is read, and the peak memory.

    python llama_cpp_generate.py MODEL.gguf [--streams 1] [--tokens 128] [--threads 2] [--rounds 5] [--plain-weights]

--plain-weights: the weights are not packed for the processor, which on some processors with AMX ends llama.cpp with a fault. The streams are sequences of one batch, each of which begins with a token of its own and continues with the most probable one.
"""

import argparse
import ctypes
import json
import resource
import statistics
import time

import llama_cpp


class Streams:
    """A context of llama.cpp and its sequences."""

    def __init__(self, a):
        llama_cpp.llama_backend_init()
        quiet = llama_cpp.llama_log_callback(lambda *_: None)
        self.quiet = quiet  # the library keeps no reference
        llama_cpp.llama_log_set(quiet, ctypes.c_void_p(0))
        weights = llama_cpp.llama_model_default_params()
        weights.use_extra_bufts = not a.plain_weights
        self.model = llama_cpp.llama_model_load_from_file(a.model.encode(), weights)
        settings = llama_cpp.llama_context_default_params()
        settings.n_ctx = max(a.streams * (a.tokens + 2), 600)
        settings.n_batch = settings.n_ubatch = 512
        settings.n_seq_max = a.streams
        settings.n_threads = settings.n_threads_batch = a.threads
        settings.kv_unified = True
        self.context = llama_cpp.llama_init_from_model(self.model, settings)
        self.vocabulary = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(self.model))
        self.batch = llama_cpp.llama_batch_init(512, 0, 1)

    def forget(self):
        llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(self.context), True)

    def read(self, tokens):
        """Reads (token, position, sequence, whether its output is needed) of a batch."""
        batch = self.batch
        batch.n_tokens = len(tokens)
        for i, (token, position, sequence, output) in enumerate(tokens):
            batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.logits[i] = token, position, 1, output
            batch.seq_id[i][0] = sequence
        if llama_cpp.llama_decode(self.context, batch) != 0:
            raise RuntimeError("llama_decode failed")

    def best(self, i):
        logits = llama_cpp.llama_get_logits_ith(self.context, i)
        import numpy

        return int(numpy.ctypeslib.as_array(logits, (self.vocabulary,)).argmax())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--streams", type=int, default=1)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--plain-weights", action="store_true")
    a = parser.parse_args()
    streams = Streams(a)

    def generate():
        streams.forget()
        tokens = [1000 + stream for stream in range(a.streams)]
        for position in range(a.tokens):
            streams.read([(token, position, stream, True) for stream, token in enumerate(tokens)])
            tokens = [streams.best(stream) for stream in range(a.streams)]

    def read_prompt():
        streams.forget()
        streams.read([(1000 + position, position, 0, position == 511) for position in range(512)])
        streams.best(511)

    def seconds(function):
        function()
        times = []
        for _ in range(a.rounds):
            begin = time.perf_counter()
            function()
            times.append(time.perf_counter() - begin)
        return statistics.median(times)

    speed = a.streams * a.tokens / seconds(generate)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    print(json.dumps({"tokens_per_second": round(speed, 1), "prompt_seconds": round(seconds(read_prompt), 4), "memory_mb": round(memory)}))


if __name__ == "__main__":
    main()
