#include "c/c.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/file.h"
#include "error_message.h"
#include "program/small_classifier.h"
#include "program/small_embedder.h"
#include "program/small_language_model.h"
#include "program/small_model.h"
#include "tasks/classification/classifier.h"
#include "tasks/embedding/embedder.h"
#include "tasks/language_model/generator.h"
#include "tasks/translation/translator.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

template <class T>
using Handle = std::unique_ptr<T, void (*)(T*)>;

using Options = Handle<sixfold_options>;
Options options_of(std::initializer_list<std::pair<const char*, const char*>> values) {
  Options options(sixfold_options_new(), sixfold_options_free);
  for (const auto& [name, value] : values)
    EXPECT_EQ(sixfold_options_set(options.get(), name, value), SIXFOLD_OK);
  return options;
}

/// Checks that the last call failed because of what it was given, with `part` in the message.
void expect_input_error(const std::string& part) {
  EXPECT_EQ(sixfold_error_code(), SIXFOLD_INPUT_ERROR);
  expect_holds(sixfold_error_message(), part);
}

struct ModelFolders {
  ModelFolders() {
    write_small_model(folder / "translation", 3);
    write_small_language_model(folder / "language", 3);
    write_small_classifier(folder / "classes", 3);
    write_small_embedder(folder / "embedding", 3);
  }
  const TemporaryFolder folder;
};

/// A model of each kind, opened, and two texts.
class C : public testing::Test, protected ModelFolders {
 protected:
  void SetUp() override {
    ASSERT_TRUE(translator && generator && classifier && embedder) << sixfold_error_message();
  }

  const std::vector<const char*> texts{"a b", "c"};
  const Options one_thread = options_of({{"threads", "1"}});
  Handle<sixfold_translator> translator{
      sixfold_translator_open((folder / "translation").c_str(), one_thread.get()), sixfold_translator_free};
  Handle<sixfold_generator> generator{sixfold_generator_open((folder / "language").c_str(), one_thread.get()),
                                      sixfold_generator_free};
  Handle<sixfold_classifier> classifier{sixfold_classifier_open((folder / "classes").c_str(), one_thread.get()),
                                        sixfold_classifier_free};
  Handle<sixfold_embedder> embedder{sixfold_embedder_open((folder / "embedding").c_str(), one_thread.get()),
                                    sixfold_embedder_free};

  using Translations = Handle<sixfold_translations>;
  Translations translate(const std::vector<const char*>& lines, const sixfold_options* options = nullptr) {
    return {sixfold_translate(translator.get(), lines.data(), nullptr, lines.size(), options),
            sixfold_translations_free};
  }
  using Generated = Handle<sixfold_generated>;
  Generated generate(const sixfold_options* options, sixfold_piece_generated receive = nullptr,
                     void* data = nullptr) {
    return {sixfold_generate(generator.get(), texts.data(), nullptr, texts.size(), options, receive, data),
            sixfold_generated_free};
  }
};

TEST_F(C, SaysItsVersion) {
  EXPECT_EQ(sixfold_abi(), SIXFOLD_ABI);
  EXPECT_EQ(std::string(sixfold_version()).find_first_not_of("0123456789."), std::string::npos);
}

TEST_F(C, TranslatesAsTheLibrary) {
  const auto options = options_of({{"n_best", "2"}, {"beam_size", "3"}, {"generation.word_penalty", "0.5"}});
  const auto translations = translate(texts, options.get());
  ASSERT_TRUE(translations) << sixfold_error_message();
  const Translator same(folder / "translation", {.threads = 1});
  TranslateOptions how{.beam_size = 3, .n_best = 2};
  how.generation = same.generation();
  how.generation->word_penalty = 0.5f;
  double plain_score = 0;
  same.translate({"a b"}, {.beam_size = 3, .n_best = 2},
                 [&](const TranslatedLine& line) { plain_score = line.translations[0].score; });
  same.translate({"a b", "c"}, how, [&](const TranslatedLine& line) {
    ASSERT_EQ(sixfold_translations_of(translations.get(), line.index), 2u);
    for (size_t rank = 0; rank < 2; ++rank) {
      size_t size = 0;
      const char* text = sixfold_translations_text(translations.get(), line.index, rank, &size);
      EXPECT_EQ(std::string(text, size), line.translations[rank].text);
      EXPECT_EQ(text[size], '\0');
      EXPECT_EQ(sixfold_translations_score(translations.get(), line.index, rank),
                line.translations[rank].score);
    }
  });
  EXPECT_NE(sixfold_translations_score(translations.get(), 0, 0), plain_score);
  EXPECT_EQ(sixfold_translations_text(translations.get(), 2, 0, nullptr), nullptr);
  expect_input_error("there is no line 2; there are 2");
  EXPECT_TRUE(std::isnan(sixfold_translations_score(translations.get(), 0, 2)));
  expect_input_error("there is no translation 2; there are 2");
}

TEST_F(C, TakesTextsBySize) {
  const char* text = "a bc d";
  const size_t size = 3;
  const Translations part(sixfold_translate(translator.get(), &text, &size, 1, nullptr),
                          sixfold_translations_free);
  const auto whole = translate({"a b"});
  EXPECT_STREQ(sixfold_translations_text(part.get(), 0, 0, nullptr),
               sixfold_translations_text(whole.get(), 0, 0, nullptr));
  EXPECT_TRUE(translate({}));
}

TEST_F(C, KeepsSymbolsAsTheOthersDo) {
  const auto text = [&](const sixfold_options* options) {
    return std::string(sixfold_translations_text(translate({"..."}, options).get(), 0, 0, nullptr));
  };
  EXPECT_EQ(text(nullptr), "...");
  EXPECT_NE(text(options_of({{"keep_symbols", "false"}}).get()), "...");
}

/// Lines for a stream, and what came of them.
struct Stream {
  std::vector<std::string> lines;
  size_t next = 0, stop_before = 1000, stop_after = 1000;
  bool asleep = false;  // every other call has no line yet
  std::vector<std::string> received;

  static int next_line(void* data, int, const char** line, size_t* size) {
    auto& stream = *static_cast<Stream*>(data);
    if (stream.next == stream.stop_before) return -1;
    if (stream.next == stream.lines.size()) return SIXFOLD_END;
    stream.asleep = !stream.asleep;
    if (stream.asleep) return SIXFOLD_NONE_YET;
    *line = stream.lines[stream.next].data(), *size = stream.lines[stream.next].size();
    ++stream.next;
    return SIXFOLD_LINE;
  }
  static int receive(void* data, size_t line, const sixfold_translations* translations) {
    auto& stream = *static_cast<Stream*>(data);
    EXPECT_EQ(line, stream.received.size());
    stream.received.emplace_back(sixfold_translations_text(translations, 0, 0, nullptr));
    return stream.received.size() == stream.stop_after;
  }
};

TEST_F(C, TranslatesAStream) {
  Stream stream{{"a b", "c", "d e f"}};
  const auto run = [&] {
    return sixfold_translate_stream(translator.get(), Stream::next_line, Stream::receive, &stream, nullptr);
  };
  ASSERT_EQ(run(), SIXFOLD_OK) << sixfold_error_message();
  EXPECT_EQ(stream.received, Translator(folder / "translation").translate(stream.lines));
  stream = {stream.lines, 0, 1000, 1};
  EXPECT_EQ(run(), SIXFOLD_STOPPED);
  EXPECT_EQ(stream.received.size(), 1u);
  stream = {stream.lines, 0, 2};
  EXPECT_EQ(run(), SIXFOLD_STOPPED);
  EXPECT_STREQ(sixfold_error_message(), "stopped by the caller");
  EXPECT_LE(stream.received.size(), 2u);
}

TEST_F(C, GeneratesAsTheLibrary) {
  const auto options = options_of({{"samples", "2"}, {"seed", "7"}, {"max_tokens", "5"}});
  std::string pieces[2][2];
  const auto receive = [](void* data, size_t prompt, size_t sample, const char* text, size_t size) {
    static_cast<std::string(*)[2]>(data)[prompt][sample].append(text, size);
    return 0;
  };
  const auto generated = generate(options.get(), receive, pieces);
  ASSERT_TRUE(generated) << sixfold_error_message();
  const std::vector<std::string> prompts(texts.begin(), texts.end());
  const auto same =
      Generator(folder / "language").generate(prompts, {.max_tokens = 5, .samples = 2, .seed = 7});
  for (size_t prompt = 0; prompt < 2; ++prompt) {
    EXPECT_EQ(sixfold_generated_of(generated.get(), prompt), 2u);
    for (size_t sample = 0; sample < 2; ++sample) {
      EXPECT_EQ(sixfold_generated_text(generated.get(), prompt, sample, nullptr),
                same[prompt].texts[sample].text);
      EXPECT_EQ(pieces[prompt][sample], same[prompt].texts[sample].text);
    }
  }
}

TEST_F(C, GenerationStops) {
  const auto options = options_of({{"max_tokens", "100000"}});
  int calls = 0;
  const auto stop = [](void* data, size_t, size_t, const char*, size_t) { return ++*static_cast<int*>(data); };
  EXPECT_FALSE(generate(options.get(), stop, &calls));
  EXPECT_EQ(sixfold_error_code(), SIXFOLD_STOPPED);
  EXPECT_EQ(calls, 1);
}

TEST_F(C, APromptThatIsTooLongSaysSo) {
  const char* const prompts[] = {"a b c d e f g h a b c d", "a"};
  const Generated generated(sixfold_generate(generator.get(), prompts, nullptr, 2, nullptr, nullptr, nullptr),
                            sixfold_generated_free);
  EXPECT_EQ(sixfold_generated_of(generated.get(), 0), 0u);
  EXPECT_EQ(sixfold_generated_text(generated.get(), 0, 0, nullptr), nullptr);
  expect_input_error("prompt 0: the prompt has ");
  EXPECT_NE(sixfold_generated_text(generated.get(), 1, 0, nullptr), nullptr);
}

TEST_F(C, ClassifiesAsTheLibrary) {
  ASSERT_EQ(sixfold_classifier_labels(classifier.get()), 3u);
  EXPECT_STREQ(sixfold_classifier_label(classifier.get(), 2), "good");
  EXPECT_EQ(sixfold_classifier_label(classifier.get(), 3), nullptr);
  double found[6];
  ASSERT_EQ(sixfold_classify(classifier.get(), texts.data(), nullptr, 2, found, 6), SIXFOLD_OK);
  const std::vector<std::string> same_texts(texts.begin(), texts.end());
  const auto same = Classifier(folder / "classes").classify(same_texts);
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(found[i], same[i / 3].probabilities[i % 3]);
  found[0] = 7;
  EXPECT_EQ(sixfold_classify(classifier.get(), texts.data(), nullptr, 2, found, 5), SIXFOLD_INPUT_ERROR);
  expect_input_error("2 x 3 numbers are more than the room for 5");
  const char* const faulty[] = {"a", ""};
  EXPECT_EQ(sixfold_classify(classifier.get(), faulty, nullptr, 2, found, 6), SIXFOLD_INPUT_ERROR);
  expect_input_error("text 1: ");
  EXPECT_EQ(found[0], 7);
  const char* const invalid[] = {"a", "\xff"};
  EXPECT_EQ(sixfold_classify(classifier.get(), invalid, nullptr, 2, found, 6), SIXFOLD_INPUT_ERROR);
  expect_input_error("text 1: ");
}

TEST_F(C, EmbedsAsTheLibrary) {
  const size_t size = sixfold_embedder_size(embedder.get());
  std::vector<float> found(2 * size);
  ASSERT_EQ(sixfold_embed(embedder.get(), texts.data(), nullptr, 2, found.data(), found.size()), SIXFOLD_OK);
  const std::vector<std::string> same_texts(texts.begin(), texts.end());
  const auto same = Embedder(folder / "embedding").embed(same_texts);
  for (size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i], same[i / size].values[i % size]);
  EXPECT_EQ(sixfold_embed(embedder.get(), texts.data(), nullptr, 2, found.data(), size), SIXFOLD_INPUT_ERROR);
  const char* const invalid[] = {"a", "\xff"};
  EXPECT_EQ(sixfold_embed(embedder.get(), invalid, nullptr, 2, found.data(), found.size()),
            SIXFOLD_INPUT_ERROR);
  expect_input_error("text 1: ");
}

TEST_F(C, TrainsStopsAndResumes) {
  std::string text;
  for (int i = 0; i < 40; ++i) text += i % 2 ? "a b c\n" : "b a\n";
  write_file_atomically(folder / "text", text);
  const std::string run = folder / "run", file = folder / "text";
  const auto train = [&](const std::string& updates, const sixfold_options* options, int (*stop)(void*)) {
    const std::string config =
        "data: {train: [" + file + ", " + file +
        "], batch_tokens: 64}\nmodel: {d_model: 16, d_ff: 32, heads: 2, encoder_layers: 1, "
        "decoder_layers: 1}\ntokenizer: {kind: characters}\ntrain: {updates: " +
        updates + "}\n";
    return sixfold_train(config.c_str(), run.c_str(), options, stop, nullptr);
  };
  // It is stopped when it has begun, so that there is something to resume.
  static std::string log;
  log = run + "/train.jsonl";
  EXPECT_EQ(train("1000000", nullptr, [](void*) { return std::filesystem::exists(log) ? 1 : 0; }),
            SIXFOLD_STOPPED);
  EXPECT_FALSE(std::filesystem::exists(run + "/model"));
  const auto resume = options_of({{"resume", "true"}});
  EXPECT_EQ(train("1000000", resume.get(), [](void*) { return 1; }), SIXFOLD_STOPPED);
  EXPECT_EQ(train("1000000", nullptr, nullptr), SIXFOLD_INPUT_ERROR);
  expect_input_error("resume");
  std::filesystem::remove_all(run);
  EXPECT_EQ(train("2", nullptr, [](void*) { return 0; }), SIXFOLD_OK) << sixfold_error_message();
  EXPECT_TRUE(Handle<sixfold_translator>(sixfold_translator_open((run + "/model").c_str(), nullptr),
                                         sixfold_translator_free));
}

TEST_F(C, OptionsAreReadByTheCall) {
  EXPECT_FALSE(translate(texts, options_of({{"beam_size", "x"}}).get()));
  EXPECT_STREQ(sixfold_error_message(), "--set beam_size=x: beam_size: expected a whole number, found 'x'");
  EXPECT_FALSE(translate(texts, options_of({{"baem_size", "4"}}).get()));
  expect_input_error("--set baem_size=4: unknown key 'baem_size' (did you mean 'beam_size'?)");
  EXPECT_FALSE(translate(texts, options_of({{"generation.beam", "4"}}).get()));
  expect_input_error("unknown key 'generation.beam'");
  EXPECT_FALSE(translate(texts, options_of({{"generation.length_offset", "-1"}}).get()));
  expect_input_error("expected a whole number from 0");
  EXPECT_FALSE(generate(options_of({{"temperature", "-1"}}).get()));
  expect_input_error("temperature");
  EXPECT_FALSE(generate(options_of({{"seed", "\xff\xfe"}}).get()));
  const auto options = options_of({});
  EXPECT_EQ(sixfold_options_set(options.get(), "", "4"), SIXFOLD_INPUT_ERROR);
  expect_input_error("--set =4: expected KEY=VALUE");
}

TEST_F(C, NamesOfOptionsHaveNoValue) {
  const std::unique_ptr<sixfold_options, void (*)(sixfold_options*)> options(sixfold_options_new(),
                                                                             sixfold_options_free);
  EXPECT_EQ(sixfold_options_set(options.get(), "beam_size=1", "2"), SIXFOLD_INPUT_ERROR);
  expect_input_error("'beam_size=1' is not the name of an option");
}

TEST_F(C, ModelsThatCanNotBeOpened) {
  EXPECT_EQ(sixfold_translator_open((folder / "nowhere").c_str(), nullptr), nullptr);
  expect_input_error("nowhere: there is no file or folder of that name");
  EXPECT_EQ(sixfold_generator_open((folder / "translation").c_str(), nullptr), nullptr);
  expect_input_error("translation");
  EXPECT_EQ(sixfold_classifier_open("", nullptr), nullptr);
  EXPECT_EQ(sixfold_embedder_open((folder / "embedding").c_str(), options_of({{"threads", "-1"}}).get()),
            nullptr);
  expect_input_error("threads: expected a whole number from 0 to 1024");
  EXPECT_EQ(sixfold_embedder_open((folder / "embedding").c_str(), options_of({{"precision", "int9"}}).get()),
            nullptr);
  expect_input_error("perhaps int8");
}

TEST_F(C, TextsThatAreNotUtf8) {
  const auto translations = translate({"a \xff\xfe b", "\xc3"});
  ASSERT_TRUE(translations) << sixfold_error_message();
  const auto replaced = translate({"a \uFFFD\uFFFD b", "\uFFFD"});
  for (const size_t line : {0, 1})
    EXPECT_STREQ(sixfold_translations_text(translations.get(), line, 0, nullptr),
                 sixfold_translations_text(replaced.get(), line, 0, nullptr));
  const char* const text = "\xff";
  const Generated generated(sixfold_generate(generator.get(), &text, nullptr, 1, nullptr, nullptr, nullptr),
                            sixfold_generated_free);
  EXPECT_EQ(sixfold_generated_text(generated.get(), 0, 0, nullptr), nullptr);
  expect_input_error("the prompt is not text");
}

TEST_F(C, NullIsAnError) {
  const auto options = options_of({});
  const char* const hole[] = {"a", nullptr};
  double number = 0;
  float value = 0;
  const std::vector<std::function<bool()>> fail{
      [&] { return sixfold_options_set(nullptr, "a", "b") != SIXFOLD_OK; },
      [&] { return sixfold_options_set(options.get(), nullptr, "b") != SIXFOLD_OK; },
      [&] { return sixfold_options_set(options.get(), "a", nullptr) != SIXFOLD_OK; },
      [&] { return !sixfold_translator_open(nullptr, nullptr); },
      [&] { return !sixfold_generator_open(nullptr, nullptr); },
      [&] { return !sixfold_classifier_open(nullptr, nullptr); },
      [&] { return !sixfold_embedder_open(nullptr, nullptr); },
      [&] { return !sixfold_translate(nullptr, texts.data(), nullptr, 2, nullptr); },
      [&] { return !sixfold_translate(translator.get(), nullptr, nullptr, 2, nullptr); },
      [&] { return !sixfold_translate(translator.get(), hole, nullptr, 2, nullptr); },
      [&] { return sixfold_translations_of(nullptr, 0) == 0; },
      [&] { return !sixfold_translations_text(nullptr, 0, 0, nullptr); },
      [&] { return std::isnan(sixfold_translations_score(nullptr, 0, 0)); },
      [&] {
        return sixfold_translate_stream(translator.get(), nullptr, Stream::receive, nullptr, nullptr) !=
               SIXFOLD_OK;
      },
      [&] {
        return sixfold_translate_stream(translator.get(), Stream::next_line, nullptr, nullptr, nullptr) !=
               SIXFOLD_OK;
      },
      [&] { return !sixfold_generate(nullptr, texts.data(), nullptr, 2, nullptr, nullptr, nullptr); },
      [&] { return !sixfold_generate(generator.get(), nullptr, nullptr, 2, nullptr, nullptr, nullptr); },
      [&] { return sixfold_generated_of(nullptr, 0) == 0; },
      [&] { return !sixfold_generated_text(nullptr, 0, 0, nullptr); },
      [&] { return sixfold_classifier_labels(nullptr) == 0; },
      [&] { return !sixfold_classifier_label(nullptr, 0); },
      [&] { return sixfold_classify(nullptr, texts.data(), nullptr, 2, &number, 1) != SIXFOLD_OK; },
      [&] { return sixfold_classify(classifier.get(), texts.data(), nullptr, 2, nullptr, 6) != SIXFOLD_OK; },
      [&] { return sixfold_classify(classifier.get(), nullptr, nullptr, 1, &number, 3) != SIXFOLD_OK; },
      [&] { return sixfold_embedder_size(nullptr) == 0; },
      [&] { return sixfold_embed(embedder.get(), texts.data(), nullptr, 2, nullptr, 1000) != SIXFOLD_OK; },
      [&] { return sixfold_embed(nullptr, texts.data(), nullptr, 2, &value, 1) != SIXFOLD_OK; },
      [&] { return sixfold_train(nullptr, "run", nullptr, nullptr, nullptr) != SIXFOLD_OK; },
      [&] { return sixfold_train("", nullptr, nullptr, nullptr, nullptr) != SIXFOLD_OK; },
  };
  for (size_t i = 0; i < fail.size(); ++i) {
    EXPECT_FALSE(translate(texts, options_of({{"n_best", "0"}}).get()));  // an error of another text
    EXPECT_TRUE(fail[i]()) << i;
    expect_input_error("NULL");
  }
  sixfold_options_free(nullptr), sixfold_translator_free(nullptr), sixfold_generator_free(nullptr);
  sixfold_classifier_free(nullptr), sixfold_embedder_free(nullptr), sixfold_translations_free(nullptr);
  sixfold_generated_free(nullptr);
}

TEST_F(C, EachThreadHasItsOwnError) {
  EXPECT_FALSE(sixfold_translator_open("nowhere", nullptr));
  std::thread([] {
    EXPECT_EQ(sixfold_error_code(), SIXFOLD_OK);
    EXPECT_STREQ(sixfold_error_message(), "");
  }).join();
  expect_input_error("nowhere");
}

}  // namespace
}  // namespace sixfold
