#include "tasks/language_model/text_stream.h"

#include <algorithm>

#include "text/utf8.h"

namespace sixfold {
namespace {

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

/// Whether the text ends within a character: its last bytes begin one, but do not complete it.
bool ends_within_character(std::string_view text) {
  if (text.ends_with("\uFFFD")) return true;  // tokenizers decode incomplete characters to U+FFFD
  for (size_t back = 1; back <= std::min<size_t>(3, text.size()); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if (is_continuation(text[text.size() - back])) continue;
    const size_t length = byte < 0xC0 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
    return length > back;
  }
  return false;
}

}  // namespace

/// Builds the failure tables of the Knuth-Morris-Pratt algorithm (1977): the time to search does not depend on
/// the length of a stop string.
StopStrings::StopStrings(std::vector<std::string> stops) {
  for (std::string& text : stops) {
    Stop stop{std::move(text), {0}};
    for (size_t i = 1, length = 0; i < stop.text.size(); ++i) {
      while (length > 0 && stop.text[i] != stop.text[length]) length = stop.border_lengths[length - 1];
      stop.border_lengths.push_back(length += stop.text[i] == stop.text[length] ? 1 : 0);
    }
    stops_.push_back(std::move(stop));
  }
}

/// The number of bytes of a text that its prompt has: those of the prompt without the tokens of a last
/// character that is not complete, or all that both begin with.
size_t TextStream::bytes_of_prompt(std::span<const int32_t> ids, std::string_view text) const {
  const size_t tokens = prompt_ - context_;
  for (size_t dropped = 0; dropped < max_character_bytes && dropped <= tokens; ++dropped) {
    const std::string before = tokenizer_.decode_text(ids.subspan(context_, tokens - dropped));
    const bool goes_on = before.size() < text.size() && is_continuation(text[before.size()]);
    if (text.starts_with(before) && !(goes_on && ends_within_character(before))) return before.size();
  }
  const std::string before = tokenizer_.decode_text(ids.subspan(context_, tokens));
  return static_cast<size_t>(std::ranges::mismatch(before, text).in1 - before.begin());
}

/// Decodes the new tokens together with some tokens before them, on which their text may depend. New tokens can
/// change the text of those before them: they complete the character in which a prompt ends, or make bytes
/// invalid that were a character.
std::string TextStream::decode_new(std::span<const int32_t> ids, bool all) {
  const auto decode = [&](size_t end) { return tokenizer_.decode_text(ids.subspan(context_, end - context_)); };
  std::string text = decode(ids.size());
  size_t known = 0;
  if (decoded_ == prompt_) {
    known = bytes_of_prompt(ids, text);
  } else if (const std::string before = decode(decoded_); text.starts_with(before)) {
    known = before.size();
  } else {  // what was shown stays
    context_ = decoded_;
    text = decode(ids.size());
  }
  if (text.size() <= known) {
    // Many tokens without text, such as control tokens, are not decoded again with each one after them.
    if (!all && ids.size() - context_ > 2 * max_context_tokens && !ends_within_character(text))
      decoded_ = ids.size(), context_ = decoded_ - max_context_tokens;
    return {};
  }
  size_t end = ids.size();
  std::string shown = text;
  if (!all && ends_within_character(text)) {
    // So many tokens would have completed the character: the text itself contains U+FFFD or broken bytes.
    if (end - decoded_ <= 2 * max_character_bytes) return {};
    end -= max_character_bytes;
    shown = decode(end);
    if (shown.size() <= known || !text.starts_with(shown)) return {};
  }
  context_ = decoded_;
  decoded_ = end;
  return shown.substr(known);
}

/// Appends to the held text, up to the first stop string.
void TextStream::search(std::string_view text) {
  for (size_t i = 0; i < text.size() && !stopped_; ++i) {
    held_ += text[i];
    size_t complete = 0;
    for (size_t s = 0; s < matched_.size(); ++s) {
      const StopStrings::Stop& stop = stops_.stops_[s];
      size_t& length = matched_[s];
      while (length > 0 && stop.text[length] != text[i]) length = stop.border_lengths[length - 1];
      length += stop.text[length] == text[i] ? 1 : 0;
      if (length == stop.text.size()) complete = std::max(complete, length);
    }
    stopped_ = complete > 0;
    held_.resize(held_.size() - complete);
  }
}

std::string TextStream::take(bool all) {
  size_t kept = 0;
  for (const size_t length : matched_) kept = std::max(kept, length);
  std::string piece = held_.substr(0, held_.size() - (all || stopped_ ? 0 : kept));
  held_.erase(0, piece.size());
  return piece;
}

std::string TextStream::push(std::span<const int32_t> ids) {
  search(replace_invalid_utf8(decode_new(ids, false)));
  return take(false);
}

std::string TextStream::finish(std::span<const int32_t> ids) {
  search(replace_invalid_utf8(decode_new(ids, true)));
  return take(true);
}

}  // namespace sixfold
