#pragma once
#include <cstdint>
#include <functional>
#include <memory>
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
#include "text/glossary.h"

namespace sixfold {

class OptionVisitor;

/// The attention weights of one sentence in one layer, all heads.
struct SentenceAttention {
  std::vector<std::string> source, target;  ///< tokens, including end tokens
  int layer = 0, heads = 0;
  std::vector<float> weights;  ///< [heads, target, source]; for self-attention both sides are the same
  AttentionKind kind = AttentionKind::cross;
  /// For `Translation::attention`: the word that each token is part of, counted as in `Translation::alignment`;
  /// -1 for a token that is part of no word, such as an end token.
  std::vector<int> source_words, target_words;
};

/// A hypothesis that was considered in a step of beam search.
struct SearchedHypothesis {
  int parent = -1;    ///< its index in the previous step; -1 in the first step
  std::string token;  ///< its last token
  double log_probability = 0, score = 0;
  CandidateFate fate = CandidateFate::dropped;
};

/// The hypotheses of each step of beam search, best first: all but those that were dropped with a rank beyond
/// twice the beam size.
using SearchSteps = std::vector<std::vector<SearchedHypothesis>>;

/// An estimate of the quality of a translation, from the probabilities of its tokens and its attention
/// (tasks/translation/confidence.h).
struct LineConfidence {
  double value = 0;                 ///< the estimated chrF, divided by 100: from 0 to 1
  double mean_log_probability = 0;  ///< of its tokens, including the end token
  int64_t tokens = 0;               ///< number of these tokens
};

/// The optional outputs of a translation. They do not change the translation. Each except `search` needs
/// another forward pass over the finished translation.
struct ExtraOutputs {
  bool tokens = false;
  bool alignment = false;
  /// Whether the words of `alignment` and `attention` are those of `word_parts`, as documents need them: in
  /// scripts without spaces they are smaller than those of `word_ranges`.
  bool word_parts = false;
  bool attention = false;
  bool confidence = false;  ///< an input error if the model has none
  /// The decoder layer whose cross-attention gives `alignment` and `attention`; negative: counted from the
  /// last. Default: that of the model (`GenerationConfig::alignment_layer`).
  std::optional<int> layer = {};
  bool all_attention = false;  ///< of the best translation: every layer and head that attends
  bool search = false;         ///< the steps of the beam search
  /// With `all_attention` or `search`: the maximum number of tokens of a source and of a translation, including
  /// end tokens; 0: no limit. A longer one is an input error.
  int most_tokens = 0;

  bool any() const { return tokens || alignment || attention || confidence || all_attention; }
};
/// All but `word_parts` and `most_tokens`.
void visit(OptionVisitor& v, ExtraOutputs& o);

/// What the translation of a sentence must begin with, must contain and must not contain.
struct OutputConstraints {
  /// The translation begins with the tokens of this text, and so with the text as the tokenizer normalizes it.
  /// The model may complete the last word. White space at the end of the text is dropped.
  std::string prefix;
  /// The translation contains the tokens of each phrase as often as the phrase is listed. With `whole_words`
  /// the model does not continue the last word of a phrase. `Translation::unmet` lists the phrases that are
  /// missing.
  std::vector<std::string> phrases;
  /// The translation does not contain the tokens of any of these phrases. It may contain a phrase in another
  /// spelling or in another segmentation into tokens.
  std::vector<std::string> banned_phrases;

  /// Whether the last word of a phrase must be a whole word: "Hund" does not allow "Hunde". False: the model
  /// may add an ending.
  bool whole_words = true;

  bool empty() const { return prefix.empty() && phrases.empty() && banned_phrases.empty(); }
};

/// Counts of the sources that a call reads and of the translations that it finds.
struct TranslationCounts {
  int64_t tokens = 0, unknown = 0;  ///< tokens of the sources, and those of them that are not in the vocabulary
  std::string first_unknown;        ///< the first source with an unknown token, such as "line 7"
  int64_t translations = 0;         ///< number of sources with translations; only the best translation counts
  int64_t faulty = 0, loops = 0, copies = 0, too_long = 0;  ///< translations with any, and with each, fault
  std::string first_faulty;                                 ///< the first source whose translation has faults
  int64_t retried = 0;                                      ///< sources that were translated again
};

/// Options of a call. `visit` lists those that users may set, with their descriptions and ranges.
struct TranslateOptions {
  std::optional<int> beam_size;  ///< default: that of `generation`, or `n_best` if that is larger
  /// Settings of the search and of the scores. Default: those of the model (`Predictor::generation`).
  std::optional<GenerationConfig> generation = {};
  /// Number of tokens decoded at once by each thread; 0: depends on the model's size.
  int64_t batch_tokens = 0;
  int max_source_length = 1024;  ///< in tokens, without the end token; longer sources are cut
  /// The languages of a model with language tokens; empty: those of its settings. For a model with tokens such
  /// as
  /// >>deu<<, the token of the target language is put before each source.
  std::string source_language = {}, target_language = {};
  /// A file made by `sixfold shortlist` for the model; empty: that of the model's folder, if it has one;
  /// `no_shortlist`: all tokens are allowed.
  std::string shortlist;
  static constexpr std::string_view no_shortlist = "none";
  /// Language of the sources. If it is set, each line is a paragraph and is translated sentence by sentence.
  std::string split_sentences;
  size_t first_line = 1;                ///< number of the first line in warnings
  std::string line_name = "line";       ///< what warnings call a line
  bool warn_of_cuts = true;             ///< whether there is a warning for each source that is cut
  TranslationCounts* counts = nullptr;  ///< the call adds to it, on its own thread; null: no counts
  /// Whether the translation of a line without a letter or digit, such as "..." or "\U0001F337", is the line
  /// itself, unless its constraints require some text. Default: true, but false for imported models, which
  /// translate it as the original program does.
  std::optional<bool> keep_symbols = {};
  /// Allow the unknown token, and replace each word that has one by the source word that it attends to most
  /// (tasks/translation/unknown_words.h).
  bool replace_unknown = false;
  /// Whether a line in capitals (`is_in_capitals`, without the token of its language) is translated as the same
  /// line in small letters, and its translation is written in capitals. If lines are split, each sentence is a
  /// line. Everything but the text of the translation is that of the small letters: tokens, constraints and
  /// scores.
  bool capitals = false;
  /// The languages of sources and translations by whose rules letters become small and capital; empty: those of
  /// this call or of the model.
  std::pair<std::string, std::string> case_languages = {};
  /// Returns a word that a line in capitals may have and that stays as it is: the placeholder of documents.
  /// Called for a line that has only one word with small letters. Empty: no word.
  std::function<std::string()> kept_word = {};
  int n_best = 1;  ///< number of translations of each line, at most `beam_size` if that is set
  /// Draw translations by sampling instead of searching for the best. They depend on the source, the options
  /// and the seed only, and not on other lines, batches or threads.
  bool sample = false;
  DrawOptions draw = {};  ///< the distribution for sampling; the repetition penalty is that of `generation`
  uint64_t seed = 1;
  /// Minimum Bayes risk decoding (tasks/translation/minimum_bayes_risk.h): the number of translations, sampled
  /// or found by the search, among which those most similar to all of them are returned, after those that lack
  /// fewer phrases; 0: return those with the best scores.
  int mbr = 0;
  /// The settings, in place of `beam_size` and `generation`, with which a source is translated again if its
  /// best translation has faults (tasks/translation/faults.h). Sampling uses the next seed. The result is kept
  /// if it has fewer faults, and lacks no more phrases. Default: faults are only reported.
  std::optional<GenerationConfig> retry = {};
  ExtraOutputs details = {};
  /// Returns the constraints of each sentence (or line, if lines are not split), given its index. Called on the
  /// thread that called `translate`, in order. Empty: no constraints.
  std::function<OutputConstraints(size_t index, const std::string& source)> constraints = {};
  /// Where a phrase of the glossary occurs in a sentence (or line), the translation contains that of the
  /// glossary, as if `constraints` had it among its phrases. Null: no glossary.
  std::shared_ptr<const Glossary> glossary = {};
  bool constrained() const { return constraints || glossary; }
  /// A name for the originator of the call. The engine alternates between callers, and between the calls of
  /// each caller.
  std::string caller = {};
  std::stop_token cancel = {};  ///< when stop is requested, the call soon throws `Cancelled`

  /// The number of translations from which the `n_best` are chosen.
  int candidates() const { return std::max(n_best, mbr); }
  /// The beam size of the search, where `default_size` is that of the generation settings.
  int beam_width(int default_size) const { return beam_size.value_or(std::max(default_size, candidates())); }
  /// The settings of the search. `model_settings`: those of the model.
  GenerationConfig settings(const GenerationConfig& model_settings) const {
    GenerationConfig result = generation.value_or(model_settings);
    result.beam_size = beam_width(result.beam_size);
    return result;
  }
  /// Whether the call reads the attention of a layer, which `details.layer` can choose.
  bool reads_layer(const GenerationConfig& model_settings) const {
    return details.alignment || details.attention || replace_unknown ||
           settings(model_settings).coverage_penalty > 0 || (retry && retry->coverage_penalty > 0);
  }
};
void visit(OptionVisitor& v, TranslateOptions& o);
/// Throws an input error for a layer that no output reads.
void check_layer(const TranslateOptions& options, const GenerationConfig& model_settings);

struct TranslatedToken {
  std::string text;
  double log_probability = 0;
};

struct Translation {
  std::string text;
  double score = 0;            ///< `log_probability`, normalized as in the generation settings
  double log_probability = 0;  ///< sum over all tokens, including the end token
  FinishReason reason = FinishReason::end_token;  ///< anything else: the maximum length was reached
  TranslationFaults faults = {};
  /// The phrases of `OutputConstraints` that it does not contain. The reasons are that the maximum length was
  /// reached, that the vocabulary lacks a phrase, or that there are too many phrases
  /// (tasks/translation/output_constraints.h).
  std::vector<std::string> unmet;
  // The following members are set only if `ExtraOutputs` requests them.
  /// Including the end token, unless the output was cut at the maximum length.
  std::vector<TranslatedToken> tokens;
  /// Pairs of a source word and a target word, counted from 0. Words are separated by white space
  /// (`word_ranges`), or smaller (`ExtraOutputs::word_parts`); those of a paragraph are counted in its whole
  /// text. Each target word is paired with the source word that its first token attends to most. It has no pair
  /// if that token attends most to the end token.
  std::vector<std::pair<int, int>> alignment;
  std::optional<SentenceAttention> attention;
  /// Empty for a line that the model did not translate. For a paragraph, the mean of its sentences, weighted by
  /// their numbers of tokens.
  std::optional<LineConfidence> confidence;
  /// The attention of every layer: of the encoder, then self-attention and cross-attention of the decoder. A
  /// row of decoder attention belongs to one token of the decoder input, which begins with the start token.
  /// Layers without attention are absent.
  std::vector<SentenceAttention> all_attention;
};

/// A line and its translations.
struct TranslatedLine {
  size_t index = 0;    ///< from 0
  std::string source;  ///< the line as it was read
  /// Best first. A line without visible characters has a single, empty translation.
  std::vector<Translation> translations;
  size_t tokens_cut = 0;  ///< number of source tokens beyond `max_source_length`
  SearchSteps search;     ///< only if requested by `ExtraOutputs`
  bool retried = false;   ///< whether it was translated twice, as `TranslateOptions::retry` says
};

enum class NextLine { line, none_yet, end };

/// Supplies the lines to translate, one at a time. If `wait` is true, it may wait a short time (about 50 ms)
/// for a line; otherwise it must return at once. Called by the thread that called `Translator::translate`.
using LineSource = std::function<NextLine(std::string& line, bool wait)>;

using TranslatedLineReceiver = std::function<void(const TranslatedLine&)>;

}  // namespace sixfold
