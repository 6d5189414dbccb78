#include "program/demo/grammar.h"

namespace sixfold::demo {

void Wording::add(std::string_view text, const void* part) {
  while (!text.empty()) {
    const size_t size = text.find(' ');
    words_.push_back({.text = std::string(text.substr(0, size)), .parts = {part}});
    text.remove_prefix(size == std::string_view::npos ? text.size() : size + 1);
  }
}

void Wording::add(const Wording& other) {
  words_.insert(words_.end(), other.words_.begin(), other.words_.end());
}

void Wording::add_comma() { words_.back().text += ','; }

void Wording::fuse(std::string_view text) {
  words_[1].text = text;
  words_[1].parts.insert(words_[1].parts.begin(), words_[0].parts.begin(), words_[0].parts.end());
  words_.erase(words_.begin());
}

void Wording::make_sentence(std::string_view end) {
  char& first = words_.front().text[0];
  if (first >= 'a' && first <= 'z') first = static_cast<char>(first - 'a' + 'A');
  words_.back().text += end;
}

std::string Wording::text() const {
  std::string text;
  for (const Word& word : words_) text += (text.empty() ? "" : " ") + word.text;
  return text;
}

}  // namespace sixfold::demo
