#include "tasks/language_model/chosen_tokens.h"

#include <algorithm>

#include "text/utf8.h"

namespace sixfold {
namespace {

/// Whether a text is empty, or has only characters that stand for bytes which are no text.
bool is_no_text(std::string_view text) {
  constexpr std::string_view replacement = "\uFFFD";
  while (text.starts_with(replacement)) text.remove_prefix(replacement.size());
  return text.empty();
}

}  // namespace

ChosenTokens::ChosenTokens(const Tokenizer& tokenizer, size_t prompt)
    : tokenizer_(tokenizer), text_(tokenizer, no_stops_, prompt) {}

void ChosenTokens::see(std::span<const int32_t> before, const Answer& answer) {
  add(before, answer.ids[0], static_cast<double>(answer.log_probs[0]), answer.ids.subspan(1),
      answer.log_probs.subspan(1));
}

void ChosenTokens::see_prompt(std::span<const int32_t> prompt, const Answer& answer) {
  const size_t unknown = prompt.size() - answer.given.size(),  // tokens without a probability
      count = answer.given.empty() ? 0 : answer.given_ids.size() / answer.given.size();
  for (size_t i = 0; i < prompt.size(); ++i) {
    if (i < unknown) {
      add(prompt.first(i), prompt[i], {}, {}, {});
      continue;
    }
    const size_t given = i - unknown;
    add(prompt.first(i), prompt[i], static_cast<double>(answer.given[given]),
        answer.given_ids.subspan(given * count, count), answer.given_log_probs.subspan(given * count, count));
  }
  prompt_characters_ = characters_;
}

void ChosenTokens::add(std::span<const int32_t> before, int32_t id, std::optional<double> log_probability,
                       std::span<const int32_t> likeliest, std::span<const float> log_probs) {
  std::vector<int32_t> ids(before.begin(), before.end());
  ids.push_back(0);
  const auto added_by = [&](int32_t last, TextStream& text) {
    ids.back() = last;
    return text.push(ids);
  };
  const auto named = [&](std::string text, int32_t last) {
    const bool is_name = is_no_text(text);
    return AddedText{is_name ? tokenizer_.token_text(last) : std::move(text), is_name};
  };
  ChosenToken token{.added = {}, .log_probability = log_probability, .offset = characters_, .likeliest = {}};
  for (size_t i = 0; i < likeliest.size(); ++i) {
    TextStream other = text_;
    token.likeliest.emplace_back(named(added_by(likeliest[i], other), likeliest[i]),
                                 static_cast<double>(log_probs[i]));
  }
  const std::string text = added_by(id, text_);
  characters_ += count_characters(text);
  token.added = named(text, id);
  chosen_.push_back(std::move(token));
}

std::span<const ChosenToken> ChosenTokens::take(int64_t characters) {
  const size_t begin = returned_;
  while (returned_ < chosen_.size() && begins_before(chosen_[returned_], characters)) ++returned_;
  return std::span(chosen_).subspan(begin, returned_ - begin);
}

std::vector<ChosenToken> ChosenTokens::all(int64_t characters) const {
  std::vector<ChosenToken> tokens = chosen_;
  std::erase_if(tokens, [&](const ChosenToken& token) { return !begins_before(token, characters); });
  return tokens;
}

}  // namespace sixfold
