# Made by scripts/python-options.
from collections.abc import Mapping, Sequence
from typing import Literal, TypedDict

class RuntimeOptions(TypedDict, total=False):
    ensemble: Sequence[str]
    'folders of other models with the same tokenizers, whose predictions are averaged with those of this one'
    ensemble_mean: Literal['probabilities', 'log_probabilities']
    'how the predictions of an ensemble are averaged: by probabilities or log_probabilities'
    ensemble_weights: Sequence[float]
    'weights of the model and of those of the ensemble; empty: equal ones; from 1e-06 to 1000000'
    precision: Literal['stored', 'fp32', 'int8', 'int4']
    'type of the weights of products: fp32; int8, which takes less time and memory; or int4, which takes less still and is less exact [as the model is stored]'
    threads: int
    'number of threads; 0: all that are available; from 0 to 1024'

class TranslateOptions(TypedDict, total=False):
    alignment: bool
    'add word alignments as pairs of source and target word, counted from 0'
    alignment_layer: int
    'decoder layer whose cross-attention aligns words, from 0, or from the last with -1, -2, ...; -2, the last but one: measured when training ends'
    all_attention: bool
    'add the attention weights of all layers, of the best translation'
    allow_unk: bool
    'generate the unknown token where it is the likeliest'
    at_longest: Literal['end_symbol', 'certain_end', 'cut']
    'how an output of maximum length ends: end_symbol (an end token is appended), certain_end (one of probability 1), or cut (no end token)'
    attention: bool
    'add the attention weights of all heads'
    banned_phrases: Sequence[str]
    'the translation contains none of these phrases'
    batch_tokens: int
    'maximum number of tokens in a batch of one thread; 0: depends on the size of the model; at least 0'
    beam_size: int | None
    'number of hypotheses kept in each step; 1: greedy search [as stored with the model]; from 1 to 1000'
    begin_suppress_tokens: Sequence[int]
    'ids of tokens that no output begins with, after forced_first_token; at least 0'
    capitals: bool
    'translate a line in capitals as one in small letters, and write its translation in capitals'
    confidence: bool
    'add how good the translation may be, from 0 to 1'
    coverage_penalty: float
    'weight in the score of a finished output of the sum of log(min(1, attention to a source token)), by the layer that aligns words; 0: off; at least 0'
    finished_keeps_slot: bool
    'a finished hypothesis keeps its slot, so that the beam shrinks'
    forced_first_token: int
    'id of the token that every output begins with, whatever its probability; -1: none; at least -1'
    keep_symbols: bool | None
    'keep a line without a letter or digit as it is [true, but false for imported models, which translate it as the original program does]'
    layer: int | None
    "decoder layer of alignments and attention, counted from 0, or from the last with -1, -2, ... [as stored with the model: 'sixfold info' shows it]"
    length_factor: float
    'an output has at most length_factor * source tokens + length_offset tokens; from 0 to 1000'
    length_offset: int
    'see length_factor; both lengths include the end token; from 0 to 16777216'
    length_penalty: float
    'exponent of the normalization; larger values favour longer outputs; at least 0'
    max_new_tokens: int
    'maximum number of tokens, end token included, below that of length_factor; 0: no other; at least 0'
    max_source_length: int
    'maximum number of tokens in a source line; a longer line is cut, with a warning; at least 1'
    mbr: int
    'of this many translations, drawn or found by the search, give those that are most like all of them by chrF (minimum Bayes risk); 0: those with the best scores; from 0 to 1000'
    min_new_tokens: int
    'minimum number of tokens before the end token; at least 0'
    min_p: float
    'draw among tokens with this share of the probability of the likeliest; from 0 to below 1'
    n_best: int
    'number of translations of each line, best first; the search keeps at least this many hypotheses, and a smaller beam size is an error; from 1 to 1000'
    no_repeat_ngram: int
    'an output never has an n-gram of this many tokens twice; 0: off; at least 0'
    normalization: Literal['none', 'length', 'gnmt']
    'divisor of scores for n tokens: none, length: n^length_penalty, gnmt: ((5 + n) / 6)^length_penalty'
    phrases: Sequence[str]
    'the translation contains these phrases'
    prefix: str
    'the translation begins with this text'
    renormalize_logits: bool
    'normalize the probabilities over the tokens that are allowed'
    repetition_penalty: float
    'penalty of tokens that the output has already: factor of their log-probability in beam search, and of their logit otherwise; 1: off; above 0'
    replace_unknown: bool
    'allow the unknown token, and replace each word that has one by the word of the source that it attends to most'
    sample: bool
    'draw each translation token by token instead of searching for the best; the same line with the same seed gives the same translations'
    search: bool
    'add the steps of the beam search'
    seed: int
    'seed of sampling'
    shortlist: str
    "use only the target tokens that this shortlist allows; made by 'sixfold shortlist'; none: no shortlist, even if the model folder has one"
    source_language: str
    "source language for models with tokens for several; 'sixfold info' lists them"
    split_sentences: str
    'treat each line as a paragraph: split it into sentences by the rules of this language (en, de, ...)'
    start_before_text: bool
    'a language model reads the start token before a prompt; false: only if there is no prompt'
    stopping_criterion: Literal['best_cannot_improve', 'beam_finished', 'best_is_no_better_now']
    'when a search ends: best_cannot_improve, beam_finished or best_is_no_better_now (the last two are early_stopping true and false of transformers)'
    suppress_phrases: Sequence[Sequence[int]]
    'lists of ids: phrases that are never generated; at least 0'
    suppress_tokens: Sequence[int]
    'ids of tokens that are never generated; at least 0'
    target_language: str
    "target language for models with several: deu puts >>deu<< before each line; 'sixfold info' lists them"
    temperature: float
    'divide logits by this before drawing; 0: greedy search; at least 0'
    tokens: bool
    'add each token with its log-probability'
    top_k: int
    'draw among this many likeliest tokens; 0: all; at least 0'
    top_p: float
    'draw among the fewest likeliest tokens with this probability; 1: all; above 0 and at most 1'
    whole_words: bool
    'the model adds no ending to the last word of a phrase'
    word_penalty: float
    'subtracted for each token before the normalization; negative: longer outputs are favoured'
    glossary: Mapping[str, str]
    'phrases and their translations, which translations contain'
    retry: Mapping[str, object]
    'settings of search with which a line is translated again whose translation is faulty'

class GenerateOptions(TypedDict, total=False):
    beam_size: int | None
    'search for the likeliest text with this many hypotheses; 0: draw [as stored with the model]; from 0 to 1000'
    draft_tokens: int | None
    'maximum number of tokens that are guessed from repetitions in the text and verified in one step, which takes less time and gives the same texts; 0: off [7, or 0 where the model does not support it]; from 0 to 7'
    likeliest: int | None
    'return each token with so many of the likeliest in its place; at least 0'
    max_tokens: int | None
    'maximum number of tokens after the prompt [as stored with the model, or 256]; from 0 to 16777216'
    min_p: float | None
    'draw among tokens with this share of the probability of the likeliest [as stored with the model]; from 0 to below 1'
    min_tokens: int | None
    'no end of the text before this many tokens, unless a stop string comes [as stored with the model]; from 0 to 16777216'
    no_repeat_ngram: int | None
    'never repeat an n-gram of this many tokens; 0: off [as stored with the model]; at least 0'
    repetition_penalty: float | None
    'make tokens that occur before less likely by this factor of their logits; 1: off [as stored with the model]; above 0'
    samples: int
    'number of texts for each prompt; from 1 to 65536'
    seed: int
    'seed of the random numbers; the same seed gives the same texts'
    stop: Sequence[str]
    'end before this text; may be given several times'
    temperature: float | None
    'divide logits by this before drawing; 0: greedy search [as stored with the model]; at least 0'
    top_k: int | None
    'draw among this many likeliest tokens; 0: all [as stored with the model]; at least 0'
    top_p: float | None
    'draw among the fewest likeliest tokens with this probability; 1: all [as stored with the model]; above 0 and at most 1'

class FillOptions(TypedDict, total=False):
    candidates: int
    'number of tokens for each mask; from 1 to 1000'

class AnswerOptions(TypedDict, total=False):
    max_answer_tokens: int | None
    "maximum number of tokens of an answer [the model's]; from 1 to 1048576"
    stride: int | None
    "tokens from one window of a long text to the next [the model's]; from 1 to 1048576"

class CaptionOptions(TypedDict, total=False):
    alignment_layer: int
    'decoder layer whose cross-attention aligns words, from 0, or from the last with -1, -2, ...; -2, the last but one: measured when training ends'
    allow_unk: bool
    'generate the unknown token where it is the likeliest'
    at_longest: Literal['end_symbol', 'certain_end', 'cut']
    'how an output of maximum length ends: end_symbol (an end token is appended), certain_end (one of probability 1), or cut (no end token)'
    batch_tokens: int
    'maximum number of tokens in a batch of one thread; 0: depends on the size of the model; at least 0'
    beam_size: int | None
    'number of hypotheses kept in each step; 1: greedy search [as stored with the model]; from 1 to 1000'
    begin_suppress_tokens: Sequence[int]
    'ids of tokens that no output begins with, after forced_first_token; at least 0'
    coverage_penalty: float
    'weight in the score of a finished output of the sum of log(min(1, attention to a source token)), by the layer that aligns words; 0: off; at least 0'
    finished_keeps_slot: bool
    'a finished hypothesis keeps its slot, so that the beam shrinks'
    forced_first_token: int
    'id of the token that every output begins with, whatever its probability; -1: none; at least -1'
    length_factor: float
    'an output has at most length_factor * source tokens + length_offset tokens; from 0 to 1000'
    length_offset: int
    'see length_factor; both lengths include the end token; from 0 to 16777216'
    length_penalty: float
    'exponent of the normalization; larger values favour longer outputs; at least 0'
    max_new_tokens: int
    'maximum number of tokens, end token included, below that of length_factor; 0: no other; at least 0'
    min_new_tokens: int
    'minimum number of tokens before the end token; at least 0'
    no_repeat_ngram: int
    'an output never has an n-gram of this many tokens twice; 0: off; at least 0'
    normalization: Literal['none', 'length', 'gnmt']
    'divisor of scores for n tokens: none, length: n^length_penalty, gnmt: ((5 + n) / 6)^length_penalty'
    renormalize_logits: bool
    'normalize the probabilities over the tokens that are allowed'
    repetition_penalty: float
    'penalty of tokens that the output has already: factor of their log-probability in beam search, and of their logit otherwise; 1: off; above 0'
    start_before_text: bool
    'a language model reads the start token before a prompt; false: only if there is no prompt'
    stopping_criterion: Literal['best_cannot_improve', 'beam_finished', 'best_is_no_better_now']
    'when a search ends: best_cannot_improve, beam_finished or best_is_no_better_now (the last two are early_stopping true and false of transformers)'
    suppress_phrases: Sequence[Sequence[int]]
    'lists of ids: phrases that are never generated; at least 0'
    suppress_tokens: Sequence[int]
    'ids of tokens that are never generated; at least 0'
    word_penalty: float
    'subtracted for each token before the normalization; negative: longer outputs are favoured'

class TokenizerOptions(TypedDict, total=False):
    byte_fallback: bool
    'sentencepiece only: encode unknown characters as bytes'
    character_coverage: float
    "sentencepiece only: share of the text's characters to cover; 0.9995 suits Chinese and Japanese; from 0.98 to 1"
    joint: bool
    'use one vocabulary for source and target'
    kind: Literal['sentencepiece', 'whitespace', 'characters', 'bytes', 'byte_pairs', 'wordpiece', 'tokenizer_json']
    'sentencepiece, whitespace for text that is already segmented, characters, bytes, byte_pairs, wordpiece or tokenizer_json'
    lower_case: bool
    'wordpiece only: read text in lower case and without accents'
    max_sentences: int
    'train the tokenizer on at most this many lines, evenly sampled; 0: on all lines; at least 0'
    minimum_count: int
    'whitespace and characters: tokens that occur less often become <unk>; at least 1'
    model: Literal['unigram', 'bpe']
    'kind of SentencePiece model: unigram or bpe'
    normalization: Literal['identity', 'nfkc', 'nmt_nfkc', 'nfkc_cf', 'nmt_nfkc_cf']
    'sentencepiece only: normalization of sources: identity, nfkc, nmt_nfkc, nfkc_cf or nmt_nfkc_cf'
    source: str
    'use this .spm, .vocab or .json file instead of training a tokenizer; if joint, for both sides'
    target: str
    'the .spm, .vocab or .json file for targets, if not joint'
    target_normalization: Literal['identity', 'nfkc', 'nmt_nfkc', 'nfkc_cf', 'nmt_nfkc_cf']
    'sentencepiece only: normalization of targets; for a joint vocabulary identity, or that of sources'
    user_defined_symbols: Sequence[str]
    'texts that are always one token'
    vocab_size: int
    'size of the vocabulary, including 3 special tokens; whitespace and characters: 0 for no limit; at least 0'
