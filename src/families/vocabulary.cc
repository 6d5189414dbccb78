#include "families/vocabulary.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"

namespace sixfold {
namespace {

using Entries = std::vector<std::pair<std::string, int64_t>>;

/// Reads the map of a YAML vocabulary from the events of the parser.
class VocabularyBuilder : public YAML::EventHandler {
 public:
  VocabularyBuilder(Entries& entries, const std::string& path) : entries_(entries), path_(path) {}

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { fail(mark); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { fail(mark); }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    fail(mark);
  }
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    if (started_) fail(mark);
    started_ = true;
  }
  void OnMapEnd() override {}
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t, const std::string& text) override {
    if (!started_) fail(mark);
    if (!piece_) return void(piece_ = text);
    int64_t id = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
    if (error != std::errc() || end != text.data() + text.size()) fail(mark);
    entries_.emplace_back(*std::exchange(piece_, std::nullopt), id);
  }

 private:
  [[noreturn]] void fail(const YAML::Mark& mark) const {
    throw_input_error("{}:{}: expected a map of pieces to ids", path_, mark.line + 1);
  }

  Entries& entries_;
  const std::string& path_;
  bool started_ = false;
  std::optional<std::string> piece_;
};

Entries read_yaml(const std::string& text, const std::string& path) {
  Entries entries;
  try {
    std::istringstream stream(text);
    VocabularyBuilder builder(entries, path);
    YAML::Parser(stream).HandleNextDocument(builder);
  } catch (const YAML::Exception& error) {
    throw_input_error("{}:{}: {}", path, error.mark.line + 1, error.msg);
  }
  return entries;
}

Entries read_json(const std::string& text, const std::string& path) {
  Entries entries;
  const auto json = parse_json(text, path);
  require(json.is_object(), "{}: expected a map of pieces to ids", path);
  for (const auto& [piece, id] : json.items())
    entries.emplace_back(piece, whole_number(id, fmt::format("{}: the id of '{}'", path, piece), 0,
                                             std::numeric_limits<int32_t>::max()));
  return entries;
}

}  // namespace

std::vector<std::string> parse_vocabulary(const std::string& text, const std::string& path) {
  constexpr size_t max_bytes = size_t{1} << 26;
  require(text.size() <= max_bytes, "{}: has {} bytes, which is too large for a vocabulary", path, text.size());
  const Entries entries = path.ends_with(".json") ? read_json(text, path) : read_yaml(text, path);
  require(!entries.empty(), "{}: the vocabulary is empty", path);
  std::vector<std::string> pieces(entries.size());
  std::vector<bool> seen(entries.size());
  for (const auto& [piece, id] : entries) {
    require(id >= 0 && id < static_cast<int64_t>(entries.size()) && !seen[static_cast<size_t>(id)],
            "{}: '{}' has the id {}, but {} pieces must have the ids 0 to {}, each once", path, piece, id,
            entries.size(), entries.size() - 1);
    seen[static_cast<size_t>(id)] = true;
    pieces[static_cast<size_t>(id)] = piece;
  }
  return pieces;
}

std::vector<std::string> read_vocabulary(const std::string& path) {
  return parse_vocabulary(read_file(path), path);
}

std::string vocabulary_json(const std::vector<std::string>& pieces) {
  using nlohmann::json;
  std::string text = "{";
  for (size_t id = 0; id < pieces.size(); ++id)
    text += fmt::format("{}\n  {}: {}", id == 0 ? "" : ",",
                        json(pieces[id]).dump(-1, ' ', false, json::error_handler_t::replace), id);
  return text + "\n}\n";
}

std::vector<std::string> resized_vocabulary(std::vector<std::string> vocabulary, int64_t size) {
  for (auto id = static_cast<int64_t>(vocabulary.size()); id < size; ++id)
    vocabulary.push_back(fmt::format("<unused_{}>", id));
  vocabulary.resize(static_cast<size_t>(size));
  return vocabulary;
}

Tokenizers make_tokenizer_pair(std::shared_ptr<const Tokenizer> source,
                               std::shared_ptr<const Tokenizer> target) {
  const bool joint = source->hash() == target->hash();
  return {std::move(source), std::move(target), joint};
}

}  // namespace sixfold
