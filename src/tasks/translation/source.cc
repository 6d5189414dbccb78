#include "tasks/translation/source.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/join.h"
#include "base/log.h"
#include "tasks/translation/settings.h"
#include "text/utf8.h"

namespace sixfold {
namespace {

/// The token that selects a target language, or nothing for an empty string.
std::string language_token(const Tokenizer& tokenizer, const std::string& language) {
  if (language.empty()) return {};
  std::string token = target_token(language);
  const auto known = tokenizer.language_tokens();
  require(!known.empty(),
          "target language {}: the model has no language tokens; it translates into one language only",
          language);
  if (std::find(known.begin(), known.end(), token) == known.end())
    throw_input_error("target language {}: unknown to the model, which has {}", language, join(known, " "));
  return token;
}

}  // namespace

void EncodedLine::warn(const std::string& place) const {
  if (tokens_cut > 0)
    log_warning("{}: has {} tokens and was cut to the first {}", place, tokens + tokens_cut, tokens);
}

SourceEncoder::SourceEncoder(const Tokenizer& tokenizer, PairLayout layout, const std::string& language,
                             const std::vector<std::string>& directions)
    : tokenizer_(tokenizer),
      layout_(std::move(layout)),
      language_token_(language_token(tokenizer, language)),
      directions_(join(directions)) {
  if (!directions.empty()) tokens_.emplace(tokenizer);
  for (const std::string& direction : directions)
    targets_.push_back(target_token(language_pair(direction)->target));
}

EncodedLine SourceEncoder::encode(const std::string& line, int max_tokens, const std::string& place) const {
  EncodedLine encoded;
  const LanguageTokens::Parts parts =
      needs_target_token() ? tokens_->split(line) : LanguageTokens::Parts{language_token_, line};
  const std::string text(parts.text);
  if (!has_visible_character(replace_invalid_utf8(text))) return encoded;
  require(!tokens_ || std::ranges::count(targets_, parts.token) > 0,
          "{}: the target language is not given, and the line does not begin with the token of one, such as "
          "{}; the model translates {}",
          place, targets_.empty() ? "" : targets_.front(), directions_);
  encoded.ids = tokenizer_.encode(tokens_ ? text : language_token_ + text);
  if (encoded.ids.empty()) return encoded;
  if (const auto limit = static_cast<size_t>(max_tokens); encoded.ids.size() > limit) {
    encoded.tokens_cut = encoded.ids.size() - limit;
    encoded.ids.resize(limit);
  }
  encoded.tokens = encoded.ids.size();
  if (tokens_) encoded.ids.insert(encoded.ids.begin(), tokens_->id(parts.token));
  encoded.ids = layout_.source(encoded.ids, tokenizer_.eos());
  return encoded;
}

size_t SourceEncoder::bytes_of(const std::string& text, size_t tokens) const {
  const std::string added = tokens_ ? "" : language_token_;
  const std::vector<LocatedToken> located = tokenizer_.locate(added + text);
  const size_t end = tokens > 0 && tokens <= located.size() ? located[tokens - 1].end : 0;
  return std::max(end, added.size()) - added.size();
}

namespace {

/// Throws an input error unless a model was trained to translate between these languages. An empty language is
/// not checked.
void require_direction(const TranslationSettings& settings, const std::string& source,
                       const std::string& target) {
  const std::string known = join(settings.directions);
  require(!target.empty() || source.empty(),
          "the source language is given, and the target language is not; the model translates {}", known);
  require(target.empty() || std::ranges::any_of(settings.directions,
                                                [&](const std::string& direction) {
                                                  const auto pair = language_pair(direction);
                                                  return pair->target == target &&
                                                         (source.empty() || pair->source == source);
                                                }),
          "the model does not translate {}into {}; it translates {}", source.empty() ? "" : source + " ",
          target, known);
}

}  // namespace

SourceEncoder source_encoder(const ModelConfig& config, const Tokenizer& tokenizer,
                             const TranslateOptions& options) {
  auto settings = settings_of<TranslationSettings>(config);
  const bool by_tokens = !settings.language_token.empty();
  if (!settings.directions.empty())
    require_direction(settings, options.source_language, options.target_language);
  else if (by_tokens || !options.source_language.empty())
    settings = with_languages(settings, options.source_language, by_tokens ? options.target_language : "");
  return {tokenizer, layout_of(settings, config.generation, tokenizer),
          by_tokens ? "" : options.target_language, settings.directions};
}

}  // namespace sixfold
