#include "text/text_templates.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "error_message.h"

namespace sixfold {
namespace {

using nlohmann::json;

TextTemplates templates_of(const char* post_processor) {
  return read_text_templates({{"post_processor", json::parse(post_processor)}}, "tokenizer.json");
}

TEST(TextTemplates, NothingIsAdded) {
  EXPECT_EQ(read_text_templates(json::object(), ""), TextTemplates());
  EXPECT_EQ(templates_of("null"), TextTemplates());
  EXPECT_EQ(templates_of(R"({"type": "ByteLevel", "add_prefix_space": true})"), TextTemplates());
}

TEST(TextTemplates, Bert) {
  const TextTemplates templates = templates_of(R"({"type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
               {"SpecialToken": {"id": "[SEP]", "type_id": 0}}],
    "pair": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
             {"SpecialToken": {"id": "[SEP]", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}},
             {"SpecialToken": {"id": "[SEP]", "type_id": 1}}],
    "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [101], "tokens": ["[CLS]"]},
                       "[SEP]": {"id": "[SEP]", "ids": [102], "tokens": ["[SEP]"]}}})");
  EXPECT_EQ(templates.single, (TextTemplate{{{101, 0}}, {{102, 0}}, 0}));
  EXPECT_EQ(templates.pair, (PairTemplate{{{101, 0}}, {{102, 0}}, {{102, 1}}, 0, 1}));
  EXPECT_EQ(templates_of(R"({"type": "BertProcessing", "sep": ["[SEP]", 102], "cls": ["[CLS]", 101]})"),
            templates);
}

TEST(TextTemplates, Roberta) {
  const TextTemplates templates = templates_of(
      R"({"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0], "trim_offsets": true})");
  EXPECT_EQ(templates.single, (TextTemplate{{{0, 0}}, {{2, 0}}, 0}));
  EXPECT_EQ(templates.pair, (PairTemplate{{{0, 0}}, {{2, 0}, {2, 0}}, {{2, 0}}, 0, 0}));
}

/// T5's end of text, after the steps of a Sequence.
TEST(TextTemplates, Sequence) {
  const TextTemplates templates = templates_of(R"({"type": "Sequence", "processors": [{"type": "ByteLevel"},
    {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}}],
     "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}},
              {"Sequence": {"id": "B", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}}],
     "special_tokens": {"</s>": {"id": "</s>", "ids": [1, 7], "tokens": ["</s>", "x"]}}}]})");
  EXPECT_EQ(templates.single, (TextTemplate{{}, {{1, 0}, {7, 0}}, 0}));
  EXPECT_EQ(templates.pair, (PairTemplate{{}, {{1, 0}, {7, 0}}, {{1, 0}, {7, 0}}, 0, 0}));
}

TEST(TextTemplates, ErrorsNameWhatIsWrong) {
  const auto expect = [](const char* post_processor, const char* part) {
    const std::string message = error_message([&] { templates_of(post_processor); });
    EXPECT_EQ(message.find("tokenizer.json: post_processor"), 0u) << message;
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  expect(R"({"type": "Shout"})", "'Shout'");
  expect("3", "of the type '3'");
  expect(R"({"type": "Sequence", "processors": 3})", "processors is not a list");
  expect(R"({"type": "BertProcessing", "sep": ["[SEP]", -1], "cls": ["[CLS]", 101]})", "the id of 'sep' is -1");
  expect(R"({"type": "BertProcessing", "sep": "[SEP]", "cls": ["[CLS]", 1]})", "'sep' is not a text and an id");
  expect(R"({"type": "TemplateProcessing", "single": []})", "has no text");
  expect(R"({"type": "TemplateProcessing", "single": [{"Sequence": {"id": "B"}}]})",
         "does not have the text once");
  expect(R"({"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A"}}, {"Sequence": {"id": "A"}}]})",
         "once");
  expect(
      R"({"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A"}}], "pair": [{"Sequence": {"id": "B"}}]})",
      "A and B once");
  expect(R"({"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "x"}}], "special_tokens": {}})",
         "lacks 'x'");
  expect(R"({"type": "Sequence", "processors": [{"type": "BertProcessing", "sep": ["s", 1], "cls": ["c", 2]},
            {"type": "BertProcessing", "sep": ["s", 1], "cls": ["c", 2]}]})",
         "several steps");
}

}  // namespace
}  // namespace sixfold
