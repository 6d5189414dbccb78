#!/usr/bin/env python3
"""Checks `sixfold serve` with the real clients of DeepL and LibreTranslate, without a change to them.

    python serve_clients.py en-de=MODEL SOURCE_PHRASE TARGET_PHRASE [--sixfold PROGRAM]

MODEL is a model folder of translation. The phrases make a glossary: the model must have the words of both. Run it in a Python environment with
`deepl` and `libretranslatepy`. The script starts a server on a free port, ends it, and fails at the first difference.
"""

import argparse
import re
import subprocess
import urllib.error
import urllib.request
import uuid

import deepl
from libretranslatepy import LibreTranslateAPI


class Server:
    def __init__(self, program, model):
        self.process = subprocess.Popen([program, "serve", model, "--port", "0"], stderr=subprocess.PIPE, text=True)
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("--sixfold", default="build/release/sixfold")
    options = parser.parse_args()
    languages = options.model.split("=")[0].split("-", 1)
    with Server(options.sixfold, options.model) as server:
        check_deepl(server.url, languages, options.source, options.target)
        check_libretranslate(server.url, languages, options.source)


if __name__ == "__main__":
    main()
