#include "text/word_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "text/words.h"

namespace sixfold {

std::string to_pharaoh(const WordLinks& links) {
  std::string text;
  for (const auto& [source, target] : links)
    text += fmt::format("{}{}-{}", text.empty() ? "" : " ", source, target);
  return text;
}

GoldLinks parse_word_links(std::string_view line, std::string_view where) {
  GoldLinks links;
  WordLinks all;
  for (const TextRange& range : word_ranges(line)) {
    const std::string_view text = line.substr(range.begin, range.end - range.begin);
    const char* const end = text.data() + text.size();
    std::pair<int, int> link;
    const auto source = std::from_chars(text.data(), end, link.first);
    const bool has_sign =
        source.ec == std::errc() && source.ptr != end && (*source.ptr == '-' || *source.ptr == 'p');
    const auto target = has_sign ? std::from_chars(source.ptr + 1, end, link.second) : source;
    require(has_sign && target.ec == std::errc() && target.ptr == end && link.first >= 0 && link.second >= 0,
            "{}: expected links between words, such as 0-0 1-2, found '{}'", where, text);
    (*source.ptr == '-' ? links.sure : links.possible).push_back(link);
    all.push_back(link);
  }
  std::ranges::sort(all);
  const auto twice = std::ranges::adjacent_find(all);
  require(twice == all.end(), "{}: the link {}-{} is there twice", where, twice == all.end() ? 0 : twice->first,
          twice == all.end() ? 0 : twice->second);
  return links;
}

void require_within(const WordLinks& links, size_t source_words, size_t target_words, std::string_view where) {
  for (const auto& [source, target] : links)
    require(static_cast<size_t>(source) < source_words && static_cast<size_t>(target) < target_words,
            "{}: the link {}-{} leads beyond the words of the pair, {} and {}", where, source, target,
            source_words, target_words);
}

}  // namespace sixfold
