#include "model_folder/config_file.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "error_message.h"
#include "tasks/classification/settings.h"
#include "tasks/language_model/settings.h"
#include "tasks/question_answering/settings.h"
#include "tasks/translation/settings.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

ModelConfig config_of(Preset name, int vocab) {
  ModelConfig config;
  static_cast<Architecture&>(config) = preset(name);
  config.task = "translation";
  config.source_vocab = config.target_vocab = vocab;
  return config;
}

TEST(ConfigFile, IsSavedAndLoaded) {
  const TemporaryFolder folder;
  ModelConfig config = config_of(Preset::big, 37'000);
  config.source_tokenizer_hash = "0123";
  config.generation.normalization = ScoreNormalization::length;
  config.generation.suppress_tokens = {3, 4};
  config.tied_embeddings = TiedEmbeddings::decoder;
  save_config(folder / "config.json", config);
  const ModelConfig loaded = load_config(folder / "config.json");
  EXPECT_EQ(to_json(config_tree(loaded)), to_json(config_tree(config)));
  EXPECT_EQ(loaded.generation.suppress_tokens, config.generation.suppress_tokens);
  EXPECT_EQ(loaded.dropout, 0.3f);
}

TEST(ConfigFile, LoadingNamesFileAndKey) {
  const TemporaryFolder folder;
  const std::string path = folder / "config.json";
  const ModelConfig config = config_of(Preset::tiny, 1000);
  const auto message = [&](const std::string& from, const std::string& to) {
    std::string text = to_json(config_tree(config));
    EXPECT_NE(text.find(from), std::string::npos) << text;
    text.replace(text.find(from), from.size(), to);
    write_file_atomically(path, text);
    return error_message([&] { load_config(path); });
  };
  EXPECT_EQ(message("\"heads\"", "\"haeds\""), path + ": unknown key 'haeds' (did you mean 'heads'?)");
  EXPECT_EQ(message("  \"heads\": 4,\n", ""),
            path + ": heads: expected a whole number from 1 to 1024, found '0'");
  EXPECT_EQ(
      message("\"format_version\": 3", "\"format_version\": 7"),
      path +
          ": format_version: this program reads formats up to 3, found 7; the model was written by a later "
          "version of Sixfold: use that");
  // A later format is told by its number, whatever other keys it has.
  EXPECT_EQ(
      message("\"format_version\": 3,", "\"format_version\": 4, \"shiny\": 1,"),
      path +
          ": format_version: this program reads formats up to 3, found 4; the model was written by a later "
          "version of Sixfold: use that");
  EXPECT_NE(message("\"format_version\": 3", "\"format_version\": \"1\"").find("without quotes, found '1'"),
            std::string::npos);
  // A file of format 1 has no names of today.
  EXPECT_NE(
      message("\"format_version\": 3", "\"format_version\": 1").find("is mixed with names of version 0.1.0"),
      std::string::npos);
  EXPECT_EQ(message("\"relu\"", "\"rleu\""), path +
                                                 ": activation: expected one of relu, swish, gelu, "
                                                 "sigmoid_gelu, tanh_gelu, sigmoid, tanh (perhaps relu), "
                                                 "found 'rleu'");
  EXPECT_EQ(message("{", "["), path + ": not valid JSON at byte 21");
}

/// A model of format 2, which does not name its task and has the settings of all of them.
TEST(ConfigFile, OfFormat2SaysItsTaskByItsParts) {
  const TemporaryFolder folder;
  const auto loaded = [&](const std::string& keys) {
    write_file_atomically(
        folder / "config.json",
        "{\"format_version\": 2, \"source_vocab\": 256, \"target_vocab\": 256, \"d_model\": 8, "
        "\"heads\": 2, \"d_ff\": 8, \"eos\": 3, \"tied_embeddings\": \"none\", " +
            keys + "}");
    return load_config(folder / "config.json");
  };
  const ModelConfig translation = loaded(
      R"("encoder_layers": 1, "decoder_layers": 1, "source_language": "en", "target_language": "pt-BR",
         "text_unit": "stream", "labels": [], "head": "vocabulary", "answers": {"stride": 5}, "pooling": "mean")");
  EXPECT_EQ(translation.task, "translation");
  EXPECT_EQ(settings_of<TranslationSettings>(translation).target_language, "pt-BR");
  EXPECT_TRUE(translation.generation.suppress_tokens.empty());

  const ModelConfig stream =
      loaded(R"("encoder_layers": 0, "decoder_layers": 1, "generation": {"suppress_tokens": [7]})");
  EXPECT_EQ(stream.task, "language_model");
  EXPECT_EQ(settings_of<LanguageModelSettings>(stream).text_unit, TextUnit::stream);
  EXPECT_EQ(stream.generation.suppress_tokens, (std::vector{7, 3})) << "no text ends";
  const ModelConfig one =
      loaded(R"("encoder_layers": 0, "decoder_layers": 1, "generation": {"suppress_tokens": 7})");
  EXPECT_EQ(one.generation.suppress_tokens, (std::vector{7, 3})) << "a single value is a list of one";
  const ModelConfig lines = loaded(R"("encoder_layers": 0, "decoder_layers": 1, "text_unit": "line")");
  EXPECT_EQ(settings_of<LanguageModelSettings>(lines).text_unit, TextUnit::line);
  EXPECT_TRUE(lines.generation.suppress_tokens.empty());

  const ModelConfig classes = loaded(
      R"("encoder_layers": 1, "decoder_layers": 0, "head": "classes", "labels": ["x", "y"], "pooling": "mean")");
  EXPECT_EQ(classes.task, "classification");
  EXPECT_EQ(classes.head.kind, OutputHead::classes);
  EXPECT_EQ(classes.head.pooling, Pooling::mean);
  EXPECT_EQ(labels_of(classes), (std::vector<std::string>{"x", "y"}));
  const std::string image = R"(, "image": {"height": 4, "width": 4, "patch": 2})";
  EXPECT_EQ(loaded(R"("encoder_layers": 1, "decoder_layers": 0, "head": "classes", "labels": ["x", "y"],
                      "pooling": "mean")" +
                   image)
                .task,
            "image_classification");
  EXPECT_EQ(loaded(R"("encoder_layers": 1, "decoder_layers": 1)" + image).task, "image_captioning");
  EXPECT_EQ(loaded(R"("encoder_layers": 1, "decoder_layers": 0)").task, "masked_language_model");
  const ModelConfig span = loaded(
      R"("encoder_layers": 1, "decoder_layers": 0, "head": "span", "context_tokens": 20, "answers": {"stride": 5})");
  EXPECT_EQ(span.task, "question_answering");
  EXPECT_EQ(settings_of<AnswerSettings>(span).stride, 5);
  EXPECT_EQ(to_json(config_tree(load_config(folder / "config.json"))), to_json(config_tree(span)));
}

TEST(ConfigFile, SettingsAreThoseOfTheTask) {
  const TemporaryFolder folder;
  const std::string path = folder / "config.json";
  ModelConfig config = config_of(Preset::tiny, 1000);
  config.settings = write_options(TranslationSettings{"en", "de"});
  save_config(path, config);
  EXPECT_EQ(settings_of<TranslationSettings>(load_config(path)).source_language, "en");
  EXPECT_EQ(error_message([&] { settings_of<ClassificationSettings>(load_config(path)); }),
            path + ": unknown key 'confidence' (known: labels)");
  config.settings = write_options(TranslationSettings{"en", "not a code"});
  save_config(path, config);
  EXPECT_EQ(error_message([&] { settings_of<TranslationSettings>(load_config(path)); }),
            path + ": 'not a code' is not the code of a language, such as de or pt-BR");
  config.settings = {};
  config.task = "something_else";
  save_config(path, config);
  EXPECT_EQ(load_config(path).task, "something_else");
  for (const char* name : {"generation", "d_model", "../translation", "Translation"}) {
    config.task = name;
    save_config(path, config);
    expect_holds(error_message([&] { load_config(path); }), "task: expected the name of a task");
  }
}

TEST(ClassificationSettings, NamesOfLabelsAreChecked) {
  ModelConfig config;
  config.head = {OutputHead::classes, 2};
  const auto said = [&](std::vector<std::string> labels) {
    config.settings = write_options(ClassificationSettings{std::move(labels)});
    return error_message([&] { labels_of(config); });
  };
  EXPECT_NE(said({"a", "a"}).find("the name 'a' occurs twice"), std::string::npos);
  EXPECT_NE(said({"a", "b\tc"}).find("has a tab"), std::string::npos);
  EXPECT_NE(said({"a", ""}).find("labels: '' is empty"), std::string::npos);
  EXPECT_NE(said({"a", "b", "c"}).find("there are 3, but the model predicts 2 classes"), std::string::npos);
}

}  // namespace
}  // namespace sixfold
