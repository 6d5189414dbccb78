#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "model/draw_options.h"
#include "model/generation_config.h"
#include "model/layers/attention_kind.h"
#include "search/hypothesis.h"
#include "search/search_observer.h"
#include "tasks/translation/faults.h"

namespace sixfold {

class OptionVisitor;

/// The attention weights of one sentence in one layer, all heads.
struct SentenceAttention {
  std::vector<std::string> source, target;  ///< tokens, including end tokens
  int layer = 0, heads = 0;
  std::vector<float> weights;  ///< [heads, target, source]; for self-attention both sides are the same
  AttentionKind kind = AttentionKind::cross;
  /// For `Translation::attention`: the word that each token is part of, counted as in `Translation::alignment`;
  /// -1: of none, as an end token is.
  std::vector<int> source_words, target_words;
};

/// A hypothesis that was considered in a step of beam search.
struct SearchedHypothesis {
  int parent = -1;    ///< its place in the step before; -1 in the first step
  std::string token;  ///< the last token of it
  double log_probability = 0, score = 0;
  CandidateFate fate = CandidateFate::dropped;
};

/// The hypotheses of each step of beam search, best first: all but those that were dropped with a rank beyond
/// twice the beam size.
using SearchSteps = std::vector<std::vector<SearchedHypothesis>>;

/// How good a translation may be, told from the probabilities of its tokens and from its attention
/// (tasks/translation/confidence.h).
struct LineConfidence {
  double value = 0;                 ///< from 0 to 1: the chrF, divided by 100, that is expected of it
  double mean_log_probability = 0;  ///< of its tokens, end token included
  int64_t tokens = 0;               ///< their number
};

/// The optional outputs of a translation. None of them changes it. Each but `search` needs another pass of the
/// model over the finished translation.
struct ExtraOutputs {
  bool tokens = false;
  bool alignment = false;
  bool attention = false;
  bool confidence = false;  ///< an input error if the model has none
  /// The decoder layer whose cross-attention gives `alignment` and `attention`; negative: counted from the
  /// last. Default: that of the model (`GenerationConfig::alignment_layer`).
  std::optional<int> layer = {};
  bool all_attention = false;  ///< of the best translation: every layer and head that attends
  bool search = false;         ///< the steps of the beam search
  /// With `all_attention` or `search`: the most tokens of a source and of a translation, end tokens included;
  /// 0: any number. More are an input error.
  int most_tokens = 0;

  bool any() const { return tokens || alignment || attention || confidence || all_attention; }
};
/// All but `most_tokens`.
void visit(OptionVisitor& v, ExtraOutputs& o);

/// What the translation of a sentence must begin with, must contain and must not contain.
struct OutputConstraints {
  /// The translation begins with the tokens of this text, and so with the text as the tokenizer normalizes it.
  /// The model may finish its last word. White space at its end is dropped.
  std::string prefix;
  /// The translation contains the tokens of each phrase as often as it is listed; with `whole_words` the
  /// model does not go on with the last word of a phrase. `Translation::unmet` tells which it could not
  /// contain.
  std::vector<std::string> phrases;
  /// The translation contains the tokens of no such phrase. Another spelling of it, or another segmentation
  /// into tokens, is another phrase.
  std::vector<std::string> banned_phrases;

  /// Whether the last word of a phrase is the whole word: no "Hunde" for "Hund". False: the model may add an
  /// ending.
  bool whole_words = true;

  bool empty() const { return prefix.empty() && phrases.empty() && banned_phrases.empty(); }
};

/// What a call reads and finds.
struct TranslationCounts {
  int64_t tokens = 0, unknown = 0;  ///< of the sources; the second are not in the model's vocabulary
  std::string first_unknown;        ///< the place of the first source that has such: "line 7"
  int64_t translations = 0;         ///< of them the best of each source alone counts
  int64_t faulty = 0, loops = 0, copies = 0, too_long = 0;  ///< `Translation::faults`
  std::string first_faulty;
  int64_t retried = 0;  ///< sources that were translated again
};

/// Options of a call. `visit` lists those that users may set, with their texts and ranges.
struct TranslateOptions {
  std::optional<int> beam_size;  ///< default: that of `generation`, or `n_best` if that is more
  /// How outputs are searched and scored. Default: the model's (`Predictor::generation`).
  std::optional<GenerationConfig> generation = {};
  /// Number of tokens decoded at once by each thread; 0: depends on the model's size.
  int64_t batch_tokens = 0;
  int max_source_length = 1024;  ///< in tokens, without the end token; longer sources are cut
  /// Languages of a model that has tokens for them; empty: those of its settings. A model with tokens such as
  /// >>deu<< reads that of the target before each source.
  std::string source_language = {}, target_language = {};
  /// A file made by `sixfold shortlist` for the model; empty: that of the model's folder, if it has one;
  /// "none": all tokens are allowed.
  std::string shortlist;
  /// Language of the sources. If it is set, each line is a paragraph and is translated sentence by sentence.
  std::string split_sentences;
  size_t first_line = 1;                ///< number of the first line in warnings
  std::string line_name = "line";       ///< what warnings call a line
  bool warn_of_cuts = true;             ///< whether there is a warning for each source that is cut
  TranslationCounts* counts = nullptr;  ///< is added to, on the calling thread; null: nobody counts
  /// Whether the translation of a line without a letter or digit, such as "..." or "\U0001F337", is the line
  /// itself, unless its constraints ask for something.
  bool keep_symbols = false;
  /// Allow the unknown token, and put in place of each word that has one the word of the source that it attends
  /// to most (tasks/translation/unknown_words.h).
  bool replace_unknown = false;
  int n_best = 1;  ///< number of translations of each line, at most `beam_size` if that is set
  /// Draw translations instead of searching for the best. They depend on the source, the options and the seed
  /// alone: not on other lines, batches or threads.
  bool sample = false;
  DrawOptions draw = {};  ///< how; the repetition penalty is that of `generation`
  uint64_t seed = 1;
  /// Of so many translations, drawn or found by the search, return those that are most like all of them
  /// (tasks/translation/least_risk.h); 0: those with the best scores.
  int mbr = 0;
  /// How a source is translated again whose best translation has faults (tasks/translation/faults.h): what
  /// beam_size and `generation` say otherwise. What is drawn has the next seed then. The result is kept if it
  /// has fewer faults. Default: faults are reported alone.
  std::optional<GenerationConfig> retry = {};
  ExtraOutputs details = {};
  /// The constraints of each sentence (or line, if lines are not split) by its number, from 0. Called on the
  /// thread that called `translate`, in order; empty: none.
  std::function<OutputConstraints(size_t index, const std::string& source)> constraints = {};
  /// The name of the client that the call serves, such as its API key. Clients are served in turn, and so are
  /// the calls of each client.
  std::string caller = {};
  std::stop_token cancel = {};  ///< when stop is requested, the call soon throws `Cancelled`

  /// The number of translations of which `n_best` are chosen.
  int candidates() const { return std::max(n_best, mbr); }
  /// The number of hypotheses that the search keeps in each step, if this is the number of `generation`.
  int beam_width(int usual) const { return beam_size.value_or(std::max(usual, candidates())); }
  /// The settings of the search, where those of the model are `of_model`.
  GenerationConfig settings(const GenerationConfig& of_model) const {
    GenerationConfig all = generation.value_or(of_model);
    all.beam_size = beam_width(all.beam_size);
    return all;
  }
};
void visit(OptionVisitor& v, TranslateOptions& o);

struct TranslatedToken {
  std::string text;
  double log_probability = 0;
};

struct Translation {
  std::string text;
  double score = 0;            ///< `log_probability`, normalized as the model's generation settings say
  double log_probability = 0;  ///< sum over all tokens, including the end token
  FinishReason reason = FinishReason::end_token;  ///< anything else: the maximum length was reached
  TranslationFaults faults = {};
  /// The phrases of `OutputConstraints` that it does not contain: the maximum length was reached, the model
  /// can't write them, or there are too many (tasks/translation/output_constraints.h).
  std::vector<std::string> unmet;
  // Only if requested by `ExtraOutputs`:
  /// Including the end token, unless the output was cut at the maximum length.
  std::vector<TranslatedToken> tokens;
  /// Pairs of a source word and a target word, counted from 0. Words are separated by white space in the
  /// decoded text (`word_ranges`), for a paragraph in its whole text. Each target word is paired with the
  /// source word that its first token attends to most; there is no pair if that is the end token.
  std::vector<std::pair<int, int>> alignment;
  std::optional<SentenceAttention> attention;
  /// None for a line that the model did not translate. That of a paragraph is the mean of its sentences, by
  /// their numbers of tokens.
  std::optional<LineConfidence> confidence;
  /// Every layer of the encoder, then self-attention and cross-attention of every layer of the decoder. A row
  /// of the decoder's belongs to a token that it reads, start token included. Layers without attention are
  /// absent.
  std::vector<SentenceAttention> all_attention;
};

/// A line and its translations.
struct TranslatedLine {
  size_t index = 0;    ///< from 0
  std::string source;  ///< the line as it was read
  /// Best first; a single empty one for a line without visible characters.
  std::vector<Translation> translations;
  size_t tokens_cut = 0;  ///< number of source tokens beyond `max_source_length`
  SearchSteps search;     ///< only if requested by `ExtraOutputs`
  bool retried = false;   ///< whether it was translated twice, as `TranslateOptions::retry` says
};

enum class NextLine { line, none_yet, end };

/// Supplies the lines to translate, one after the other. If `wait` is true, it may wait a short time (about 50
/// ms) for a line; otherwise it must return at once. Called by the thread that called `Translator::translate`.
using LineSource = std::function<NextLine(std::string& line, bool wait)>;

using TranslatedLineReceiver = std::function<void(const TranslatedLine&)>;

}  // namespace sixfold
