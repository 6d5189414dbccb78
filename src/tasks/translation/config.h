#pragma once
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/options.h"
#include "data/lines.h"
#include "tasks/kit/size_choice.h"
#include "tasks/kit/task_options.h"
#include "tasks/kit/validation_metrics.h"
#include "tasks/translation/settings.h"

namespace sixfold {

/// What to do with a pair that repeats an earlier pair of the text.
enum class Repeats { keep, drop };

template <>
struct EnumNames<Repeats> {
  static constexpr std::pair<Repeats, std::string_view> names[] = {{Repeats::keep, "keep"},
                                                                   {Repeats::drop, "drop"}};
};

/// The text of a run and the options of its preprocessing and batching.
struct ParallelDataOptions : BatchOptions {
  /// Source and target files in turn, or .tsv or .tmx files with both sides. Each file may be gzipped.
  std::vector<std::string> train;
  std::vector<std::string> valid, test;
  InvalidUtf8 invalid_utf8 = InvalidUtf8::error;
  std::vector<double> weights;
  std::vector<std::string> pair_weights, alignments;
  int max_length = 256;
  double max_ratio = 0;
  Repeats repeats = Repeats::keep;
  double token_dropout = 0;
  double subword_sampling = 0;
  double capitals = 0, noise = 0;
  bool allow_unknown = false, shortlist = false;
  std::string source_language, target_language;
  std::vector<std::string> languages;
  double temperature = 1;
};

inline void visit(OptionVisitor& v, ParallelDataOptions& o) {
  v.field("train", o.train,
          "training text: alternately a source and a target file, or .tsv or .tmx files; each may be gzipped");
  v.field("valid", o.valid,
          "validation text, given in the same way; pairs that training would drop are left out; empty: no "
          "validation");
  v.field("test", o.test,
          "test text, given in the same way, which is only compared with the others by sixfold check");
  v.field("weights", o.weights,
          "for each text of train, how often an epoch uses each of its pairs; empty: once", at_least(0));
  v.field(
      "pair_weights", o.pair_weights,
      "for each text of train, a file with the weight of each pair in the loss, a number in each line; each "
      "may be gzipped; 0 leaves a pair out; empty: 1 each");
  v.field("alignments", o.alignments,
          "for each text of train, a file with the links between the words of each pair, such as sixfold align "
          "writes, which the cross-attention is to follow; each may be gzipped; empty: none");
  v.field("invalid_utf8", o.invalid_utf8,
          "what to do with lines that are not valid UTF-8: error, replace (with U+FFFD) or skip");
  v.field("max_length", o.max_length, "drop pairs with more tokens than this on a side", at_least(1));
  v.field("max_ratio", o.max_ratio,
          "drop pairs with more than this many times as many tokens on one side as on the other; 0: no limit",
          at_least(0));
  v.field("repeats", o.repeats, "what to do with pairs that repeat an earlier pair: keep or drop");
  v.field(
      "token_dropout", o.token_dropout,
      "share of the tokens of sources, and of what the decoder reads of targets, that training replaces by the "
      "unknown token, different ones in each epoch",
      from_to_below(0, 1));
  v.field(
      "subword_sampling", o.subword_sampling,
      "segment the words of SentencePiece models in other ways in each epoch; with a bpe model the share of "
      "merges that is left out (BPE-dropout; usual 0.1), with a unigram model the exponent of the "
      "probabilities "
      "from which segmentations are drawn (usual 0.2); 0: never",
      between(0, 1));
  v.field("capitals", o.capitals, "share of the pairs of which training also has a copy in capital letters",
          between(0, 1));
  v.field("noise", o.noise,
          "share of the pairs of which training also has a copy whose source has typing errors", between(0, 1));
  v.field("allow_unknown", o.allow_unknown,
          "train although more than a tenth of the tokens of a side are not in the vocabulary");
  v.field(
      "shortlist", o.shortlist,
      "when training ends, learn from the training text which target tokens each source token may become, "
      "and keep the smallest list with which translations of the validation text lose neither BLEU nor chrF");
  v.field("source_language", o.source_language,
          "code of the language of the sources, such as en or pt-BR, which is kept with the model and chooses "
          "the texts of .tmx files");
  v.field("target_language", o.target_language, "code of the language of the targets");
  v.field(
      "languages", o.languages,
      "one model for several languages: for each text of train, and for that of valid in the same place, the "
      "languages of its sources and targets, such as en-de; a token before each source says into which "
      "language it is translated");
  v.field(
      "temperature", o.temperature,
      "of several texts, use the pairs of smaller ones more often: an epoch has (largest / size) ^ (1 - 1 / "
      "temperature) times a text of that size (usual 2 to 5); 1: each pair once",
      between(1, 1000));
  visit(v, static_cast<BatchOptions&>(o));
}

struct TranslationValidationOptions : TextValidationOptions {
  TranslationValidationOptions(MetricTable table = metric_table())
      : TextValidationOptions({"bleu", "chrf"}, {"loss", "perplexity"}, table) {}

  int64_t max_sentences = 0;
};

inline void visit(OptionVisitor& v, TranslationValidationOptions& o) {
  visit_text_validation(v, o, "translations");
  v.field("max_sentences", o.max_sentences, "translate only this many sentences, from the first; 0: all",
          at_least(0));
}

/// The complete config of a run that trains a translation model: CONFIG.yaml.
struct TranslationOptions : TaskOptions<ParallelDataOptions, TranslationValidationOptions> {
  static constexpr std::string_view task_name = TranslationSettings::task;
  /// The sizes of a run whose config gives none.
  static std::span<const SizeChoice> sizes();
};

/// Reads CONFIG.yaml, or the config.json of a run, applies the `--set` assignments ("train.minutes=5"), and
/// validates the result. Option names of version 0.1.0 are accepted, with a warning. Throws an input error that
/// names the key, and the file and line or the assignment.
TranslationOptions read_translation_options(const std::string& path,
                                            const std::vector<std::string>& assignments = {});
/// The same for options that have already been parsed. `where`: the name of their origin in messages.
TranslationOptions translation_options_of(OptionNode root, const std::string& where);

/// Replaces option names of version 0.1.0 by the current ones. Returns whether there were any.
bool upgrade_translation_options(OptionNode& root);

/// Throws an input error that names the key if a value is out of range, there is no training text, no limit
/// ends the training, or options contradict each other.
void validate(const TranslationOptions& options);

/// Returns warnings about settings that have no effect together with others, one sentence each. The warnings of
/// the trainer's own `advice_for` are not included.
std::vector<std::string> advice_for(const TranslationOptions& options);

}  // namespace sixfold
