#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "base/options.h"
#include "model/generation_config.h"
#include "tensor/batch.h"

namespace sixfold {

/// Which of the three matrices of section 3.4 are one: source embedding, target embedding, output projection.
enum class TiedEmbeddings {
  all,      ///< all three, as the paper; needs a joint vocabulary
  decoder,  ///< target embedding and output projection
  source,   ///< source and target embedding; needs a joint vocabulary
  none,
};

/// How a symbol's place enters the model (section 3.5).
enum class Positions {
  sinusoidal,         ///< the paper's: sine and cosine by turns
  sinusoidal_halves,  ///< the same numbers, all sines before all cosines; Hugging Face's Marian
  sinusoidal_marian,  ///< likewise, wavelengths up to 2 pi 10000 itself; Marian
  learned,            ///< a vector for each place, one table for source and target
  none,
};

/// A step of what happens to the input or output of a sub-layer.
enum class ProcessStep {
  dropout,
  add,   ///< of what the sub-layer was given: the residual connection
  norm,  ///< layer norm
};

/// The sizes of table 3 of the paper (`base`, `big`), and two smaller ones for less text or time.
enum class Preset { tiny, small, base, big };

template <>
struct EnumNames<TiedEmbeddings> {
  static constexpr std::pair<TiedEmbeddings, std::string_view> names[] = {{TiedEmbeddings::all, "all"},
                                                                          {TiedEmbeddings::decoder, "decoder"},
                                                                          {TiedEmbeddings::source, "source"},
                                                                          {TiedEmbeddings::none, "none"}};
};

template <>
struct EnumNames<Activation> {
  static constexpr std::pair<Activation, std::string_view> names[] = {
      {Activation::relu, "relu"},
      {Activation::swish, "swish"},
      {Activation::gelu, "gelu"},
      {Activation::sigmoid_gelu, "sigmoid_gelu"}};
};

template <>
struct EnumNames<Positions> {
  static constexpr std::pair<Positions, std::string_view> names[] = {
      {Positions::sinusoidal, "sinusoidal"},
      {Positions::sinusoidal_halves, "sinusoidal_halves"},
      {Positions::sinusoidal_marian, "sinusoidal_marian"},
      {Positions::learned, "learned"},
      {Positions::none, "none"}};
};

template <>
struct EnumNames<ProcessStep> {
  static constexpr std::pair<ProcessStep, std::string_view> names[] = {
      {ProcessStep::dropout, "dropout"}, {ProcessStep::add, "add"}, {ProcessStep::norm, "norm"}};
};

template <>
struct EnumNames<Preset> {
  static constexpr std::pair<Preset, std::string_view> names[] = {
      {Preset::tiny, "tiny"}, {Preset::small, "small"}, {Preset::base, "base"}, {Preset::big, "big"}};
};

/// The sizes and choices that make an architecture, but for the vocabularies. The defaults are the paper's base
/// model.
struct Architecture {
  int d_model = 512;
  int heads = 8;
  int d_k = 0;  ///< width of a head's queries and keys; 0 stands for d_model / heads
  int d_v = 0;  ///< width of a head's values; 0 stands for d_model / heads
  int d_ff = 2048;
  int encoder_layers = 6;
  int decoder_layers = 6;
  TiedEmbeddings tied_embeddings = TiedEmbeddings::all;
  Activation activation = Activation::relu;
  Positions positions = Positions::sinusoidal;
  int max_positions = 512;  ///< of learned ones; what lies beyond has the last one's vector
  std::vector<ProcessStep> postprocess_embedding = {ProcessStep::dropout};  ///< of embedding and position
  std::vector<ProcessStep> preprocess = {};                                 ///< of a sub-layer's input
  std::vector<ProcessStep> postprocess = {ProcessStep::dropout, ProcessStep::add,
                                          ProcessStep::norm};  ///< of its output
  std::vector<ProcessStep> postprocess_top = {};  ///< of a stack's output; `add` is of the stack's input
  float norm_epsilon = 1e-5f;
  bool embedding_scale = true;  ///< embeddings times sqrt(d_model)
  bool output_bias = false;
  float dropout = 0.1f;  ///< on sub-layer outputs and on the sums of embedding and position, section 5.4
  float attention_dropout = 0;
  float activation_dropout = 0;
  int decoder_start_token = zero_start;  ///< what the decoder reads first, an id of the target

  /// Stands for no token: the decoder begins with an embedding of zeros, as the paper's own program does.
  static constexpr int zero_start = -1;

  int key_width() const { return d_k ? d_k : d_model / heads; }
  int value_width() const { return d_v ? d_v : d_model / heads; }
};

template <class Visitor>
void visit(Visitor& v, Architecture& o) {
  const Range share = from_to_below(0, 1);
  v.field("d_model", o.d_model, "width of the states between layers", between(1, 1 << 20));
  v.field("heads", o.heads, "attention heads", between(1, 1024));
  v.field("d_k", o.d_k, "width of a head's queries and keys; 0 stands for d_model / heads",
          between(0, 1 << 16));
  v.field("d_v", o.d_v, "width of a head's values; 0 stands for d_model / heads", between(0, 1 << 16));
  v.field("d_ff", o.d_ff, "inner width of the feed-forward layers", between(1, 1 << 20));
  v.field("encoder_layers", o.encoder_layers, "layers of the encoder; a model that translates has at least 1",
          between(0, 1000));
  v.field("decoder_layers", o.decoder_layers, "layers of the decoder; a model that translates has at least 1",
          between(0, 1000));
  v.field(
      "tied_embeddings", o.tied_embeddings,
      "all: source, target and output are one matrix; decoder: the latter two; source: the first two; none");
  v.field("activation", o.activation, "of the feed-forward layers: relu, swish, gelu or sigmoid_gelu");
  v.field("positions", o.positions,
          "sinusoidal, sinusoidal_halves, sinusoidal_marian, learned (a vector for each) or none");
  v.field("max_positions", o.max_positions, "of learned positions; those beyond share the last one's vector",
          between(1, 1 << 20));
  v.field("postprocess_embedding", o.postprocess_embedding,
          "after embedding and position are added: of dropout and norm");
  v.field("preprocess", o.preprocess,
          "before each sub-layer: of dropout and norm; [norm] makes a pre-norm model");
  v.field("postprocess", o.postprocess,
          "after each sub-layer: of dropout, add and norm; [dropout, add] in a pre-norm model");
  v.field("postprocess_top", o.postprocess_top,
          "at the top of encoder and decoder; [norm] in a pre-norm model");
  v.field("norm_epsilon", o.norm_epsilon, "added to the variance in layer norms", between(1e-12, 1));
  v.field("embedding_scale", o.embedding_scale, "embeddings times sqrt(d_model)");
  v.field("output_bias", o.output_bias, "a bias for each symbol of the output");
  v.field("dropout", o.dropout, "on outputs of sub-layers and on embeddings", share);
  v.field("attention_dropout", o.attention_dropout, "on attention weights", share);
  v.field("activation_dropout", o.activation_dropout, "inside the feed-forward layers", share);
  v.field("decoder_start_token", o.decoder_start_token,
          "the id that the decoder begins with; -1: an embedding of zeros", at_least(-1));
}

/// A model as config.json describes it: the architecture, the vocabularies it speaks and the tokenizers it is
/// bound to.
struct ModelConfig : Architecture {
  static constexpr int current_format_version = 2;
  int format_version = current_format_version;
  int source_vocab = 0;
  int target_vocab = 0;
  int unk = 0;  ///< ids of the target's vocabulary
  int bos = 1;  ///< -1 if there is none
  int eos = 2;
  std::string source_tokenizer_hash;  ///< as `hash_hex` of the tokenizer's file
  std::string target_tokenizer_hash;

  GenerationConfig generation;  ///< how translations are searched for, unless a caller asks otherwise

  TargetEnds target_ends() const { return {decoder_start_token, eos}; }
};

template <class Visitor>
void visit(Visitor& v, ModelConfig& o) {
  v.field("format_version", o.format_version, "of this file", between(1, ModelConfig::current_format_version));
  v.field("source_vocab", o.source_vocab, "symbols of the source", at_least(1));
  v.field("target_vocab", o.target_vocab, "symbols of the target", at_least(1));
  v.field("unk", o.unk, "id of the unknown symbol", at_least(0));
  v.field("bos", o.bos, "id of the symbol that begins, -1 if there is none", at_least(-1));
  v.field("eos", o.eos, "id of the symbol that ends", at_least(0));
  v.field("source_tokenizer_hash", o.source_tokenizer_hash, "hash of the source tokenizer's file");
  v.field("target_tokenizer_hash", o.target_tokenizer_hash, "hash of the target tokenizer's file");
  visit(v, static_cast<Architecture&>(o));
  v.group("generation", o.generation, "how translations are searched for");
}

/// The architecture of that name.
Architecture preset(Preset name);

/// Whether `steps` have one of that kind.
bool has_step(const std::vector<ProcessStep>& steps, ProcessStep step);

/// The number of weights, from the formulas: 4 linear maps with biases for an attention, 2 for a feed-forward,
/// 2 vectors for a norm; embeddings as they are tied. 63,082,496 for `base` with the paper's 37,000 joint
/// symbols.
int64_t parameter_count(const ModelConfig& config);

/// Throws an input error naming the key and what is wrong: a size out of range, a head width that is not whole.
void validate(const Architecture& architecture);
/// The same, and: vocabularies that differ though tied, a special id beyond its vocabulary.
void validate(const ModelConfig& config);

/// Throws an input error, which begins with `where`, for a model that lacks the encoder or the decoder.
void require_encoder_and_decoder(const Architecture& architecture, const std::string& where);

/// Gives the keys of an architecture of version 0.1.0 their names of today. Its group "search" becomes the
/// group "generation" of `root`. What has today's names is left as it is.
void upgrade_architecture(OptionNode& architecture, OptionNode& root);

/// Reads a config.json, of an earlier format too, and validates it. Unknown keys are errors; the sizes must all
/// be there.
ModelConfig load_config(const std::string& path);

/// Writes a config.json, atomically.
void save_config(const std::string& path, const ModelConfig& config);

}  // namespace sixfold
