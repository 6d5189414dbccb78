#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/language_code.h"
#include "model/config.h"
#include "text/pair_layout.h"
#include "text/tokenizer.h"

namespace sixfold {

/// The settings in config.json of a translation model, besides those of its network.
struct TranslationSettings {
  static constexpr std::string_view task = "translation";
  static constexpr TaskNetwork network{.task = task};
  std::string source_language, target_language;  ///< codes such as "en" and "pt-BR", or empty if not known
  std::vector<int> source_start = {};            ///< ids of tokens before the text of a source
  std::vector<int> source_end = {};              ///< ids of tokens after it; empty: the end token
  /// Ids of tokens before the text of a target, after the start token of the decoder. Empty:
  /// `generation.forced_first_token`, if it is set.
  std::vector<int> target_start = {};
  /// The pattern of language tokens, with `*` in place of the code: "__*__". Each source and each target begins
  /// with the token of its language. Empty: there are no such tokens.
  std::string language_token;
  /// The pairs of languages, such as "en-de", of a multilingual model whose sources begin with a token for the
  /// target language, such as >>de<< (Johnson et al. 2017, "Google's Multilingual Neural Machine Translation
  /// System", section 3). Empty: the model was trained for one pair, or has other tokens.
  std::vector<std::string> directions = {};
  /// The weights of the confidence (tasks/translation/confidence.h): a constant, then one weight for each
  /// feature. Empty: they have not been fitted.
  std::vector<double> confidence = {};
};

inline void visit(OptionVisitor& v, TranslationSettings& o) {
  v.field("source_language", o.source_language, "language of the sources, such as en; empty: not known");
  v.field("target_language", o.target_language, "language of the translations; empty: not known");
  v.field("source_start", o.source_start, "ids of tokens before the text of a source", at_least(0));
  v.field("source_end", o.source_end, "ids of tokens after the text of a source; empty: the end token",
          at_least(0));
  v.field("target_start", o.target_start,
          "ids of tokens before the text of a target; empty: generation.forced_first_token, if there is one",
          at_least(0));
  v.field("language_token", o.language_token,
          "how the tokens are written that stand before sources and targets, with the code of the language in "
          "place of the *; empty: there are none");
  v.field("directions", o.directions,
          "pairs of languages, such as en-de, of a model whose sources begin with the token of the language of "
          "their translation, such as >>de<<; empty: it has one pair, or none that is known");
  v.field(
      "confidence", o.confidence,
      "weights of what the confidence of a translation is computed from, after a constant; empty: not fitted",
      between(-1e12, 1e12));
}

/// The token that begins sources which are to be translated into a language: ">>de<<".
inline std::string target_token(const std::string& language) { return ">>" + language + "<<"; }

/// Whether a text is a language code in any of the forms that models use, such as de, pt-BR, de_DE and
/// deu_Latn.
inline bool is_model_language(std::string text) {
  std::ranges::replace(text, '_', '-');
  return is_language_code(text);
}

/// Throws an input error if a language code, `language_token` or a direction is malformed.
inline void validate(const TranslationSettings& o) {
  for (const std::string& language : {o.source_language, o.target_language})
    require(language.empty() ||
                (o.language_token.empty() ? is_language_code(language) : is_model_language(language)),
            "'{}' is not the code of a language, such as de or pt-BR", language);
  require(o.language_token.empty() || std::ranges::count(o.language_token, '*') == 1,
          "language_token: '{}' must have one *, in place of the code of a language", o.language_token);
  for (const std::string& direction : o.directions)
    require(language_pair(direction).has_value(), "directions: '{}' does not name two languages, as en-de does",
            direction);
}

/// The ids of the language tokens of a model (`TranslationSettings::language_token`), by language code. Empty
/// if that setting is empty. Takes time linear in the vocabulary.
std::map<std::string, int32_t> languages_of(const TranslationSettings& settings, const Tokenizer& tokenizer);

/// The tokens around the texts of pairs, for the languages in `settings`. `rules`: the generation settings,
/// whose `forced_first_token` is that of the default target language. Throws an input error that lists the
/// languages if a language is not given or is not one of the model's.
PairLayout layout_of(const TranslationSettings& settings, const GenerationConfig& rules,
                     const Tokenizer& tokenizer);

/// The settings of a model with the given languages in place of its own; an empty one leaves that of the model.
/// Throws an input error if a language differs from the model's and the model has no language tokens.
TranslationSettings with_languages(TranslationSettings settings, const std::string& source,
                                   const std::string& target);

/// The languages of sources and translations: the given ones, or where these are empty, those of the model.
inline std::pair<std::string, std::string> languages_between(const TranslationSettings& settings,
                                                             const std::string& source,
                                                             const std::string& target) {
  return {source.empty() ? settings.source_language : source,
          target.empty() ? settings.target_language : target};
}

}  // namespace sixfold
