#!/usr/bin/env python3
"""Compares `sixfold embed` with transformers and ONNX Runtime: the same embeddings, and the time that they take.

    python compare_embeddings.py FOLDER MODEL TEXT [--most 256] [--rounds 3] [--threads 2] [--sixfold PROGRAM]

FOLDER is a folder of Hugging Face of an encoder whose embeddings are the mean of its states with norm 1, such as all-MiniLM-L6-v2; MODEL is the
model folder of Sixfold that was made of it, in fp32; TEXT has a sentence on each line. --most: tokens that are read, with start and end. transformers
sorts the sentences by length and pads batches of 32; in int8 its linear layers are PyTorch's dynamically quantized ones. ONNX Runtime gets the
same batches and the same model, exported by PyTorch; in int8 it is quantized dynamically, by ONNX Runtime. It is left out where `onnx` and
`onnxruntime` are not installed. The times of Sixfold include its start; those of others do not. The memory is the largest of a process that
embeds the text. Fails if an embedding in fp32 is not within 1e-5 of that of transformers.
"""

import argparse
import importlib.util
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np


class Transformers:
    def __init__(self, options, int8):
        import torch
        from transformers import AutoModel, AutoTokenizer
        torch.set_num_threads(options.threads)
        self.tokenizer, self.most = AutoTokenizer.from_pretrained(options.folder), options.most
        self.model = AutoModel.from_pretrained(options.folder, dtype=torch.float32).eval()
        if int8:
            self.model = torch.ao.quantization.quantize_dynamic(self.model, {torch.nn.Linear}, dtype=torch.qint8)

    def inputs(self, texts):
        return dict(self.tokenizer(texts, padding=True, truncation=True, max_length=self.most, return_tensors="np"))

    def states(self, inputs):
        import torch
        with torch.no_grad():
            return self.model(**{name: torch.from_numpy(array) for name, array in inputs.items()}).last_hidden_state.numpy()

    def embed(self, texts, batch=32):
        order = sorted(range(len(texts)), key=lambda i: -len(texts[i]))
        vectors = [None] * len(texts)
        for begin in range(0, len(order), batch):
            chosen = order[begin:begin + batch]
            inputs = self.inputs([texts[i] for i in chosen])
            states, mask = self.states(inputs), inputs["attention_mask"][..., None].astype(np.float32)
            pooled = (states * mask).sum(1) / mask.sum(1)
            for i, vector in zip(chosen, pooled / np.linalg.norm(pooled, axis=1, keepdims=True)):
                vectors[i] = vector
        return np.stack(vectors)


class OnnxRuntime(Transformers):
    """Reads what `export` wrote, without PyTorch and transformers, whose memory it does not need."""

    def __init__(self, options, int8):
        import onnxruntime
        from tokenizers import Tokenizer
        self.tokenizer = Tokenizer.from_file(f"{options.folder}/tokenizer.json")
        self.tokenizer.enable_padding()
        self.tokenizer.enable_truncation(options.most)
        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = options.threads
        self.session = onnxruntime.InferenceSession(f"{options.onnx}/{'int8' if int8 else 'fp32'}.onnx", settings, providers=["CPUExecutionProvider"])
        self.names = [one.name for one in self.session.get_inputs()]

    def inputs(self, texts):
        found = self.tokenizer.encode_batch(texts)
        arrays = {"input_ids": "ids", "token_type_ids": "type_ids", "attention_mask": "attention_mask"}
        return {name: np.array([getattr(one, attribute) for one in found], np.int64) for name, attribute in arrays.items()}

    def states(self, inputs):
        return self.session.run(None, {name: inputs[name] for name in self.names})[0]


def export(folder, to):
    """Writes fp32.onnx and int8.onnx, both with ONNX Runtime's own fusions for transformers."""
    import torch
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.transformers import optimizer
    from transformers import AutoModel, AutoTokenizer

    class States(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = AutoModel.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()

        def forward(self, *values):
            return self.model(**dict(zip(inputs, values))).last_hidden_state

    inputs = dict(AutoTokenizer.from_pretrained(folder)(["An example.", "A longer example."], padding=True, return_tensors="pt"))
    module, sizes = States(), {0: torch.export.Dim("sentences"), 1: torch.export.Dim("tokens")}
    torch.onnx.export(module, tuple(inputs.values()), f"{to}/exported.onnx", input_names=list(inputs), output_names=["last_hidden_state"],
                      dynamic_shapes=((sizes,) * len(inputs),), dynamo=True, external_data=False, verbose=False)
    config = module.model.config
    fused = optimizer.optimize_model(f"{to}/exported.onnx", model_type="bert", num_heads=config.num_attention_heads, hidden_size=config.hidden_size)
    fused.save_model_to_file(f"{to}/fp32.onnx")
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        saturates = "vnni" not in file.read()  # then its documentation advises 7 bits
    quantize_dynamic(f"{to}/fp32.onnx", f"{to}/int8.onnx", weight_type=QuantType.QInt8, per_channel=True, reduce_range=saturates)


PEERS = {"transformers": Transformers, "onnxruntime": OnnxRuntime}


def sixfold(options, precision):
    """The embeddings, the seconds that the command took, and its memory in MB."""
    with tempfile.NamedTemporaryFile(suffix=".npy") as output:
        begun = time.perf_counter()
        process = subprocess.Popen([options.sixfold, "embed", options.models[precision], "--threads", str(options.threads), "--input", options.text,
                                    "--output", output.name])
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - begun
        if status != 0:
            raise SystemExit("compare_embeddings.py: sixfold embed failed")
        return np.load(output.name), seconds, usage.ru_maxrss / 1000


def run_alone(options, work):
    """Runs a part of this script in a process of its own, whose memory begins at that of this one; returns what it prints."""
    return subprocess.run([sys.executable, "-W", "ignore", __file__, *sys.argv[1:], "--onnx", options.onnx, "--alone", work], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, check=True).stdout


def peer(options, name, precision):
    """The same of another program. Its start is not counted."""
    with tempfile.NamedTemporaryFile(suffix=".npy") as output:
        seconds, megabytes = map(float, run_alone(options, f"{name},{precision},{output.name}").split()[-2:])
        return np.load(output.name), seconds, megabytes


def embed_alone(options, texts):
    name, precision, output = options.alone.split(",")
    one = PEERS[name](options, precision == "int8")
    one.embed(texts[:64])
    begun = time.perf_counter()
    found = one.embed(texts)
    seconds = time.perf_counter() - begun
    np.save(output, found)
    print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("model")
    parser.add_argument("text")
    parser.add_argument("--most", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--sixfold", default="build/release/sixfold")
    parser.add_argument("--onnx", default="", help=argparse.SUPPRESS)
    parser.add_argument("--alone", help=argparse.SUPPRESS)
    options = parser.parse_args()
    with open(options.text, encoding="utf-8") as file:
        texts = file.read().split("\n")[:-1]
    if options.alone == "export":
        return export(options.folder, options.onnx)
    if options.alone:
        return embed_alone(options, texts)
    with tempfile.TemporaryDirectory() as options.onnx:
        options.models = {"fp32": options.model, "int8": f"{options.onnx}/sixfold-int8"}
        subprocess.run([options.sixfold, "quantize", options.model, "--output", options.models["int8"]], check=True)
        names = ["transformers"]
        if importlib.util.find_spec("onnx") and importlib.util.find_spec("onnxruntime"):
            run_alone(options, "export")
            names.append("onnxruntime")
        else:
            print("onnx and onnxruntime are not installed, and left out")
        compare(options, texts, names)


def compare(options, texts, names):
    exact = None
    for precision in ("fp32", "int8"):
        found = {name: [] for name in ["sixfold", *names]}
        for _ in range(options.rounds):
            found["sixfold"].append(sixfold(options, precision))
            for name in names:
                found[name].append(peer(options, name, precision))
        exact = found["transformers"][0][0] if exact is None else exact
        base = statistics.median(seconds for _, seconds, _ in found["sixfold"])
        for name, all_rounds in found.items():
            seconds, megabytes = (statistics.median(one[i] for one in all_rounds) for i in (1, 2))
            print(f"{precision}: {name:12} {len(texts) / seconds:6.0f} sentences/s, its time / sixfold's {seconds / base:.2f}, {megabytes:.0f} MB, "
                  f"mean cosine with transformers in fp32 {(all_rounds[0][0] * exact).sum(1).mean():.5f}", flush=True)
        difference = abs(found["sixfold"][0][0] - exact).max()
        if precision == "fp32":
            print(f"fp32: largest difference {difference:.2e}")
            if difference > 1e-5:
                raise SystemExit("compare_embeddings.py: the embeddings are others")


if __name__ == "__main__":
    main()
