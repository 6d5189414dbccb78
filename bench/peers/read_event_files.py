#!/usr/bin/env python3
"""Opens event files of `sixfold plot tensorboard` with TensorBoard, and compares what it shows with the log of the run.

    python read_event_files.py RUN [--sixfold PROGRAM]

Run it in the environment of the other programs (README.md), which has tensorboard. The script exports the run, reads the
files with TensorBoard's own reader, starts TensorBoard's server and asks it for the same curves and texts. It ends with an
error if a value differs from the one in train.jsonl.
"""

import argparse
import json
import math
import re
import struct
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from pathlib import Path

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

HERE = Path(__file__).resolve().parent
NOT_CURVES = {"update", "epoch", "tokens", "seconds", "seconds_left", "seconds_waited", "last_update"}


def rounded(value):
    return math.nan if value is None else struct.unpack("f", struct.pack("f", value))[0]


def expected_curves(log):
    """The points of each tag, as the reader and as the server are to have them. Both leave out what a rollback undid: the
    reader for all tags at once, the server for a tag when its next point comes."""
    curves, server_curves, last = {}, {}, 0
    for line in log.read_text(encoding="utf-8").splitlines():
        try:
            entry = json.loads(line)
        except json.JSONDecodeError:
            continue  # a line that is not whole
        update = entry["update"]
        if update < last:
            curves = {tag: [point for point in points if point[0] < update] for tag, points in curves.items()}
        last = update
        if "rollback_to" in entry:
            continue
        named = {f"valid/{name}": value for name, value in entry.get("validation", {}).items()}
        named |= {f"train/{name}": value for name, value in entry.items()
                  if name not in NOT_CURVES and (value is None or isinstance(value, (int, float)))}
        for tag, value in named.items():
            curves.setdefault(tag, []).append((update, rounded(value)))
            kept = [point for point in server_curves.get(tag, []) if point[0] < update]
            server_curves[tag] = kept + [(update, rounded(value))]
    return curves, server_curves


def require_equal(where, expected, found):
    same = len(expected) == len(found) and all(
        a[0] == b[0] and (a[1] == b[1] or (math.isnan(a[1]) and math.isnan(b[1]))) for a, b in zip(expected, found))
    if not same:
        sys.exit(f"{where}: expected {expected[:5]}..., found {found[:5]}...")


def check_reader(folder, curves):
    reader = EventAccumulator(str(folder), size_guidance={"scalars": 0, "tensors": 0})
    reader.Reload()
    if set(reader.Tags()["scalars"]) != set(curves):
        sys.exit(f"the reader has the tags {reader.Tags()['scalars']}, the log {sorted(curves)}")
    for tag, points in curves.items():
        require_equal(f"reader, {tag}", points, [(event.step, event.value) for event in reader.Scalars(tag)])
    texts = reader.Tags()["tensors"]
    print(f"TensorBoard's reader: {len(curves)} curves are equal; {len(texts)} texts")
    return texts


def ask(address, path, **query):
    with urllib.request.urlopen(f"{address}/data/plugin/{path}?{urllib.parse.urlencode(query)}", timeout=10) as answer:
        return json.loads(answer.read())


def shown_curve(address, run, tag, points):
    """The curve that the server shows, once it has read as many points; it reads the files while it answers."""
    shown = []
    for _ in range(100):
        try:
            shown = ask(address, "scalars/scalars", run=run, tag=tag)
        except OSError:  # it does not know the run yet
            pass
        if len(shown) >= len(points):
            break
        time.sleep(0.2)
    return [(step, math.nan if value is None else float(value)) for _, step, value in shown]


def check_server(folder, run, curves, texts):
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", folder, "--port", "0", "--samples_per_plugin",
               "scalars=1000000,text=1000"]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        address = next(found[0] for line in server.stderr if (found := re.search(r"http://\S+", line))).rstrip("/")
        for tag, points in curves.items():
            require_equal(f"server, {tag}", points, shown_curve(address, run, tag, points))
        for tag in texts:
            if not ask(address, "text/text", run=run, tag=tag):
                sys.exit(f"server, {tag}: there is no text")
    finally:
        server.terminate()
        server.wait()
    print(f"TensorBoard's server: {len(curves)} curves are equal; {len(texts)} texts")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--sixfold", default=str(HERE.parents[1] / "build/release/sixfold"))
    options = parser.parse_args()
    curves, server_curves = expected_curves(options.run / "train.jsonl")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([options.sixfold, "plot", "tensorboard", options.run, "--output", folder], check=True)
        run = options.run.resolve().name
        texts = check_reader(Path(folder) / run, curves)
        check_server(folder, run, server_curves, texts)


if __name__ == "__main__":
    main()
