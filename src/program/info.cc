#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/join.h"
#include "base/json.h"
#include "base/plural.h"
#include "formats/image.h"
#include "formats/safetensors.h"
#include "model/int8.h"
#include "model/transformer.h"
#include "model_folder/provenance.h"
#include "program/kit/commands.h"
#include "program/kit/model_folder.h"
#include "program/kit/text_io.h"

namespace sixfold::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

struct InfoSettings {
  std::string model;
  bool json = false;
};

struct Description {
  std::string folder;
  ModelFolder model;
  int64_t parameters = 0;
  std::string dtype;                                   ///< "F32", or several types
  std::vector<std::pair<std::string, int64_t>> files;  ///< name and size in bytes
  std::vector<ordered_json> history;
};

/// Counts the weights in the file itself; the buffers there are no weights.
void count_weights(Description& d) {
  const SafetensorsFile file = SafetensorsFile::open(fs::path(d.folder) / "model.safetensors");
  for (const std::string& name : file.names()) {
    if (is_scales(name)) continue;
    const TensorInfo& tensor = file.at(name);
    d.parameters += static_cast<int64_t>(tensor.bytes.size() / size_of(tensor.dtype));
    const std::string dtype(name_of(tensor.dtype));
    if (d.dtype.find(dtype) == d.dtype.npos) d.dtype += (d.dtype.empty() ? "" : ", ") + dtype;
  }
  const int64_t expected = parameter_count(d.model.config);
  d.parameters -= buffer_count(d.model.config);
  require(d.parameters == expected, "{}: holds {} weights, but the config of the model needs {}", file.path(),
          d.parameters, expected);
}

Description describe(const std::string& folder) {
  Description d{.folder = folder, .model = open_model_folder(folder)};
  count_weights(d);
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_regular_file())
      d.files.emplace_back(entry.path().filename(), static_cast<int64_t>(entry.file_size()));
  std::sort(d.files.begin(), d.files.end());
  for (const std::string& step : read_provenance(folder)) d.history.push_back(ordered_json::parse(step));
  return d;
}

std::string bytes_text(int64_t bytes) {
  const double size = static_cast<double>(bytes);
  if (bytes < 1000) return fmt::format("{} B", bytes);
  return bytes < 1'000'000 ? fmt::format("{:.1f} kB", size / 1e3) : fmt::format("{:.1f} MB", size / 1e6);
}

std::string layers_text(const ModelConfig& c) {
  if (!c.has_decoder())
    return fmt::format("{}, d_model {}, d_ff {}, {} of d_k {} and d_v {}",
                       counted(c.encoder_layers, "encoder layer"), c.d_model, c.d_ff, counted(c.heads, "head"),
                       c.key_width(), c.value_width());
  const std::string encoder = c.has_encoder() ? fmt::format("{} encoder and ", c.encoder_layers) : "";
  return fmt::format("{}{}, d_model {}, d_ff {}, {} of d_k {} and d_v {}", encoder,
                     counted(c.decoder_layers, "decoder layer"), c.d_model, c.d_ff, counted(c.heads, "head"),
                     c.key_width(), c.value_width());
}

/// What differs from the paper's architecture, besides sizes: "norm rms, positions rotary".
std::string variant_text(const Architecture& architecture) {
  const std::set<std::string> shown{"d_model",
                                    "heads",
                                    "d_k",
                                    "d_v",
                                    "d_ff",
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

std::string embeddings_text(const ModelConfig& c) {
  if (c.reads_images())
    return fmt::format("of patches of {0} x {0} pixels, one every {1} pixels: {2} of an image{3}",
                       c.image.patch, c.image.step(), c.image.patches(),
                       !c.has_decoder()    ? ""
                       : c.shares_output() ? "; one matrix for target and output"
                                           : "; separate matrices for target and output");
  if (c.head != HeadKind::vocabulary) return "of the source alone";
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
      break;
  }
  return "separate matrices for source, target and output";
}

std::string tokenizer_text(const Tokenizer& tokenizer) {
  return fmt::format("{} tokens, {}, {}", tokenizer.vocab_size(), name_of_enum(tokenizer.kind()),
                     tokenizer.hash());
}

std::string search_text(const GenerationConfig& rules) {
  std::string score = "not divided by length";
  if (rules.normalization == ScoreNormalization::length)
    score = fmt::format("divided by n^{}", rules.length_penalty);
  if (rules.normalization == ScoreNormalization::gnmt)
    score = fmt::format("divided by ((5 + n) / 6)^{}", rules.length_penalty);
  return fmt::format("beam size {}, scores {}, at most {} * source + {} tokens, until {}", rules.beam_size,
                     score, rules.length_factor, rules.length_offset, name_of_enum(rules.stopping_criterion));
}

/// How a language model reads and generates text.
std::string reading_text(const ModelConfig& c) {
  const std::string window = c.context_tokens > 0 ? counted(c.context_tokens, "token") : "any number of tokens";
  return fmt::format("{} at once; a text is a {}", window, name_of_enum(c.text_unit));
}

std::string images_text(const ModelConfig& c) {
  return fmt::format("images of {}", ImageSize{c.image.height, c.image.width, c.image.channels}.describe());
}

/// What a classifier reads and predicts.
std::string classes_text(const ModelConfig& c) {
  constexpr size_t most = 10;
  std::vector<std::string> labels(c.labels.begin(),
                                  c.labels.begin() + std::min<ptrdiff_t>(most, std::ssize(c.labels)));
  if (c.labels.size() > most) labels.emplace_back("...");
  const std::string what = c.reads_images()
                               ? images_text(c)
                               : fmt::format("texts of at most {}", counted(c.context_tokens, "token"));
  return fmt::format("{} as one of {}: {} (pooling {})", what, counted(c.labels.size(), "label"), join(labels),
                     name_of_enum(c.pooling));
}

/// How a model that answers questions reads texts.
std::string answers_text(const ModelConfig& c) {
  return fmt::format("questions about texts, read in windows of {}, one every {}; answers of at most {}",
                     counted(c.context_tokens, "token"), c.answers.stride,
                     counted(c.answers.max_tokens, "token"));
}

std::vector<std::string> language_tokens(const Tokenizers& tokenizers) {
  return tokenizers.source ? tokenizers.source->language_tokens() : std::vector<std::string>();
}

std::string as_text(const Description& d) {
  const ModelConfig& config = d.model.config;
  const Tokenizers& tokenizers = d.model.tokenizers;
  std::string text;
  const auto line = [&](std::string_view name, const std::string& value) {
    text += fmt::format("{:<12} {}\n", name, value);
  };
  line("model", d.folder);
  line("layers", layers_text(config));
  line("embeddings", embeddings_text(config));
  line("variant", variant_text(config));
  line("parameters",
       fmt::format("{} ({:.1f} million), {}", d.parameters, static_cast<double>(d.parameters) / 1e6, d.dtype));
  const bool is_translation = config.has_encoder() && config.has_decoder() && !config.reads_images();
  if (tokenizers.source == nullptr) {
    line("tokenizer", "none");
  } else if (tokenizers.joint) {
    line("tokenizer", tokenizer_text(*tokenizers.source) + (is_translation ? ", joint" : ""));
  } else {
    line("source", tokenizer_text(*tokenizers.source));
    line("target", tokenizer_text(*tokenizers.target));
  }
  if (const std::vector<std::string> languages = language_tokens(tokenizers); !languages.empty())
    line("languages", join(languages, " "));
  if (!config.source_language.empty() && !config.target_language.empty())
    line("translates", fmt::format("{} to {}", config.source_language, config.target_language));
  if (!config.has_encoder() && config.has_decoder()) line("reads", reading_text(config));
  if (config.has_encoder() && config.has_decoder()) line("search", search_text(config.generation));
  if (is_translation)
    line("aligns", fmt::format("words by decoder layer {} of 0 to {}", config.alignment_layer(),
                               config.decoder_layers - 1));
  if (config.head == HeadKind::classes) line("classifies", classes_text(config));
  if (config.head == HeadKind::span) line("answers", answers_text(config));
  if (config.captions_images()) line("captions", images_text(config));
  std::string_view event = "history";
  for (const std::string& step : describe_provenance(d.folder)) line(std::exchange(event, ""), step);
  std::string_view name = "files";
  for (const auto& [file, bytes] : d.files) line(std::exchange(name, ""), file + ", " + bytes_text(bytes));
  return text;
}

/// null for a model that reads images.
ordered_json tokenizer_json(const std::shared_ptr<const Tokenizer>& tokenizer) {
  if (tokenizer == nullptr) return nullptr;
  return {{"kind", name_of_enum(tokenizer->kind())},
          {"symbols", tokenizer->vocab_size()},
          {"hash", tokenizer->hash()}};
}

std::string as_json(const Description& d) {
  const Tokenizers& tokenizers = d.model.tokenizers;
  ordered_json object{{"model", d.folder},
                      {"parameters", d.parameters},
                      {"dtype", d.dtype},
                      {"tokenizers",
                       {{"joint", tokenizers.joint},
                        {"source", tokenizer_json(tokenizers.source)},
                        {"target", tokenizer_json(tokenizers.target)}}},
                      {"languages", language_tokens(tokenizers)},
                      {"config", ordered_json::parse(to_json(write_options(d.model.config)))}};
  object["history"] = d.history;
  for (const auto& [file, bytes] : d.files) object["files"][file] = bytes;
  return object.dump(2) + "\n";
}

void run(const InfoSettings& settings) {
  const Description description = describe(settings.model);
  TextOutput output("-");
  output.write(settings.json ? as_json(description) : as_text(description));
  output.close();
}

}  // namespace

void add_info(CLI::App& app) {
  const auto settings = std::make_shared<InfoSettings>();
  CLI::App& command =
      *app.add_subcommand("info", "Show a model's sizes, vocabularies, generation settings and provenance");
  add_model_argument(command, settings->model);
  command.add_flag("--json", settings->json, "print this information and the whole config as JSON");
  command.footer("Example:\n  sixfold info run/model");
  command.callback([settings] { run(*settings); });
}

}  // namespace sixfold::cli
