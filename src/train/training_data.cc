#include "train/training_data.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "data/kept_text.h"
#include "model/what_is.h"

namespace sixfold {
namespace {

/// One side of the training text, for a tokenizer to be trained on.
TextReader side_of(const std::vector<CorpusFiles>& files, const TrainOptions& options, const TextOrigin& origin,
                   bool source_side) {
  return [=, invalid = options.data.invalid_utf8, stop = origin.stop](const auto& use) {
    PairReader reader(files, invalid);
    for (std::string source, target; reader.next(source, target);) {
      if (stop && stop->load() != 0) throw Cancelled();
      use(source_side ? source : target);
    }
  };
}

Tokenizers tokenizers_of(const TrainOptions& options, const TextOrigin& origin,
                         const std::vector<CorpusFiles>& files) {
  if (!origin.tokenizers.empty()) return load_tokenizers(origin.tokenizers);
  return make_tokenizers(options.tokenizer, side_of(files, options, origin, true),
                         side_of(files, options, origin, false));
}

/// All that decides what is in the store, besides the text itself: settings, and the tokenizers where they are
/// given.
std::string settings_of(const TrainOptions& options, const TextOrigin& origin) {
  const DataOptions& data = options.data;
  std::string given;
  TokenizerOptions trained = options.tokenizer;
  if (!options.start.model.empty() || !trained.source.empty() || !trained.target.empty()) {
    const Tokenizers tokenizers = tokenizers_of(options, origin, {});
    given = tokenizers.source->hash() + " " + tokenizers.target->hash();
    trained = {};
  }
  return fmt::format("invalid_utf8 {}, max_length {}, max_ratio {}, repeats {}, tokenizers {} {}",
                     name_of_enum(data.invalid_utf8), data.max_length, data.max_ratio,
                     name_of_enum(data.repeats), given,
                     nlohmann::json::parse(to_json(write_options(trained))).dump());
}

std::optional<TokenStoreRecord> stored_text(const std::string& store) {
  if (!std::filesystem::exists(store + "/corpus.json")) return std::nullopt;
  return read_token_store_record(store);
}

void say_changes(const std::vector<CorpusFiles>& files, const std::vector<FileStamp>& recorded) {
  for (const std::string& change : changed_files(files, recorded))
    log_warning("{}; the run goes on with the text as it was", change);
}

/// Whether the store already holds what this run needs. A run that begins takes it if text and settings are the
/// same: it was stopped before its first checkpoint.
bool is_stored(const std::optional<TokenStoreRecord>& record, const TextOrigin& origin,
               const std::vector<CorpusFiles>& files, const std::string& settings) {
  if (!record) return false;
  if (!origin.resumed) return record->settings == settings && same_contents(record->files, stamps_of(files));
  require(
      record->hash == origin.resumed->corpus,
      "{}: is not the text that the run was trained on (its hash is {}, the run's {}). Put the text back as "
      "data.train, and remove the folder: it is then made anew",
      origin.store, record->hash, origin.resumed->corpus);
  say_changes(files, record->files);
  return true;
}

void read_training_text(TrainingData& result, const TrainOptions& options, const TextOrigin& origin,
                        int threads) {
  const auto files = corpus_files(options.data.train, "data.train");
  const DataOptions& data = options.data;
  require(data.weights.empty() || data.weights.size() == files.size(),
          "data.weights has {} weights for {} texts of data.train; give one for each", data.weights.size(),
          files.size());
  const auto record = stored_text(origin.store);
  const std::string settings = settings_of(options, origin);
  if (is_stored(record, origin, files, settings)) {
    verify_token_store(origin.store, *record);
    result.record = *record;
    result.tokenizers = load_tokenizers(origin.store);
  } else {
    require_regular_files(files);
    result.tokenizers = tokenizers_of(options, origin, files);
    TokenStoreOptions how{.encode = {data.max_length, data.max_ratio, threads},
                          .invalid = data.invalid_utf8,
                          .drop_repeats = data.repeats == Repeats::drop,
                          .settings = settings,
                          .stop = origin.stop};
    if (origin.resumed) how.expected_hash = origin.resumed->corpus;
    result.record = write_token_store(origin.store, files, result.tokenizers, how);
  }
  trim_memory();
  result.train = map_token_store(origin.store, data.weights);
  result.train.target_eos = result.tokenizers.target->eos();
  log_info("training text: {}; {} source and {} target tokens", result.record.report.describe(),
           result.train.source_tokens(), result.train.target_tokens());
}

KeptText validation_text(const TrainOptions& options, const TextOrigin& origin) {
  const auto files = corpus_files(options.data.valid, "data.valid");
  if (origin.resumed && std::filesystem::exists(origin.validation)) {
    KeptText kept = parse_kept_text(read_file(origin.validation), origin.validation);
    require(kept.hash() == origin.resumed->validation_text,
            "{}: is not the validation text of this run; remove it, and the run reads data.valid again",
            origin.validation);
    say_changes(files, kept.files);
    return kept;
  }
  KeptText text{stamps_of(files), read_corpus(files, options.data.invalid_utf8)};
  require(!origin.resumed || text.hash() == origin.resumed->validation_text,
          "data.valid is not the text that the run was validated on, and {} is gone; put the text back, or "
          "begin a new "
          "run",
          origin.validation);
  write_file_atomically(origin.validation, to_json_text(text));
  return text;
}

}  // namespace

TrainingData read_training_data(const TrainOptions& options, const TextOrigin& origin, int threads) {
  TrainingData result;
  if (!origin.tokenizers.empty()) require_model_folder(origin.tokenizers);
  std::optional<KeptText> valid;
  if (!options.data.valid.empty()) valid = validation_text(options, origin);
  read_training_text(result, options, origin, threads);
  if (valid) {
    Corpus& corpus = valid->corpus;
    result.valid_hash = valid->hash();
    result.valid.tokens =
        encode_corpus(corpus.text, result.tokenizers,
                      {options.data.max_length, options.data.max_ratio, threads}, corpus.report);
    log_info("validation text: {}", corpus.report.describe());
    result.valid.text = std::move(corpus.text);
  }
  const Tokenizers& t = result.tokenizers;
  log_info("vocabulary: {}", t.joint ? fmt::format("{} joint symbols", t.source->vocab_size())
                                     : fmt::format("{} source and {} target symbols", t.source->vocab_size(),
                                                   t.target->vocab_size()));
  return result;
}

}  // namespace sixfold
