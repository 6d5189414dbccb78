#!/usr/bin/env python3
"""Serves a translation model with Flask, waitress and CTranslate2, with LibreTranslate's POST /translate.

    python serve_flask.py CT2_FOLDER TOKENIZER.model --port PORT [--threads 2] [--beam 4] [--compute-type float32] [--gather-ms 0]

CT2_FOLDER is a model converted by CTranslate2. Each core gets a worker of its own. The requests that arrive while all workers are busy are
translated together: a thread takes all texts that wait and passes them to CTranslate2, which batches them. This is what a careful user would
write; LibreTranslate itself translates each request alone (`--alone`).
"""

import argparse
import queue
import threading
from concurrent.futures import Future

import ctranslate2
import flask
import sentencepiece
import waitress


class Translator:
    def __init__(self, a):
        self.tokenizer = sentencepiece.SentencePieceProcessor(model_file=a.tokenizer)
        self.model = ctranslate2.Translator(a.model, compute_type=a.compute_type, inter_threads=a.threads, intra_threads=1)
        self.beam, self.waiting = a.beam, queue.Queue()
        self.alone = a.alone
        if not a.alone:
            for _ in range(2 * a.threads):  # while one batch is translated, the next is gathered
                threading.Thread(target=self.work, daemon=True).start()

    def run(self, lines):
        pieces = [self.tokenizer.encode(line, out_type=str) + ["</s>"] for line in lines]
        results = self.model.translate_batch(pieces, beam_size=self.beam, max_batch_size=1024, batch_type="tokens")
        return [self.tokenizer.decode(result.hypotheses[0]) for result in results]

    def work(self):
        while True:
            taken = [self.waiting.get()]
            while sum(len(lines) for lines, _ in taken) < 64:
                try:
                    taken.append(self.waiting.get_nowait())
                except queue.Empty:
                    break
            translated = iter(self.run([line for lines, _ in taken for line in lines]))
            for lines, future in taken:
                future.set_result([next(translated) for _ in lines])

    def translate(self, lines):
        if self.alone:
            return self.run(lines)
        future = Future()
        self.waiting.put((lines, future))
        return future.result()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("tokenizer")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--compute-type", default="float32")
    parser.add_argument("--alone", action="store_true")
    a = parser.parse_args()
    translator = Translator(a)
    app = flask.Flask("translate")

    @app.post("/translate")
    def translate():
        q = flask.request.get_json()["q"]
        lines = translator.translate(q if isinstance(q, list) else [q])
        return {"translatedText": lines if isinstance(q, list) else lines[0]}

    waitress.serve(app, host="127.0.0.1", port=a.port, threads=64)


if __name__ == "__main__":
    main()
