#include "data/sequence_store.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/hash.h"
#include "base/join.h"
#include "base/json.h"

namespace sixfold {
namespace {

constexpr const char* record_file = "/texts.json";

const char* name_of_part(bool validation) { return validation ? "validation" : "training"; }

std::string hash_of_ids(const std::string& folder, bool validation) {
  const std::string base = folder + "/" + name_of_part(validation);
  return hash_hex(stamp_of(base + ".ids").hash + stamp_of(base + ".offsets").hash);
}

/// Encodes the files of one part into `folder`.
SequenceStoreRecord::Part encode_part(const std::string& folder, const std::vector<std::string>& files,
                                      bool validation, const Tokenizer* tokenizer,
                                      const SequenceStoreOptions& options, const EncodeFiles& encode) {
  SequenceStoreRecord::Part part;
  part.files = stamps_of(single_files(files));
  SequenceWriter writer(folder, name_of_part(validation));
  SequenceSink sink(writer, part, tokenizer, options.stop);
  part.bytes = encode(files, sink);
  writer.commit();
  const bool has_text = tokenizer != nullptr;
  require(has_text ? part.tokens > 0 : part.documents > 0, "{}: there is no {}", join(files),
          has_text ? "text" : "data");
  part.hash = hash_of_ids(folder, validation);
  return part;
}

void require_hash(const SequenceStoreRecord::Part& part, const std::string& expected, bool validation) {
  if (expected.empty() || part.hash == expected) return;
  throw_input_error(
      "{}: is not the {} data that the run began with (the hash of its ids is {}, that of the run is {}), and "
      "the encoded data is missing; restore the file, or start a new run",
      part.files[0].path, name_of_part(validation), part.hash, expected);
}

nlohmann::ordered_json to_json(const SequenceStoreRecord::Part& part) {
  nlohmann::ordered_json json{{"documents", part.documents},
                              {"tokens", part.tokens},
                              {"bytes", part.bytes},
                              {"unknown", part.unknown},
                              {"hash", part.hash}};
  json["files"] = nlohmann::ordered_json::parse(to_json_text(part.files));
  return json;
}

SequenceStoreRecord::Part parse_part(const nlohmann::json& json, const std::string& place) {
  const JsonObject object(json, place);
  SequenceStoreRecord::Part part;
  object.read("documents", part.documents);
  object.read("tokens", part.tokens);
  object.read("bytes", part.bytes);
  object.read("unknown", part.unknown);
  object.read("hash", part.hash);
  part.files = parse_file_stamps(object.at("files").dump(), place);
  return part;
}

}  // namespace

void SequenceSink::append(std::span<const int32_t> tokens) {
  throw_if_stopped(stop_);
  writer_.append(tokens);
  if (tokenizer_) part_.unknown += tokenizer_->count_unknown(tokens);
  part_.tokens += std::ssize(tokens);
}

void SequenceSink::append_numbers(std::span<const int32_t> numbers) {
  throw_if_stopped(stop_);
  writer_.append(numbers);
}

void SequenceSink::end() {
  writer_.end();
  ++part_.documents;
}

std::vector<CorpusFiles> single_files(const std::vector<std::string>& paths) {
  std::vector<CorpusFiles> texts;
  for (const std::string& path : paths) texts.push_back({.source = {}, .target = {}, .tsv = path});
  return texts;
}

bool is_sequence_store_file(std::string_view name) {
  for (const char* known :
       {"training.ids", "training.offsets", "validation.ids", "validation.offsets", "texts.json"})
    if (name == known) return true;
  return is_tokenizer_file(name);
}

SequenceStoreRecord write_sequence_store(const std::string& folder, const DataFiles& files,
                                         const Tokenizers& tokenizers, const SequenceStoreOptions& options,
                                         const EncodeFiles& encode) {
  require_regular_files(single_files(files.training));
  require_regular_files(single_files(files.validation));
  SequenceStoreRecord record{.settings = options.settings, .names = options.names, .tokenizer = {}};
  if (tokenizers.source) record.tokenizer = tokenizers.source->hash();
  AtomicDirectory whole(folder, is_sequence_store_file);
  record.training = encode_part(whole.path(), files.training, false, tokenizers.source.get(), options, encode);
  require_hash(record.training, options.expected_training, false);
  if (!files.validation.empty()) {
    record.validation =
        encode_part(whole.path(), files.validation, true, tokenizers.source.get(), options, encode);
    require_hash(record.validation, options.expected_validation, true);
  }
  if (tokenizers.source) save_tokenizers(tokenizers, whole.path());
  nlohmann::ordered_json json{{"format_version", 1}, {"settings", record.settings}};
  if (!record.names.empty()) json["names"] = record.names;
  json["tokenizer"] = record.tokenizer;
  json["training"] = to_json(record.training);
  json["validation"] = to_json(record.validation);
  write_file_atomically(whole.path() + record_file, json.dump(1) + "\n");
  whole.commit();
  return record;
}

SequenceStoreRecord read_sequence_store_record(const std::string& folder) {
  const std::string path = folder + record_file;
  return parse_sequence_store_record(read_regular_file(path), path);
}

bool has_sequence_store_record(const std::string& folder) {
  return std::filesystem::exists(folder + record_file);
}

SequenceStoreRecord parse_sequence_store_record(const std::string& text, const std::string& path) {
  const auto json = parse_json(text, path);
  const std::string place = path + ": is damaged; remove the folder, and it will be created again";
  const JsonObject object(json, place);
  int64_t version = 0;
  object.read("format_version", version);
  require(version == 1,
          "{}: was written by another version of Sixfold; remove the folder, and it will be created again",
          path);
  SequenceStoreRecord record;
  object.read("settings", record.settings);
  if (object.has("names")) object.read("names", record.names);
  object.read("tokenizer", record.tokenizer);
  record.training = parse_part(object.at("training"), place);
  record.validation = parse_part(object.at("validation"), place);
  return record;
}

void verify_sequence_store(const std::string& folder, const SequenceStoreRecord& record) {
  const auto check = [&](const std::string& now, const std::string& then) {
    require(now == then,
            "{}: is damaged (the hash of a part is {}, but was {}); remove it, and it will be created again",
            folder, now, then);
  };
  check(hash_of_ids(folder, false), record.training.hash);
  if (!record.validation.hash.empty()) check(hash_of_ids(folder, true), record.validation.hash);
  if (!record.tokenizer.empty()) check(load_tokenizers(folder).source->hash(), record.tokenizer);
}

IdSequences map_sequences(const std::string& folder, bool validation) {
  const std::string base = folder + "/" + name_of_part(validation);
  return IdSequences::map(base + ".ids", base + ".offsets");
}

}  // namespace sixfold
