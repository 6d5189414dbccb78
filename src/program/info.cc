#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/join.h"
#include "base/json.h"
#include "base/memory.h"
#include "formats/safetensors.h"
#include "model/describe.h"
#include "model/int8.h"
#include "model/transformer.h"
#include "model_folder/config_file.h"
#include "model_folder/provenance.h"
#include "program/commands.h"
#include "program/kit/model_folder.h"
#include "program/kit/text_io.h"
#include "tasks/tasks.h"
#include "tasks/translation/settings.h"

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
  AdapterConfig adapters;
  int64_t parameters = 0;
  std::string dtype;                                   ///< "F32", or several types
  std::vector<std::pair<std::string, int64_t>> files;  ///< name and size in bytes
  std::vector<ordered_json> history;
};

/// Counts the weights in the file itself, without the buffers that it also contains.
void count_weights(Description& d) {
  const SafetensorsFile file = SafetensorsFile::open(fs::path(d.folder) / "model.safetensors");
  int64_t unknown = 0;  // weights of 4 bits at the ends of rows, which may be there or not
  for (const std::string& name : file.names()) {
    if (is_scales(name)) continue;
    const TensorInfo& tensor = file.at(name);
    const bool in_four_bits = tensor.dtype == DType::u8;
    const auto elements = static_cast<int64_t>(tensor.bytes.size() / size_of(tensor.dtype));
    d.parameters += in_four_bits ? 2 * elements : elements;
    if (in_four_bits && !tensor.shape.empty()) unknown += tensor.shape[0];
    const std::string dtype(in_four_bits ? "4 bits" : name_of(tensor.dtype));
    if (d.dtype.find(dtype) == d.dtype.npos) d.dtype += (d.dtype.empty() ? "" : ", ") + dtype;
  }
  const int64_t expected = parameter_count(d.model.config);
  d.parameters -= buffer_count(d.model.config);
  const bool fits = d.parameters >= expected && d.parameters - unknown <= expected;
  require(fits || d.adapters.rank > 0, "{}: holds {} weights, but the config of the model needs {}",
          file.path(), d.parameters, expected);
  d.parameters = expected;  // without adapters; the file of some has only these
}

Description describe(const std::string& folder) {
  Description d{.folder = folder, .model = load_model_folder(folder), .adapters = load_adapters(folder)};
  count_weights(d);
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_regular_file())
      d.files.emplace_back(entry.path().filename(), static_cast<int64_t>(entry.file_size()));
  std::sort(d.files.begin(), d.files.end());
  for (const std::string& step : read_provenance(folder)) d.history.push_back(ordered_json::parse(step));
  return d;
}

std::string tokenizer_text(const Tokenizer& tokenizer) {
  return fmt::format("{} tokens, {}, {}", tokenizer.vocab_size(), name_of_enum(tokenizer.kind()),
                     tokenizer.hash());
}

/// The tokens that select a language, or the codes of languages that have tokens.
std::vector<std::string> language_tokens(const Tokenizers& tokenizers, const ModelConfig& config) {
  if (!tokenizers.source) return {};
  std::vector<std::string> languages = tokenizers.source->language_tokens();
  if (config.task == TranslationSettings::task)
    for (const auto& [code, id] : languages_of(settings_of<TranslationSettings>(config), *tokenizers.source))
      languages.push_back(code);
  return languages;
}

std::string as_text(const Description& d, Tasks tasks) {
  const ModelConfig& config = d.model.config;
  const Tokenizers& tokenizers = d.model.tokenizers;
  std::string text;
  const auto line = [&](std::string_view name, const std::string& value) {
    text += fmt::format("{:<12} {}\n", name, value);
  };
  const TaskEntry* const task = find_task(config.task, tasks);
  line("model", d.folder);
  line("task", task ? fmt::format("{}: {}, for 'sixfold {}'", task->name, task->purpose, task->command)
                    : config.task + ", which this program does not know");
  line("layers", describe_layers(config));
  line("embeddings", describe_embeddings(config));
  line("variant", describe_variant(config));
  line("parameters",
       fmt::format("{} ({:.1f} million), {}", d.parameters, static_cast<double>(d.parameters) / 1e6, d.dtype));
  if (d.adapters.rank > 0)
    line("adapters",
         fmt::format(
             "rank {}, factor {:g}, of {}{}", d.adapters.rank, d.adapters.scale(),
             d.adapters.projections.empty() ? "all linear maps of the layers" : join(d.adapters.projections),
             d.adapters.base.empty() ? ""
                                     : "; the other weights are those of " + d.adapters.base +
                                           (fs::is_directory(d.adapters.base) ? "" : ", which is missing")));
  if (tokenizers.source == nullptr) {
    line("tokenizer", "none");
  } else if (tokenizers.joint) {
    line("tokenizer", tokenizer_text(*tokenizers.source) + (config.has_two_texts() ? ", joint" : ""));
  } else {
    line("source", tokenizer_text(*tokenizers.source));
    line("target", tokenizer_text(*tokenizers.target));
  }
  if (const std::vector<std::string> languages = language_tokens(tokenizers, config); !languages.empty())
    line("languages", join(languages, " "));
  if (task) task->describe(config, line);
  std::string_view event = "history";
  for (const std::string& step : describe_provenance(d.folder)) line(std::exchange(event, ""), step);
  std::string_view name = "files";
  for (const auto& [file, bytes] : d.files)
    line(std::exchange(name, ""), file + ", " + bytes_text(static_cast<double>(bytes)));
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
  ordered_json object{
      {"model", d.folder},
      {"parameters", d.parameters},
      {"dtype", d.dtype},
      {"adapters",
       d.adapters.rank == 0 ? ordered_json() : ordered_json::parse(to_json(write_options(d.adapters)))},
      {"tokenizers",
       {{"joint", tokenizers.joint},
        {"source", tokenizer_json(tokenizers.source)},
        {"target", tokenizer_json(tokenizers.target)}}},
      {"languages", language_tokens(tokenizers, d.model.config)},
      {"config", ordered_json::parse(to_json(config_tree(d.model.config)))}};
  object["history"] = d.history;
  for (const auto& [file, bytes] : d.files) object["files"][file] = bytes;
  return object.dump(2) + "\n";
}

void run(const InfoSettings& settings, Tasks tasks) {
  const Description description = describe(settings.model);
  TextOutput output("-");
  output.write(settings.json ? as_json(description) : as_text(description, tasks));
  output.close();
}

}  // namespace

void add_info(CLI::App& app, Tasks tasks) {
  const auto settings = std::make_shared<InfoSettings>();
  CLI::App& command =
      *app.add_subcommand("info", "Show a model's sizes, vocabularies, generation settings and provenance");
  add_model_argument(command, settings->model);
  command.add_flag("--json", settings->json, "print this information and the whole config as JSON");
  command.footer("Example:\n  sixfold info run/model");
  command.callback([settings, tasks] { run(*settings, tasks); });
}

}  // namespace sixfold::cli
