#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/options.h"
#include "base/text_unit.h"
#include "model/generation_config.h"
#include "model/layers/architecture.h"
#include "model/layers/patch_embedding.h"
#include "model/layers/pooling.h"
#include "ops/batch.h"

namespace sixfold {

/// What a model predicts from the states of its last stack.
enum class HeadKind {
  vocabulary,  ///< a token for each row (section 3.4)
  classes,     ///< a label for each sequence
  span,        ///< where the answer to a question starts and ends (Devlin et al. 2019, section 4.2)
};

template <>
struct EnumNames<HeadKind> {
  static constexpr std::pair<HeadKind, std::string_view> names[] = {
      {HeadKind::vocabulary, "vocabulary"}, {HeadKind::classes, "classes"}, {HeadKind::span, "span"}};
};

/// How a model reads a text to find an answer in it; a caller may override these.
struct AnswerConfig {
  int stride = 128;     ///< tokens from one window of a long text to the next
  int max_tokens = 30;  ///< most tokens of an answer
};

inline void visit(OptionVisitor& v, AnswerConfig& o) {
  v.field("stride", o.stride,
          "a text that is longer than the model reads at once is read in windows, which begin this many tokens "
          "after each other",
          at_least(1));
  v.field("max_tokens", o.max_tokens, "most tokens of an answer", at_least(1));
}

/// The contents of config.json: the architecture, the sizes of the vocabularies, the hashes of the tokenizers
/// and the generation settings.
struct ModelConfig : Architecture {
  static constexpr int current_format_version = 2;
  static constexpr int pixel_values = 256;  ///< `source_vocab` of a model that reads images
  int format_version = current_format_version;
  int source_vocab = 0;
  int target_vocab = 0;
  int unk = 0;                        ///< id of the unknown token in the target vocabulary
  int bos = 1;                        ///< id of the start token there, or -1 if there is none
  int eos = 2;                        ///< id of the end token there
  std::string source_tokenizer_hash;  ///< `hash_hex` of the tokenizer's file
  std::string target_tokenizer_hash;

  /// Of a language model and of a model that answers questions: the number of tokens that it reads at once,
  /// special tokens included. Longer texts are read in windows of this size. 0: no limit.
  int context_tokens = 0;
  TextUnit text_unit = TextUnit::stream;  ///< what counted as one text in its training

  /// Of a translation model: codes such as "en" and "pt-BR", or empty if they are not known.
  std::string source_language, target_language;

  ImageInput image;  ///< what the encoder reads, if it reads images
  HeadKind head = HeadKind::vocabulary;
  Pooling pooling = Pooling::first;  ///< of a sequence's states, for a head that predicts classes
  std::vector<std::string> labels;   ///< the names of the classes
  AnswerConfig answers;              ///< for a head that predicts spans

  GenerationConfig generation;  ///< defaults, which a caller may override

  /// The number of logits of an output.
  int outputs() const {
    if (head == HeadKind::span) return 2;  // start and end
    return head == HeadKind::classes ? static_cast<int>(labels.size()) : target_vocab;
  }

  /// Whether the encoder reads patches of images, and not tokens.
  bool reads_images() const { return image.height > 0; }
  /// Whether the model captions images: its encoder reads them, and its decoder writes text.
  bool captions_images() const { return reads_images() && has_decoder(); }
  /// The number of ids of a row of the source (`IdBatch`).
  int source_ids_per_row() const { return reads_images() ? image.patch_values() : 1; }
  /// The decoder layer whose cross-attention aligns words, from 0.
  int alignment_layer() const {
    return generation.alignment_layer < 0 ? std::max(0, decoder_layers + generation.alignment_layer)
                                          : generation.alignment_layer;
  }
  TargetEnds target_ends() const { return {decoder_start_token, eos}; }
};

inline void visit(OptionVisitor& v, ModelConfig& o) {
  v.field("format_version", o.format_version, "version of this format",
          between(1, ModelConfig::current_format_version));
  v.field("source_vocab", o.source_vocab, "number of tokens in the source vocabulary", at_least(1));
  v.field("target_vocab", o.target_vocab, "number of tokens in the target vocabulary", at_least(1));
  v.field("unk", o.unk, "id of the unknown token", at_least(0));
  v.field("bos", o.bos, "id of the start token; -1 if there is none", at_least(-1));
  v.field("eos", o.eos, "id of the end token", at_least(0));
  v.field("source_tokenizer_hash", o.source_tokenizer_hash, "hash of the source tokenizer's file");
  v.field("target_tokenizer_hash", o.target_tokenizer_hash, "hash of the target tokenizer's file");
  v.field("context_tokens", o.context_tokens,
          "number of tokens that a language model reads at once; 0: no limit", at_least(0));
  v.field("text_unit", o.text_unit, "what a language model was trained on: stream, file, paragraph or line");
  v.field("source_language", o.source_language, "language of the sources, such as en; empty: not known");
  v.field("target_language", o.target_language, "language of the translations; empty: not known");
  v.group("image", o.image, "how an encoder of images reads them");
  v.field("head", o.head,
          "what is predicted: vocabulary (tokens), classes (labels of sequences) or span (answers in texts)");
  v.field("pooling", o.pooling, "how a classifier makes one state of a sequence: first, mean or attention");
  v.field("labels", o.labels, "names of the classes");
  v.group("answers", o.answers, "how a model that answers questions reads texts");
  visit(v, static_cast<Architecture&>(o));
  v.group("generation", o.generation, "generation settings");
}

/// Throws an input error that names the key if the architecture is not valid, vocabularies with tied embeddings
/// differ in size, or a special id is not in its vocabulary.
void validate(const ModelConfig& config);

/// The tokens that a model never generates by these rules: those that they suppress, the unknown token unless
/// they allow it, the start token, and the end token of a language model whose texts do not end. What is given,
/// such as a prompt, a forced prefix or a target to score, may contain them.
std::vector<int32_t> tokens_never_generated(const ModelConfig& config, const GenerationConfig& rules);

/// What a model does and the command for it: "captions images, for 'sixfold caption'". For messages about
/// models that do not fit.
std::string purpose_of(const ModelConfig& config);

/// Throws an input error that begins with `where` if the model reads images.
void require_reads_text(const ModelConfig& config, const std::string& where);

/// Throws an input error that begins with `where` unless the model has an encoder of text and a decoder.
void require_translation_model(const ModelConfig& config, const std::string& where);

/// Throws an input error that begins with `where` unless the model has an encoder of images and a decoder.
void require_captioner(const ModelConfig& config, const std::string& where);

/// Throws an input error that begins with `where` unless the model predicts classes.
void require_classifier(const ModelConfig& config, const std::string& where);

/// Throws an input error that begins with `where` unless the model answers questions.
void require_answers_questions(const ModelConfig& config, const std::string& where);

/// Throws an input error that begins with `where` unless the model has an encoder alone and predicts tokens.
void require_masked_language_model(const ModelConfig& config, const std::string& where);

/// Throws an input error that begins with `where` unless the model has a decoder and no encoder.
void require_language_model(const ModelConfig& config, const std::string& where);

/// Renames the keys of an architecture from their names in version 0.1.0 to their present names. The group
/// "search" becomes the group "generation" of `root`. Throws an input error if old and new names are mixed.
void upgrade_architecture(OptionNode& architecture, OptionNode& root);

/// Reads a config.json of this or an earlier format and validates it. Unknown keys and missing sizes are
/// errors.
ModelConfig load_config(const std::string& path);

/// Writes a config.json atomically.
void save_config(const std::string& path, const ModelConfig& config);

}  // namespace sixfold
