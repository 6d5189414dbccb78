#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace sixfold {

/// A tokenizer.json of Hugging Face's tokenizers, without a post_processor, that splits text as a SentencePiece
/// model does, whose bytes are `model`. It is needed because transformers itself converts tokenizer.model to a
/// tokenizer that merges pieces by their ids, whatever the kind of the model. `by_lines`: each line is split on
/// its own, with the token "<0x0A>" between lines. There are two differences: the texts of control tokens
/// become these tokens, and among segmentations with equal scores another one may be chosen. Throws an input
/// error that begins with `origin` for models that can't be converted.
nlohmann::json tokenizer_json_of_sentence_piece(std::string_view model, bool by_lines,
                                                const std::string& origin);

/// Whether a tokenizer.json, an object, splits each line on its own, as those of
/// `tokenizer_json_of_sentence_piece` may.
bool splits_by_lines(const nlohmann::json& tokenizer_json);

}  // namespace sixfold
