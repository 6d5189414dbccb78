#include "model/config.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "base/file.h"
#include "layers/attention_kind.h"

namespace sixfold {
namespace {

using Children = std::vector<std::pair<std::string, OptionNode>>;

Children::iterator find_child(OptionNode& node, std::string_view key) {
  return std::find_if(node.children.begin(), node.children.end(),
                      [&](const auto& child) { return child.first == key; });
}

/// Throws an input error if the node has a present name, which a file of version 0.1.0 can't have.
void refuse_child(OptionNode& node, std::string_view name) {
  if (const auto found = find_child(node, name); found != node.children.end())
    throw_input_error(
        "{}: '{}' is mixed with names of version 0.1.0; use only the present names, which `sixfold train "
        "--options` lists",
        found->second.where, name);
}

void rename_child(OptionNode& node, std::string_view from, std::string_view to) {
  refuse_child(node, to);
  if (const auto found = find_child(node, from); found != node.children.end()) found->first = to;
}

/// Removes a child from `node` and returns it, or nothing if there is none.
std::optional<OptionNode> take_child(OptionNode& node, std::string_view key) {
  const auto found = find_child(node, key);
  if (found == node.children.end()) return std::nullopt;
  OptionNode child = std::move(found->second);
  node.children.erase(found);
  return child;
}

/// Whether the layers of the decoder have a cross-attention of their own.
bool has_cross_attention(const ModelConfig& c) {
  return c.has_encoder() && c.decoder_mixer != MixerKind::bahdanau;
}

/// The number of norms of a model.
int64_t norm_count(const ModelConfig& c) {
  const auto norms = [](const std::vector<ProcessStep>& steps) {
    return has_step(steps, ProcessStep::norm) ? 1 : 0;
  };
  const int64_t sublayers = 2 * c.encoder_layers + (has_cross_attention(c) ? 3 : 2) * c.decoder_layers;
  const int64_t stacks = c.has_encoder() + c.has_decoder();
  return sublayers * (norms(c.preprocess) + norms(c.postprocess)) +
         stacks * (norms(c.postprocess_embedding) + norms(c.postprocess_top));
}

}  // namespace

int64_t parameter_count(const ModelConfig& c) {
  const auto linear = [](int64_t in, int64_t out) { return in * out + out; };
  const int64_t d_model = c.d_model;
  const int64_t heads = c.heads, kv_heads = c.key_value_heads();
  const int64_t attention = linear(d_model, heads * c.key_width()) + linear(d_model, kv_heads * c.key_width()) +
                            linear(d_model, kv_heads * c.value_width()) +
                            linear(heads * c.value_width(), d_model) +
                            (c.attention_score == AttentionScore::additive ? heads * c.key_width() : 0);
  const int64_t expansions = c.feed_forward_gate ? 2 : 1;
  const int64_t feed_forward =
      (expansions + 1) * d_model * c.d_ff + (c.feed_forward_bias ? expansions * c.d_ff + d_model : 0);
  const int64_t norm = (c.norm == Norm::rms ? 1 : 2) * d_model;
  const auto recurrent = [&](int64_t gates, int64_t d, bool bias) {
    return linear(d_model, gates * d) + gates * d * d + (bias ? gates * d : 0);
  };
  const auto both = [&](AttentionKind stack, int64_t gates, bool bias) {  // two directions in an encoder
    return stack == AttentionKind::encoder ? 2 * recurrent(gates, d_model / 2, bias)
                                           : recurrent(gates, d_model, bias);
  };
  const auto mixer = [&](AttentionKind stack, MixerKind kind) -> int64_t {
    switch (kind) {
      case MixerKind::recurrent:
        return both(stack, 1, false);
      case MixerKind::lstm:
        return both(stack, 4, false);
      case MixerKind::gru:
        return both(stack, 3, true);
      case MixerKind::bahdanau:
        return recurrent(3, d_model, true) + linear(d_model, heads * c.key_width()) +
               linear(d_model, kv_heads * c.key_width()) + linear(d_model, kv_heads * c.value_width()) +
               heads * c.key_width() + 3 * d_model * heads * c.value_width();
      case MixerKind::ssru:
        return linear(d_model, d_model) + d_model * d_model;
      case MixerKind::average:
        return linear(2 * d_model, 2 * d_model);
      case MixerKind::convolution:
        return linear(c.kernel_size * d_model, 2 * d_model);
      case MixerKind::separable:
        return (c.kernel_size + 1) * d_model + linear(d_model, d_model);
      default:
        return attention;
    }
  };
  const int64_t encoder_layer = mixer(AttentionKind::encoder, c.encoder_mixer) + feed_forward;
  const int64_t decoder_layer =
      mixer(AttentionKind::decoder, c.decoder_mixer) + feed_forward + (has_cross_attention(c) ? attention : 0);
  const int64_t biased = (c.has_encoder() && is_self_attention(c.encoder_mixer)) +
                         (c.has_decoder() && is_self_attention(c.decoder_mixer));
  const int64_t positions = c.positions == Positions::learned ? c.max_positions * d_model
                            : c.positions == Positions::t5    ? biased * c.position_buckets * heads
                                                              : 0;

  int64_t tokens =
      c.shares_output() ? 0 : c.target_vocab;  // rows of all embeddings and of an untied output projection
  if (c.has_encoder()) tokens += c.source_vocab;
  if (c.has_decoder() && !(c.has_encoder() && c.shares_embedding())) tokens += c.target_vocab;
  return tokens * d_model + positions + (c.output_bias ? c.target_vocab : 0) +
         c.encoder_layers * encoder_layer + c.decoder_layers * decoder_layer + norm_count(c) * norm;
}

int64_t buffer_count(const ModelConfig& c) { return c.norm == Norm::batch ? norm_count(c) * 2 * c.d_model : 0; }

void validate(const ModelConfig& c) {
  check_ranges(c);
  validate(static_cast<const Architecture&>(c));
  const bool joint = c.has_encoder() && (c.has_decoder() ? c.shares_embedding() : c.shares_output());
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
  for (const int id : c.generation.suppress_tokens) require_token("generation.suppress_tokens", id);
}

[[noreturn]] static void throw_newer_format(const std::string& path, const std::string& found) {
  throw_input_error(
      "{}: format_version: this program reads formats up to {}, found {}; the model was written by a later "
      "version of Sixfold: use that",
      path, ModelConfig::current_format_version, found);
}

void upgrade_architecture(OptionNode& architecture, OptionNode& root) {
  rename_child(architecture, "embedding_steps", "postprocess_embedding");
  rename_child(architecture, "top_steps", "postprocess_top");
  refuse_child(root, "generation");
  refuse_child(architecture, "decoder_start_token");
  std::optional<OptionNode> generation = take_child(architecture, "search");
  if (!generation) return;
  rename_child(*generation, "alpha", "length_penalty");
  rename_child(*generation, "end", "stopping_criterion");
  rename_child(*generation, "banned_symbols", "suppress_tokens");
  if (OptionNode* kind = generation->find("normalization"); kind && kind->text == "google") kind->text = "gnmt";
  if (auto start = take_child(*generation, "decoder_start"))
    architecture.children.emplace_back("decoder_start_token", std::move(*start));
  root.children.emplace_back("generation", std::move(*generation));
}

ModelConfig load_config(const std::string& path) {
  ModelConfig config;
  // The sizes of weights have no default in a file: if a key is missing, its value is out of range.
  config.format_version = config.d_model = config.heads = config.d_ff = 0;
  config.encoder_layers = config.decoder_layers = -1;
  OptionNode root = parse_json_options(read_file(path), path);
  if (const OptionNode* version = root.find("format_version");
      version && version->kind == OptionNode::Kind::plain) {
    if (version->text == "1") {
      upgrade_architecture(root, root);
      root.find("format_version")->text = std::to_string(ModelConfig::current_format_version);
    } else if (std::atoll(version->text.c_str()) > ModelConfig::current_format_version) {
      throw_newer_format(path, version->text);
    }
  }
  read_options(root, config);
  try {
    validate(config);
  } catch (const Error& error) {
    throw_input_error("{}: {}", path, error.what());
  }
  return config;
}

void save_config(const std::string& path, const ModelConfig& config) {
  write_file_atomically(path, to_json(write_options(config)));
}

}  // namespace sixfold
