#include "text/json/added_tokens.h"

#include "text/json/unicode_rules.h"

namespace sixfold {
namespace {

constexpr size_t max_added_token_bytes = 1024;

bool is_word_at(std::string_view text, size_t place) {
  return place < text.size() && is_word_character(next_character(text, place));
}

/// The beginning of the last character before `end`.
size_t before(std::string_view text, size_t end) {
  do --end;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80);
  return end;
}

bool is_space_at(std::string_view text, size_t place) { return is_white_space(next_character(text, place)); }

/// Whether there is no word character directly before or after [begin, end).
bool stands_alone(std::string_view text, size_t begin, size_t end) {
  return (begin == 0 || !is_word_at(text, before(text, begin))) && !is_word_at(text, end);
}

}  // namespace

std::vector<AddedToken> read_added_tokens(const JsonStage& json) {
  std::vector<AddedToken> tokens;
  if (!json.has("added_tokens")) return tokens;
  for (const JsonStage& entry : json.list("added_tokens")) {
    AddedToken token{.id = static_cast<int32_t>(entry.number("id", 0, INT32_MAX)),
                     .text = entry.text("content"),
                     .special = entry.flag("special", false),
                     .single_word = entry.flag("single_word", false),
                     .lstrip = entry.flag("lstrip", false),
                     .rstrip = entry.flag("rstrip", false),
                     .normalized = entry.flag("normalized", false)};
    if (token.text.size() > max_added_token_bytes)
      entry.refuse(
          fmt::format("the token has {} bytes; it may have {}", token.text.size(), max_added_token_bytes));
    if (!token.text.empty()) tokens.push_back(std::move(token));
  }
  return tokens;
}

AddedTokenFinder::AddedTokenFinder(std::vector<const AddedToken*> tokens, const std::vector<std::string>& texts)
    : tokens_(std::move(tokens)) {
  std::vector<std::pair<std::string_view, int32_t>> strings;
  for (size_t i = 0; i < texts.size(); ++i)
    if (!texts[i].empty()) strings.emplace_back(texts[i], static_cast<int32_t>(i));
  tree_ = PrefixTree(std::move(strings));
}

std::vector<TextPart> AddedTokenFinder::parts(std::string_view text, bool finds_special,
                                              std::span<const TextRange> plain) const {
  const auto is_special = [&](size_t begin, size_t end) {
    while (!plain.empty() && plain.front().end <= begin) plain = plain.subspan(1);
    return finds_special && (plain.empty() || plain.front().begin >= end);
  };
  std::vector<TextPart> parts;
  size_t done = 0;
  for (size_t at = 0; at < text.size() && !tokens_.empty();) {
    size_t length = 0;
    const AddedToken* token = nullptr;
    for (size_t i = at, node = PrefixTree::root; i < text.size(); ++i) {
      const int32_t next = tree_.next(static_cast<int32_t>(node), static_cast<unsigned char>(text[i]));
      if (next == PrefixTree::none) break;
      node = static_cast<size_t>(next);
      if (tree_.number(next) != PrefixTree::none)
        token = tokens_[static_cast<size_t>(tree_.number(next))], length = i + 1 - at;
    }
    if (!token) {
      ++at;
      continue;
    }
    size_t begin = at, end = at + length;
    if (token->special && !is_special(begin, end)) {
      at = finds_special ? at + 1
                         : end;  // another token may begin within this one, which is only partly plain text
      continue;
    }
    at = end;
    if (token->single_word && !stands_alone(text, begin, end)) continue;
    while (token->lstrip && begin > done && is_space_at(text, before(text, begin))) begin = before(text, begin);
    for (size_t next = end; token->rstrip && next < text.size() && is_white_space(next_character(text, next));)
      end = next;
    if (begin > done) parts.push_back({done, begin, nullptr});
    parts.push_back({begin, end, token});
    done = end;
  }
  if (done < text.size()) parts.push_back({done, text.size(), nullptr});
  return parts;
}

}  // namespace sixfold
