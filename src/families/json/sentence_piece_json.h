#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace sixfold {

/// A tokenizer.json of Hugging Face's tokenizers, without a post_processor, that splits text as the bytes of a
/// SentencePiece model do. transformers makes a tokenizer of its own out of
/// tokenizer.model, which merges pieces by their ids, whatever the kind of the model. `by_lines`: each line is
/// split on its own, and the token "<0x0A>" stands between lines. Differences: texts of control tokens become
/// these tokens, and of segmentations with equal scores another may be chosen. Throws an input error that
/// begins with `origin` for kinds of models that have no such form.
nlohmann::json tokenizer_json_of_sentence_piece(std::string_view model, bool by_lines,
                                                const std::string& origin);

/// Whether a tokenizer.json, an object, splits each line on its own, as those of
/// `tokenizer_json_of_sentence_piece` may.
bool splits_by_lines(const nlohmann::json& tokenizer_json);

}  // namespace sixfold
