#include "train/training_data.h"

#include "base/error.h"
#include "base/log.h"

namespace sixfold {
namespace {

/// A flat list of source, target, source, target, ... or .tsv files.
std::vector<CorpusFiles> corpus_files(const std::vector<std::string>& names, const char* key) {
  std::vector<CorpusFiles> files;
  for (size_t i = 0; i < names.size();) {
    const std::string& name = names[i];
    if (name.ends_with(".tsv") || name.ends_with(".tsv.gz")) {
      files.push_back({.tsv = name});
      ++i;
      continue;
    }
    require(i + 1 < names.size(),
            "{}: {} has no target file beside it; give source and target in turn, or .tsv files", key, name);
    files.push_back({.source = name, .target = names[i + 1]});
    i += 2;
  }
  return files;
}

}  // namespace

TrainingData read_training_data(const TrainOptions& options, const std::string& saved_tokenizers, int threads) {
  const auto train_files = corpus_files(options.data.train, "data.train");
  const auto valid_files = corpus_files(options.data.valid, "data.valid");
  Corpus train = read_corpus(train_files, options.data.invalid_utf8);
  Corpus valid = valid_files.empty() ? Corpus{} : read_corpus(valid_files, options.data.invalid_utf8);

  TrainingData data;
  data.tokenizers = saved_tokenizers.empty()
                        ? make_tokenizers(options.tokenizer, train.text.source, train.text.target)
                        : load_tokenizers(saved_tokenizers);
  data.train = encode_corpus(train.text, data.tokenizers, {options.data.max_length, threads}, train.report);
  data.train.target_start = options.model.search.decoder_start;
  log_info("training text: {}; {} source and {} target tokens", train.report.describe(),
           data.train.source_tokens(), data.train.target_tokens());
  if (!valid_files.empty()) {
    data.valid.tokens =
        encode_corpus(valid.text, data.tokenizers, {options.data.max_length, threads}, valid.report);
    data.valid.tokens.target_start = options.model.search.decoder_start;
    log_info("validation text: {}", valid.report.describe());
    data.valid.text = std::move(valid.text);
  }
  log_info("vocabulary: {}",
           data.tokenizers.joint
               ? fmt::format("{} joint symbols", data.tokenizers.source->vocab_size())
               : fmt::format("{} source and {} target symbols", data.tokenizers.source->vocab_size(),
                             data.tokenizers.target->vocab_size()));
  return data;
}

}  // namespace sixfold
