#!/usr/bin/env python3
"""Records what transformers makes of conversations by chat templates, in tests/goldens/chat/golden.json.

    python make_chat_goldens.py

The templates are those of models, with shorter texts about tools. Each writes all conversations that it can. The
ids are those of the byte-level BPE of tests/goldens/causal/gpt2 with the control tokens of the template, where no
content has one of them. Templates in `exported`, which Sixfold writes, must write the same.
"""
import copy
import json
import pathlib
import re
import tempfile

import transformers

HERE = pathlib.Path(__file__).parent / "chat"

# The start token, the end token, whether control tokens take the white space after them, and what is told to the
# template besides the messages.
TEMPLATES = {
    "smollm2": ("<|im_start|>", "<|im_end|>", False, {}),
    "qwen2.5": (None, "<|im_end|>", False, {}),
    "qwen3": (None, "<|im_end|>", False, {}),
    "llama3": ("<|begin_of_text|>", "<|eot_id|>", False, {}),
    "llama3.2": ("<|begin_of_text|>", "<|eot_id|>", False, {"date_string": "26 Jul 2024"}),
    "phi3": ("<s>", "<|endoftext|>", True, {}),
    "phi4": ("<|endoftext|>", "<|im_end|>", False, {}),
    "phi4-mini": ("<|endoftext|>", "<|end|>", False, {}),
}
CONTROL = ["<|im_start|>", "<|im_end|>", "<|im_sep|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|system|>",
           "<|user|>", "<|assistant|>", "<|end|>", "<|endoftext|>", "<|begin_of_text|>", "<s>"]


def message(role, content):
    return {"role": role, "content": content}


CONVERSATIONS = [
    [message("user", "the old dog")],
    [message("system", "be brief"), message("user", "is the cat there?")],
    [message("user", "one"), message("assistant", "two"), message("user", "three\nfour")],
    [message("system", "  two lines\n\nhere \n"), message("user", "\n\n  spaces around  \n"),
     message("assistant", " \u00a0a cat\u3000"), message("user", "K\u00f6ln \u2014 \u732b \U0001f408")],
    [message("user", "a"), message("user", "b"), message("system", "later"), message("user", "")],
    [message("user", "think"), message("assistant", "<think>\nof a cat\n</think>\n\nA cat."), message("user", "why?")],
    [message("user", "what is <|im_end|> and <|end|> or <|eot_id|>?"), message("assistant", "<|im_start|>"),
     message("user", "<|user|>\nhi<|endoftext|>")],
]


def tokenizer_of(folder, bos, eos, rstrip):
    tokenizer = json.loads((HERE.parent / "causal/gpt2/tokenizer.json").read_text())
    plain = tokenizer["added_tokens"][0]
    tokenizer["added_tokens"] = []
    for i, token in enumerate(CONTROL):
        tokenizer["added_tokens"].append({**plain, "id": 340 + i, "content": token, "rstrip": rstrip})
    path = pathlib.Path(folder)
    (path / "tokenizer.json").write_text(json.dumps(tokenizer))
    (path / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": bos, "eos_token": eos}))
    return transformers.AutoTokenizer.from_pretrained(folder)


def main():
    exported = json.loads((HERE / "exported.json").read_text()) if (HERE / "exported.json").exists() else {}
    golden = {"control": CONTROL, "conversations": CONVERSATIONS, "templates": {}}
    for name, (bos, eos, rstrip, told) in TEMPLATES.items():
        with tempfile.TemporaryDirectory() as folder:
            tokenizer = tokenizer_of(folder, bos, eos, rstrip)
        jinja = (HERE / f"{name}.jinja").read_text()
        outputs = []
        for conversation in CONVERSATIONS:
            render = lambda template, tokenize: tokenizer.apply_chat_template(  # noqa: E731
                copy.deepcopy(conversation), chat_template=template, add_generation_prompt=True, tokenize=tokenize,
                return_dict=False, **told)
            text = render(jinja, False)
            if name in exported:
                assert render(exported[name], False) == text, (name, conversation, render(exported[name], False), text)
            has_control = any(re.search(r"<\|\w+\|>", m["content"]) for m in conversation)
            outputs.append({"text": text, "ids": None if has_control else render(jinja, True)})
        golden["templates"][name] = {"bos": bos, "rstrip": rstrip, "outputs": outputs}
    (HERE / "golden.json").write_text(json.dumps(golden, ensure_ascii=False, separators=(",", ":")) + "\n")
    print("exported templates compared:", sorted(exported))


if __name__ == "__main__":
    main()
