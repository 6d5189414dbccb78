#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace sixfold {

/// A token that a model reads beside a text.
struct TemplateToken {
  int32_t id = 0;
  int32_t type = 0;  ///< its token type (segment)

  bool operator==(const TemplateToken&) const = default;
};

/// The tokens around one text: [CLS] and [SEP] of BERT, <s> and </s> of RoBERTa, </s> of T5, the language and
/// </s> of NLLB.
struct TextTemplate {
  std::vector<TemplateToken> before, after;
  int32_t type = 0;  ///< of the tokens of the text

  bool operator==(const TextTemplate&) const = default;
};

/// The tokens around and between two texts.
struct PairTemplate {
  std::vector<TemplateToken> before, between, after;
  int32_t first_type = 0, second_type = 0;  ///< of the tokens of the texts

  bool operator==(const PairTemplate&) const = default;
};

struct TextTemplates {
  TextTemplate single;
  PairTemplate pair;

  bool operator==(const TextTemplates&) const = default;
};

/// Reads which tokens the post_processor of a tokenizer.json puts around texts. Null and ByteLevel add nothing;
/// TemplateProcessing, BertProcessing, RobertaProcessing and a Sequence with one of them are read. Throws an
/// input error that begins with `origin` for other types and malformed values, and for templates that leave out
/// a text, repeat it or change the order.
TextTemplates read_text_templates(const nlohmann::json& tokenizer_json, const std::string& origin);

}  // namespace sixfold
