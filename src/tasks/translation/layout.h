#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "data/pair_layout.h"
#include "model/config.h"
#include "tasks/translation/settings.h"
#include "text/tokenizer.h"

namespace sixfold {

/// The tokens of the languages that a model reads and writes by `TranslationSettings::language_token`, by their
/// codes; empty if the setting is. Takes time linear in the vocabulary.
std::map<std::string, int32_t> languages_of(const TranslationSettings& settings, const Tokenizer& tokenizer);

/// The tokens around the texts of the pairs of a model, for the languages in `settings`. `rules`: whose
/// `forced_first_token` is that of the default target language. Throws an input error that lists the languages
/// if one is missing, or is not one of the model's.
PairLayout layout_of(const TranslationSettings& settings, const GenerationConfig& rules,
                     const Tokenizer& tokenizer);

/// The settings of a model with other languages, where they are not empty. Throws an input error if the model
/// does not choose its languages by tokens and a language is another than that of its settings.
TranslationSettings with_languages(TranslationSettings settings, const std::string& source,
                                   const std::string& target);

}  // namespace sixfold
