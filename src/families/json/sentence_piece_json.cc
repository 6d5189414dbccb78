#include "families/json/sentence_piece_json.h"

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>
#include <unordered_set>
#include <vector>

#include "base/error.h"
#include "base/protobuf.h"

// The fields of the model are defined in SentencePiece's sentencepiece_model.proto, the keys of the result in
// the documentation of Hugging Face's tokenizers.

namespace sixfold {
namespace {

using nlohmann::json;
using protobuf::take_field;

constexpr std::string_view line_end = "<0x0A>", word_mark = "\u2581";

enum class PieceType : uint64_t { normal = 1, unknown = 2, control = 3, user_defined = 4 };
enum class ModelKind : uint64_t { unigram = 1, bpe = 2 };

struct Piece {
  std::string text;
  float score = 0;
  PieceType type = PieceType::normal;
};

/// The pieces of a model, and its settings of normalization.
struct Model {
  std::vector<Piece> pieces;
  ModelKind kind = ModelKind::unigram;
  bool byte_fallback = false, marks_after_words = false, marks_begin = true, removes_spaces = true,
       marks_spaces = true;
  std::string_view charsmap;
};

Piece piece_of(std::string_view message) {
  Piece piece;
  while (const auto field = take_field(message)) {
    if (field->number == 1) piece.text = field->bytes;
    if (field->number == 2) piece.score = std::bit_cast<float>(static_cast<uint32_t>(field->value));
    if (field->number == 3) piece.type = static_cast<PieceType>(field->value);
  }
  return piece;
}

void read_trainer(std::string_view message, Model& model) {
  while (const auto field = take_field(message)) {
    if (field->number == 3) model.kind = static_cast<ModelKind>(field->value);
    if (field->number == 24) model.marks_after_words = field->value != 0;
    if (field->number == 35) model.byte_fallback = field->value != 0;
  }
}

void read_normalizer(std::string_view message, Model& model) {
  while (const auto field = take_field(message)) {
    if (field->number == 2) model.charsmap = field->bytes;
    if (field->number == 3) model.marks_begin = field->value != 0;
    if (field->number == 4) model.removes_spaces = field->value != 0;
    if (field->number == 5) model.marks_spaces = field->value != 0;
  }
}

Model model_of(std::string_view message) {
  Model model;
  while (const auto field = take_field(message)) {
    if (field->number == 1) model.pieces.push_back(piece_of(field->bytes));
    if (field->number == 2) read_trainer(field->bytes, model);
    if (field->number == 3) read_normalizer(field->bytes, model);
  }
  return model;
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t three = 0;
    for (size_t k = 0; k < 3; ++k)
      three = three << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    for (size_t k = 0; k < 4; ++k) text += i + k <= bytes.size() ? digits[three >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

/// The merges that lead to each piece: all pairs of pieces of which it is the concatenation. Those of pieces
/// with higher scores come first.
json merges_of(const Model& model) {
  std::unordered_set<std::string_view> known;
  std::vector<const Piece*> order;
  for (const Piece& piece : model.pieces)
    if (piece.type == PieceType::normal) {
      known.insert(piece.text);
      order.push_back(&piece);
    }
  std::ranges::stable_sort(order, [](const Piece* a, const Piece* b) { return a->score > b->score; });
  json merges = json::array();
  for (const Piece* piece : order)
    for (size_t length = 1; length < piece->text.size(); ++length) {
      const std::string_view text = piece->text, left = text.substr(0, length), right = text.substr(length);
      if (known.contains(left) && known.contains(right)) merges.push_back(json::array({left, right}));
    }
  return merges;
}

json splitting_model(const Model& model, const std::vector<std::string>& names) {
  const auto unk = static_cast<size_t>(std::ranges::find(model.pieces, PieceType::unknown, &Piece::type) -
                                       model.pieces.begin());
  json result{{"byte_fallback", model.byte_fallback}};
  if (model.kind == ModelKind::unigram) {
    result["type"] = "Unigram";
    result["unk_id"] = unk;
    for (size_t id = 0; id < names.size(); ++id)
      result["vocab"].push_back(json::array({names[id], model.pieces[id].score}));
    return result;
  }
  result["type"] = "BPE";
  result["unk_token"] = model.pieces[unk].text;
  result["fuse_unk"] = true;
  for (size_t id = 0; id < names.size(); ++id) result["vocab"][names[id]] = id;
  result["merges"] = merges_of(model);
  return result;
}

/// The tokens that are split off from a text before it is normalized.
json added_tokens_of(const Model& model, const std::vector<std::string>& names) {
  json added = json::array();
  for (size_t id = 0; id < names.size(); ++id) {
    const Piece& piece = model.pieces[id];
    const bool special = piece.type == PieceType::unknown || piece.type == PieceType::control;
    if (!special && names[id] == piece.text) continue;
    added.push_back({{"id", id},
                     {"content", names[id]},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", special}});
  }
  return added;
}

json replacement(const char* kind, std::string_view pattern, std::string_view by) {
  return {{"type", "Replace"}, {"pattern", {{kind, pattern}}}, {"content", by}};
}

json normalizer_of(const Model& model) {
  json steps = json::array();
  if (!model.charsmap.empty())
    steps.push_back({{"type", "Precompiled"}, {"precompiled_charsmap", base64(model.charsmap)}});
  if (model.removes_spaces) {
    steps.push_back(replacement("Regex", " {2,}", " "));
    steps.push_back({{"type", "Strip"}, {"strip_left", true}, {"strip_right", true}});
  }
  if (model.marks_begin) steps.push_back({{"type", "Prepend"}, {"prepend", word_mark}});
  steps.push_back(replacement("String", " ", word_mark));
  return {{"type", "Sequence"}, {"normalizers", steps}};
}

/// The mark at the beginning of a text, or of each line, is removed, since it does not stand for a space.
json decoder_of(const Model& model, bool by_lines) {
  json steps{replacement("String", word_mark, " "), {{"type", "ByteFallback"}}, {{"type", "Fuse"}}};
  if (model.marks_begin) {
    if (by_lines) steps.push_back(replacement("Regex", "(?<=\n) ", ""));
    steps.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  }
  return {{"type", "Sequence"}, {"decoders", steps}};
}

}  // namespace

json tokenizer_json_of_sentence_piece(std::string_view bytes, bool by_lines, const std::string& origin) {
  const Model model = model_of(bytes);
  const auto need = [&](bool condition, const char* reason) {
    require(condition, "{}: its SentencePiece model has no form in transformers: {}", origin, reason);
  };
  need(model.kind == ModelKind::unigram || model.kind == ModelKind::bpe, "it is neither of unigram nor of bpe");
  need(!model.marks_after_words && model.marks_spaces, "it marks spaces otherwise than before words");
  need(!by_lines || !model.removes_spaces, "it removes spaces of each line");
  need(std::ranges::count(model.pieces, PieceType::unknown, &Piece::type) == 1, "it has no unknown token");
  need(!std::ranges::count(model.pieces, PieceType::user_defined, &Piece::type),
       "it has user-defined symbols, after which a new word would begin");
  std::vector<std::string> names;
  for (const Piece& piece : model.pieces)
    names.push_back(by_lines && piece.text == line_end ? "\n" : piece.text);
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", added_tokens_of(model, names)},
          {"normalizer", normalizer_of(model)},
          {"pre_tokenizer", nullptr},
          {"post_processor", nullptr},
          {"decoder", decoder_of(model, by_lines)},
          {"model", splitting_model(model, names)}};
}

bool splits_by_lines(const json& tokenizer_json) {
  const json added = tokenizer_json.value("added_tokens", json());
  return added.is_array() && std::ranges::any_of(added, [](const json& token) {
           return token.is_object() && token.value("content", json()) == "\n";
         });
}

}  // namespace sixfold
