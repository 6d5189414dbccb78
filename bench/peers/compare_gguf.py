#!/usr/bin/env python3
"""Compares a language model in GGUF, imported by Sixfold, with transformers reading the same file.

    python compare_gguf.py MODEL.gguf TEXT.txt [--sixfold PROGRAM] [--prompts 50] [--tokens 20]

Run it in the environment of the other programs (README.md), with gguf. Prompts are lines of TEXT.txt. For each the script compares the loss
per token (printed with 4 digits) and the greedy continuation in fp32, and prints how many differ.
"""

import argparse
import json
import re
import subprocess
import tempfile
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("text", type=Path)
    parser.add_argument("--sixfold", default="build/release/sixfold")
    parser.add_argument("--prompts", type=int, default=50)
    parser.add_argument("--tokens", type=int, default=20)
    options = parser.parse_args()
    torch.set_num_threads(2)
    theirs = AutoModelForCausalLM.from_pretrained(options.model.parent, gguf_file=options.model.name, dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(options.model.parent, gguf_file=options.model.name)
    lines = [line for line in options.text.read_text().split("\n") if len(line.split()) > 4]
    prompts = lines[::max(1, len(lines) // options.prompts)][:options.prompts]
    with tempfile.TemporaryDirectory() as folder:
        model, file = f"{folder}/model", Path(folder) / "text.txt"
        run = lambda *arguments: subprocess.run([options.sixfold, *map(str, arguments)], check=True, capture_output=True, text=True).stdout
        run("import", "gguf", options.model, "--output", model)
        largest, same, different_losses = 0.0, 0, 0
        for prompt in prompts:
            file.write_bytes(prompt.encode())
            ids = tokenizer(prompt, return_tensors="pt").input_ids
            with torch.no_grad():
                # Sixfold reads a text that is scored after the start token.
                read = torch.cat([torch.tensor([[theirs.config.bos_token_id]]), ids], 1)
                logits = theirs(read).logits[0].log_softmax(-1)
                output = theirs.generate(ids, max_new_tokens=options.tokens, do_sample=False, pad_token_id=0)
            picked = logits[:-1].gather(1, ids[0, :, None])
            said = json.loads(run("generate", model, "--prompt-file", file, "--temperature", 0, "--max-tokens", options.tokens, "--json"))
            wanted = tokenizer.decode(output[0, ids.shape[1]:], skip_special_tokens=True)
            same += said["text"] == wanted
            if said["text"] != wanted:
                print("greedy differs after", repr(prompt[-60:]), "\n  transformers:", repr(wanted), "\n  Sixfold:     ", repr(said["text"]))
            scores = [json.loads(line) for line in run("score", model, "--input", file, "--token-scores", "--format", "jsonl").splitlines()]
            ours = [token["log_probability"] for token in scores[-ids.shape[1] - 1:]]
            difference = max((abs(a - b) for a, b in zip(ours, picked[:, 0].tolist())), default=0.0)
            largest = max(largest, difference)
            different_losses += difference > 1e-4
    print(f"{same} of {len(prompts)} greedy texts are the same; the largest difference of a token's loss is {largest:.6f}, "
          f"{different_losses} texts have one above 0.0001")


if __name__ == "__main__":
    main()
