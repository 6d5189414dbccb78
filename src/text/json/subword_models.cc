#include "text/json/subword_models.h"

#include <array>
#include <unordered_map>

#include "text/json/unicode_rules.h"

namespace sixfold {
namespace {

constexpr std::pair<std::string_view,
                    std::unique_ptr<const SubwordModel> (*)(const JsonStage&, const SubwordSettings&)>
    model_types[] = {
        {"BPE", make_byte_pair_model}, {"Unigram", make_unigram_model}, {"WordPiece", make_word_piece_model}};

/// The character of each byte.
const std::array<UChar32, 256>& byte_characters() {
  static const std::array<UChar32, 256> characters = [] {
    std::array<UChar32, 256> all{};
    UChar32 moved = 0x100;
    for (UChar32 byte = 0; byte < 256; ++byte) {
      const bool printable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
      all[static_cast<size_t>(byte)] = printable ? byte : moved++;
    }
    return all;
  }();
  return characters;
}

}  // namespace

std::string characters_of_bytes(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) append_character(text, byte_characters()[static_cast<unsigned char>(byte)]);
  return text;
}

std::optional<std::string> bytes_of_characters(std::string_view text) {
  static const std::vector<int> byte_of = [] {
    std::vector<int> all(0x200, -1);
    for (size_t byte = 0; byte < 256; ++byte)
      all[static_cast<size_t>(byte_characters()[byte])] = static_cast<int>(byte);
    return all;
  }();
  std::string bytes;
  for (size_t at = 0; at < text.size();) {
    const UChar32 c = next_character(text, at);
    if (c >= static_cast<UChar32>(byte_of.size()) || byte_of[static_cast<size_t>(c)] < 0) return std::nullopt;
    bytes += static_cast<char>(byte_of[static_cast<size_t>(c)]);
  }
  return bytes;
}

std::vector<VocabularyEntry> read_vocabulary_entries(const JsonStage& model) {
  std::vector<VocabularyEntry> entries;
  const nlohmann::json& vocabulary = model.at("vocab");
  if (vocabulary.is_array()) {  // Unigram: texts and scores, in the order of the ids
    for (const nlohmann::json& entry : vocabulary) {
      if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() || !entry[1].is_number())
        model.refuse("an entry of 'vocab' is not a text and a number");
      entries.push_back({static_cast<int32_t>(entries.size()), entry[0].get<std::string>()});
    }
    return entries;
  }
  if (!vocabulary.is_object()) model.refuse("'vocab' is neither an object nor a list");
  for (const auto& [text, id] : vocabulary.items())
    entries.push_back({static_cast<int32_t>(whole_number(
                           id, fmt::format("{}: the id of '{}'", model.where(), text), 0, INT32_MAX)),
                       text});
  return entries;
}

std::unique_ptr<const SubwordModel> make_subword_model(const JsonStage& json, const SubwordSettings& settings) {
  std::string type = json.type();
  if (type.empty()) type = json.has("merges") ? "BPE" : "WordPiece";  // of files that have no types
  for (const auto& [name, make] : model_types)
    if (name == type) return make(json, settings);
  json.refuse(fmt::format("the type '{}' is not supported; those that are: BPE, Unigram, WordPiece", type));
}

}  // namespace sixfold
