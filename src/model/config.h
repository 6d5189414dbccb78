#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/options.h"
#include "model/generation_config.h"
#include "model/layers/adapter_config.h"
#include "model/layers/architecture.h"
#include "model/layers/patch_embedding.h"
#include "model/layers/pooling.h"
#include "ops/batch.h"

namespace sixfold {

/// The kind of a model's output layer, which makes predictions from the states of its last stack.
enum class OutputHead {
  vocabulary,  ///< a token for each row (section 3.4)
  classes,     ///< a label for each sequence
  span,        ///< where the answer to a question starts and ends (Devlin et al. 2019, section 4.2)
  embedding,   ///< a vector for each sequence, which is not projected
};

template <>
struct EnumNames<OutputHead> {
  static constexpr std::pair<OutputHead, std::string_view> names[] = {{OutputHead::vocabulary, "vocabulary"},
                                                                      {OutputHead::classes, "classes"},
                                                                      {OutputHead::span, "span"},
                                                                      {OutputHead::embedding, "embedding"}};
};

/// The head of a model: what it predicts, and how.
struct HeadConfig {
  OutputHead kind = OutputHead::vocabulary;
  int classes = 0;                   ///< number of labels of a head for classes
  Pooling pooling = Pooling::first;  ///< how the states of a sequence are pooled, for classes and embeddings
  bool dense = false;  ///< apply a linear map and `activation` to the states before the projection
  Activation activation = Activation::tanh;
  bool norm = false;  ///< apply LayerNorm after `dense`
};

inline void visit(OptionVisitor& v, HeadConfig& o) {
  v.field("kind", o.kind,
          "what is predicted: vocabulary (tokens), classes (labels of sequences), span (answers in texts) or "
          "embedding (vectors of sequences)");
  v.field("classes", o.classes, "number of labels of a head that predicts classes", at_least(0));
  v.field("pooling", o.pooling, "how the states of a sequence are pooled into one: first, mean or attention");
  v.field("dense", o.dense, "apply a linear map and an activation to the states before they are projected");
  v.field("activation", o.activation, "the activation after `dense`");
  v.field("norm", o.norm, "LayerNorm after `dense`");
}

/// The contents of config.json: the task of the model, the architecture, the sizes of the vocabularies, the
/// hashes of the tokenizers and the generation settings.
struct ModelConfig : Architecture {
  static constexpr int pixel_values = 256;  ///< `source_vocab` of a model that reads images

  std::string task;     ///< the name of the task that the model is for (tasks/tasks.h)
  OptionNode settings;  ///< the settings that only this task reads and writes (`settings_of`)
  int source_vocab = 0;
  int target_vocab = 0;
  int unk = 0;                        ///< id of the unknown token in the target vocabulary
  int bos = 1;                        ///< id of the start token there, or -1 if there is none
  int eos = 2;                        ///< id of the end token there
  std::string source_tokenizer_hash;  ///< `hash_hex` of the tokenizer's file
  std::string target_tokenizer_hash;

  /// The maximum number of tokens that the model reads at once. Its task defines which tokens count, and
  /// whether longer texts are cut or read in windows of this size. 0: no limit.
  int context_tokens = 0;
  ImageInput image;  ///< how the encoder reads images; its height is 0 if the model reads text
  HeadConfig head;
  AdapterConfig adapters;

  GenerationConfig generation;  ///< the default generation settings, which each call may override

  /// Whether the encoder reads patches of images, and not tokens.
  bool reads_images() const { return image.height > 0; }
  bool source_is_tokens() const { return !reads_images(); }
  /// Whether the model reads or writes tokens.
  bool has_tokens() const { return source_is_tokens() || has_decoder(); }
  bool has_tokenizer() const { return !source_tokenizer_hash.empty() || !target_tokenizer_hash.empty(); }
  /// Whether the model reads one text and writes another one.
  bool has_two_texts() const { return source_is_tokens() && has_encoder() && has_decoder(); }
  /// Whether the model consists of a decoder alone, which continues the text that it reads.
  bool continues_text() const { return !has_encoder() && has_decoder(); }
  /// The number of ids of a row of the source (`IdBatch`).
  int source_ids_per_row() const { return reads_images() ? image.patch_values() : 1; }
  /// The decoder layer whose cross-attention aligns words, from 0.
  int alignment_layer() const { return alignment_layer(generation); }
  /// The same with other generation settings.
  int alignment_layer(const GenerationConfig& rules) const {
    return rules.alignment_layer < 0 ? std::max(0, decoder_layers + rules.alignment_layer)
                                     : rules.alignment_layer;
  }
  TargetEnds target_ends() const { return {decoder_start_token, eos}; }
  /// Removes the setting of the task that was fitted to the weights of this model, and is wrong for others.
  void drop_fitted_settings() {
    std::erase_if(settings.children, [](const auto& child) { return child.first == "confidence"; });
  }
};

inline void visit(OptionVisitor& v, ModelConfig& o) {
  v.field("task", o.task, "what the model is for");
  v.field("source_vocab", o.source_vocab, "number of tokens in the source vocabulary", at_least(1));
  v.field("target_vocab", o.target_vocab, "number of tokens in the target vocabulary", at_least(1));
  v.field("unk", o.unk, "id of the unknown token", at_least(0));
  v.field("bos", o.bos, "id of the start token; -1 if there is none", at_least(-1));
  v.field("eos", o.eos, "id of the end token", at_least(0));
  v.field("source_tokenizer_hash", o.source_tokenizer_hash, "hash of the source tokenizer's file");
  v.field("target_tokenizer_hash", o.target_tokenizer_hash, "hash of the target tokenizer's file");
  v.field("context_tokens", o.context_tokens, "number of tokens that the model reads at once; 0: no limit",
          at_least(0));
  v.group("image", o.image, "how an encoder of images reads them");
  v.group("head", o.head, "what is predicted");
  v.group("adapters", o.adapters, "adapters of low rank (LoRA)");
  visit(v, static_cast<Architecture&>(o));
  v.group("generation", o.generation, "generation settings");
}

/// The settings of the model's task, as the struct `Settings` of that task. Throws an input error that names
/// the file and the key for a value out of range and for an unknown key, and as `validate(Settings)`.
template <class Settings>
Settings settings_of(const ModelConfig& config) {
  Settings settings;
  if (config.settings.kind != OptionNode::Kind::null) read_options(config.settings, settings);
  try {
    validate(settings);
  } catch (const Error& error) {
    throw_input_error("{}: {}", config.settings.where.empty() ? config.task : config.settings.where,
                      error.what());
  }
  return settings;
}

/// Throws an input error that names the key if generation settings ask for what an architecture does not have:
/// a layer of the decoder, or an encoder.
void validate_for(const GenerationConfig& generation, const Architecture& architecture);

/// Throws an input error that names the key if the architecture is not valid, vocabularies with tied embeddings
/// differ in size, or a special id is not in its vocabulary.
void validate(const ModelConfig& config);

/// The tokens that a model never generates with these settings: suppressed tokens, the unknown token unless it
/// is allowed, and the start token. Text that the model is given, such as a prompt, a forced prefix or a target
/// to score, may contain them.
std::vector<int32_t> tokens_never_generated(const ModelConfig& config, const GenerationConfig& rules);

/// A task, and the parts of the network of its models.
struct TaskNetwork {
  std::string_view task;
  bool encoder = true, decoder = true;
  bool images = false;  ///< the encoder reads images, and not tokens
  OutputHead head = OutputHead::vocabulary;
};

/// Throws an input error that begins with `where` unless the model is for this task and its network has these
/// parts.
void require_task(const ModelConfig& config, const TaskNetwork& task, const std::string& where);

}  // namespace sixfold
