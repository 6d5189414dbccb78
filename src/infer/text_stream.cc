#include "infer/text_stream.h"

#include <algorithm>

#include "text/utf8.h"

namespace sixfold {
namespace {

/// Whether the text ends within a character: its last bytes begin one, but do not complete it.
bool ends_within_character(std::string_view text) {
  if (text.ends_with("\uFFFD")) return true;  // what tokenizers show of bytes that are no character yet
  for (size_t back = 1; back <= std::min<size_t>(3, text.size()); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xC0) == 0x80) continue;
    const size_t length = byte < 0xC0 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
    return length > back;
  }
  return false;
}

/// The length of the longest end of the text with which a stop string begins.
size_t begun_stop(std::string_view text, const std::vector<std::string>& stops) {
  size_t longest = 0;
  for (const std::string& stop : stops)
    for (size_t length = std::min(stop.size(), text.size()); length > longest; --length)
      if (text.ends_with(std::string_view(stop).substr(0, length))) longest = length;
  return longest;
}

/// The first place where one of the texts begins in `text`, or npos.
size_t find_first(std::string_view text, const std::vector<std::string>& searched) {
  size_t first = std::string_view::npos;
  for (const std::string& one : searched) first = std::min(first, text.find(one));
  return first;
}

}  // namespace

/// Decodes the new tokens after those before them, since tokens of words depend on their neighbours.
std::string TextStream::decode_new(std::span<const int32_t> ids, bool all) {
  const std::string before = tokenizer_.decode_text(ids.subspan(context_, decoded_ - context_));
  const std::string text = tokenizer_.decode_text(ids.subspan(context_));
  if (text.size() <= before.size() || (!all && ends_within_character(text))) return {};
  context_ = decoded_;
  decoded_ = ids.size();
  return text.substr(before.size());
}

std::string TextStream::take(bool all) {
  if (stopped_) return {};
  size_t count = held_.size();
  if (const size_t stop = find_first(held_, stops_); stop != held_.npos) {
    count = stop;
    stopped_ = true;
  } else if (!all) {
    count -= begun_stop(held_, stops_);
  }
  const std::string piece = held_.substr(0, count);
  held_.erase(0, count);
  return piece;
}

std::string TextStream::push(std::span<const int32_t> ids) {
  held_ += replace_invalid_utf8(decode_new(ids, false));
  return take(false);
}

std::string TextStream::finish(std::span<const int32_t> ids) {
  held_ += replace_invalid_utf8(decode_new(ids, true));
  return take(true);
}

}  // namespace sixfold
