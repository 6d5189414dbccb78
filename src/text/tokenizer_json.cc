#include "text/tokenizer_json.h"

#include <algorithm>
#include <charconv>
#include <unordered_map>

#include "base/error.h"
#include "base/json.h"
#include "text/json/added_tokens.h"
#include "text/json/decoders.h"
#include "text/json/json_stage.h"
#include "text/json/normalizers.h"
#include "text/json/pre_tokenizers.h"
#include "text/json/subword_models.h"
#include "text/json/unicode_rules.h"
#include "text/utf8.h"

namespace sixfold {
namespace {

using nlohmann::json;

constexpr std::string_view file_mark = "sixfold tokenizer", old_file_mark = "sixfold byte pairs";

/// The usual start and end tokens, for a tokenizer.json without settings.
constexpr std::string_view usual_starts[] = {"<s>", "[CLS]", "<bos>", "<|begin_of_text|>"};
constexpr std::string_view usual_ends[] = {
    "</s>", "[SEP]", "<eos>", "<|endoftext|>", "<|end_of_text|>", "<|eot_id|>", "<|im_end|>"};

constexpr std::string_view metaspace = "\u2581";  // the Metaspace of other stages

/// The settings in the first line of a file.
TokenizerJsonSettings read_settings(std::string_view file, const std::string& origin) {
  TokenizerJsonSettings s;
  const std::string_view line = file.substr(0, file.find('\n'));
  const std::string_view mark = line.starts_with(file_mark) ? file_mark : old_file_mark;
  const char *at = line.data() + std::min(line.size(), mark.size() + 1), *end = line.data() + line.size();
  for (int* number : {&s.bos, &s.eos, &s.size}) {
    const auto [rest, fault] = std::from_chars(at, end, *number);
    require(fault == std::errc(), "{}: its first line is damaged", origin);
    at = rest < end ? rest + 1 : rest;
  }
  // Each token takes some bytes of the file, and only a few rows of an embedding have none.
  const auto max_bytes = static_cast<int64_t>(std::min<size_t>(file.size(), size_t{1} << 30));
  require(s.size > 0 && s.size <= max_bytes && s.bos >= -1 && s.bos < s.size && s.eos >= 0 && s.eos < s.size,
          "{}: its special tokens (bos {}, eos {}) are not in its vocabulary of {} tokens", origin, s.bos,
          s.eos, s.size);
  return s;
}

/// A tokenizer of stages. Special tokens are never the tokens of words.
class JsonTokenizer final : public Tokenizer {
 public:
  JsonTokenizer(std::string_view file, const std::string& origin) : serialized_(file), origin_(origin) {
    const json all = parse_json(tokenizer_json_of(file), origin);
    const JsonStage stage(all, origin);
    require(all.is_object(), "{}: expected a JSON object", origin);
    added_ = read_added_tokens(stage);
    const JsonStage model = stage.part("model");
    const std::vector<VocabularyEntry> entries = read_vocabulary_entries(model);
    set_special_ids(file, entries);
    set_tokens(entries);
    if (stage.has("normalizer")) normalizer_ = make_normalizer(stage.part("normalizer"));
    if (stage.has("pre_tokenizer")) pre_tokenizer_ = make_pre_tokenizer(stage.part("pre_tokenizer"));
    if (stage.has("decoder")) decoder_ = make_decoder(stage.part("decoder"));
    SubwordSettings settings{pre_tokenizer_ && pre_tokenizer_->is_byte_level(), vocab_size(), {}};
    for (const Token& token : tokens_) settings.control.push_back(token.control);
    model_ = make_subword_model(model, settings);
    if (model_->unk() >= 0) unk_ = model_->unk();
    const auto marks = [](const Token& token) { return token.text.starts_with(metaspace); };
    const auto is_mark = [](const Token& token) { return token.text == metaspace; };
    begins_unknown_ = std::ranges::any_of(tokens_, marks) && std::ranges::none_of(tokens_, is_mark);
    make_finders();
  }

  std::vector<int32_t> encode(std::string_view text) const override { return ids_of(text, {}); }
  std::vector<int32_t> encode_with_special_tokens(std::string_view text,
                                                  std::span<const TextRange> plain) const override {
    return ids_of(text, {true, plain});
  }
  /// Lines are not encoded on their own: words may begin with line feeds.
  std::vector<int32_t> encode_text(std::string_view text) const override { return encode(text); }
  std::string decode_text(std::span<const int32_t> ids) const override { return text_of(ids, nullptr); }
  bool encodes_whole_texts() const override { return true; }
  size_t last_cut(std::string_view text, size_t max_bytes) const override {
    if (text.empty() || !can_cut_) return 0;
    return cuts_after_letters_ ? last_end_of_letters(text, max_bytes) : last_space(text, max_bytes);
  }

  int vocab_size() const override { return static_cast<int>(tokens_.size()); }
  std::string token_text(int32_t id) const override { return at(id).text; }
  TokenizerKind kind() const override { return TokenizerKind::tokenizer_json; }
  const std::string& serialized() const override { return serialized_; }

 private:
  struct Token {
    std::string text;       ///< as the file writes it
    std::string to_decode;  ///< what the decoder is given
    bool known = false, control = false;
  };

  const Token& at(int32_t id) const {
    require(id >= 0 && id < vocab_size(), "the token id {} is not in the vocabulary of {} tokens", id,
            vocab_size());
    return tokens_[static_cast<size_t>(id)];
  }

  void set_special_ids(std::string_view file, const std::vector<VocabularyEntry>& entries) {
    TokenizerJsonSettings s;
    if (has_settings(file)) {
      s = read_settings(file, origin_);
    } else {
      s = usual_settings(entries);
    }
    bos_ = s.bos, eos_ = unk_ = s.eos;  // unless the model has an unknown token
    tokens_.resize(static_cast<size_t>(s.size));
  }

  TokenizerJsonSettings usual_settings(const std::vector<VocabularyEntry>& entries) const {
    TokenizerJsonSettings s;
    std::unordered_map<std::string_view, int32_t> ids;
    const auto add = [&](std::string_view text, int32_t id) {
      ids.emplace(text, id);
      s.size = std::max(s.size, id < INT32_MAX ? id + 1 : id);
    };
    for (const VocabularyEntry& entry : entries) add(entry.text, entry.id);
    for (const AddedToken& token : added_) add(token.text, token.id);
    require(s.size <= std::ssize(serialized_), "{}: has the id {}, but only {} bytes", origin_, s.size - 1,
            serialized_.size());
    const auto find = [&](std::span<const std::string_view> names) {
      for (const std::string_view name : names)
        if (const auto found = ids.find(name); found != ids.end()) return found->second;
      return -1;
    };
    s.bos = find(usual_starts), s.eos = find(usual_ends);
    require(s.eos >= 0,
            "{}: has none of the usual end tokens, such as </s>, [SEP] and <|endoftext|>; add one to it",
            origin_);
    return s;
  }

  /// Sets the text of a token. Tokens beyond the model's embedding are left out.
  void set_token(int32_t id, const std::string& text, bool control) {
    if (id >= vocab_size()) return;
    Token& token = tokens_[static_cast<size_t>(id)];
    require(!token.known || token.text == text, "{}: the id {} has two tokens, '{}' and '{}'", origin_, id,
            token.text, text);
    token.text = token.to_decode = text;
    token.known = true;
    token.control = token.control || control;
  }

  void set_tokens(const std::vector<VocabularyEntry>& entries) {
    std::unordered_map<std::string_view, int32_t> added;
    for (const AddedToken& token : added_) {
      require(added.emplace(token.text, token.id).second, "{}: added_tokens has '{}' twice; remove one",
              origin_, token.text);
    }
    for (const VocabularyEntry& entry : entries) {
      const auto found = added.find(entry.text);
      require(found == added.end() || found->second == entry.id,
              "{}: '{}' has two ids, {} in the vocabulary and {} in added_tokens", origin_, entry.text,
              entry.id, found == added.end() ? 0 : found->second);
      set_token(entry.id, entry.text, false);
    }
    for (const AddedToken& token : added_) set_token(token.id, token.text, token.special);
    for (size_t id = 0; id < tokens_.size(); ++id)
      if (!tokens_[id].known) tokens_[id] = {fmt::format("<unused {}>", id), "", true, true};
  }

  /// Added tokens are looked for in the text, or in the normalized text as the normalizer changes them.
  void make_finders() {
    std::vector<const AddedToken*> before, after;
    std::vector<std::string> before_texts, after_texts;
    for (const AddedToken& token : added_) {
      if (token.id >= vocab_size()) continue;
      NormalizedText text{token.text, {}};
      if (token.normalized && normalizer_) normalizer_->apply(text);
      if (token.normalized) tokens_[static_cast<size_t>(token.id)].to_decode = text.text;
      (token.normalized ? after : before).push_back(&token);
      (token.normalized ? after_texts : before_texts).push_back(text.text);
    }
    finder_ = AddedTokenFinder(before, before_texts);
    normalized_finder_ = AddedTokenFinder(after, after_texts);
    const bool finds = std::ranges::any_of(added_, [](const AddedToken& token) { return !token.special; });
    const bool takes_spaces = std::ranges::any_of(added_, [](const AddedToken& token) {
      return !token.special && (token.lstrip || token.rstrip || token.text.find(' ') != std::string::npos);
    });
    cuts_after_letters_ = pre_tokenizer_ && pre_tokenizer_->splits_after_letters() && !normalizer_ && !finds;
    can_cut_ = cuts_after_letters_ || (pre_tokenizer_ && pre_tokenizer_->splits_at_spaces() && !takes_spaces &&
                                       (!normalizer_ || normalizer_->is_local()));
  }

  /// Whether special tokens are found in a text, and the ranges in which they are not.
  struct SpecialTokens {
    bool found = false;
    std::span<const TextRange> plain = {};
  };

  std::vector<int32_t> ids_of(std::string_view text, const SpecialTokens& special) const {
    const bool is_valid = !first_invalid_utf8(text);
    require(is_valid || special.plain.empty(), "a text with ranges of plain text is not valid UTF-8");
    const std::string valid = is_valid ? std::string() : replace_invalid_utf8(text);
    std::vector<int32_t> ids;
    for (const LocatedToken& token : encode_parts(is_valid ? text : valid, false, special))
      ids.push_back(token.id);
    return ids;
  }

  std::vector<LocatedToken> locate_tokens(std::string_view text) const override {
    return encode_parts(text, true, {});
  }

  /// The tokens of well-formed text. Their positions are valid only if `traced`.
  std::vector<LocatedToken> encode_parts(std::string_view text, bool traced,
                                         const SpecialTokens& special) const {
    std::vector<LocatedToken> tokens;
    traced = traced || (normalizer_ && pre_tokenizer_ && pre_tokenizer_->looks_at_beginning()) ||
             (!special.plain.empty() && !normalized_finder_.is_empty());
    for (const TextPart& part : finder_.parts(text, special.found, special.plain)) {
      if (part.token) {
        tokens.push_back({part.token->id, part.begin, part.end});
        continue;
      }
      NormalizedText read{std::string(text.substr(part.begin, part.end - part.begin)), {}};
      for (size_t i = part.begin; traced && i < part.end; ++i) read.origins.push_back({i, i + 1});
      if (normalizer_) normalizer_->apply(read);
      const std::vector<TextRange> plain = plain_parts(read, special.plain);
      encode_normalized(std::move(read), part.begin == 0, {special.found, plain}, tokens);
    }
    return tokens;
  }

  /// The parts of a traced text that come from the ranges `plain` of the original.
  std::vector<TextRange> plain_parts(const NormalizedText& read, std::span<const TextRange> plain) const {
    std::vector<TextRange> parts;
    if (normalized_finder_.is_empty()) return parts;
    for (size_t i = 0; i < read.origins.size() && !plain.empty(); ++i) {
      const TextRange& origin = read.origins[i];
      while (!plain.empty() && plain.front().end <= origin.begin) plain = plain.subspan(1);
      if (plain.empty() || plain.front().begin >= origin.end) continue;
      if (!parts.empty() && parts.back().end == i)
        ++parts.back().end;
      else
        parts.push_back({i, i + 1});
    }
    return parts;
  }

  void encode_normalized(NormalizedText read, bool begins, const SpecialTokens& special,
                         std::vector<LocatedToken>& tokens) const {
    if (normalized_finder_.is_empty()) return encode_words(std::move(read), begins, tokens);
    for (const TextPart& part : normalized_finder_.parts(read.text, special.found, special.plain)) {
      NormalizedText inner{read.text.substr(part.begin, part.end - part.begin), {}};
      if (!read.origins.empty())
        inner.origins.assign(read.origins.begin() + static_cast<std::ptrdiff_t>(part.begin),
                             read.origins.begin() + static_cast<std::ptrdiff_t>(part.end));
      if (part.token)
        tokens.push_back(located({part.token->id, 0, inner.text.size()}, inner));
      else
        encode_words(std::move(inner), begins && part.begin == 0, tokens);
    }
  }

  void encode_words(NormalizedText read, bool begins, std::vector<LocatedToken>& tokens) const {
    if (read.text.empty()) return;
    const size_t size = read.text.size();
    begins = begins && (read.origins.empty() || read.origins[0].begin == 0);
    SplitText split{std::move(read), {{0, size}}, begins};
    if (pre_tokenizer_) pre_tokenizer_->apply(split);
    const std::string_view text = split.text.text;
    for (const TextRange& word : split.words) {
      const size_t first = tokens.size();
      model_->encode(text.substr(word.begin, word.end - word.begin), tokens);
      for (size_t i = first; i < tokens.size() && !split.text.origins.empty(); ++i)
        tokens[i] =
            located({tokens[i].id, word.begin + tokens[i].begin, word.begin + tokens[i].end}, split.text);
    }
  }

  /// A token with its place in the original.
  static LocatedToken located(LocatedToken token, const NormalizedText& text) {
    if (text.origins.empty()) return token;
    return {token.id, text.origins[token.begin].begin,
            text.origins[std::max(token.end, token.begin + 1) - 1].end};
  }

  /// Leaves out the space that the pre-tokenizer has put before the text, so that a line is decoded as it was.
  std::string decode_tokens(std::span<const int32_t> ids, const std::string* unknown) const override {
    std::string text = text_of(ids, unknown);
    if (pre_tokenizer_ && pre_tokenizer_->adds_space() && text.starts_with(' ')) text.erase(0, 1);
    return text;
  }

  std::string text_of(std::span<const int32_t> ids, const std::string* unknown) const {
    std::vector<std::string> texts;
    for (const int32_t id : ids)
      if (const Token& token = at(id); unknown && id == unk_)
        texts.push_back(begins_unknown_ ? std::string(metaspace) + *unknown : *unknown);
      else if (!token.control)
        texts.push_back(token.to_decode);
    if (decoder_) texts = decoder_->apply(std::move(texts));
    std::string text;
    for (size_t i = 0; i < texts.size(); ++i) text.append(i > 0 && !decoder_ ? " " : "").append(texts[i]);
    return text;
  }

  /// The last position between a letter and a character that is not a letter. With every word pattern a word
  /// ends there: a word has letters only at its end, no pattern looks behind the beginning of a word, and none
  /// looks ahead past a letter.
  static size_t last_end_of_letters(std::string_view text, size_t max_bytes) {
    size_t after = text.size();
    bool letter_after = true;  // the text may continue with a letter
    for (size_t place = std::min(max_bytes, text.size() - 1) + 1; place-- > 0;) {
      if ((static_cast<unsigned char>(text[place]) & 0xC0) == 0x80) continue;
      size_t next = place;
      const bool letter = is_letter(next_character(text, next));
      if (letter && !letter_after) return after;
      letter_after = letter;
      after = place;
    }
    return 0;
  }

  /// The position of the last single space between two ASCII letters: a word ends there, and the next word
  /// begins with the space or after it.
  static size_t last_space(std::string_view text, size_t max_bytes) {
    for (size_t place = std::min(max_bytes, text.size() - 1); place > 0; --place)
      if (text[place] == ' ' && is_ascii_letter(text[place - 1]) && place + 1 < text.size() &&
          is_ascii_letter(text[place + 1]))
        return place;
    return 0;
  }

  std::string serialized_, origin_;
  std::vector<Token> tokens_;
  std::vector<AddedToken> added_;
  AddedTokenFinder finder_, normalized_finder_;
  std::unique_ptr<const TextNormalizer> normalizer_;
  std::unique_ptr<const PreTokenizer> pre_tokenizer_;
  std::unique_ptr<const SubwordModel> model_;
  std::unique_ptr<const Decoder> decoder_;
  bool can_cut_ = false, cuts_after_letters_ = false;
  bool begins_unknown_ = false;  ///< whether the space before an unknown word is part of its token
};

}  // namespace

std::string add_settings(std::string_view tokenizer_json, const TokenizerJsonSettings& s,
                         const std::string& origin) {
  std::string file = fmt::format("{} {} {} {}\n{}", file_mark, s.bos, s.eos, s.size, tokenizer_json);
  load_tokenizer_json(file, origin);
  return file;
}

bool has_settings(std::string_view file) {
  return file.starts_with(file_mark) || file.starts_with(old_file_mark);
}

std::string_view tokenizer_json_of(std::string_view file) {
  if (!has_settings(file)) return file;
  const size_t line = file.find('\n');
  return line == file.npos ? std::string_view() : file.substr(line + 1);
}

std::shared_ptr<const Tokenizer> load_hugging_face_tokenizer(std::string_view tokenizer_json,
                                                             const TokenizerJsonSettings& s,
                                                             const std::string& origin) {
  const std::string file = fmt::format("{} {} {} {}\n{}", file_mark, s.bos, s.eos, s.size, tokenizer_json);
  return load_tokenizer_json(file, origin);
}

std::shared_ptr<const Tokenizer> load_tokenizer_json(std::string_view file, const std::string& origin) {
  return std::make_shared<const JsonTokenizer>(file, origin);
}

}  // namespace sixfold
