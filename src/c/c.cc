#include "c/c.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/options.h"
#include "tasks/classification/classifier.h"
#include "tasks/embedding/embedder.h"
#include "tasks/language_model/generator.h"
#include "tasks/train.h"
#include "tasks/translation/translator.h"

namespace sixfold {

static void visit(OptionVisitor& v, TrainRequest& o) {
  v.field("resume", o.resume, "resume from the newest checkpoint");
  v.field("other_processor", o.other_processor, "also on another instruction set");
  v.field("fit", o.fit, "process batches in smaller parts if they need too much memory");
}

namespace {

/// The options of `sixfold_translate`. Before they are read, `generation` has the settings of the model.
struct TranslateKeys {
  TranslateOptions options;
  GenerationConfig generation;
};
void visit(OptionVisitor& v, TranslateKeys& o) {
  visit(v, o.options);
  v.group("generation", o.generation, "how outputs are searched and scored");
}

/// The last error of a thread.
struct LastError {
  int code = SIXFOLD_OK;
  std::string message;
};
thread_local LastError last_error;

int note(int code, const char* message) noexcept {
  last_error.code = code;
  try {
    last_error.message = message;
  } catch (const std::bad_alloc&) {
    last_error.message.clear();
  }
  return code;
}

/// The code of a fault. The codes are in the order of `Fault`.
int code_of(Fault fault) { return SIXFOLD_INPUT_ERROR + static_cast<int>(fault); }
static_assert(static_cast<int>(Fault::input) == 0 && static_cast<int>(Fault::program) == 2);

/// Makes the exception that is being handled the last error of this thread, and returns its code.
int note_exception() noexcept {
  try {
    throw;
  } catch (const Cancelled&) {
    return note(SIXFOLD_STOPPED, "stopped by the caller");
  } catch (const Error& error) {
    return note(code_of(error.fault()), error.what());
  } catch (const std::bad_alloc&) {
    return note(SIXFOLD_ENVIRONMENT_ERROR, "there is not enough memory");
  } catch (const std::exception& error) {
    return note(SIXFOLD_PROGRAM_ERROR, error.what());
  } catch (...) {
    return note(SIXFOLD_PROGRAM_ERROR, "an exception of an unknown type");
  }
}

/// Returns the result of `action`, or NULL or 0 if it throws.
template <class Action>
auto value_of(Action action) noexcept -> decltype(action()) {
  try {
    return action();
  } catch (...) {
    note_exception();
    return {};
  }
}

/// Calls `action`. Returns SIXFOLD_OK, or the code of the exception that it throws.
template <class Action>
int code_after(Action action) noexcept {
  try {
    action();
    return SIXFOLD_OK;
  } catch (...) {
    return note_exception();
  }
}

template <class T>
T* given(T* argument, const char* name) {
  require(argument != nullptr, "the argument '{}' is NULL", name);
  return argument;
}

std::vector<std::string> texts_of(const char* const* texts, const size_t* sizes, size_t count) {
  std::vector<std::string> result;
  for (size_t i = 0; i < count; ++i) {
    const char* const text = given(texts, "texts")[i];
    require(text != nullptr, "text {} is NULL", i);
    result.emplace_back(sizes ? std::string(text, sizes[i]) : std::string(text));
  }
  return result;
}

/// An element of a result. Throws an input error if there is no element at this place.
template <class Part>
const Part& part(const std::vector<Part>& parts, size_t place, const char* what) {
  require(place < parts.size(), "there is no {} {}; there are {}", what, place, parts.size());
  return parts[place];
}

const char* text_and_size(const std::string& text, size_t* size) {
  if (size) *size = text.size();
  return text.c_str();
}

/// Throws an input error unless `count` rows of `width` numbers fit in `room`.
void require_room(size_t count, size_t width, size_t room) {
  require(width == 0 || count <= room / width, "{} x {} numbers are more than the room for {}", count, width,
          room);
}

}  // namespace
}  // namespace sixfold

using namespace sixfold;

struct sixfold_options {
  OptionNode tree{.kind = OptionNode::Kind::map};
};
struct sixfold_translator {
  Translator predictor;
};
struct sixfold_generator {
  Generator predictor;
};
struct sixfold_classifier {
  Classifier predictor;
};
struct sixfold_embedder {
  Embedder predictor;
};
struct sixfold_translations {
  std::vector<TranslatedLine> lines;
};
struct sixfold_generated {
  std::vector<GeneratedTexts> prompts;
};

namespace {

/// Returns `keys` with the values that the options set.
template <class Keys>
Keys read(const sixfold_options* options, Keys keys = {}) {
  if (options) read_options(options->tree, keys);
  return keys;
}

template <class Handle>
Handle* opened(const char* folder, const sixfold_options* options) {
  return value_of([&] {
    return new Handle{decltype(Handle::predictor)(given(folder, "folder"), read<RuntimeOptions>(options))};
  });
}

TranslateOptions translate_options(const Translator& translator, const sixfold_options* options) {
  auto keys = read<TranslateKeys>(options, {.generation = translator.generation()});
  keys.options.generation = std::move(keys.generation);
  return std::move(keys.options);
}

const std::vector<Translation>& translations_of(const sixfold_translations* translations, size_t line) {
  return part(given(translations, "translations")->lines, line, "line").translations;
}

/// Throws the error of the first result that has one.
template <class Result>
void require_no_error(const std::vector<Result>& results) {
  for (size_t i = 0; i < results.size(); ++i)
    require(!results[i].error, "text {}: {}", i, results[i].error.value_or(""));
}

}  // namespace

int sixfold_abi(void) { return SIXFOLD_ABI; }
const char* sixfold_version(void) { return SIXFOLD_VERSION; }

int sixfold_error_code(void) { return last_error.code; }
const char* sixfold_error_message(void) { return last_error.message.c_str(); }

sixfold_options* sixfold_options_new(void) {
  return value_of([] { return new sixfold_options; });
}

int sixfold_options_set(sixfold_options* options, const char* name, const char* value) {
  return code_after([&] {
    const std::string key = given(name, "name");
    require(key.find('=') == key.npos, "'{}' is not the name of an option", key);
    set_option(given(options, "options")->tree, key + "=" + given(value, "value"));
  });
}

void sixfold_options_free(sixfold_options* options) { delete options; }

sixfold_translator* sixfold_translator_open(const char* folder, const sixfold_options* options) {
  return opened<sixfold_translator>(folder, options);
}
sixfold_generator* sixfold_generator_open(const char* folder, const sixfold_options* options) {
  return opened<sixfold_generator>(folder, options);
}
sixfold_classifier* sixfold_classifier_open(const char* folder, const sixfold_options* options) {
  return opened<sixfold_classifier>(folder, options);
}
sixfold_embedder* sixfold_embedder_open(const char* folder, const sixfold_options* options) {
  return opened<sixfold_embedder>(folder, options);
}
void sixfold_translator_free(sixfold_translator* translator) { delete translator; }
void sixfold_generator_free(sixfold_generator* generator) { delete generator; }
void sixfold_classifier_free(sixfold_classifier* classifier) { delete classifier; }
void sixfold_embedder_free(sixfold_embedder* embedder) { delete embedder; }

sixfold_translations* sixfold_translate(const sixfold_translator* translator, const char* const* lines,
                                        const size_t* sizes, size_t count, const sixfold_options* options) {
  return value_of([&] {
    const Translator& predictor = given(translator, "translator")->predictor;
    sixfold_translations result;
    predictor.translate(texts_of(lines, sizes, count), translate_options(predictor, options),
                        [&](const TranslatedLine& line) { result.lines.push_back(line); });
    return new sixfold_translations(std::move(result));
  });
}

size_t sixfold_translations_of(const sixfold_translations* translations, size_t line) {
  return value_of([&] { return translations_of(translations, line).size(); });
}

const char* sixfold_translations_text(const sixfold_translations* translations, size_t line, size_t rank,
                                      size_t* size) {
  return value_of(
      [&] { return text_and_size(part(translations_of(translations, line), rank, "translation").text, size); });
}

double sixfold_translations_score(const sixfold_translations* translations, size_t line, size_t rank) {
  double score = std::numeric_limits<double>::quiet_NaN();
  code_after([&] { score = part(translations_of(translations, line), rank, "translation").score; });
  return score;
}

void sixfold_translations_free(sixfold_translations* translations) { delete translations; }

int sixfold_translate_stream(const sixfold_translator* translator, sixfold_next_line next,
                             sixfold_line_translated receive, void* data, const sixfold_options* options) {
  return code_after([&] {
    const Translator& predictor = given(translator, "translator")->predictor;
    given(next, "next"), given(receive, "receive");
    const LineSource source = [&](std::string& line, bool wait) {
      const char* text = nullptr;
      size_t size = 0;
      switch (next(data, wait, &text, &size)) {
        case SIXFOLD_LINE:
          require(text != nullptr, "the next line is NULL");
          line.assign(text, size);
          return NextLine::line;
        case SIXFOLD_NONE_YET:
          return NextLine::none_yet;
        case SIXFOLD_END:
          return NextLine::end;
      }
      throw Cancelled();
    };
    predictor.translate(source, translate_options(predictor, options), [&](const TranslatedLine& line) {
      const sixfold_translations one{{line}};
      if (receive(data, line.index, &one) != 0) throw Cancelled();
    });
  });
}

sixfold_generated* sixfold_generate(const sixfold_generator* generator, const char* const* prompts,
                                    const size_t* sizes, size_t count, const sixfold_options* options,
                                    sixfold_piece_generated receive, void* data) {
  return value_of([&] {
    const Generator& predictor = given(generator, "generator")->predictor;
    auto how = read<GenerateOptions>(options);
    std::stop_source stop;
    how.cancel = stop.get_token();
    std::mutex one_at_a_time;
    const auto pass_on = [&](const TextPiece& piece) {
      const std::lock_guard lock(one_at_a_time);
      if (!piece.text.empty() && !stop.stop_requested() &&
          receive(data, piece.prompt, piece.sample, piece.text.data(), piece.text.size()) != 0)
        stop.request_stop();
    };
    const std::vector<std::string> texts = texts_of(prompts, sizes, count);
    sixfold_generated result{predictor.generate(texts, how, receive ? TextReceiver(pass_on) : nullptr)};
    if (stop.stop_requested()) throw Cancelled();
    return new sixfold_generated(std::move(result));
  });
}

size_t sixfold_generated_of(const sixfold_generated* generated, size_t prompt) {
  return value_of([&] { return part(given(generated, "generated")->prompts, prompt, "prompt").texts.size(); });
}

const char* sixfold_generated_text(const sixfold_generated* generated, size_t prompt, size_t sample,
                                   size_t* size) {
  return value_of([&] {
    const GeneratedTexts& texts = part(given(generated, "generated")->prompts, prompt, "prompt");
    require(!texts.error, "prompt {}: {}", prompt, texts.error.value_or(""));
    return text_and_size(part(texts.texts, sample, "sample").text, size);
  });
}

void sixfold_generated_free(sixfold_generated* generated) { delete generated; }

size_t sixfold_classifier_labels(const sixfold_classifier* classifier) {
  return value_of([&] { return given(classifier, "classifier")->predictor.labels().size(); });
}

const char* sixfold_classifier_label(const sixfold_classifier* classifier, size_t label) {
  return value_of(
      [&] { return part(given(classifier, "classifier")->predictor.labels(), label, "label").c_str(); });
}

int sixfold_classify(const sixfold_classifier* classifier, const char* const* texts, const size_t* sizes,
                     size_t count, double* probabilities, size_t room) {
  return code_after([&] {
    const Classifier& predictor = given(classifier, "classifier")->predictor;
    require_room(count, predictor.labels().size(), room);
    if (count > 0) given(probabilities, "probabilities");
    const std::vector<Classification> results = predictor.classify(texts_of(texts, sizes, count));
    require_no_error(results);
    for (const Classification& result : results)
      probabilities = std::ranges::copy(result.probabilities, probabilities).out;
  });
}

size_t sixfold_embedder_size(const sixfold_embedder* embedder) {
  return value_of([&] { return static_cast<size_t>(given(embedder, "embedder")->predictor.size()); });
}

int sixfold_embed(const sixfold_embedder* embedder, const char* const* texts, const size_t* sizes, size_t count,
                  float* values, size_t room) {
  return code_after([&] {
    const Embedder& predictor = given(embedder, "embedder")->predictor;
    require_room(count, static_cast<size_t>(predictor.size()), room);
    if (count > 0) given(values, "values");
    const std::vector<TextEmbedding> results = predictor.embed(texts_of(texts, sizes, count));
    require_no_error(results);
    for (const TextEmbedding& result : results) values = std::ranges::copy(result.values, values).out;
  });
}

int sixfold_train(const char* config, const char* run, const sixfold_options* options, int (*stop)(void* data),
                  void* data) {
  return code_after([&] {
    TrainRequest request = read<TrainRequest>(options);
    request.run = given(run, "run");
    given(config, "config");
    std::atomic<int> stopped = 0;
    request.stop = &stopped;
    std::jthread asking;  // calls `stop` repeatedly until the training has ended
    if (stop)
      asking = std::jthread([&](const std::stop_token& ended) {
        std::mutex mutex;
        std::unique_lock lock(mutex);
        std::condition_variable_any wake;
        while (!ended.stop_requested() && stopped == 0) {
          stopped = stop(data) != 0;
          wake.wait_for(lock, ended, std::chrono::milliseconds(50), [] { return false; });
        }
      });
    if (train(config, request).model.empty()) throw Cancelled();
  });
}
