#pragma once
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "families/family.h"
#include "formats/safetensors.h"
#include "model_folder/binding.h"
#include "text/whitespace.h"

// A family that only the tests have: a program of its own, whose folders have toy.json, weights.safetensors and
// a vocabulary, and whose rules have the steps that the families of the library do not need. CONTRIBUTING.md
// names it as an example.

namespace sixfold {

/// What the family does wrong when it writes.
enum class ToyFault { none, config, weight, token, file };
inline ToyFault toy_fault = ToyFault::none;

inline NameRules toy_rules() {
  const std::string theirs = "block.#.", ours = "decoder.layers.*.";
  return {
      {"", {ours + "self_attn.*_proj.bias"}},
      {"words", {"decoder.embed_tokens.weight"}},
      {"head", {"decoder.embed_tokens.weight"}, {}, Holds::copy},
      {.theirs = "positions",
       .ours = {"embed_positions.weight"},
       .steps = {Step::skip_rows},
       .skipped_rows = 2},
      {.theirs = theirs + "qkv",
       .ours = {ours + "self_attn.q_proj.weight", ours + "self_attn.k_proj.weight",
                ours + "self_attn.v_proj.weight"},
       .fused = Fused::by_head},
      {theirs + "out", {ours + "self_attn.out_proj.weight"}, {Step::transpose}},
      {theirs + "up", {ours + "fc_gate.weight", ours + "fc1.weight"}, {Step::transpose}},
      {theirs + "down", {ours + "fc2.weight"}},
      {theirs + "norm", {ours + "self_attn_layer_norm.weight"}, {Step::plus_one, Step::to_vector}},
      {theirs + "*_norm", {ours + "*_layer_norm.weight"}, {Step::plus_one}},
      {"block.*.mask", {}, {}, Holds::nothing},
      {"top", {"decoder.layer_norm.weight"}},
  };
}

inline ModelConfig toy_config(int layers) {
  ModelConfig c;
  c.task = "language_model";
  c.d_model = 8, c.heads = 2, c.d_ff = 12, c.encoder_layers = 0, c.decoder_layers = layers;
  c.positions = Positions::learned, c.max_positions = 5;
  c.tied_embeddings = TiedEmbeddings::decoder;
  c.norm = Norm::rms, c.feed_forward_gate = true, c.feed_forward_bias = false;
  c.preprocess = {ProcessStep::norm}, c.postprocess = {ProcessStep::add},
  c.postprocess_top = {ProcessStep::norm};
  return c;
}

inline Tokenizers toy_tokenizers(const std::string& words) {
  const auto tokenizer = load_whitespace(words, "words");
  return {tokenizer, tokenizer, true};
}

inline Imported read_toy(const ImportSource& source) {
  const nlohmann::json json = parse_json(read_file(source.path + "/toy.json"), source.path + "/toy.json");
  ModelConfig config = toy_config(json.at("blocks"));
  Imported imported{.step = R"({"step": "import", "from": "toy"})", .origin = source.path};
  imported.tokenizers = toy_tokenizers(read_file(source.path + "/words"));
  bind_tokenizers(config, imported.tokenizers);
  config.generation.beam_size = json.at("beam");
  imported.model = read_weights(read_safetensors(source.path + "/weights.safetensors"), toy_rules(), config);
  return imported;
}

inline Exported write_toy(const ModelConfig& config, const Tokenizer& tokenizer, const std::string& folder,
                          const WeightValues& values) {
  Exported exported{.config = config, .values = values, .precision = 1e-7f};
  for (int32_t id = 0; id < tokenizer.vocab_size(); ++id)
    exported.target_pieces.push_back(tokenizer.token_text(id));
  exported.source_pieces = exported.target_pieces;
  const int beam = config.generation.beam_size + (toy_fault == ToyFault::config ? 1 : 0);
  write_json(folder + "/toy.json", {{"blocks", config.decoder_layers}, {"beam", beam}});
  if (toy_fault != ToyFault::file) write_file_atomically(folder + "/words", tokenizer.serialized());
  if (toy_fault == ToyFault::token) exported.target_pieces[3] = "green";
  write_weights(folder + "/weights.safetensors", toy_rules(), config, [&](const Parameter& weight) {
    std::vector<float> changed = values(weight);
    if (toy_fault == ToyFault::weight && weight.name.ends_with("0.fc2.weight")) changed[5] += 0.01f;
    return changed;
  });
  return exported;
}

inline constexpr Program toy_program = {
    .name = "toy",
    .title = "a toy",
    .inputs = [](const ImportSource& source) { return std::vector{source.path}; },
    .refuse = [](const ImportSource&, const std::vector<const Family*>&) {},
    .advise =
        [](const std::string& path, const std::vector<const Family*>&) {
          return std::filesystem::exists(path + "/toy.json") ? path + " is a toy" : std::string();
        },
};

inline Family toy_family() {
  return {.program = &toy_program,
          .name = "toy",
          .class_name = "Toy",
          .title = "toy",
          .recognizes = [](const ImportSource& source,
                           const Family&) { return std::filesystem::exists(source.path + "/toy.json"); },
          .read = read_toy,
          .exports = "toys",
          .takes = [](const ModelConfig& c) { return !c.has_encoder(); },
          .write =
              [](const ExportSource& source, const std::string& folder) {
                const Transformer& model = source.model;
                return write_toy(model.config(), *source.tokenizers.target, folder,
                                 [&model](const Parameter& weight) { return values_of(model, weight.name); });
              }};
}

/// Writes a toy whose weights are all different.
inline void write_toy(const std::string& folder) {
  std::filesystem::create_directory(folder);
  const Tokenizers tokenizers = toy_tokenizers("<unk>\n<s>\n</s>\nblue\nred\nsky\n");
  ModelConfig config = toy_config(2);
  bind_tokenizers(config, tokenizers);
  config.generation.beam_size = 7;
  float next = 0.5f;
  write_toy(config, *tokenizers.target, folder, [&](const Parameter& weight) {
    std::vector<float> values(static_cast<size_t>(weight.tensor.size()));
    if (!weight.name.ends_with(".bias"))
      for (float& value : values) value = next += 1.0f / 1024;
    return values;
  });
}

}  // namespace sixfold
