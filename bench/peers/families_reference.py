"""What transformers computes of a small model, for families.py: a list of cases, of JSON, so that they can be stored as expected.json.

A function gets the folder of the model, the Made tokenizer (families_tokenizers.py) and what families_models.py says beside them.
"""

import random
import re

import torch
import transformers as hf

BEAMS = 4
NEW_TOKENS = 10
ANSWER_TOKENS = 30
TEXTS = ["the old dog", "It's the cat's house, WE'LL see 12345!", "Der alte Hund schläft (im Haus).", "Où est l'été à Noël?", "x",
         "日本語 and 🙂", "the bank of the river is not the bank of the town, and two women read the old books", "a  b   c", "ﬁn… ½ cafe\u0301 a\u00a0b\u00adc"]
TARGETS = ["der alte Hund", "Zwei Frauen lesen die alten Bücher.", "the cat", "un garçon 42", "y", "Haus & Brot", "in the house", "d  e", "e\u0301té…"]
MASKED = ["the old <mask> sees a cat", "Der <mask> Hund schläft im <mask>.", "<mask> is it", "what is this <mask>"]
QUESTIONS = [("The old dog sees a cat, and the cat sees the dog.", "Who sees a cat?"),
             ("Zwei Frauen lesen die alten Bücher (und der Mann isst Brot).", "Wer isst?"),
             ("Weights, tokens & numbers: 3.14, 2.72.", "What is a model")]


def network(folder, kind):
    return kind.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()


def forget_lengths(model):
    """Of dynamic rope, transformers keeps the base of the longest text so far: what a text gets would depend on the texts before it."""
    for module in model.modules():
        if hasattr(module, "original_inv_freq") and hasattr(module, "original_max_seq_len"):
            module.inv_freq, module.max_seq_len_cached = module.original_inv_freq.clone(), module.original_max_seq_len


def log_probabilities(logits, labels):
    return torch.log_softmax(logits.double(), -1)[range(len(labels)), labels].tolist()


def reference_language(folder, made, more):
    model = network(folder, hf.AutoModelForCausalLM)
    # While a text grows, transformers keeps keys that were rotated with the bases of shorter texts.
    dynamic = (model.config.to_dict().get("rope_parameters") or {}).get("rope_type") in ("dynamic", "longrope")
    decode = made.decode()
    before = len(made.encode(""))  # special tokens that every text begins with
    cases = []
    for text in more.get("texts", TEXTS):
        given = made.encode(text)
        ids = given[before:]
        start = given[:before] or [made.eos if made.bos is None else made.bos]
        forget_lengths(model)
        with torch.no_grad():
            logits = model(torch.tensor([start + ids])).logits[0, len(start) - 1:]
        new = {}
        for beams in (1, BEAMS):
            forget_lengths(model)
            with torch.no_grad():
                output = model.generate(torch.tensor([given]), attention_mask=torch.ones(1, len(given), dtype=torch.long), num_beams=beams,
                                        do_sample=False, max_new_tokens=NEW_TOKENS, pad_token_id=made.eos)
            new[beams] = output[0, len(given):].tolist()
            forget_lengths(model)
        with torch.no_grad():
            logits_after = model(torch.tensor([given + new[1]])).logits[0, len(given) - 1:-1]
        greedy = log_probabilities(logits_after, new[1])
        text_of = lambda more_ids: decode(ids + more_ids)[len(decode(ids)):]
        cases.append({"text": text, "ids": given, "log_probabilities": log_probabilities(logits, ids + [made.eos]), "greedy_ids": new[1],
                      "greedy": text_of(new[1]), "greedy_log_probability": None if dynamic else sum(greedy), "beam_ids": new[BEAMS], "beam": text_of(new[BEAMS])})
    return cases


def reference_translation(folder, made, more):
    tokenizer = made.load()
    model = network(folder, hf.AutoModelForSeq2SeqLM)
    cached = "t5" not in model.config.model_type  # transformers 5.24 makes a cache of num_layers layers for the num_decoder_layers of T5
    cases = []
    for source, target in zip(more.get("texts", TEXTS), TARGETS):
        ids, labels = torch.tensor([tokenizer(source).input_ids]), torch.tensor([tokenizer(text_target=target).input_ids])
        mask = torch.ones_like(ids)
        with torch.no_grad():
            logits = model(input_ids=ids, attention_mask=mask, labels=labels).logits[0]
            greedy = model.generate(ids, attention_mask=mask, num_beams=1, do_sample=False, use_cache=cached)[0].tolist()
            beam = model.generate(ids, attention_mask=mask, num_beams=BEAMS, num_return_sequences=BEAMS, do_sample=False, use_cache=cached,
                                  output_scores=True, return_dict_in_generate=True)
        # The class of M2M100 decodes its special tokens.
        decode = lambda one: re.sub("__[a-z]+__|<unk>", "", tokenizer.decode(one, skip_special_tokens=True))
        cases.append({"source": source, "source_ids": ids[0].tolist(), "target": target, "labels": labels[0].tolist(),
                      "log_probabilities": log_probabilities(logits, labels[0].tolist()), "greedy_ids": greedy, "greedy": decode(greedy),
                      "beam_ids": beam.sequences.tolist(), "beam": [decode(one) for one in beam.sequences],
                      "beam_scores": beam.sequences_scores.tolist()})
    return cases


def reference_masked(folder, made, more):
    tokenizer, model = made.load(), network(folder, hf.AutoModelForMaskedLM)
    cases = []
    for text in MASKED:
        ids = made.encode(text.replace("<mask>", tokenizer.mask_token))
        with torch.no_grad():
            probabilities = torch.softmax(model(torch.tensor([ids])).logits[0].double(), -1)
        places = [i for i, one in enumerate(ids) if one == tokenizer.mask_token_id]
        for special in (tokenizer.unk_token_id, tokenizer.bos_token_id, tokenizer.cls_token_id, tokenizer.eos_token_id, tokenizer.sep_token_id,
                        tokenizer.mask_token_id):
            if special is not None:
                probabilities[:, special] = -1  # Sixfold fills no mask with them
        best = [probabilities[i].topk(5) for i in places]
        cases.append({"text": text, "ids": ids, "masks": [[{"id": i, "text": tokenizer.decode([i], skip_special_tokens=True), "probability": p} for i, p in
                                                           zip(one.indices.tolist(), one.values.tolist())] for one in best]})
    return cases


def reference_classes(folder, made, more):
    model = network(folder, hf.AutoModelForSequenceClassification)
    cases = []
    for text in TEXTS:
        ids = made.encode(text)
        with torch.no_grad():
            probabilities = torch.softmax(model(torch.tensor([ids])).logits[0].double(), -1).tolist()
        cases.append({"text": text, "ids": ids, "probabilities": {model.config.id2label[i]: p for i, p in enumerate(probabilities)}})
    return cases


def reference_spans(folder, made, more):
    """The best span of the text's tokens; the probabilities of its ends are those among the text's tokens."""
    tokenizer, model = made.load(), network(folder, hf.AutoModelForQuestionAnswering)
    cases = []
    for text, question in QUESTIONS:
        encoded = tokenizer(question, text, return_offsets_mapping=True)
        inside = [i for i, of in enumerate(encoded.sequence_ids()) if of == 1]
        tokens = tokenizer.convert_ids_to_tokens(encoded["input_ids"])  # of which one may be the mark of a word alone
        shown = [bool(tokens[i].strip("\u2581") and text[slice(*encoded["offset_mapping"][i])].strip()) for i in inside]
        inputs = {key: torch.tensor([encoded[key]]) for key in ("input_ids", "token_type_ids") if key in encoded}
        with torch.no_grad():
            output = model(**inputs)
        start, end = (torch.softmax(logits[0, inside].double(), -1).tolist() for logits in (output.start_logits, output.end_logits))
        spans = {}  # the likeliest ones: Sixfold chooses none that begins or ends without a visible character
        for p, i, j in sorted(((start[i] * end[j], i, j) for i in range(len(inside)) for j in range(i, min(len(inside), i + ANSWER_TOKENS))
                               if shown[i] and shown[j]), reverse=True)[:20]:
            spans.setdefault(text[encoded["offset_mapping"][inside[i]][0]:encoded["offset_mapping"][inside[j]][1]].strip(), p)
        best = next(iter(spans))
        cases.append({"text": text, "question": question, "ids": encoded["input_ids"], "token_type_ids": encoded.get("token_type_ids"),
                      "answer": best, "probability": spans[best], "spans": spans})
    return cases


def reference_embeddings(folder, made, more):
    """As sentence-transformers computes them: cut to a length, pooled over all tokens, special ones among them."""
    tokenizer, model = made.load(), network(folder, hf.AutoModel)
    cases = []
    for text in TEXTS:
        ids = tokenizer(text, truncation=True, max_length=more["longest"]).input_ids
        with torch.no_grad():
            states = model(torch.tensor([ids])).last_hidden_state[0]
        pooled = {"mean": states.mean(0), "cls": states[0], "max": states.max(0).values}[more["pooling"]]
        if more["normalized"]:
            pooled = torch.nn.functional.normalize(pooled, dim=0)
        cases.append({"text": text, "ids": ids, "embedding": pooled.tolist()})
    return cases


def pixels_of(number, rows, columns, channels):
    r = random.Random(number)
    return [[[r.randrange(256) for _ in range(channels)] for _ in range(columns)] for _ in range(rows)]


def reference_images(folder, made, more):
    """Images of the size that the model reads, so that none is resized."""
    model = network(folder, hf.AutoModelForImageClassification)
    form = more["processor"]
    rows, columns = form["size"]["height"], form["size"]["width"]
    cases = []
    for number in range(4):
        pixels = pixels_of(number, rows, columns, model.config.num_channels)
        image = torch.tensor(pixels, dtype=torch.float32) * form["rescale_factor"]
        if form["do_normalize"]:
            image = (image - torch.tensor(form["image_mean"])) / torch.tensor(form["image_std"])
        with torch.no_grad():
            probabilities = torch.softmax(model(image.permute(2, 0, 1)[None]).logits[0].double(), -1).tolist()
        cases.append({"pixels": pixels, "probabilities": {model.config.id2label[i]: p for i, p in enumerate(probabilities)}})
    return cases


REFERENCES = {"language": reference_language, "translation": reference_translation, "masked": reference_masked, "classes": reference_classes,
              "spans": reference_spans, "embeddings": reference_embeddings, "images": reference_images}
