#include "text/sentence_piece.h"

#include <sentencepiece_processor.h>

#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "base/protobuf.h"
#include "text/piece_processor.h"
#include "text/sentence_piece_check.h"
#include "text/utf8.h"

namespace sixfold {
namespace {

// A normalizer_spec (field 3) in which only remove_extra_whitespaces (field 4) is set, to false. Protobuf
// merges a field that is appended to a message with the existing one.
constexpr std::string_view keep_spaces("\x1a\x02\x20\x00", 4);

// Fields that SentencePiece reserves for extensions.
constexpr uint64_t vocabulary_field = 200, whole_texts_field = 201, imported_field = 202,
                   plain_targets_field = 203, control_field = 204;
constexpr uint64_t first_extension = vocabulary_field, last_extension = control_field;

constexpr std::string_view word_mark = PieceProcessor::word_mark;

bool has_field(std::string_view model, uint64_t number) {
  while (const auto field = protobuf::take_field(model))
    if (field->number == number) return true;
  return false;
}

/// Whether the model was imported from another program, as every model that has a separate vocabulary or reads
/// whole texts.
bool is_imported(std::string_view model) {
  return has_field(model, imported_field) || has_field(model, vocabulary_field) ||
         has_field(model, whole_texts_field);
}

/// The piece that takes the place of an unknown token. It begins with the sign for a space if the vocabulary
/// has no separate piece for a space.
std::string unknown_piece(const std::string& text, bool has_space) {
  return has_space ? text : std::string(word_mark) + text;
}

using Library = sentencepiece::SentencePieceProcessor;

std::shared_ptr<const Library> load_library(std::string_view plain_model, const std::string& origin) {
  auto library = std::make_shared<Library>();
  std::string reason;
  try {
    reason = library->LoadFromSerializedProto(plain_model).ToString();
  } catch (const std::exception& error) {  // thrown by the library's trie builder
    reason = error.what();
  }
  require(reason == "OK", "{}: SentencePiece can't load the model: {}", origin, reason);
  return library;
}

PieceProcessor processor_of(const std::string& model, TextSide side, std::shared_ptr<const Library> library) {
  return {is_imported(model) ? TextSide::exact : side, std::move(library)};
}

class SentencePieceTokenizer : public Tokenizer {
 public:
  SentencePieceTokenizer(std::string model, const std::string& origin, PieceProcessor processor)
      : model_(std::move(model)),
        whole_texts_(has_field(model_, whole_texts_field)),
        processor_(std::move(processor)) {
    unk_ = processor_.sentence_piece().unk_id();
    bos_ = processor_.sentence_piece().bos_id();
    eos_ = processor_.sentence_piece().eos_id();
    require(eos_ >= 0, "{}: the SentencePiece model has no end token; train it with --eos_id", origin);
    if (!whole_texts_) find_line_end();
  }

  std::vector<int32_t> encode(std::string_view text) const override { return processor_.encode(text); }
  std::vector<int32_t> encode_text(std::string_view text) const override {
    return whole_texts_ ? encode(text) : Tokenizer::encode_text(text);
  }
  bool encodes_whole_texts() const override { return whole_texts_; }

  std::string decode_tokens(std::span<const int32_t> ids, const std::string* unknown) const override {
    std::string text;
    if (!unknown) {
      PieceProcessor::check(
          processor_.sentence_piece().Decode(std::vector<int>(ids.begin(), ids.end()), &text));
      return text;
    }
    const auto& library = processor_.sentence_piece();
    const std::string word = unknown_piece(*unknown, library.PieceToId(word_mark) != unk_);
    std::vector<std::string> pieces;
    for (const int32_t id : ids) pieces.push_back(id == unk_ ? word : token_text(id));
    PieceProcessor::check(library.Decode(pieces, &text));
    return std::string(trim_spaces(without_space_marks(text)));
  }

  std::vector<LocatedToken> locate_tokens(std::string_view text) const override {
    std::vector<LocatedToken> tokens;
    for (const LocatedPiece& piece : processor_.locate(text)) tokens.push_back(piece.token);
    return tokens;
  }

  int vocab_size() const override { return processor_.sentence_piece().GetPieceSize(); }

  std::string token_text(int32_t id) const override {
    require(id >= 0 && id < vocab_size(), "id {} is outside the vocabulary, which has {} tokens", id,
            vocab_size());
    return processor_.sentence_piece().IdToPiece(id);
  }

  TokenizerKind kind() const override { return TokenizerKind::sentencepiece; }
  const std::string& serialized() const override { return model_; }

 private:
  std::string model_;
  bool whole_texts_;
  PieceProcessor processor_;
};

/// The texts of the fields with this number that `add_vocabulary` appended to a model.
std::vector<std::string> added_texts(std::string_view model, uint64_t number) {
  std::vector<std::string> texts;
  while (const auto field = protobuf::take_field(model))
    if (field->number == number) texts.emplace_back(field->bytes);
  return texts;
}

/// SentencePiece segments the text; a separate vocabulary maps the pieces to ids.
class RenumberedTokenizer : public Tokenizer {
 public:
  RenumberedTokenizer(std::string model, std::vector<std::string> vocabulary, const std::string& origin,
                      TextSide side, PieceProcessor processor)
      : model_(std::move(model)),
        vocabulary_(std::move(vocabulary)),
        drops_unknown_(side != TextSide::source),
        processor_(std::move(processor)) {
    for (size_t i = 0; i < vocabulary_.size(); ++i)
      require(ids_.emplace(vocabulary_[i], static_cast<int32_t>(i)).second,
              "{}: the vocabulary has '{}' twice; remove one", origin, vocabulary_[i]);
    unk_ = id_of("<unk>"), eos_ = id_of("</s>"), bos_ = id_of("<s>");
    require(unk_ >= 0 && eos_ >= 0, "{}: the vocabulary lacks {}", origin, unk_ < 0 ? "<unk>" : "</s>");
    controls_ = {eos_, bos_, id_of("<pad>")};
    for (const std::string& control : added_texts(model_, control_field)) controls_.insert(id_of(control));
  }

  std::vector<int32_t> encode(std::string_view text) const override {
    std::vector<int32_t> ids;
    if (const size_t token = language_token_length(text)) {
      ids.push_back(id_or_unknown(text.substr(0, token)));
      text.remove_prefix(token);
    }
    for (const std::string& piece : processor_.split(text)) ids.push_back(text_id(piece));
    return ids;
  }

  std::vector<LocatedToken> locate_tokens(std::string_view text) const override {
    std::vector<LocatedToken> tokens;
    const size_t language = language_token_length(text);
    if (language > 0) tokens.push_back({id_or_unknown(text.substr(0, language)), 0, language});
    for (const auto& [piece, place] : processor_.locate(text.substr(language)))
      tokens.push_back({text_id(piece), language + place.begin, language + place.end});
    return tokens;
  }

  /// Decodes as MarianTokenizer of transformers does with skip_special_tokens.
  std::string decode_tokens(std::span<const int32_t> ids, const std::string* unknown) const override {
    const std::string word = unknown ? unknown_piece(*unknown, id_of(word_mark) >= 0) : "";
    std::vector<std::string> pieces;
    for (const int32_t id : ids)
      if (unknown && id == unk_)
        pieces.push_back(word);
      else if (!is_control(id) && !(drops_unknown_ && id == unk_))
        pieces.push_back(token_text(id));
    std::string text;
    PieceProcessor::check(processor_.sentence_piece().Decode(pieces, &text));
    // SentencePiece leaves its space signs in pieces that it does not know (those of the other side's model).
    return std::string(trim_spaces(without_space_marks(text)));
  }

  int vocab_size() const override { return static_cast<int>(vocabulary_.size()); }

  std::string token_text(int32_t id) const override {
    require(id >= 0 && id < vocab_size(), "id {} is outside the vocabulary, which has {} tokens", id,
            vocab_size());
    return vocabulary_[static_cast<size_t>(id)];
  }

  TokenizerKind kind() const override { return TokenizerKind::sentencepiece; }
  const std::string& serialized() const override { return model_; }

 private:
  int32_t id_of(std::string_view piece) const {
    const auto found = ids_.find(std::string(piece));
    return found == ids_.end() ? -1 : found->second;
  }
  int32_t id_or_unknown(std::string_view piece) const {
    const int32_t id = id_of(piece);
    return id < 0 ? unk_ : id;
  }
  /// The id of a piece of text, which never becomes a control token.
  int32_t text_id(std::string_view piece) const {
    return is_control(id_of(piece)) ? unk_ : id_or_unknown(piece);
  }
  bool is_control(int32_t id) const { return id >= 0 && controls_.contains(id); }

  static size_t language_token_length(std::string_view text) {
    const size_t end = text.starts_with(">>") ? text.find("<<") : text.npos;
    return end == text.npos ? 0 : end + 2;
  }

  std::string model_;
  std::vector<std::string> vocabulary_;
  std::unordered_map<std::string, int32_t> ids_;
  std::unordered_set<int32_t> controls_;
  bool drops_unknown_;  ///< whether decoding omits unknown tokens: true for targets; for sources a
                        ///< sign is kept, so that words can be counted
  PieceProcessor processor_;
};

}  // namespace

std::vector<std::shared_ptr<const Tokenizer>> load_sentence_piece(const std::string& model,
                                                                  const std::string& origin,
                                                                  std::span<const TextSide> sides) {
  check_sentence_piece_model(model, origin);
  const std::vector<std::string> vocabulary = added_texts(model, vocabulary_field);
  std::vector<std::shared_ptr<const Tokenizer>> tokenizers;
  std::string plain;
  std::shared_ptr<const Library> library;
  for (const TextSide side : sides) {
    if (std::string own = plain_model(model, side); !library || own != plain)
      library = load_library(plain = std::move(own), origin);
    PieceProcessor processor = processor_of(model, side, library);
    if (vocabulary.empty())
      tokenizers.push_back(std::make_shared<SentencePieceTokenizer>(model, origin, std::move(processor)));
    else
      tokenizers.push_back(
          std::make_shared<RenumberedTokenizer>(model, vocabulary, origin, side, std::move(processor)));
  }
  return tokenizers;
}

std::shared_ptr<const Tokenizer> load_sentence_piece(const std::string& model, const std::string& origin,
                                                     TextSide side) {
  return load_sentence_piece(model, origin, {&side, 1}).front();
}

std::string without_space_marks(std::string_view text) {
  std::string spaced;
  for (size_t mark; (mark = text.find(word_mark)) != text.npos; text.remove_prefix(mark + word_mark.size()))
    spaced.append(text.substr(0, mark)) += ' ';
  return spaced.append(text);
}

std::string mark_whole_texts(std::string model, const std::string& origin) {
  check_sentence_piece_model(model, origin);
  return model + protobuf::bytes_field(whole_texts_field, "");
}

std::string mark_imported(std::string model, const std::string& origin) {
  check_sentence_piece_model(model, origin);
  return model + protobuf::bytes_field(imported_field, "");
}

std::string mark_plain_targets(const std::string& model) {
  return protobuf::bytes_field(plain_targets_field, "") + model;
}

std::string plain_model(std::string_view model, TextSide side) {
  std::string plain;
  for (std::string_view rest = model; !rest.empty();) {
    const std::string_view before = rest;
    const auto field = protobuf::take_field(rest);
    if (field->number < first_extension || field->number > last_extension)
      plain += before.substr(0, before.size() - rest.size());
  }
  if (is_imported(model)) return plain;
  if (side == TextSide::target && has_field(model, plain_targets_field))
    plain += protobuf::bytes_field(3, protobuf::bytes_field(1, "identity") + protobuf::bytes_field(2, ""));
  if (side == TextSide::exact) plain += keep_spaces;
  return plain;
}

std::string add_vocabulary(std::string model, const std::vector<std::string>& vocabulary,
                           const std::string& origin, const std::vector<std::string>& controls) {
  check_sentence_piece_model(model, origin);
  model = plain_model(model, TextSide::source);
  for (const std::string& piece : vocabulary) model += protobuf::bytes_field(vocabulary_field, piece);
  for (const std::string& control : controls) model += protobuf::bytes_field(control_field, control);
  load_sentence_piece(model, origin, TextSide::source);  // throws if the result is not valid
  return model;
}

}  // namespace sixfold
