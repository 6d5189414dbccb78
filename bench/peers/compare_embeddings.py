#!/usr/bin/env python3
"""Compares `sixfold embed` with transformers: the same embeddings, and the time that they take.

    python compare_embeddings.py FOLDER MODEL TEXT [--most 256] [--rounds 3] [--threads 2] [--sixfold PROGRAM]

FOLDER is a folder of Hugging Face of an encoder whose embeddings are the mean of its states with norm 1, such as all-MiniLM-L6-v2; MODEL is the
model folder of Sixfold that was made of it; TEXT has a sentence on each line. --most: tokens that are read, with start and end. transformers
sorts the sentences by length and pads batches of 32; in int8 its linear layers are PyTorch's dynamically quantised ones. The times of Sixfold
include its start. Fails if an embedding in fp32 is not within 1e-5 of that of transformers.
"""

import argparse
import statistics
import subprocess
import tempfile
import time

import numpy as np
import torch
from transformers import AutoModel, AutoTokenizer


class Peer:
    def __init__(self, folder, most, int8):
        self.tokenizer, self.most = AutoTokenizer.from_pretrained(folder), most
        self.model = AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
        if int8:
            self.model = torch.ao.quantization.quantize_dynamic(self.model, {torch.nn.Linear}, dtype=torch.qint8)

    @torch.no_grad()
    def embed(self, texts, batch=32):
        order = sorted(range(len(texts)), key=lambda i: -len(texts[i]))
        vectors = [None] * len(texts)
        for begin in range(0, len(order), batch):
            chosen = order[begin:begin + batch]
            inputs = self.tokenizer([texts[i] for i in chosen], padding=True, truncation=True, max_length=self.most, return_tensors="pt")
            states, mask = self.model(**inputs).last_hidden_state, inputs["attention_mask"].unsqueeze(-1).float()
            pooled = torch.nn.functional.normalize((states * mask).sum(1) / mask.sum(1), dim=1)
            for i, vector in zip(chosen, pooled):
                vectors[i] = vector.numpy()
        return np.stack(vectors)


def sixfold(options, precision):
    with tempfile.NamedTemporaryFile(suffix=".npy") as output:
        subprocess.run([options.sixfold, "embed", options.model, "--precision", precision, "--threads", str(options.threads), "--input", options.text,
                        "--output", output.name], check=True)
        return np.load(output.name)


def timed(work):
    begun = time.perf_counter()
    result = work()
    return result, time.perf_counter() - begun


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("model")
    parser.add_argument("text")
    parser.add_argument("--most", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--sixfold", default="build/release/sixfold")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    with open(options.text, encoding="utf-8") as file:
        texts = file.read().split("\n")[:-1]
    exact = None
    for precision in ("fp32", "int8"):
        peer = Peer(options.folder, options.most, precision == "int8")
        seconds = {"sixfold": [], "transformers": []}
        for _ in range(options.rounds):
            found, time_of_sixfold = timed(lambda: sixfold(options, precision))
            expected, time_of_peer = timed(lambda: peer.embed(texts))
            seconds["sixfold"].append(time_of_sixfold)
            seconds["transformers"].append(time_of_peer)
        exact = expected if exact is None else exact
        print(f"{precision}: largest difference {abs(found - expected).max():.2e}; mean cosine with transformers in fp32: sixfold "
              f"{(found * exact).sum(1).mean():.5f}, transformers {(expected * exact).sum(1).mean():.5f}")
        for name, all_seconds in seconds.items():
            print(f"{precision}: {name} {len(texts) / statistics.median(all_seconds):.0f} sentences/s, the median of {options.rounds}")
        if precision == "fp32" and abs(found - expected).max() > 1e-5:
            raise SystemExit("compare_embeddings.py: the embeddings are others")


if __name__ == "__main__":
    main()
