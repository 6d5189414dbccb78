#include "tasks/kit/text_data.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/plural.h"
#include "data/check/checks.h"
#include "model_folder/binding.h"
#include "model_folder/require_model_folder.h"

namespace sixfold {
namespace {

Tokenizers tokenizers_of(const TaskStart& start, const TextRequest& request) {
  if (!request.tokenizer) return {};
  const std::string& folder = start.model.empty() ? request.tokenizers_from : start.model;
  if (folder.empty()) return make_tokenizer(*request.tokenizer, request.training_text(), request.side);
  Tokenizers tokenizers = load_text_tokenizers(folder);
  if (!tokenizers.joint) tokenizers = {tokenizers.source, tokenizers.source, true};
  return tokenizers;
}

/// Describes everything that determines the contents of the store besides the text itself: the settings, and
/// the hash of a given tokenizer.
std::string settings_of(const TaskStart& start, const TextRequest& request) {
  if (!request.tokenizer) return request.settings;
  std::string given;
  TokenizerOptions trained = *request.tokenizer;
  if (!request.tokenizers_from.empty() || !trained.source.empty()) {
    given = tokenizers_of(start, request).source->hash();
    trained = {};
  }
  return fmt::format("{}, {}tokenizer {} {}", request.settings,
                     request.side == TextSide::exact ? "" : "white space folded, ", given,
                     nlohmann::json::parse(to_json(write_options(trained))).dump());
}

/// Whether the store already holds the text of this run.
bool is_stored(const std::optional<SequenceStoreRecord>& record, const TaskStart& start,
               const TextRequest& request, const std::string& settings) {
  if (!record) return false;
  const auto same = [](const std::vector<FileStamp>& recorded, const std::vector<std::string>& files) {
    return same_contents(recorded, stamps_of(single_files(files)));
  };
  const DataFiles& files = request.files;
  if (!start.resumed)
    return record->settings == settings && same(record->training.files, files.training) &&
           same(record->validation.files, files.validation);
  require(
      record->training.hash == start.resumed->training && record->validation.hash == start.resumed->validation,
      "{}: is not the data that the run was trained on. Restore the files in data.train and data.valid and "
      "remove the folder; it is then created again",
      encoded_data_of(start));
  for (const auto& [part, names] :
       {std::pair(&record->training, &files.training), {&record->validation, &files.validation}})
    for (const std::string& change : changed_files(single_files(*names), part->files))
      log_warning("{}; the run goes on with the stored data", change);
  return true;
}

void describe(const char* name, const SequenceStoreRecord::Part& part, bool has_text) {
  if (!has_text) return log_info("{} data: {}", name, counted(part.documents, "sample"));
  if (part.unknown > 0)
    log_warning("{} text: {} of {} are not in the vocabulary; the model can't tell their texts apart", name,
                part.unknown, counted(part.tokens, "token"));
  log_info("{} text: {}, {}, {} bytes", name, counted(part.documents, "text"), counted(part.tokens, "token"),
           part.bytes);
}

StoredText encode_text(const TaskStart& start, const TextRequest& request, const std::string& settings) {
  require_regular_files(single_files(request.files.training));
  StoredText text{.tokenizers = tokenizers_of(start, request), .record = {}};
  SequenceStoreOptions store_options{.settings = settings, .stop = start.stop};
  if (request.names) store_options.names = request.names();
  if (start.resumed) store_options.expected_training = start.resumed->training;
  if (start.resumed) store_options.expected_validation = start.resumed->validation;
  text.record = write_sequence_store(encoded_data_of(start), request.files, text.tokenizers, store_options,
                                     request.encode(text.tokenizers, store_options.names));
  return text;
}

}  // namespace

StoredText read_stored_text(const TaskStart& start, const TextRequest& request) {
  if (!start.model.empty()) require_model_folder(start.model);
  const std::string store = encoded_data_of(start);
  std::optional<SequenceStoreRecord> record;
  if (has_sequence_store_record(store)) record = read_sequence_store_record(store);
  const std::string settings = settings_of(start, request);
  StoredText text;
  if (is_stored(record, start, request, settings)) {
    verify_sequence_store(store, *record);
    text = {request.tokenizer ? load_tokenizers(store, request.side) : Tokenizers(), *record};
  } else {
    text = encode_text(start, request, settings);
  }
  trim_memory();
  const bool has_text = request.tokenizer.has_value();
  describe("training", text.record.training, has_text);
  if (text.record.validation.documents > 0) describe("validation", text.record.validation, has_text);
  if (has_text) log_info("vocabulary: {}", counted(text.tokenizers.source->vocab_size(), "token"));
  return text;
}

StoredText read_stored_documents(const TaskStart& start, const TextDataOptions& data,
                                 const TokenizerOptions& tokenizer, const std::string& tokenizers_from,
                                 TextSide side) {
  const auto training_text = [&]() -> TextReader {
    return [&](const auto& use) {
      DocumentReader reader(data.train, data.unit, data.invalid_utf8);
      std::string line;
      for (DocumentReader::Event event; (event = reader.next(line)) != DocumentReader::Event::end;) {
        throw_if_stopped(start.stop);
        if (event == DocumentReader::Event::line) use(line);
      }
    };
  };
  const auto encode = [&](const Tokenizers& with, const auto&) -> EncodeFiles {
    return [&, with](const std::vector<std::string>& files, SequenceSink& sink) {
      DocumentReader reader(files, data.unit, data.invalid_utf8);
      encode_documents(
          reader, data.unit, side == TextSide::exact ? *with.target : *with.source, start.threads,
          [&](std::span<const int32_t> ids) { sink.append(ids); }, [&] { sink.end(); });
      return reader.bytes();
    };
  };
  // Only SentencePiece encodes the exact side differently. The stores of other tokenizers remain valid.
  const bool keeps_spaces =
      side == TextSide::exact && (!tokenizers_from.empty() || tokenizer.kind == TokenizerKind::sentencepiece);
  return read_stored_text(
      start, {.files = {data.train, data.valid},
              .tokenizer = tokenizer,
              .tokenizers_from = tokenizers_from,
              .side = side,
              .settings = fmt::format("invalid_utf8 {}, unit {}{}", name_of_enum(data.invalid_utf8),
                                      name_of_enum(data.unit), keeps_spaces ? ", spaces kept" : ""),
              .training_text = training_text,
              .encode = encode});
}

std::vector<Finding> check_documents(const TextDataOptions& data, const std::atomic<int>* stop) {
  return check_text({.train = data.train,
                     .valid = data.valid,
                     .test = data.test,
                     .invalid = data.invalid_utf8,
                     .stop = stop});
}

std::string history_of(const SequenceStoreRecord& record) {
  nlohmann::ordered_json text;
  text["texts"] = record.training.documents;
  for (const FileStamp& file : record.training.files)
    text["text"].push_back({{"path", file.path}, {"bytes", file.bytes}, {"hash", file.hash}});
  return text.dump();
}

}  // namespace sixfold
