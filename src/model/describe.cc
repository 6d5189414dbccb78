#include "model/describe.h"

#include <set>

#include "base/error.h"
#include "base/join.h"
#include "base/plural.h"

namespace sixfold {

/// The sizes of the layers of a stack: "d_ff 2048, 8 heads of d_k 64 and d_v 64".
static std::string describe_sizes(const Architecture& a) {
  return fmt::format("d_ff {}, {} of d_k {} and d_v {}", a.d_ff, counted(a.heads, "head"), a.key_width(),
                     a.value_width());
}

std::string describe_layers(const ModelConfig& c) {
  const std::string encoder = counted(c.encoder_layers, "encoder layer"),
                    decoder = counted(c.decoder_layers, "decoder layer");
  const bool both = c.has_encoder() && c.has_decoder(),
             differ = describe_sizes(c.of_decoder()) != describe_sizes(c);
  return fmt::format("{}, d_model {}, {}{}",
                     both              ? fmt::format("{} encoder and {}", c.encoder_layers, decoder)
                     : c.has_decoder() ? decoder
                                       : encoder,
                     c.d_model, describe_sizes(c),
                     differ ? "; decoder: " + describe_sizes(c.of_decoder()) : "");
}

std::string describe_variant(const Architecture& architecture) {
  const std::set<std::string> shown{"d_model",
                                    "heads",
                                    "decoder_heads",
                                    "d_k",
                                    "d_v",
                                    "d_ff",
                                    "decoder_d_ff",
                                    "encoder_layers",
                                    "decoder_layers",
                                    "tied_embeddings",
                                    "max_positions",
                                    "decoder_start_token"};
  const OptionNode own = write_options(architecture), paper = write_options(Architecture());
  std::vector<std::string> parts;
  for (const auto& [key, value] : own.children) {
    const auto same = std::ranges::find(paper.children, key, &std::pair<std::string, OptionNode>::first);
    const std::string text = value_text(value);
    if (!shown.contains(key) && text != value_text(same->second))
      parts.push_back(key + " " + (text.empty() ? "none" : text));
  }
  return parts.empty() ? "the paper's" : join(parts);
}

std::string describe_embeddings(const ModelConfig& c) {
  if (c.reads_images())
    return fmt::format("of patches of {0} x {0} pixels, one every {1} pixels: {2} of an image{3}{4}",
                       c.image.patch, c.image.step(), c.image.patches(),
                       c.image.class_token ? ", after a class token" : "",
                       !c.has_decoder()    ? ""
                       : c.shares_output() ? "; one matrix for target and output"
                                           : "; separate matrices for target and output");
  if (c.head.kind != OutputHead::vocabulary) return "of the source alone";
  if (!c.has_decoder())
    return c.shares_output() ? "one matrix for input and output" : "separate matrices for input and output";
  if (!c.has_encoder())
    return c.shares_output() ? "one matrix for input and output" : "separate matrices for input and output";
  switch (c.tied_embeddings) {
    case TiedEmbeddings::all:
      return "one matrix for source, target and output";
    case TiedEmbeddings::decoder:
      return "one matrix for the source, one for target and output";
    case TiedEmbeddings::source:
      return "one matrix for source and target, one for the output";
    case TiedEmbeddings::none:
      return "separate matrices for source, target and output";
  }
  throw_unknown("tying of embeddings", c.tied_embeddings);
}

/// "divided by n^1"
static std::string describe_normalization(const GenerationConfig& rules) {
  switch (rules.normalization) {
    case ScoreNormalization::none:
      return "not divided by length";
    case ScoreNormalization::length:
      return fmt::format("divided by n^{}", rules.length_penalty);
    case ScoreNormalization::gnmt:
      return fmt::format("divided by ((5 + n) / 6)^{}", rules.length_penalty);
  }
  throw_unknown("normalization of scores", rules.normalization);
}

std::string describe_search(const GenerationConfig& rules) {
  return fmt::format("beam size {}, scores {}, at most {} * source + {} tokens, until {}", rules.beam_size,
                     describe_normalization(rules), rules.length_factor, rules.length_offset,
                     name_of_enum(rules.stopping_criterion));
}

}  // namespace sixfold
