#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/json/json_stage.h"
#include "text/tokenizer.h"

namespace sixfold {

/// What a model depends on besides its part of the file.
struct SubwordSettings {
  bool byte_level = false;  ///< the characters of the vocabulary are bytes
  int32_t size = 0;         ///< ids from this on are left out
  /// Whether a token is a control token, which a word never becomes.
  std::vector<bool> control = {};  ///< by id
};

/// A token of a vocabulary.
struct VocabularyEntry {
  int32_t id;
  std::string text;
};

/// The model of a tokenizer.json: segments words. Safe to share between threads.
class SubwordModel {
 public:
  virtual ~SubwordModel() = default;
  /// Appends the tokens of a word that is not empty, with their places in it.
  virtual void encode(std::string_view word, std::vector<LocatedToken>& tokens) const = 0;
  /// The id of the unknown token, or -1.
  virtual int32_t unk() const = 0;
};

/// Makes the model that a tokenizer.json describes: BPE, Unigram or WordPiece. Throws an input error that names
/// the key for what is malformed or not supported.
std::unique_ptr<const SubwordModel> make_subword_model(const JsonStage& json, const SubwordSettings& settings);

/// The tokens of the model's vocabulary, in the order of the file.
std::vector<VocabularyEntry> read_vocabulary_entries(const JsonStage& model);

/// Byte-level vocabularies write each byte as a character: printable ones of Latin-1 as themselves, the others
/// as those from U+0100 on, in the order of the bytes.
std::string characters_of_bytes(std::string_view bytes);
/// The bytes of such a text; nothing if it has a character that stands for no byte.
std::optional<std::string> bytes_of_characters(std::string_view text);

/// Make the models of each type. If the model is byte-level, words are in bytes and not in characters of bytes.
std::unique_ptr<const SubwordModel> make_byte_pair_model(const JsonStage& json,
                                                         const SubwordSettings& settings);
std::unique_ptr<const SubwordModel> make_unigram_model(const JsonStage& json, const SubwordSettings& settings);
std::unique_ptr<const SubwordModel> make_word_piece_model(const JsonStage& json,
                                                          const SubwordSettings& settings);

}  // namespace sixfold
