"""Random small models of the families that Sixfold imports, as transformers saves them, for families.py.

A row of FAMILIES has the task, the makers of its tokenizers (families_tokenizers.py) and a function that draws a random model: it gets a random.Random
and the Made tokenizer, and returns a model of transformers and the keys of config.json that are to be written in place of those that
transformers writes, for folders as older versions wrote them. None removes a key.
"""

import json
import math
from pathlib import Path

import torch
import transformers as hf
from safetensors.torch import load_file

import families_tokenizers as tokenizers_of

ACTIVATIONS = ["gelu", "relu", "silu", "gelu_new"]
TEXT = 160  # positions that the texts need at most


def ids_of(made, *names):
    return {f"{name}_token_id": getattr(made, name) for name in names}


def drawn_activation(r, usual, *more):
    return r.choice([usual, usual, *ACTIVATIONS, *more])


# Language models.

def gpt2(r, made):
    heads = r.choice([2, 3, 4])
    config = hf.GPT2Config(
        vocab_size=made.size + r.choice([0, 3]), n_embd=8 * heads, n_head=heads, n_layer=r.choice([1, 2, 3]), n_positions=r.choice([TEXT, 256]),
        n_inner=r.choice([None, 12, 40]), activation_function=drawn_activation(r, "gelu_new", "quick_gelu"), layer_norm_epsilon=r.choice([1e-5, 1e-3]),
        tie_word_embeddings=r.random() < 0.6, **ids_of(made, "bos", "eos"))
    return hf.GPT2LMHeadModel(config), {}


def rotary(r, head, layers_positions):
    """Parameters of rope of any type, and the same as older folders have them."""
    kind = r.choice(["default", "default", "default", "linear", "dynamic", "yarn", "llama3"])
    theta = r.choice([500.0, 10000.0, 1000000.0])
    new = {"rope_type": kind, "rope_theta": theta}
    original = r.choice([12, 24])
    if kind != "default":
        new["factor"] = r.choice([2.0, 4.0, 2.5])
    if kind == "yarn":
        new["original_max_position_embeddings"] = original
        new |= r.choice([{}, {"beta_fast": 16.0, "beta_slow": 2.0}, {"attention_factor": 0.8}, {"mscale": 1.2, "mscale_all_dim": 0.7},
                         {"truncate": False}])
    if kind == "llama3":
        new |= {"original_max_position_embeddings": original, "low_freq_factor": 1.0, "high_freq_factor": r.choice([2.0, 4.0])}
    # A dynamic base changes with the length beyond max_position_embeddings, which Sixfold does not read at once.
    positions = TEXT if kind == "dynamic" else layers_positions
    scaling = {key: value for key, value in new.items() if key != "rope_theta"}
    if r.random() < 0.3:
        scaling["type"] = scaling.pop("rope_type")
    old = {"rope_parameters": None, "rope_theta": theta, "rope_scaling": None if kind == "default" else scaling}
    return new, old, positions


def llama_like(r, made, kind):
    heads, kv = r.choice([(2, 1), (4, 2), (4, 4), (6, 2), (3, 1)])
    size = 8 * heads
    parameters, old, positions = rotary(r, 8, r.choice([TEXT, 256]))
    common = dict(vocab_size=made.size + r.choice([0, 5]), hidden_size=size, num_attention_heads=heads, num_key_value_heads=kv,
                  intermediate_size=r.choice([1, 20, 44]), num_hidden_layers=r.choice([1, 2, 3]), max_position_embeddings=positions,
                  hidden_act=r.choice(["silu", "silu", "gelu", "gelu_pytorch_tanh", "relu"]), rms_norm_eps=r.choice([1e-6, 1e-5, 1e-3]),
                  rope_parameters=parameters, tie_word_embeddings=r.random() < 0.5, **ids_of(made, "bos", "eos"))
    window = r.choice([3, 5, 17])
    if kind == "llama":
        model = hf.LlamaForCausalLM(hf.LlamaConfig(head_dim=r.choice([None, 6, 10]), attention_bias=r.random() < 0.4, mlp_bias=r.random() < 0.4, **common))
    elif kind == "mistral":
        model = hf.MistralForCausalLM(hf.MistralConfig(head_dim=r.choice([None, 6, 10]), sliding_window=r.choice([None, window, window, 4096]), **common))
    elif kind == "qwen2":
        layers = common["num_hidden_layers"]
        sliding = dict(use_sliding_window=r.random() < 0.4, sliding_window=window, max_window_layers=r.randrange(layers + 1))
        model = hf.Qwen2ForCausalLM(hf.Qwen2Config(**sliding, **common))
        if model.config.use_sliding_window or r.random() < 0.5:
            old["layer_types"] = None  # older folders have max_window_layers alone
    else:
        model = hf.Qwen3ForCausalLM(hf.Qwen3Config(head_dim=r.choice([8, 6, 12]), attention_bias=r.random() < 0.4, **common))
    return model, old if r.random() < 0.5 else {}


def llama(r, made):
    return llama_like(r, made, "llama")


def mistral(r, made):
    return llama_like(r, made, "mistral")


def qwen2(r, made):
    return llama_like(r, made, "qwen2")


def qwen3(r, made):
    return llama_like(r, made, "qwen3")


def phi3(r, made):
    heads, kv = r.choice([(2, 1), (4, 2), (4, 4), (3, 1)])
    partial = r.choice([1.0, 1.0, 0.5, 0.75])
    parameters = {"rope_type": "default", "rope_theta": r.choice([500.0, 10000.0]), "partial_rotary_factor": partial}
    long = r.random() < 0.4  # longrope; Sixfold reads texts of the original length
    if long:
        half = int(8 * partial) // 2
        parameters |= {"rope_type": "longrope", "short_factor": [1.0 + 0.1 * r.random() for _ in range(half)],
                       "long_factor": [1.0 + 4 * r.random() for _ in range(half)]}
    config = hf.Phi3Config(
        vocab_size=made.size + r.choice([0, 5]), hidden_size=8 * heads, num_attention_heads=heads, num_key_value_heads=kv,
        intermediate_size=r.choice([1, 20, 44]), num_hidden_layers=r.choice([1, 2, 3]), max_position_embeddings=256,
        original_max_position_embeddings=r.choice([256, TEXT]) if long else 256, rms_norm_eps=r.choice([1e-6, 1e-5, 1e-3]),
        rope_parameters=parameters, tie_word_embeddings=r.random() < 0.3, sliding_window=r.choice([None, 3, 9, 262144]),
        pad_token_id=made.eos, **ids_of(made, "bos", "eos"))
    model = hf.Phi3ForCausalLM(config)
    scaling = {"type": "longrope", "short_factor": parameters["short_factor"], "long_factor": parameters["long_factor"]} if long else None
    old = {"rope_parameters": None, "rope_theta": parameters["rope_theta"], "rope_scaling": scaling, "partial_rotary_factor": partial}
    return model, old if r.random() < 0.5 else {}


def gpt_neox(r, made):
    heads, head = r.choice([2, 3, 4]), r.choice([8, 16])
    partial = r.choice([0.25, 0.5, 1.0])
    parameters = {"rope_type": "default", "rope_theta": r.choice([10000.0, 300.0]), "partial_rotary_factor": partial}
    if r.random() < 0.3:
        parameters |= {"rope_type": "linear", "factor": 2.0}
    config = hf.GPTNeoXConfig(
        vocab_size=made.size + r.choice([0, 5]), hidden_size=head * heads, num_attention_heads=heads, intermediate_size=r.choice([12, 40]),
        num_hidden_layers=r.choice([1, 2, 3]), max_position_embeddings=256, hidden_act=drawn_activation(r, "gelu", "gelu_fast"),
        layer_norm_eps=r.choice([1e-5, 1e-3]), rope_parameters=parameters, tie_word_embeddings=r.random() < 0.3,
        use_parallel_residual=r.random() < 0.6, attention_bias=r.random() < 0.7, **ids_of(made, "bos", "eos"))
    scaling = {"type": "linear", "factor": 2.0} if "factor" in parameters else None
    old = {"rope_parameters": None, "rotary_emb_base": int(parameters["rope_theta"]), "rotary_pct": partial, "rope_scaling": scaling}
    return hf.GPTNeoXForCausalLM(config), old if r.random() < 0.5 else {}


# Encoder and decoder.

def two_stacks(r):
    """Half of the models have stacks that differ in heads and feed-forward layers."""
    heads, ffn = r.choice([1, 2, 3, 4]), r.choice([12, 20, 41])
    other_heads, other_ffn = (r.choice([1, 2, 3, 4]), r.choice([12, 28, 33])) if r.random() < 0.5 else (heads, ffn)
    return dict(d_model=r.choice([1, 2]) * math.lcm(4, heads, other_heads) * (2 if 3 not in (heads, other_heads) else 1),
                encoder_attention_heads=heads, decoder_attention_heads=other_heads, encoder_layers=r.choice([1, 2, 3]),
                decoder_layers=r.choice([1, 2, 3]), encoder_ffn_dim=ffn, decoder_ffn_dim=other_ffn)


def bart_like(r, made, kind):
    config_of, model_of = {"bart": (hf.BartConfig, hf.BartForConditionalGeneration), "mbart": (hf.MBartConfig, hf.MBartForConditionalGeneration),
                           "m2m100": (hf.M2M100Config, hf.M2M100ForConditionalGeneration)}[kind]
    eps = {} if kind == "m2m100" else {"forced_eos_token_id": r.choice([made.eos, None])}
    config = config_of(
        vocab_size=made.size + r.choice([0, 8]), max_position_embeddings=r.choice([TEXT, 200]), activation_function=drawn_activation(r, "gelu"),
        scale_embedding=r.random() < 0.5, tie_word_embeddings=r.random() < 0.7, decoder_start_token_id=made.eos,
        pad_token_id=made.pad, **ids_of(made, "bos", "eos"), **eps, **two_stacks(r))
    return model_of(config), {}


def bart(r, made):
    if r.random() < 0.5:
        made.extra["forced_bos_token_id"] = made.bos
    return bart_like(r, made, "bart")


def mbart50(r, made):
    return bart_like(r, made, "mbart")


def m2m100(r, made):
    return bart_like(r, made, "m2m100")


def marian(r, made):
    config = hf.MarianConfig(
        vocab_size=made.size, decoder_vocab_size=made.size, max_position_embeddings=TEXT, activation_function=drawn_activation(r, "swish", "quick_gelu"),
        scale_embedding=r.random() < 0.5, bos_token_id=None, eos_token_id=made.eos, pad_token_id=made.pad, decoder_start_token_id=made.pad,
        forced_eos_token_id=None, tie_word_embeddings=r.random() < 0.9, **two_stacks(r))
    return hf.MarianMTModel(config), {}


def t5_like(r, made, config_of, model_of):
    gated, tied = r.random() < 0.6, r.random() < 0.5
    activation = r.choice(["gelu", "gelu", "relu", "silu"])
    heads = r.choice([1, 2, 3, 4])
    buckets, distance = r.choice([(8, 16), (8, 5), (32, 128), (32, 20), (12, 20), (6, 128)])  # more than half as far as there are buckets
    config = config_of(
        vocab_size=made.size + r.choice([0, 12]), d_model=r.choice([16, 20, 24]), d_kv=r.choice([4, 7, 10]), d_ff=r.choice([12, 41]),
        num_layers=r.choice([1, 2, 3]), num_decoder_layers=r.choice([None, 1, 2]), num_heads=heads,
        relative_attention_num_buckets=buckets, relative_attention_max_distance=distance,
        feed_forward_proj=f"gated-{activation}" if gated else activation, layer_norm_epsilon=r.choice([1e-6, 1e-3]),
        tie_word_embeddings=tied, pad_token_id=made.pad, eos_token_id=made.eos, decoder_start_token_id=made.pad)
    model = model_of(config)
    if not tied:  # transformers 5 ties them in the constructor, and unties them where a folder has both
        model.lm_head.weight = torch.nn.Parameter(torch.empty_like(model.lm_head.weight))
    old = {"tie_word_embeddings": tied}  # as on the hub: it says whether the outputs of the decoder are scaled
    if r.random() < 0.5:
        old |= {"scale_decoder_outputs": None, "dense_act_fn": None, "is_gated_act": None}
    if r.random() < 0.3:  # as google/t5-v1_1: a key that a later version does not know
        old |= {"output_past": True}
    return model, old


def t5(r, made):
    return t5_like(r, made, hf.T5Config, hf.T5ForConditionalGeneration)


def mt5(r, made):
    return t5_like(r, made, hf.MT5Config, hf.MT5ForConditionalGeneration)


# Encoders.

LABELS = ["bad", "good", "so so", "other"]


def labels(r):
    count = r.choice([2, 3, 4])
    return {"id2label": dict(enumerate(LABELS[:count])), "label2id": {label: i for i, label in enumerate(LABELS[:count])}}


def encoder(r, made, kind, head):
    """head: MaskedLM, SequenceClassification, QuestionAnswering, or None for the network alone."""
    heads = r.choice([1, 2, 3])
    offset = 0 if kind in ("bert", "distilbert") else made.pad + 1
    if kind == "distilbert":
        config = hf.DistilBertConfig(
            vocab_size=made.size + r.choice([0, 3]), max_position_embeddings=TEXT, n_layers=r.choice([1, 2, 3]), n_heads=heads, dim=8 * heads,
            hidden_dim=r.choice([12, 41]), activation=drawn_activation(r, "gelu"), sinusoidal_pos_embds=r.random() < 0.3, pad_token_id=made.pad,
            tie_word_embeddings=head != "MaskedLM" or r.random() < 0.7, **(labels(r) if head == "SequenceClassification" else {}))
    else:
        config_of = {"bert": hf.BertConfig, "roberta": hf.RobertaConfig, "xlm_roberta": hf.XLMRobertaConfig}[kind]
        ids = {} if kind == "bert" else ids_of(made, "bos", "eos")
        config = config_of(
            vocab_size=made.size + r.choice([0, 3]), hidden_size=8 * heads, num_hidden_layers=r.choice([1, 2, 3]), num_attention_heads=heads,
            intermediate_size=r.choice([12, 41]), hidden_act=drawn_activation(r, "gelu"), max_position_embeddings=TEXT + offset,
            type_vocab_size=r.choice([1, 2, 3]) if kind != "bert" or head != "QuestionAnswering" else r.choice([2, 3]),
            layer_norm_eps=r.choice([1e-12, 1e-5, 1e-3]), pad_token_id=made.pad,
            tie_word_embeddings=head != "MaskedLM" or r.random() < 0.7, **ids, **(labels(r) if head == "SequenceClassification" else {}))
        if kind != "bert":
            config.type_vocab_size = 1 if r.random() < 0.9 else 2  # Sixfold refuses 2, of which the tokenizers use one
    prefix = {"bert": "Bert", "distilbert": "DistilBert", "roberta": "Roberta", "xlm_roberta": "XLMRoberta"}[kind]
    model = getattr(hf, prefix + (f"For{head}" if head else "Model"))(config)
    return model, {"position_embedding_type": "absolute"} if kind != "distilbert" and r.random() < 0.5 else {}


def head_of(kind, head):
    return lambda r, made: encoder(r, made, kind, head)


def sentence_model(r, made):
    kind = {"[CLS]": "bert"}.get(made.load().cls_token, "xlm_roberta")
    if kind == "bert" and r.random() < 0.3:
        kind = "distilbert"
    return encoder(r, made, kind, None)


def write_sentence_transformers(folder, model, r):
    """The other files of a folder of sentence-transformers, and the same settings for the reference."""
    width = model.config.hidden_size
    mode = r.choice(["mean", "mean", "cls", "max"])
    normalized, old = r.random() < 0.6, r.random() < 0.5
    kinds = ["Transformer", "Pooling"] + ["Normalize"] * normalized
    paths = ["", "1_Pooling", "2_Normalize"]
    modules = [{"idx": i, "name": str(i), "path": paths[i], "type": f"sentence_transformers.models.{kind}"} for i, kind in enumerate(kinds)]
    tokenizers_of.write_json(folder / "modules.json", modules)
    longest = r.choice([12, 128])
    tokenizers_of.write_json(folder / "sentence_bert_config.json", {"max_seq_length": longest, "do_lower_case": False})
    pooling = {"word_embedding_dimension": width, "pooling_mode_cls_token": mode == "cls", "pooling_mode_mean_tokens": mode == "mean",
               "pooling_mode_max_tokens": mode == "max", "pooling_mode_mean_sqrt_len_tokens": False}
    if not old:
        pooling |= {"pooling_mode_weightedmean_tokens": False, "pooling_mode_lasttoken": False, "include_prompt": True}
    (folder / "1_Pooling").mkdir()
    tokenizers_of.write_json(folder / "1_Pooling" / "config.json", pooling)
    tokenizers_of.write_json(folder / "config_sentence_transformers.json", {"__version__": {"sentence_transformers": "2.2.0"}})
    return {"pooling": mode, "normalized": normalized, "longest": longest}


def vit(r, made):
    heads, channels = r.choice([1, 2, 3]), r.choice([3, 3, 1])
    patch = r.choice([4, 7, 8])
    rows, columns = r.choice([(2, 2), (3, 3), (3, 2), (1, 4)])
    size = patch * rows if rows == columns else [patch * rows, patch * columns]
    config = hf.ViTConfig(
        hidden_size=8 * heads, num_hidden_layers=r.choice([1, 2, 3]), num_attention_heads=heads, intermediate_size=r.choice([12, 41]),
        hidden_act=drawn_activation(r, "gelu"), layer_norm_eps=r.choice([1e-12, 1e-6, 1e-3]), image_size=size, patch_size=patch, num_channels=channels,
        qkv_bias=r.random() < 0.7, **labels(r))
    return hf.ViTForImageClassification(config), {}


def write_image_processor(folder, model, r):
    size = model.config.image_size
    rows, columns = (size, size) if isinstance(size, int) else size
    channels = model.config.num_channels
    draw = lambda low, high: [round(low + (high - low) * r.random(), 3) for _ in range(channels)]
    form = {"image_processor_type": "ViTImageProcessor", "do_resize": True, "size": {"height": rows, "width": columns}, "resample": 2, "do_rescale": True,
            "rescale_factor": 1 / 255, "do_normalize": r.random() < 0.8, "image_mean": draw(0.3, 0.6), "image_std": draw(0.2, 0.5)}
    if r.random() < 0.3:  # as the first version of google/vit-base-patch16-224 had it
        form.pop("image_processor_type")
        form["feature_extractor_type"] = "ViTFeatureExtractor"
    tokenizers_of.write_json(folder / "preprocessor_config.json", form)
    return form


t = tokenizers_of
FAMILIES = {
    "gpt2": ("language", [t.gpt2], gpt2),
    "llama": ("language", [t.llama2, t.llama3, t.gpt2], llama),
    "mistral": ("language", [t.llama2, t.llama3], mistral),
    "qwen2": ("language", [t.qwen2], qwen2),
    "qwen3": ("language", [t.qwen2], qwen3),
    "phi3": ("language", [t.phi3], phi3),
    "gpt_neox": ("language", [t.gpt_neox], gpt_neox),
    "marian": ("translation", [t.marian], marian),
    "m2m100": ("translation", [t.m2m100], m2m100),
    "nllb": ("translation", [t.nllb], m2m100),
    "bart": ("translation", [t.roberta], bart),
    "mbart50": ("translation", [t.mbart50], mbart50),
    "t5": ("translation", [t.t5], t5),
    "mt5": ("translation", [t.mt5], mt5),
}
for kind, tokenizer in (("bert", t.wordpiece), ("roberta", t.roberta), ("xlm_roberta", t.xlm_roberta), ("distilbert", t.wordpiece)):
    for task, head in (("masked", "MaskedLM"), ("classes", "SequenceClassification"), ("spans", "QuestionAnswering")):
        FAMILIES[f"{kind}_{task}"] = (task, [tokenizer], head_of(kind, head))
FAMILIES["sentence_transformers"] = ("embeddings", [t.wordpiece, t.xlm_roberta], sentence_model)
FAMILIES["vit"] = ("images", [], vit)


def randomize(model, r):
    """Weights with which the outputs depend on every part: no norm is 1, no bias 0, and logits are far from equal."""
    gain = r.choice([1.2, 2.0])  # large beside the embeddings: otherwise tied models repeat the token that they read
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "embed_positions" in name and model.config.model_type == "marian":
                continue  # sines
            if weight.dim() == 1:
                weight.normal_(1.0 if name.endswith("weight") else 0.0, 0.3)
            elif "embed" in name or "shared" in name or "wte" in name or "wpe" in name or "relative_attention_bias" in name or "lm_head" in name:
                weight.normal_(0.0, 0.6)
            else:
                head = name.startswith(("qa_outputs", "classifier"))
                weight.normal_(0.0, (4.0 if head else gain) / math.sqrt(weight[0].numel()))
        for name, buffer in model.named_buffers():
            if name.endswith("final_logits_bias"):
                buffer.normal_(0.0, 0.5)
        model.tie_weights() if not hasattr(model, "lm_head") else None


def save(model, made, old, folder, r):
    """As people have it: a precision, one file, shards or a pytorch_model.bin; keys of config.json as now or as before."""
    dtype = r.choice([torch.float32, torch.float32, torch.float16, torch.bfloat16])
    form = r.choice(["safetensors", "safetensors", "shards", "bin", "old bin"])
    stored, config_type = model.to(dtype), model.config.model_type
    if form.endswith("bin"):
        stored.config.architectures = [type(stored).__name__]
        stored.config.save_pretrained(folder)
        if stored.can_generate() and stored.generation_config is not None:
            stored.generation_config.save_pretrained(folder)
        tensors = stored.state_dict()  # with what is tied, as older folders have it
        if config_type in ("gpt_neox", "vit"):  # whose files have other names than the classes of transformers 5
            stored.save_pretrained(folder)
            tensors = load_file(folder / "model.safetensors")
            (folder / "model.safetensors").unlink()
        if config_type == "marian" and dtype != torch.float32:  # Sixfold computes sines exactly, transformers would read rounded ones
            tensors = {name: tensor for name, tensor in tensors.items() if "embed_positions" not in name}
        torch.save(tensors, folder / "pytorch_model.bin", _use_new_zipfile_serialization=form == "bin")
    else:
        stored.save_pretrained(folder, max_shard_size="12KB" if form == "shards" else "1GB")
    path = folder / "config.json"
    config = json.loads(path.read_text())
    if r.random() < 0.5:
        config["torch_dtype"] = config.pop("dtype", "float32")
    for key, value in old.items():
        config.pop(key, None)
        if value is not None or key == "rope_scaling":
            config[key] = value
    tokenizers_of.write_json(path, config)
    return form, str(dtype).removeprefix("torch.")


def generation_settings(made, r, task):
    """As generation_config.json has them; the file is written here, since transformers 5 refuses to write settings of beams without num_beams."""
    settings = {"num_beams": 4, "length_penalty": r.choice([0.0, 0.6, 1.0, 2.0]), "early_stopping": r.choice([True, False]), **made.extra}
    if task == "translation":
        settings["max_length"] = r.choice([10, 20])
        if r.random() < 0.3:
            settings["min_length"] = 5
        if r.random() < 0.3:
            settings["no_repeat_ngram_size"] = r.choice([2, 3])
    else:
        settings.pop("num_beams")
        if r.random() < 0.7:  # bytes that are no text: what is generated can be compared as text
            decode = made.decode()
            settings["suppress_tokens"] = sorted({i for i in range(made.size) if not decode([i]).isprintable() or "\ufffd" in decode([i])})
    return settings


def make(family, folder, r, vocabulary=340):
    """Writes a random model of a family into a folder. Returns its Made tokenizer, and what the reference needs beside the folder."""
    task, tokenizers, draw = FAMILIES[family]
    made = r.choice(tokenizers)(Path(folder), r, vocabulary) if tokenizers else None
    model, old = draw(r, made)
    model.eval()
    randomize(model, r)
    form = save(model, made, old, folder, r)
    if task in ("language", "translation"):
        path = Path(folder) / "generation_config.json"
        tokenizers_of.write_json(path, json.loads(path.read_text()) | generation_settings(made, r, task))
    more = {"form": form}
    if task == "embeddings":
        more |= write_sentence_transformers(folder, model, r)
    if task == "images":
        more |= {"processor": write_image_processor(folder, model, r)}
    return made, more
