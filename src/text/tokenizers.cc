#include "text/tokenizers.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "text/characters.h"
#include "text/sentence_piece.h"
#include "text/subword_trainer.h"
#include "text/tokenizer_json.h"
#include "text/utf8.h"
#include "text/whitespace.h"

namespace sixfold {
namespace {

/// The extension of a tokenizer's file, and the kind of its tokenizer.
struct FileKind {
  std::string_view extension;
  TokenizerKind kind;
};
constexpr FileKind file_kinds[] = {
    {".spm", TokenizerKind::sentencepiece},     {".vocab", TokenizerKind::whitespace},
    {".characters", TokenizerKind::characters}, {".bytes", TokenizerKind::bytes},
    {".json", TokenizerKind::tokenizer_json},   {".hf", TokenizerKind::tokenizer_json},  // with settings
    {".bpe", TokenizerKind::tokenizer_json},  // with settings, as versions up to 0.2 wrote them
};

const FileKind* file_kind(std::string_view extension) {
  const auto found = std::ranges::find(file_kinds, extension, &FileKind::extension);
  return found == std::end(file_kinds) ? nullptr : found;
}

std::string_view extension(const Tokenizer& tokenizer) {
  if (tokenizer.kind() == TokenizerKind::tokenizer_json && has_settings(tokenizer.serialized())) return ".hf";
  return std::ranges::find(file_kinds, tokenizer.kind(), &FileKind::kind)->extension;
}

/// The kind of the tokenizers that are made for a kind in the options.
TokenizerKind stored_kind(TokenizerKind kind) {
  const bool is_json = kind == TokenizerKind::byte_pairs || kind == TokenizerKind::wordpiece;
  return is_json ? TokenizerKind::tokenizer_json : kind;
}

std::shared_ptr<const Tokenizer> load(TokenizerKind kind, const std::string& bytes, const std::string& origin,
                                      TextSide side) {
  switch (kind) {
    case TokenizerKind::sentencepiece:
      return load_sentence_piece(bytes, origin, side);
    case TokenizerKind::whitespace:
      return load_whitespace(bytes, origin);
    case TokenizerKind::characters:
      return load_characters(bytes, origin);
    case TokenizerKind::bytes:
      return load_bytes(bytes, origin);
    case TokenizerKind::byte_pairs:
    case TokenizerKind::wordpiece:
    case TokenizerKind::tokenizer_json:
      return load_tokenizer_json(bytes, origin);
  }
  throw_unknown("kind of tokenizer", kind);
}

// Sources and targets are read differently, so one SentencePiece file makes two tokenizers.
Tokenizers load_joint(TokenizerKind kind, const std::string& bytes, const std::string& origin,
                      TextSide target) {
  const TextSide sides[] = {target == TextSide::exact ? target : TextSide::source, target};
  if (kind == TokenizerKind::sentencepiece) {
    const auto both = load_sentence_piece(bytes, origin, sides);
    return {both[0], both[1], true};
  }
  return {load(kind, bytes, origin, sides[0]), load(kind, bytes, origin, sides[1]), true};
}

Tokenizers load_separate(TokenizerKind source_kind, const std::string& source, TokenizerKind target_kind,
                         const std::string& target) {
  return {load(source_kind, read_regular_file(source), source, TextSide::source),
          load(target_kind, read_regular_file(target), target, TextSide::target), false};
}

/// Refuses a file whose name is that of another kind of tokenizer.
void require_kind(const TokenizerOptions& options, const std::string& file) {
  const FileKind* const named = file_kind(std::filesystem::path(file).extension().string());
  require(!named || named->kind == stored_kind(options.kind),
          "{}: is a tokenizer of the kind {}, but tokenizer.kind is {}; change one of them", file,
          named ? name_of_enum(named->kind) : "", name_of_enum(options.kind));
}

Tokenizers load_given(const TokenizerOptions& options, TextSide target) {
  require_kind(options, options.source);
  require_kind(options, options.target);
  if (options.joint) {
    require(!options.source.empty() && (options.target.empty() || options.target == options.source),
            "tokenizer.joint is true, but tokenizer.target is given; give only tokenizer.source, or set "
            "tokenizer.joint to false");
    return load_joint(options.kind, read_regular_file(options.source), options.source, target);
  }
  require(!options.source.empty() && !options.target.empty(),
          "only one of tokenizer.source and tokenizer.target is given; give both, or neither to train them");
  return load_separate(options.kind, options.source, options.kind, options.target);
}

std::string train(const TokenizerOptions& options, const std::vector<TrainingText>& texts) {
  std::vector<TextReader> readers;
  for (const TrainingText& text : texts) readers.push_back(text.sentences);
  switch (options.kind) {
    case TokenizerKind::sentencepiece:
      return train_sentence_piece(options, texts);
    case TokenizerKind::whitespace:
      return build_whitespace_vocabulary(options, readers);
    case TokenizerKind::characters:
      return collect_characters(options, readers);
    case TokenizerKind::bytes:
      return std::string(byte_tokenizer_file);
    case TokenizerKind::byte_pairs:
      return train_byte_pairs(options, readers);
    case TokenizerKind::wordpiece:
      return train_word_pieces(options, readers);
    case TokenizerKind::tokenizer_json:
      throw_input_error(
          "tokenizer.kind: tokenizer_json is that of a given file and can't be trained; give tokenizer.source, "
          "start from a model (start.model), or choose another kind, such as byte_pairs or wordpiece");
  }
  throw_unknown("kind of tokenizer", options.kind);
}

// The tokenizer file in `folder` with that stem, or an empty path.
std::filesystem::path find_file(const std::string& folder, const std::string& stem) {
  std::filesystem::path found;
  for (const FileKind& kind : file_kinds) {
    const auto path = std::filesystem::path(folder) / (stem + std::string(kind.extension));
    std::error_code unknown;  // a file that is not accessible counts as missing
    if (!std::filesystem::exists(path, unknown)) continue;
    require(found.empty(), "{}: {} and {} both exist; remove the one that does not belong to the model", folder,
            found.filename().string(), path.filename().string());
    found = path;
  }
  return found;
}

TokenizerKind kind_of(const std::filesystem::path& path) { return file_kind(path.extension().string())->kind; }

void save(const Tokenizer& tokenizer, const std::string& folder, const std::string& stem) {
  const auto path = std::filesystem::path(folder) / (stem + std::string(extension(tokenizer)));
  write_file_atomically(path.string(), tokenizer.serialized());
}

}  // namespace

void validate(const TokenizerOptions& options) {
  if (!options.source.empty() || !options.target.empty()) return;
  const std::vector<std::string>& symbols = options.user_defined_symbols;
  require(symbols.empty() || options.kind == TokenizerKind::sentencepiece ||
              options.kind == TokenizerKind::whitespace,
          "tokenizer.user_defined_symbols: a tokenizer of {} can't have them; remove them",
          name_of_enum(options.kind));
  for (size_t i = 0; i < symbols.size(); ++i) {
    const std::string& symbol = symbols[i];
    const bool plain =
        !symbol.empty() && !first_invalid_utf8(symbol) && symbol.find("\u2581") == symbol.npos &&
        read_text(symbol, TextSide::source) == symbol &&
        std::none_of(symbol.begin(), symbol.end(), [](char c) { return (c >= 0 && c <= ' ') || c == 0x7F; });
    require(plain,
            "tokenizer.user_defined_symbols: '{}' is empty, contains a space, a control character or an "
            "invisible one, "
            "or is not in the normalization form C; remove it",
            symbol);
    require(symbol != "<unk>" && symbol != "<s>" && symbol != "</s>",
            "tokenizer.user_defined_symbols: {} is a special token, which every vocabulary has; remove it",
            symbol);
    require(std::count(symbols.begin(), symbols.begin() + i, symbol) == 0,
            "tokenizer.user_defined_symbols: '{}' is listed twice; remove one", symbol);
  }
  const int size = options.vocab_size;
  require(options.kind != TokenizerKind::sentencepiece || (size > 3 && size <= 1'000'000),
          "tokenizer.vocab_size is {}; it must be from 4 to 1,000,000 for SentencePiece", size);
  require(options.kind != TokenizerKind::characters || size == 0 || size > 4,
          "tokenizer.vocab_size is {}, but there are already 3 special tokens and the line feed; increase it",
          size);
  const Normalization source = options.normalization, target = options.target_normalization;
  require(!options.joint || target == Normalization::identity || target == source,
          "tokenizer.target_normalization is {}, but a joint vocabulary can only normalize targets as it does "
          "sources; set it to identity or {}, or set tokenizer.joint to false",
          name_of_enum(target), name_of_enum(source));
}

Tokenizers make_tokenizers(const TokenizerOptions& options, std::span<const std::string> source,
                           std::span<const std::string> target) {
  return make_tokenizers(options, text_reader(source), text_reader(target));
}

Tokenizers make_tokenizers(const TokenizerOptions& options, const TextReader& source_text,
                           const TextReader& target_text) {
  if (!options.source.empty() || !options.target.empty()) return load_given(options, TextSide::target);
  validate(options);
  const TrainingText source{source_text, TextSide::source, options.normalization},
      target{target_text, TextSide::target, options.target_normalization};
  if (options.joint)
    return load_joint(options.kind, train(options, {source, target}), "the trained tokenizer", target.side);
  return {load(options.kind, train(options, {source}), "the trained source tokenizer", source.side),
          load(options.kind, train(options, {target}), "the trained target tokenizer", target.side), false};
}

Tokenizers make_tokenizer(const TokenizerOptions& options, const TextReader& text, TextSide side) {
  const TextSide target = side == TextSide::exact ? side : TextSide::target;
  if (!options.source.empty() || !options.target.empty()) return load_given(options, target);
  validate(options);
  return load_joint(options.kind, train(options, {{text, side, options.normalization}}),
                    "the trained tokenizer", target);
}

void save_tokenizers(const Tokenizers& tokenizers, const std::string& folder) {
  if (tokenizers.joint) return save(*tokenizers.source, folder, "tokenizer");
  save(*tokenizers.source, folder, "source");
  save(*tokenizers.target, folder, "target");
}

bool is_tokenizer_file(std::string_view name) {
  const size_t dot = name.rfind('.');
  if (dot == name.npos) return false;
  const std::string_view stem = name.substr(0, dot), end = name.substr(dot);
  return (stem == "tokenizer" || stem == "source" || stem == "target") && file_kind(end) != nullptr;
}

Tokenizers load_tokenizers(const std::string& folder, TextSide target_side) {
  const auto joint = find_file(folder, "tokenizer");
  const auto source = find_file(folder, "source"), target = find_file(folder, "target");
  if (joint.empty()) {
    require(!source.empty() || !target.empty(),
            "{}: has no tokenizer (tokenizer.spm, or source.spm and target.spm); give a model folder", folder);
    require(!source.empty(), "{}: has target{} but no tokenizer for the source; copy the whole model folder",
            folder, target.extension().string());
    require(!target.empty(), "{}: has source{} but no tokenizer for the target; copy the whole model folder",
            folder, source.extension().string());
    return load_separate(kind_of(source), source.string(), kind_of(target), target.string());
  }
  require(source.empty() && target.empty(),
          "{}: has {} and also a tokenizer of one side; remove the files that do not belong to the model",
          folder, joint.filename().string());
  return load_joint(kind_of(joint), read_regular_file(joint.string()), joint.string(), target_side);
}

}  // namespace sixfold
