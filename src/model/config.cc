#include "model/config.h"

#include <algorithm>

#include "base/error.h"

namespace sixfold {
static void require_encoder_alone(const ModelConfig& c) {
  require(c.has_encoder() && !c.has_decoder(),
          "head.kind: '{}'{} needs an encoder and no decoder (encoder_layers is {}, decoder_layers is {})",
          name_of_enum(c.head.kind), c.head.dense ? " with dense" : "", c.encoder_layers, c.decoder_layers);
}

static void validate_span(const ModelConfig& c) {
  require_encoder_alone(c);
  require(!c.reads_images(), "head.kind: 'span' finds answers in texts, but the model reads images");
  constexpr int min_tokens = 8;
  require(c.context_tokens >= min_tokens,
          "context_tokens is {}; a model that answers questions must read at least {} at once",
          c.context_tokens, min_tokens);
  require(!c.limits_length() || c.context_tokens <= c.max_positions,
          "context_tokens is {}, but max_positions is {}; each token needs a position", c.context_tokens,
          c.max_positions);
}

/// Throws an input error if a model that reads texts has too few positions for a text of `context_tokens`
/// tokens, its start token and its end token.
static void require_positions_of_texts(const ModelConfig& c) {
  require(
      c.reads_images() || !c.limits_length() ||
          (c.context_tokens > 0 && c.context_tokens + 2 <= c.max_positions),
      "context_tokens is {}, but max_positions is {}; a text needs a position for each token, its start and "
      "its end",
      c.context_tokens, c.max_positions);
}

static void validate_classes(const ModelConfig& c) {
  require_encoder_alone(c);
  require(c.head.classes >= 2, "head.classes is {}, but a classifier needs at least 2", c.head.classes);
  require_positions_of_texts(c);
}

static void validate_images(const ModelConfig& c) {
  validate(c.image);
  require(c.has_encoder(), "image: images are read by an encoder, but encoder_layers is 0");
  require(c.head.kind != OutputHead::vocabulary || c.has_decoder(),
          "image: a model that reads images must have head.kind 'classes' or a decoder (decoder_layers is 0)");
  require((c.head.kind != OutputHead::classes && c.head.kind != OutputHead::embedding) ||
              c.head.pooling != Pooling::first || c.image.class_token,
          "head.pooling: is 'first', but images have no first token; choose mean or attention, or set "
          "image.class_token");
  require(!c.has_decoder() || !c.shares_embedding(),
          "tied_embeddings: '{}' ties the embedding of the source, but images have no tokens; choose 'decoder' "
          "or 'none'",
          name_of_enum(c.tied_embeddings));
  require(c.positions != Positions::learned || c.max_positions >= c.image.rows(),
          "max_positions is {}, but an image has {} patches{}", c.max_positions, c.image.patches(),
          c.image.class_token ? " and a class token" : "");
}

void validate_for(const GenerationConfig& g, const Architecture& a) {
  require(!a.has_decoder() ||
              (g.alignment_layer >= -std::max(2, a.decoder_layers) && g.alignment_layer < a.decoder_layers),
          "generation.alignment_layer is {}, but the decoder has layers 0 to {}", g.alignment_layer,
          a.decoder_layers - 1);
  require(
      g.coverage_penalty == 0 || a.has_encoder(),
      "generation.coverage_penalty is {}, but the model has no encoder whose output could be covered; set it "
      "to 0",
      g.coverage_penalty);
}

void validate(const ModelConfig& c) {
  check_ranges(c);
  validate(static_cast<const Architecture&>(c));
  if (c.reads_images()) validate_images(c);
  if (c.head.kind == OutputHead::classes) validate_classes(c);
  if (c.head.kind == OutputHead::span) validate_span(c);
  if (c.head.kind == OutputHead::embedding || c.head.dense) require_encoder_alone(c);
  if (c.head.kind == OutputHead::embedding) require_positions_of_texts(c);
  require(!c.head.dense || c.head.kind != OutputHead::span,
          "head.dense: a head of kind 'span' has no such map");
  require(!c.head.norm || c.head.dense, "head.norm: it normalizes what head.dense gives, which is false");
  const bool joint =
      !c.reads_images() && c.has_encoder() && (c.has_decoder() ? c.shares_embedding() : c.shares_output());
  require(!joint || c.source_vocab == c.target_vocab,
          "tied_embeddings: '{}' needs a joint vocabulary, but the source has {} tokens and the target {}; "
          "choose 'decoder' or 'none'",
          name_of_enum(c.tied_embeddings), c.source_vocab, c.target_vocab);
  const auto require_token = [&](std::string_view key, int id) {
    require(id < c.target_vocab, "{}: the id {} is not in the vocabulary of {} tokens", key, id,
            c.target_vocab);
  };
  require_token("unk", c.unk);
  require_token("bos", c.bos);
  require_token("eos", c.eos);
  require_token("decoder_start_token", c.decoder_start_token);
  validate_for(c.generation, c);
  validate(c.generation, c.target_vocab);
}

std::vector<int32_t> tokens_never_generated(const ModelConfig& c, const GenerationConfig& rules) {
  std::vector<int32_t> tokens(rules.suppress_tokens.begin(), rules.suppress_tokens.end());
  for (const int id : {rules.allow_unk ? -1 : c.unk, c.bos})
    if (id >= 0 && id != c.eos) tokens.push_back(id);
  return tokens;
}

void require_task(const ModelConfig& config, const TaskNetwork& task, const std::string& where) {
  require(config.task == task.task,
          "{0}: is a model for the task '{1}', not '{2}'; 'sixfold info {0}' says what it can do", where,
          config.task, task.task);
  require(config.has_encoder() == task.encoder && config.has_decoder() == task.decoder &&
              config.reads_images() == task.images && config.head.kind == task.head,
          "{}: its config.json says that it is for the task '{}', but its network is not that of such a model; "
          "restore the file",
          where, config.task);
}

}  // namespace sixfold
