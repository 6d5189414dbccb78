#include "train/training_data.h"

#include <filesystem>
#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "base/join.h"
#include "base/log.h"
#include "base/memory.h"

namespace sixfold {
namespace {

/// One side of the training text, for a tokenizer to be trained on.
TextReader side_of(const std::vector<CorpusFiles>& files, InvalidUtf8 invalid, bool source_side) {
  return [=](const auto& use) {
    PairReader reader(files, invalid);
    for (std::string source, target; reader.next(source, target);) use(source_side ? source : target);
  };
}

/// All that decides what is in the store, besides the text itself.
std::string settings_of(const TrainOptions& options, const Tokenizers& tokenizers) {
  return fmt::format("{}; invalid_utf8 {}, max_length {}, max_ratio {}, repeats {}, tokenizers {} {}\n",
                     join(options.data.train, " "), name_of_enum(options.data.invalid_utf8),
                     options.data.max_length, options.data.max_ratio, name_of_enum(options.data.repeats),
                     tokenizers.source->hash(), tokenizers.target->hash());
}

/// The settings that a resumed run's store was made with; none where it is gone.
std::optional<std::string> stored_settings(const TextOrigin& origin) {
  const std::string path = origin.store + "/settings.txt";
  if (!origin.resumed || !std::filesystem::exists(path)) return std::nullopt;
  return read_file(path);
}

}  // namespace

TrainingData read_training_data(const TrainOptions& options, const TextOrigin& origin, int threads) {
  const auto train_files = corpus_files(options.data.train, "data.train");
  const auto valid_files = corpus_files(options.data.valid, "data.valid");
  const DataOptions& data = options.data;
  require(data.weights.empty() || data.weights.size() == train_files.size(),
          "data.weights has {} weights for {} texts of data.train; give one for each", data.weights.size(),
          train_files.size());
  Corpus valid = valid_files.empty() ? Corpus{} : read_corpus(valid_files, data.invalid_utf8);

  TrainingData result;
  result.tokenizers = origin.tokenizers.empty()
                          ? make_tokenizers(options.tokenizer, side_of(train_files, data.invalid_utf8, true),
                                            side_of(train_files, data.invalid_utf8, false))
                          : load_tokenizers(origin.tokenizers);
  const std::string settings = settings_of(options, result.tokenizers);
  const EncodeOptions encode{data.max_length, data.max_ratio, threads};
  const auto stored = stored_settings(origin);
  result.resettled = stored && *stored != settings;
  if (result.resettled)
    log_warning("the settings of the text are not those that the run began with: it is encoded anew");
  if (stored == settings) {
    result.record = read_token_store_record(origin.store);
    for (const std::string& change : changed_files(result.record.files))
      log_warning("{}; the run goes on with the text as it was", change);
  } else {
    result.record = write_token_store(origin.store, train_files, result.tokenizers,
                                      {encode, data.invalid_utf8, data.repeats == Repeats::drop});
    write_file_atomically(origin.store + "/settings.txt", settings);
  }
  trim_memory();
  result.train = map_token_store(origin.store, data.weights);
  result.train.target_eos = result.tokenizers.target->eos();
  log_info("training text: {}; {} source and {} target tokens", result.record.report.describe(),
           result.train.source_tokens(), result.train.target_tokens());
  if (!valid_files.empty()) {
    result.valid.tokens = encode_corpus(valid.text, result.tokenizers, encode, valid.report);
    log_info("validation text: {}", valid.report.describe());
    result.valid.text = std::move(valid.text);
  }
  const Tokenizers& t = result.tokenizers;
  log_info("vocabulary: {}", t.joint ? fmt::format("{} joint symbols", t.source->vocab_size())
                                     : fmt::format("{} source and {} target symbols", t.source->vocab_size(),
                                                   t.target->vocab_size()));
  return result;
}

}  // namespace sixfold
