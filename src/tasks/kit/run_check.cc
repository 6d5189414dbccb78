#include "tasks/kit/run_check.h"

#include <fmt/format.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "backend/backend.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"
#include "data/lines.h"
#include "data/tmx.h"
#include "model/transformer.h"
#include "text/tokenizers.h"

namespace sixfold {
namespace {

/// The number of floating-point operations of the forward and backward pass for one token of a batch.
double operations_of_token(const ModelConfig& config) {
  const double d = config.d_model;
  const double embeddings = d * (config.tied_embeddings == TiedEmbeddings::none ? 3.0 : 1.0) *
                            static_cast<double>(std::max(config.source_vocab, config.target_vocab));
  const double layers = std::max(static_cast<double>(parameter_count(config)) - embeddings, d * d);
  const double output = config.decoder_layers > 0 ? d * config.target_vocab : 0;
  const bool two_stacks = config.encoder_layers > 0 && config.decoder_layers > 0;
  return 6 * (layers + output) / (two_stacks ? 2 : 1);  // a token passes through one of the stacks
}

}  // namespace

double training_rate(Precision precision) {
  const std::string bf16 = precision == Precision::fp32 ? "" : bf16_instructions();
  if (bf16.find("AMX") != bf16.npos) return 300e9;
  if (!bf16.empty()) return 150e9;
  return 50e9;
}

double forecast_updates(const ModelConfig& config, const TrainOptions& options) {
  const int threads = options.train.threads > 0 ? options.train.threads : available_threads();
  const double rate = training_rate(options.train.precision) * threads;
  const double tokens = static_cast<double>(options.data.batch_tokens) * options.train.accumulate;
  return 60 * options.train.minutes * rate / (operations_of_token(config) * tokens);
}

size_t count_distinct_characters(const std::vector<std::string>& files, const TokenizerOptions& options) {
  constexpr size_t max_bytes = 32'000'000;
  std::set<UChar32> characters[2];  // of sources and targets, if they have vocabularies of their own
  for (size_t i = 0; i < files.size(); ++i) {
    std::error_code missing;  // reported when the file is read
    if (is_tmx(files[i]) || !std::filesystem::is_regular_file(files[i], missing)) continue;
    if (!options.joint && files[i].find(".tsv") != std::string::npos) return 0;  // it has both sides
    auto& seen = characters[options.joint ? 0 : i % 2];
    int64_t lines = 0;
    size_t bytes = 0;
    try {
      LineReader reader(files[i]);
      for (std::string line; bytes < max_bytes && reader.next(line); bytes += line.size()) {
        if (options.max_sentences > 0 && ++lines > options.max_sentences) return 0;
        for (size_t at = 0; at < line.size();) {
          UChar32 c = 0;
          U8_NEXT(line.data(), at, line.size(), c);
          if (c > ' ') seen.insert(c);
        }
      }
    } catch (const Error&) {
      return 0;
    }
  }
  return std::max(characters[0].size(), characters[1].size());
}

void check_vocabulary(const TokenizerOptions& options, const std::vector<std::string>& files,
                      std::vector<Finding>& findings) {
  // Normalization makes one of some characters, such as those of full width.
  constexpr double kept = 0.8;
  if (options.kind != TokenizerKind::sentencepiece || !options.source.empty() || options.vocab_size <= 0 ||
      options.character_coverage < 1)
    return;
  const size_t characters = count_distinct_characters(files, options);
  if (options.vocab_size >= kept * static_cast<double>(characters)) return;
  findings.push_back(
      {"vocabulary",
       Severity::error,
       fmt::format("tokenizer.vocab_size: {} tokens have no place for the {} characters of the text, of which "
                   "each needs one. Raise it, or leave out rare characters (tokenizer.character_coverage: "
                   "0.9995)",
                   options.vocab_size, characters),
       {}});
}

int expected_vocabulary(const TokenizerOptions& options) {
  constexpr int default_size = 8000;
  if (options.source.empty() && options.target.empty())
    return options.vocab_size > 0 ? options.vocab_size : default_size;
  try {
    return make_tokenizers(options, std::span<const std::string>(), {}).target->vocab_size();
  } catch (const Error&) {  // training reports the error
    return default_size;
  }
}

void check_resources(const ModelConfig& config, const TrainOptions& options, const std::string& folder,
                     std::vector<Finding>& findings) {
  constexpr double min_updates = 300;
  if (options.train.minutes > 0 && options.start.model.empty()) {
    const double updates = forecast_updates(config, options);
    if (updates < min_updates)
      findings.push_back(
          {"too-few-updates",
           Severity::warning,
           fmt::format(
               "train.minutes: {:g} is enough for about {:.0f} updates of this model with batches of {} "
               "tokens; a model learns little in fewer than {:.0f}. Make the model smaller "
               "(model.d_model, the numbers of layers), make data.batch_tokens smaller, or give it "
               "more time",
               options.train.minutes, updates, options.data.batch_tokens, min_updates),
           {}});
  }
  const double weights = static_cast<double>(parameter_count(config));
  const OptimizerOptions& optimizer = options.optimizer;
  const int moments = optimizer.kind == OptimizerKind::adam ? 2 : optimizer.momentum > 0 ? 1 : 0;
  const double bytes_of_state = 4.0 * (moments + (options.train.ema_decay > 0 ? 1 : 0));
  const double in_memory = weights * (8 + bytes_of_state);  // weights and gradients are not in the state
  const auto available = static_cast<double>(available_memory());
  if (available > 0 && in_memory > available)
    findings.push_back({"memory",
                        Severity::error,
                        fmt::format("model: its weights, their gradients and the optimizer need {}, but {} of "
                                    "memory are free. Make the model smaller",
                                    bytes_text(in_memory), bytes_text(available)),
                        {}});
  std::error_code error;
  const auto space = std::filesystem::space(folder, error);
  const double on_disk = weights * ((4 + bytes_of_state) * options.checkpoint.keep_last +
                                    (options.checkpoint.keep_best ? 4 : 0) + 4);
  if (!error && static_cast<double>(space.available) < on_disk)
    findings.push_back(
        {"disk",
         Severity::error,
         fmt::format("checkpoint: the checkpoints and the model need {}, but {} "
                     "are free on the disk of {}. "
                     "Free some, write the run elsewhere, or keep fewer (checkpoint.keep_last)",
                     bytes_text(on_disk), bytes_text(static_cast<double>(space.available)), folder),
         {}});
}

}  // namespace sixfold
