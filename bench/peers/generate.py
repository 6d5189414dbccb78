#!/usr/bin/env python3
"""Generates text with transformers or CTranslate2 from a folder of a GPT-2 and prints one line of JSON: tokens/s of the
generation alone, the median of several, and the peak memory.

    python generate.py FOLDER --program transformers|ctranslate2 --kind KIND [--streams 1] [--tokens 240] [--threads 2] [--rounds 5]

KIND is float32 or bfloat16, for transformers also compile, and for CTranslate2 int8; "+2" after it splits the streams of CTranslate2
between two workers of half the threads.
"""

import argparse
import json
import resource
import statistics
import time


def with_transformers(a):
    import torch
    from transformers import GPT2LMHeadModel

    torch.set_num_threads(a.threads)
    dtype = torch.bfloat16 if a.kind == "bfloat16" else torch.float32
    model = GPT2LMHeadModel.from_pretrained(a.folder, dtype=dtype).eval()
    prompt = torch.full((a.streams, 1), a.prompt)
    options = dict(do_sample=True, top_k=0, min_new_tokens=a.tokens, max_new_tokens=a.tokens, pad_token_id=0)
    if a.kind == "compile":
        options["cache_implementation"] = "static"
        model.forward = torch.compile(model.forward, dynamic=False)

    def generate():
        with torch.inference_mode():
            return model.generate(prompt, attention_mask=torch.ones_like(prompt), **options).shape[1] - 1

    return generate


def with_ctranslate2(a):
    import ctranslate2

    kind, workers = (a.kind.split("+") + ["1"])[:2]
    generator = ctranslate2.Generator(a.folder + ".ctranslate2", compute_type=kind, inter_threads=int(workers),
                                      intra_threads=a.threads // int(workers))
    prompts = [[a.prompt_token]] * a.streams

    def generate():
        results = generator.generate_batch(prompts, min_length=a.tokens, max_length=a.tokens, sampling_topk=0, sampling_temperature=1,
                                           include_prompt_in_result=False, max_batch_size=-(-a.streams // int(workers)))
        return min(len(result.sequences_ids[0]) for result in results)

    return generate


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--program", choices=["transformers", "ctranslate2"], required=True)
    parser.add_argument("--kind", default="float32")
    parser.add_argument("--streams", type=int, default=1)
    parser.add_argument("--tokens", type=int, default=240)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--prompt", type=int, default=70)
    parser.add_argument("--prompt-token", default="a")
    a = parser.parse_args()
    generate = with_transformers(a) if a.program == "transformers" else with_ctranslate2(a)
    for _ in range(2):
        assert generate() == a.tokens, f"{generate()} tokens"
    speeds = []
    for _ in range(a.rounds):
        begin = time.perf_counter()
        generate()
        speeds.append(a.streams * a.tokens / (time.perf_counter() - begin))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"tokens_per_second": statistics.median(speeds), "peak_mb": peak}))


main()
