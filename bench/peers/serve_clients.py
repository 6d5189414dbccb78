#!/usr/bin/env python3
"""Checks `sixfold serve` with the real clients of DeepL, LibreTranslate and OpenAI, without a change to them.

    python serve_clients.py en-de=MODEL SOURCE_PHRASE TARGET_PHRASE [--embedder MODEL] [--sixfold PROGRAM]

MODEL is a model folder of translation. The phrases make a glossary: the model must have the words of both. With --embedder, the folder of a model
of embeddings, OpenAI's client asks for embeddings of the phrases. Run it in a Python environment with `deepl` and `libretranslatepy`, and `openai` for --embedder.
The script starts a server on a free port, ends it, and fails at the first difference.
"""

import argparse
import base64
import json
import re
import struct
import subprocess
import urllib.error
import urllib.request
import uuid

import deepl
from libretranslatepy import LibreTranslateAPI


class Server:
    def __init__(self, program, models):
        self.process = subprocess.Popen([program, "serve", *models, "--port", "0"], stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            if match := re.search(r"http://\S+", line):
                self.url = match.group()
                return
        raise SystemExit("serve_clients.py: the server did not start")

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.process.terminate()
        self.process.wait()


def check(name, condition):
    print(f"{name}: {'ok' if condition else 'FAILED'}")
    if not condition:
        raise SystemExit(1)


def check_deepl(url, languages, source, target):
    client = deepl.Translator("key", server_url=url)
    codes = [code.upper() for code in languages]
    pairs = [(pair.source_lang.upper(), pair.target_lang.upper()) for pair in client.get_glossary_languages()]
    check("glossary languages", tuple(codes) in pairs)
    entries = {source: target, "no such phrase": "x"}
    glossary = client.create_glossary("terms", source_lang=codes[0], target_lang=codes[1], entries=entries)
    check("create glossary", glossary.ready and glossary.entry_count == 2 and glossary.name == "terms")
    check("list glossaries", [one.glossary_id for one in client.list_glossaries()] == [glossary.glossary_id])
    check("get glossary", client.get_glossary(glossary.glossary_id).creation_time == glossary.creation_time)
    check("entries", client.get_glossary_entries(glossary) == entries)
    text = client.translate_text(source, source_lang=codes[0], target_lang=codes[1], glossary=glossary).text
    check("translate with a glossary", target in text)
    check("translate_text_with_glossary", client.translate_text_with_glossary(source, glossary).text == text)
    from_csv = client.create_glossary_from_csv("csv", codes[0], codes[1], f'"{source}","{target}"\n')
    check("create glossary from CSV", client.get_glossary_entries(from_csv) == {source: target})
    check("source languages", codes[0] in [one.code.upper() for one in client.get_source_languages()])
    check("target languages", codes[1] in [one.code.upper() for one in client.get_target_languages()])
    used = client.get_usage().character.count
    plain = client.translate_text(source, source_lang=codes[0], target_lang=codes[1]).text
    check("usage", client.get_usage().character.count == used + len(source))
    both = client.translate_text([source, source], source_lang=codes[0], target_lang=codes[1])
    check("two texts", [one.text for one in both] == [plain, plain])
    check("a text of any language", client.translate_text(source, target_lang=codes[1]).text != "")
    html = client.translate_text(f"<p>{source}</p>", source_lang=codes[0], target_lang=codes[1], tag_handling="html").text
    check("html", html == f"<p>{plain}</p>")
    xml = client.translate_text(f"<a><x>{source}</x></a>", source_lang=codes[0], target_lang=codes[1], tag_handling="xml", ignore_tags=["x"]).text
    check("xml with a tag that is ignored", xml == f"<a><x>{source}</x></a>")
    try:
        client.translate_text(source, source_lang=codes[0], target_lang="XX")
        check("a language that is not there", False)
    except deepl.DeepLException:
        check("a language that is not there", True)
    for one in client.list_glossaries():
        client.delete_glossary(one)
    check("delete glossaries", client.list_glossaries() == [])
    try:
        client.get_glossary(glossary.glossary_id)
        check("a glossary that is gone", False)
    except deepl.GlossaryNotFoundException:
        check("a glossary that is gone", True)
    try:
        client.create_glossary_from_csv("csv", codes[0], codes[1], "no comma\n")
        check("a wrong glossary", False)
    except deepl.DeepLException:
        check("a wrong glossary", True)


def upload(url, name, content, languages):
    boundary = uuid.uuid4().hex
    body = "".join(f'--{boundary}\r\nContent-Disposition: form-data; name="{field}"\r\n\r\n{value}\r\n'
                   for field, value in zip(("source", "target"), languages))
    body += (f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
             f"Content-Type: application/octet-stream\r\n\r\n{content}\r\n--{boundary}--\r\n")
    request = urllib.request.Request(url + "/translate_file", body.encode(),
                                     {"Content-Type": f"multipart/form-data; boundary={boundary}"})
    answer = urllib.request.urlopen(request).read().decode()
    address = re.search(r'"translatedFileUrl":"([^"]+)"', answer).group(1)
    return urllib.request.urlopen(address).read().decode()


def check_libretranslate(url, languages, source):
    client = LibreTranslateAPI(url)
    text = client.translate(source, *languages)
    pairs = {one["code"]: one["targets"] for one in client.languages()}
    check("languages", languages[1] in pairs[languages[0]])
    check("detect", client.detect(source)[0]["language"] in languages)
    check("a text of any language", client.translate(source, "auto", languages[1]) != "")
    try:
        client.translate(source, languages[0], "xx")
        check("a language that is not there", False)
    except urllib.error.HTTPError as error:
        check("a language that is not there", error.code == 400)
    check("translate a text file", upload(url, "a.txt", source + "\n", languages) == text + "\n")
    times = "1\n00:00:01,000 --> 00:00:02,000\n"
    check("translate subtitles", upload(url, "a.srt", times + source + "\n", languages) == times + text + "\n")
    message = f'msgid "{source}"\nmsgstr '
    check("translate messages", upload(url, "a.po", message + '""\n', languages) == f'{message}"{text}"\n')


def embedded(program, model, texts):
    """What `sixfold embed` says."""
    lines = subprocess.run([program, "embed", model, "--format", "jsonl"], input="\n".join(texts) + "\n", text=True, check=True,
                           capture_output=True).stdout.splitlines()
    return [json.loads(line) for line in lines]


def check_openai(url, expected, texts):
    import openai  # here, since only --embedder needs it

    client = openai.OpenAI(base_url=url + "/v1", api_key="key", max_retries=0)
    check("models", "vectors" in [model.id for model in client.models.list()])
    vectors = [one["embedding"] for one in expected]
    for encoding in ("float", "base64", None):  # without one, the client asks for base64 and decodes it
        chosen = {"encoding_format": encoding} if encoding else {}
        answer = client.embeddings.create(model="vectors", input=texts, **chosen)
        found = [one.embedding for one in answer.data]
        if encoding == "base64":
            decode = lambda text: list(struct.unpack(f"<{len(vectors[0])}f", base64.b64decode(text)))
            found = [decode(one) for one in found]
        near = all(abs(a - b) <= 1e-7 * max(1, abs(b)) for x, y in zip(found, vectors, strict=True) for a, b in zip(x, y, strict=True))
        check(f"embeddings, encoding {encoding}", near)
        check("their order", [one.index for one in answer.data] == list(range(len(texts))))
        check("usage", answer.usage.prompt_tokens == answer.usage.total_tokens == sum(one["tokens"] for one in expected))
    one = client.embeddings.create(model="vectors", input=texts[0], dimensions=len(vectors[0]), user="somebody")
    check("an embedding", len(one.data) == 1 and len(one.data[0].embedding) == len(vectors[0]))
    for name, wrong in {"tokens": {"input": [1, 2]}, "dimensions": {"input": "a", "dimensions": len(vectors[0]) + 1}, "no text": {"input": []}}.items():
        try:
            client.embeddings.create(model="vectors", **wrong)
            check(f"refused: {name}", False)
        except openai.BadRequestError:
            check(f"refused: {name}", True)
    try:
        client.embeddings.create(model="none", input="a")
        check("refused: a model that is not there", False)
    except openai.NotFoundError:
        check("refused: a model that is not there", True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("--embedder")
    parser.add_argument("--sixfold", default="build/release/sixfold")
    options = parser.parse_args()
    languages = options.model.split("=")[0].split("-", 1)
    models = [options.model] + ([f"vectors={options.embedder}"] if options.embedder else [])
    with Server(options.sixfold, models) as server:
        check_deepl(server.url, languages, options.source, options.target)
        check_libretranslate(server.url, languages, options.source)
        if options.embedder:
            texts = [options.source, options.target, f"{options.source} {options.target}"]
            check_openai(server.url, embedded(options.sixfold, options.embedder, texts), texts)


if __name__ == "__main__":
    main()
