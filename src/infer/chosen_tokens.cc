#include "infer/chosen_tokens.h"

#include <algorithm>

#include "text/utf8.h"

namespace sixfold {

ChosenTokens::ChosenTokens(const Tokenizer& tokenizer, size_t prompt)
    : tokenizer_(tokenizer), text_(tokenizer, no_stops_, prompt) {}

void ChosenTokens::see(std::span<const int32_t> before, const Answer& answer) {
  std::vector<int32_t> ids(before.begin(), before.end());
  ids.push_back(0);
  const auto added_by = [&](int32_t id, TextStream& text) {
    ids.back() = id;
    return text.push(ids);
  };
  ChosenToken token{.text = {},
                    .log_probability = static_cast<double>(answer.log_probs[0]),
                    .offset = characters_,
                    .likeliest = {}};
  for (size_t i = 1; i < answer.ids.size(); ++i) {
    TextStream other = text_;
    std::string text = added_by(answer.ids[i], other);
    if (text.empty()) text = tokenizer_.token_text(answer.ids[i]);
    token.likeliest.emplace_back(std::move(text), static_cast<double>(answer.log_probs[i]));
  }
  token.text = added_by(answer.ids[0], text_);
  characters_ += count_characters(token.text);
  if (token.text.empty()) token.text = tokenizer_.token_text(answer.ids[0]);
  chosen_.push_back(std::move(token));
}

std::span<const ChosenToken> ChosenTokens::take(int64_t characters) {
  const size_t begin = taken_;
  while (taken_ < chosen_.size() && chosen_[taken_].offset < characters) ++taken_;
  return std::span(chosen_).subspan(begin, taken_ - begin);
}

std::vector<ChosenToken> ChosenTokens::all(const std::string& text) const {
  std::vector<ChosenToken> tokens = chosen_;
  const int64_t characters = count_characters(text);
  std::erase_if(tokens, [&](const ChosenToken& token) { return token.offset >= characters; });
  return tokens;
}

}  // namespace sixfold
