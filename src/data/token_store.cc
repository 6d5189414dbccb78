#include "data/token_store.h"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/plural.h"
#include "data/repeats.h"
#include "data/sequence_writer.h"
#include "text/words.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;

IdSequences map_side(const std::string& folder, const std::string& side) {
  return IdSequences::map(folder + "/" + side + ".ids", folder + "/" + side + ".offsets");
}

std::string weights_of(const std::string& folder) { return folder + "/pair-weights.f32"; }

bool has_links(const std::string& folder) { return fs::exists(folder + "/links.ids"); }

/// Maps the files that `CorpusWriter` wrote.
TokenCorpus map_corpus(const std::string& folder) {
  TokenCorpus corpus;
  corpus.source = map_side(folder, "source");
  corpus.target = map_side(folder, "target");
  if (fs::exists(weights_of(folder))) corpus.weights = PairWeights(weights_of(folder));
  if (has_links(folder)) corpus.links = map_side(folder, "links");
  return corpus;
}

/// The weight of a pair and the links between its words.
struct PairAnnotations {
  float weight = 1;
  std::vector<int32_t> links = {};
};

/// Writes encoded pairs into a folder.
class CorpusWriter {
 public:
  CorpusWriter(const std::string& folder, bool weighted, bool linked)
      : source_(folder, "source"), target_(folder, "target") {
    if (weighted) weights_.emplace(weights_of(folder));
    if (linked) links_.emplace(folder, "links");
  }
  void add(std::span<const int32_t> source, std::span<const int32_t> target, float weight,
           std::span<const int32_t> links) {
    source_.add(source);
    target_.add(target);
    if (weights_) weights_->write(std::as_bytes(std::span(&weight, 1)));
    if (links_) links_->add(links);
  }
  void commit() {
    source_.commit();
    target_.commit();
    if (weights_) weights_->commit();
    if (links_) links_->commit();
  }

 private:
  SequenceWriter source_, target_;
  std::optional<AtomicFile> weights_;
  std::optional<SequenceWriter> links_;
};

bool any_has(const std::vector<CorpusFiles>& texts, std::string CorpusFiles::*file) {
  return std::ranges::any_of(texts, [&](const CorpusFiles& text) { return !(text.*file).empty(); });
}

/// Encodes all pairs and counts those of each text.
void encode_all(const std::string& folder, const std::vector<CorpusFiles>& texts, const Tokenizers& tokenizers,
                const TokenStoreOptions& options, RepeatFinder& repeats, TokenStoreRecord& record) {
  CorpusWriter writer(folder, any_has(texts, &CorpusFiles::weights), any_has(texts, &CorpusFiles::alignments));
  record.pairs.assign(texts.size(), 0);
  ReadingProgress progress("encoding the text");
  for (size_t i = 0; i < texts.size(); ++i) {
    PairReader reader({texts[i]}, options.invalid, options.augmentation);
    std::deque<PairAnnotations>
        annotations;  // of the pairs that were read and not yet encoded, from pair `first` on
    int64_t first = 0;
    const auto next = [&](std::string& source, std::string& target) {
      throw_if_stopped(options.stop);
      progress.update([&] { return reader.fraction_read(); });
      const bool more = reader.next(source, target);
      if (!more) return false;
      annotations.push_back({.weight = reader.weight()});
      std::vector<int32_t>& links = annotations.back().links;
      if (!reader.links().empty())
        links = {static_cast<int32_t>(count_words(source)), static_cast<int32_t>(count_words(target))};
      for (const auto& [from, to] : reader.links()) links.insert(links.end(), {from, to});
      source = encoded_source(texts[i], source);
      return true;
    };
    encode_pairs(next, tokenizers, options.encode, record.report, [&](int64_t pair, auto source, auto target) {
      for (; first < pair; ++first) annotations.pop_front();
      writer.add(source, target, annotations.front().weight, annotations.front().links);
      repeats.add(hash_of(std::as_bytes(source), hash_of(std::as_bytes(target))));
      ++record.pairs[i];
    });
    record.report.add_reading(reader.report());
  }
  writer.commit();
}

bool equal(const TokenCorpus& corpus, int64_t a, int64_t b) {
  return std::ranges::equal(corpus.source[a], corpus.source[b]) &&
         std::ranges::equal(corpus.target[a], corpus.target[b]);
}

/// Writes the corpus again without repeated pairs.
void drop(const std::string& folder, const std::vector<bool>& repeated, TokenStoreRecord& record) {
  const TokenCorpus all = map_corpus(folder);
  const bool linked = all.links.size() > 0;
  CorpusWriter writer(folder, static_cast<bool>(all.weights), linked);
  int64_t pair = 0;
  for (int64_t& pairs : record.pairs) {
    const int64_t end = pair + pairs;
    for (pairs = 0; pair < end; ++pair) {
      if (repeated[static_cast<size_t>(pair)]) continue;
      writer.add(all.source[pair], all.target[pair], all.weights ? all.weights[pair] : 1,
                 linked ? all.links[pair] : std::span<const int32_t>());
      ++pairs;
    }
  }
  record.report.repeated = record.report.repeats;
  writer.commit();
}

std::string hash_of_ids(const std::string& folder) {
  std::string hashes;
  for (const char* name : {"source.ids", "source.offsets", "target.ids", "target.offsets"})
    hashes += stamp_of(folder + "/" + name).hash;
  if (fs::exists(weights_of(folder))) hashes += stamp_of(weights_of(folder)).hash;
  if (has_links(folder))
    for (const char* name : {"links.ids", "links.offsets"}) hashes += stamp_of(folder + "/" + name).hash;
  return hash_hex(hashes);
}

std::string to_json_text(const TokenStoreRecord& record) {
  nlohmann::ordered_json json{
      {"format_version", 2}, {"hash", record.hash}, {"settings", record.settings}, {"pairs", record.pairs}};
  json["source_tokenizer"] = record.source_tokenizer;
  json["target_tokenizer"] = record.target_tokenizer;
  json["files"] = nlohmann::ordered_json::parse(to_json_text(record.files));
  json["report"] = nlohmann::ordered_json::parse(to_json_text(record.report));
  return json.dump(1) + "\n";
}

}  // namespace

TokenStoreRecord write_token_store(const std::string& folder, const std::vector<CorpusFiles>& texts,
                                   const Tokenizers& tokenizers, const TokenStoreOptions& options) {
  TokenStoreRecord record;
  record.files = stamps_of(texts);
  record.settings = options.settings;
  record.source_tokenizer = tokenizers.source->hash();
  record.target_tokenizer = tokenizers.target->hash();
  AtomicDirectory whole(folder, is_token_store_file);
  RepeatFinder repeats(whole.path());
  encode_all(whole.path(), texts, tokenizers, options, repeats, record);
  require(record.report.kept() > 0, "{}{}: no pair of the corpus is left ({})", name_of(texts[0]),
          texts.size() > 1 ? ", ..." : "", record.report.describe());
  const TokenCorpus corpus = map_corpus(whole.path());
  const auto repeated = repeats.find([&](int64_t a, int64_t b) { return equal(corpus, a, b); }, options.stop);
  record.report.repeats = std::count(repeated.begin(), repeated.end(), true);
  if (options.drop_repeats && record.report.repeats > 0) drop(whole.path(), repeated, record);
  record.hash = hash_of_ids(whole.path());
  require(
      options.expected_hash.empty() || record.hash == options.expected_hash,
      "{}{}: is not the text that the run began with (the hash of its ids is {}, that of the run is {}), and "
      "{} no longer exists; restore the text, or start a new run",
      name_of(texts[0]), texts.size() > 1 ? ", ..." : "", record.hash, options.expected_hash, folder);
  save_tokenizers(tokenizers, whole.path());
  write_file_atomically(whole.path() + "/corpus.json", to_json_text(record));
  whole.commit();
  return record;
}

TokenStoreRecord read_token_store_record(const std::string& folder) {
  const std::string path = folder + "/corpus.json";
  const auto json = parse_json(read_regular_file(path), path);
  const std::string place = path + ": is damaged; remove the folder, and it will be created again";
  const JsonObject object(json, place);
  TokenStoreRecord record;
  int64_t version = 0;
  object.read("format_version", version);
  require(version == 2,
          "{}: was written by another version of Sixfold; remove the folder, and it will be created again",
          path);
  object.read("hash", record.hash);
  object.read("settings", record.settings);
  object.read("pairs", record.pairs);
  if (object.has("source_tokenizer")) object.read("source_tokenizer", record.source_tokenizer);
  if (object.has("target_tokenizer")) object.read("target_tokenizer", record.target_tokenizer);
  record.files = parse_file_stamps(object.at("files").dump(), place);
  record.report = parse_corpus_report(object.at("report").dump(), path);
  return record;
}

void verify_token_store(const std::string& folder, const TokenStoreRecord& record) {
  const std::string now = hash_of_ids(folder);
  require(now == record.hash,
          "{}: is damaged (the hash of its ids is {}, but was {}); remove it, and it will be created again",
          folder, now, record.hash);
}

Tokenizers load_stored_tokenizers(const std::string& folder, const TokenStoreRecord& record) {
  Tokenizers tokenizers = load_tokenizers(folder);
  const auto check = [&](const Tokenizer& tokenizer, const std::string& recorded) {
    require(
        recorded.empty() || tokenizer.hash() == recorded,
        "{}: is damaged (its ids were made by a tokenizer with the hash {}, but the one in it has {}); remove "
        "it, and it will be created again",
        folder, recorded, tokenizer.hash());
  };
  check(*tokenizers.source, record.source_tokenizer);
  check(*tokenizers.target, record.target_tokenizer);
  return tokenizers;
}

TokenCorpus map_token_store(const std::string& folder, const std::vector<double>& weights) {
  const TokenStoreRecord record = read_token_store_record(folder);
  TokenCorpus corpus = map_corpus(folder);
  require(weights.empty() || weights.size() == record.pairs.size(),
          "data.weights has {}, but there {}; give one weight for each text", counted(weights.size(), "weight"),
          record.pairs.size() == 1 ? "is 1 text" : fmt::format("are {} texts", record.pairs.size()));
  int64_t pairs = 0;
  for (size_t i = 0; i < record.pairs.size(); ++i) {
    corpus.mixture.push_back({record.pairs[i], weights.empty() ? 1 : weights[i]});
    pairs += record.pairs[i];
  }
  require(pairs == corpus.size() && pairs == corpus.target.size() &&
              (!corpus.weights || pairs == corpus.weights.size()) &&
              (corpus.links.size() == 0 || pairs == corpus.links.size()),
          "{}: is damaged; remove it, and it will be created again", folder);
  return corpus;
}

bool is_token_store_file(std::string_view name) {
  for (const char* known : {"source.ids", "source.offsets", "target.ids", "target.offsets", "corpus.json",
                            "pair-weights.f32", "links.ids", "links.offsets"})
    if (name == known) return true;
  return is_tokenizer_file(name);
}

}  // namespace sixfold
