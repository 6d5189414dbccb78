// Models of the families of Hugging Face as transformers saves them, with what it computes of them
// (bench/peers/families.py --golden).
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "error_message.h"
#include "families/families.h"
#include "model_folder/binding.h"
#include "model_folder/model_folder.h"
#include "tasks/classification/classifier.h"
#include "tasks/embedding/embedder.h"
#include "tasks/import_model.h"
#include "tasks/kit/encoder_task.h"
#include "tasks/masked_language_model/mask_filler.h"
#include "tasks/masked_language_model/settings.h"
#include "tasks/question_answering/question_answerer.h"
#include "tasks/translation/translator.h"
#include "temporary_folder.h"
#include "text/utf8.h"

namespace sixfold {
namespace {

using nlohmann::json;
using Ids = std::vector<int32_t>;

const std::string goldens = SIXFOLD_TEST_GOLDENS "/hugging_face_families/";

void expect_close(const std::vector<double>& theirs, const std::vector<double>& ours, const std::string& what) {
  ASSERT_EQ(theirs.size(), ours.size()) << what;
  for (size_t i = 0; i < theirs.size(); ++i) EXPECT_NEAR(ours[i], theirs[i], 1e-4) << what << ", number " << i;
}

/// A translation is one line. How many U+FFFD stand for bytes that are no text differs between the programs.
std::string as_line(std::string text) {
  std::ranges::replace(text, '\r', ' ');
  const std::string two = "\uFFFD\uFFFD";
  for (size_t place; (place = text.find(two)) != text.npos;) text.erase(place, two.size() / 2);
  return std::string(trim_spaces(text));
}

void check_translations(const std::string& model, const json& cases) {
  const Translator translator(model);
  for (const json& golden : cases) {
    const std::string source = golden["source"], target = golden["target"];
    std::vector<double> theirs = golden["log_probabilities"], ours;
    const std::vector<Translation> scored = translator.score({&source, 1}, {&target, 1});
    for (const TranslatedToken& token : scored[0].tokens) ours.push_back(token.log_probability);
    if (translator.config().generation.forced_first_token >= 0) theirs[0] = 0;  // its probability is 1
    expect_close(theirs, ours, "scores of " + source);
    for (const bool beam : {false, true}) {
      TranslateOptions options;
      options.beam_size = options.n_best = beam ? 4 : 1;
      translator.translate({source}, options, [&](const TranslatedLine& line) {
        const std::vector<std::string> texts = beam ? golden["beam"].get<std::vector<std::string>>()
                                                    : std::vector{golden["greedy"].get<std::string>()};
        for (size_t i = 0; i < texts.size(); ++i)
          EXPECT_EQ(as_line(line.translations[i].text), as_line(texts[i])) << source;
        for (size_t i = 0; beam && i < texts.size(); ++i)
          EXPECT_NEAR(line.translations[i].score, golden["beam_scores"][i].get<double>(), 1e-4) << source;
      });
    }
  }
}

void check_language_model(const std::string& model, const json& cases) {
  const std::unique_ptr<Transformer> network = load_model(model, make_backend());
  for (const json& golden : cases) {
    Ids ids = golden["ids"];
    const ModelConfig& c = network->config();
    if (ids.empty() || !c.generation.start_before_text) ids.insert(ids.begin(), c.decoder_start_token);
    Ids labels(ids.begin() + 1, ids.end());
    labels.push_back(c.eos);
    const Batch batch = BatchBuilder().teacher_forced_prefix(labels, ids[0]).take();
    Context context(network->backend(), std::make_shared<Arena>(network->backend()));
    const auto found = ops::log_probability(context, network->states(batch, context), network->output(),
                                            context.indices(labels))
                           .to_doubles(*network->backend());
    expect_close(golden["log_probabilities"], found, golden["text"]);
  }
}

void check_masks(const std::string& model, const json& cases) {
  const MaskFiller filler(model);
  for (const json& golden : cases) {
    const std::string text = golden["text"];
    const FilledText filled = filler.fill({&text, 1})[0];
    ASSERT_FALSE(filled.error) << *filled.error;
    ASSERT_EQ(filled.masks.size(), golden["masks"].size());
    for (size_t mask = 0; mask < filled.masks.size(); ++mask)
      for (size_t i = 0; i < filled.masks[mask].size(); ++i)
        EXPECT_NEAR(filled.masks[mask][i].probability, golden["masks"][mask][i]["probability"].get<double>(),
                    1e-4)
            << text;
  }
}

void check_labels(const std::string& model, const json& cases) {
  const Classifier classifier(model);
  for (const json& golden : cases) {
    const std::string text = golden["text"];
    const Classification found = classifier.classify({&text, 1})[0];
    ASSERT_FALSE(found.error) << *found.error;
    for (size_t i = 0; i < classifier.labels().size(); ++i)
      EXPECT_NEAR(found.probabilities[i], golden["probabilities"][classifier.labels()[i]].get<double>(), 1e-4)
          << text;
  }
}

void check_answers(const std::string& model, const json& cases) {
  const QuestionAnswerer answerer(model);
  for (const json& golden : cases) {
    const TextQuestion question{golden["text"], golden["question"]};
    const TextAnswer answer = answerer.answers({&question, 1}, {.max_answer_tokens = 30})[0];
    ASSERT_FALSE(answer.error) << *answer.error;
    EXPECT_EQ(answer.text, golden["answer"].get<std::string>()) << question.question;
    EXPECT_NEAR(answer.probability, golden["probability"].get<double>(), 1e-4) << question.question;
  }
}

void check_embeddings(const std::string& model, const json& cases) {
  const Embedder embedder(model);
  for (const json& golden : cases) {
    const std::string text = golden["text"];
    const TextEmbedding found = embedder.embed({&text, 1})[0];
    ASSERT_FALSE(found.error) << *found.error;
    expect_close(golden["embedding"], {found.values.begin(), found.values.end()}, text);
  }
}

void check_images(const std::string& model, const json& cases) {
  const Classifier classifier(model);
  for (const json& golden : cases) {
    Image image;
    const json& pixels = golden["pixels"];
    image.size = {static_cast<int>(pixels.size()), static_cast<int>(pixels[0].size()),
                  static_cast<int>(pixels[0][0].size())};
    for (const json& row : pixels)
      for (const json& pixel : row)
        for (const json& value : pixel) image.values.push_back(value);
    const Classification found = classifier.classify_images({&image, 1})[0];
    ASSERT_FALSE(found.error) << *found.error;
    for (size_t i = 0; i < classifier.labels().size(); ++i)
      EXPECT_NEAR(found.probabilities[i], golden["probabilities"][classifier.labels()[i]].get<double>(), 1e-4);
  }
}

class HubModel : public testing::TestWithParam<const char*> {
 protected:
  HubModel() { import_hugging_face(goldens + GetParam(), folder_ / "model"); }

  const TemporaryFolder folder_;
  const std::string model_ = folder_ / "model";
  const json golden_ = json::parse(read_file(goldens + GetParam() + "/expected.json"));
};

TEST_P(HubModel, ComputesWhatTransformersComputes) {
  const std::string task = golden_["task"];
  const json& cases = golden_["cases"];
  ASSERT_FALSE(cases.empty());
  if (task == "translation")
    check_translations(model_, cases);
  else if (task == "language")
    check_language_model(model_, cases);
  else if (task == "masked")
    check_masks(model_, cases);
  else if (task == "classes")
    check_labels(model_, cases);
  else if (task == "spans")
    check_answers(model_, cases);
  else if (task == "embeddings")
    check_embeddings(model_, cases);
  else if (task == "images")
    check_images(model_, cases);
  else
    FAIL() << "no check of the task " << task;
}

/// An export compares config, weights and tokenizers with what is read back, and says so otherwise.
TEST_P(HubModel, IsExportedAgain) {
  export_hugging_face(model_, folder_ / "exported");
  import_hugging_face(folder_ / "exported", folder_ / "again");
  const auto before = load_model(model_, make_backend()), after = load_model(folder_ / "again", make_backend());
  ASSERT_EQ(before->parameters().size(), after->parameters().size());
  for (size_t i = 0; i < before->parameters().size(); ++i)
    EXPECT_EQ(before->parameters()[i].tensor.to_floats(*before->backend()),
              after->parameters()[i].tensor.to_floats(*after->backend()))
        << before->parameters()[i].name;
}

INSTANTIATE_TEST_SUITE_P(, HubModel,
                         testing::Values("bart", "bart_stacks", "bert_classes", "bert_masked", "bert_spans",
                                         "distilbert_classes", "distilbert_masked", "distilbert_spans",
                                         "gpt_neox", "llama", "m2m100", "mbart50", "mistral", "mt5", "nllb",
                                         "phi3", "qwen2", "qwen3", "roberta_classes", "roberta_masked",
                                         "roberta_spans", "sentence_transformers", "t5", "vit",
                                         "xlm_roberta_classes", "xlm_roberta_masked", "xlm_roberta_spans"),
                         [](const auto& test) { return std::string(test.param); });

/// A model with tokens of languages translates from any of them into any other, and names those that it has.
TEST(HubLanguages, AreChosenForEachCall) {
  const TemporaryFolder folder;
  import_hugging_face(goldens + "nllb", folder / "model");
  const Translator translator(folder / "model");
  const std::string source = "the old dog";
  TranslateOptions options;
  options.details.tokens = true;
  const auto first_token = [&](const std::string& target) {
    options.target_language = target;
    std::string token;
    translator.translate({source}, options,
                         [&](const TranslatedLine& line) { token = line.translations[0].tokens[0].text; });
    return token;
  };
  EXPECT_EQ(first_token("deu_Latn"), "deu_Latn");
  EXPECT_EQ(first_token("zul_Latn"), "zul_Latn");
  const auto score = [&](const std::string& language) {
    options.source_language = language;
    return translator.score({&source, 1}, {&source, 1}, options)[0].log_probability;
  };
  EXPECT_NE(score("eng_Latn"), score("fra_Latn"));
  EXPECT_NE(score("eng_Latn"), score("zul_Latn"));
  options.source_language = "xxx_Latn";
  EXPECT_NE(error_message([&] {
              translator.translate({source}, options, [](const TranslatedLine&) {});
            }).find("source_language 'xxx_Latn' is not one of the model's, which are: ace_Arab"),
            std::string::npos);
}

TEST(HubLanguages, AreRefusedByModelsWithoutThem) {
  const TemporaryFolder folder;
  import_hugging_face(goldens + "t5", folder / "model");
  TranslateOptions options;
  options.source_language = "de";
  EXPECT_NE(error_message([&] {
              Translator(folder / "model").translate({"x"}, options, [](const TranslatedLine&) {});
            }).find("does not choose its languages by tokens"),
            std::string::npos);
}

/// A copy of a model whose file of JSON is changed must not be imported.
void expect_refused(const std::string& name, const std::string& file, const std::function<void(json&)>& edit,
                    const std::string& part) {
  const TemporaryFolder folder;
  std::filesystem::copy(goldens + name, folder / "theirs", std::filesystem::copy_options::recursive);
  json content = json::parse(read_file(folder / "theirs/" + file));
  edit(content);
  write_file_atomically(folder / "theirs/" + file, content.dump());
  const std::string error = error_message([&] { import_hugging_face(folder / "theirs", folder / "model"); });
  EXPECT_NE(error.find(part), std::string::npos) << error;
  EXPECT_FALSE(std::filesystem::exists(folder / "model"));
}

TEST(HubEncoders, WhatNoModelFolderCanSayIsRefused) {
  expect_refused(
      "bert_classes", "config.json",
      [](json& c) {
        c["id2label"] = {{"0", "same"}, {"1", "same"}, {"2", "x"}};
      },
      "id2label: labels: the name 'same' occurs twice");
  expect_refused(
      "bert_classes", "config.json", [](json& c) { c["id2label"].erase("1"); },
      "id2label has no name of the label 1");
  expect_refused(
      "bert_classes", "config.json", [](json& c) { c["problem_type"] = "regression"; },
      "problem_type is 'regression'");
  expect_refused(
      "bert_classes", "config.json",
      [](json& c) {
        c.erase("id2label"), c.erase("label2id");
        c["problem_type"] = "multi_label_classification";
      },
      "problem_type is 'multi_label_classification'");
  expect_refused(
      "roberta_masked", "config.json", [](json& c) { c["type_vocab_size"] = 2; }, "type_vocab_size is 2");
  expect_refused(
      "sentence_transformers", "sentence_bert_config.json", [](json& c) { c["do_lower_case"] = true; },
      "do_lower_case is true; only false is supported");
  expect_refused(
      "sentence_transformers", "config_sentence_transformers.json",
      [](json& c) { c["default_prompt_name"] = "query"; }, "default_prompt_name is query");
  expect_refused(
      "sentence_transformers", "modules.json", [](json& c) { c.erase(0); }, "in this order, are");
  expect_refused(
      "sentence_transformers", "modules.json", [](json& c) { c[1]["path"] = "../1_Pooling"; },
      "leaves the folder");
}

/// XLM-R's folders of the first years have no tokenizer.json.
TEST(HubEncoders, XlmRobertaIsReadFromItsSentencePieceModel) {
  const TemporaryFolder folder;
  const std::string theirs = folder / "theirs", pieces = theirs + "/sentencepiece.bpe.model";
  std::filesystem::copy(goldens + "sentence_transformers", theirs, std::filesystem::copy_options::recursive);
  std::filesystem::remove(theirs + "/tokenizer.json");
  import_hugging_face(theirs, folder / "model");
  check_embeddings(folder / "model",
                   json::parse(read_file(goldens + "sentence_transformers/expected.json"))["cases"]);
  const auto expect_error = [&](const std::string& bytes, const std::string& part) {
    write_file_atomically(pieces, bytes);
    const std::string error = error_message([&] { import_hugging_face(theirs, folder / "other"); });
    EXPECT_NE(error.find(part), std::string::npos) << error;
  };
  const std::string whole = read_file(pieces);
  expect_error(whole.substr(0, whole.size() / 2), "sentencepiece.bpe.model");
  expect_error("", "sentencepiece.bpe.model");
  std::filesystem::remove(pieces);
  EXPECT_NE(error_message([&] {
              import_hugging_face(theirs, folder / "other");
            }).find("expected tokenizer.json or sentencepiece.bpe.model"),
            std::string::npos);
}

TEST(HubVit, WhatReadsImagesOtherwiseIsRefused) {
  const auto processor = [](const std::function<void(json&)>& edit, const std::string& part) {
    expect_refused("vit", "preprocessor_config.json", edit, part);
  };
  processor([](json& c) { c["rescale_factor"] = 0.01; }, "rescale_factor is 0.01; only 1 / 255 is supported");
  processor([](json& c) { c["do_rescale"] = false; }, "do_rescale is false; only true is supported");
  processor([](json& c) { c["size"]["height"] = 224; }, "but image_size of config.json is");
  processor([](json& c) { c["image_mean"] = {0.5, 0.5}; }, "image.mean: has 2 numbers");
  processor([](json& c) { c["image_std"] = {0.5, 0, 0.5}; }, "image.std");
  processor([](json& c) { c["image_mean"] = "x"; }, "image_mean is [\"x\"]; expected numbers");
  processor(
      [](json& c) {
        c.erase("feature_extractor_type");
        c["image_processor_type"] = "ConvNextImageProcessor";
      },
      "is ConvNextImageProcessor; only ViTImageProcessor");
  const auto config = [](const std::function<void(json&)>& edit, const std::string& part) {
    expect_refused("vit", "config.json", edit, part);
  };
  config([](json& c) { c["patch_size"] = {4, 8}; }, "only squares are supported");
  config([](json& c) { c["num_channels"] = 2; }, "image.channels is 2");
  config([](json& c) { c["image_size"] = {1, 2, 3}; }, "expected a number, or height and width");
  config([](json& c) { c["image_size"] = 1 << 14; }, "size is");
  config([](json& c) { c["architectures"] = {"ViTModel"}; }, "only ViTForImageClassification is supported");
  config([](json& c) { c["hidden_size"] = 48; }, "has the shape");
  config([](json& c) { c["model_type"] = "deit"; }, "model_type is 'deit'");
}

/// A training that goes on with the same task keeps what the model adds to its encoder.
TEST(HubEncoders, HeadsStayInATrainingOfTheSameTask) {
  const TemporaryFolder folder;
  import_hugging_face(goldens + "bert_masked", folder / "model");
  ModelConfig same = load_model_config(folder / "model"), other = same;
  keep_encoder(same, "model", "masked_language_model");
  EXPECT_TRUE(same.head.dense && same.head.norm);
  EXPECT_EQ(settings_of<MaskedLanguageModelSettings>(same).mask_token, 4);
  keep_encoder(other, "model", "classification");
  EXPECT_FALSE(other.head.dense || other.head.norm);
  EXPECT_EQ(other.settings.kind, OptionNode::Kind::null);
}

/// A forced prefix stands after the token that all targets begin with.
TEST(HubModels, APrefixFollowsTheStartOfTargets) {
  const TemporaryFolder folder;
  import_hugging_face(goldens + "bart", folder / "model");
  const Translator translator(folder / "model");
  TranslateOptions options;
  options.details.tokens = true;
  options.constraints = [](size_t, const std::string&) { return OutputConstraints{.prefix = "der alte"}; };
  translator.translate({"the old dog"}, options, [&](const TranslatedLine& line) {
    const std::vector<TranslatedToken>& tokens = line.translations[0].tokens;
    EXPECT_EQ(tokens[0].text, "<s>");
    EXPECT_TRUE(line.translations[0].text.starts_with("der alte")) << line.translations[0].text;
  });
}

/// The models of WMT21 have other languages, which an export says.
TEST(HubLanguages, OfWmt21AreExported) {
  const TemporaryFolder folder;
  std::filesystem::copy(goldens + "m2m100", folder / "theirs", std::filesystem::copy_options::recursive);
  json tokens = json::parse(read_file(folder / "theirs/tokenizer_config.json"));
  tokens["language_codes"] = "wmt21";
  tokens["src_lang"] = "en", tokens["tgt_lang"] = "de";
  write_file_atomically(folder / "theirs/tokenizer_config.json", tokens.dump());
  import_hugging_face(folder / "theirs", folder / "model");
  export_hugging_face(folder / "model", folder / "exported");
  const json written = json::parse(read_file(folder / "exported/tokenizer_config.json"));
  EXPECT_EQ(written["language_codes"], "wmt21");
}

}  // namespace
}  // namespace sixfold
