#include <pybind11/stl/filesystem.h>

#include <tuple>

#include "binding.h"
#include "formats/image_file.h"
#include "model/config.h"
#include "tasks/classification/classifier.h"
#include "tasks/embedding/embedder.h"
#include "tasks/image_captioning/captioner.h"
#include "tasks/language_model/conversation.h"
#include "tasks/language_model/generator.h"
#include "tasks/masked_language_model/mask_filler.h"
#include "tasks/question_answering/question_answerer.h"
#include "tasks/translation/translator.h"
#include "text/glossary.h"

namespace sixfold {

/// What the command line reads from files.
static void visit(OptionVisitor& v, OutputConstraints& o) {
  v.field("prefix", o.prefix, "the translation begins with this text");
  v.field("phrases", o.phrases, "the translation contains these phrases");
  v.field("banned_phrases", o.banned_phrases, "the translation contains none of these phrases");
  v.field("whole_words", o.whole_words, "the model adds no ending to the last word of a phrase");
}

namespace python {
namespace {

using AnyOptions = OptionVisitor::AnyOptions;

/// Returns the result of `make` if `present`, else None.
py::object none_or(bool present, const std::function<py::object()>& make) {
  return present ? make() : py::none();
}

py::object error_of(const std::optional<std::string>& error) {
  return none_or(error.has_value(), [&] { return text_of(*error); });
}

py::object attention_of(SentenceAttention&& a) {
  const auto targets = std::ssize(a.target), sources = std::ssize(a.source);
  return result("Attention", text_of(name_of_enum(a.kind)), a.layer, tuple_of(a.source), tuple_of(a.target),
                array_of(std::move(a.weights), {a.heads, targets, sources}),
                py::tuple(py::cast(a.source_words)), py::tuple(py::cast(a.target_words)));
}

py::object translation_of(Translation&& t, const ExtraOutputs& details, py::object alternatives = py::tuple(),
                          size_t tokens_cut = 0, bool retried = false, py::object search = py::none()) {
  const auto token = [](const TranslatedToken& of) {
    return result("Token", text_of(of.text), of.log_probability);
  };
  return result("Translation", text_of(t.text), t.score, t.log_probability, name_of(t.reason), t.faults.loops,
                t.faults.copies, t.faults.too_long, retried, tokens_cut, tuple_of(t.unmet),
                std::move(alternatives), none_or(details.tokens, [&] { return tuple_of(t.tokens, token); }),
                none_or(details.alignment, [&] { return py::tuple(py::cast(t.alignment)); }),
                none_or(t.confidence.has_value(),
                        [&] {
                          return result("Confidence", t.confidence->value, t.confidence->mean_log_probability,
                                        t.confidence->tokens);
                        }),
                none_or(t.attention.has_value(), [&] { return attention_of(std::move(*t.attention)); }),
                none_or(details.all_attention,
                        [&] {
                          py::list all;
                          for (SentenceAttention& layer : t.all_attention)
                            all.append(attention_of(std::move(layer)));
                          return py::tuple(all);
                        }),
                std::move(search));
}

py::object search_of(const SearchSteps& steps) {
  return tuple_of(steps, [](const std::vector<SearchedHypothesis>& step) {
    return tuple_of(step, [](const SearchedHypothesis& h) {
      return result("SearchedHypothesis", h.parent, text_of(h.token), h.log_probability, h.score,
                    text_of(name_of_enum(h.fate)));
    });
  });
}

py::object line_of(TranslatedLine&& line, const ExtraOutputs& details) {
  py::list others;
  for (size_t i = 1; i < line.translations.size(); ++i)
    others.append(
        translation_of(std::move(line.translations[i]), details, py::tuple(), line.tokens_cut, line.retried));
  return translation_of(std::move(line.translations.front()), details, py::tuple(others), line.tokens_cut,
                        line.retried, none_or(details.search, [&] { return search_of(line.search); }));
}

/// The options of a call, which are keyword arguments.
struct TranslateCall {
  TranslateOptions options;
  GenerationConfig generation;
  OutputConstraints constraints;

  TranslateCall(const Translator& translator, const py::dict& keywords) : generation(translator.generation()) {
    if (!keywords.empty()) read(keywords);
    options.generation = generation;
    require(options.split_sentences.empty() || constraints.empty(),
            "translate: prefix, phrases and banned_phrases are for texts that are translated whole; leave out "
            "split_sentences, or these");
    require(!options.sample || (constraints.phrases.empty() && constraints.banned_phrases.empty()),
            "translate: sample draws translations, so that phrases and banned_phrases can't be kept; leave one "
            "of them out");
    require(constraints.whole_words || !constraints.phrases.empty() || options.glossary,
            "translate: whole_words has no effect without phrases or a glossary; leave it out");
    if (!constraints.empty() || !constraints.whole_words)
      options.constraints = [all = constraints](size_t, const std::string&) { return all; };
  }

 private:
  void read(const py::dict& keywords) {
    py::dict others = keywords.attr("copy")();
    const py::object phrases = others.attr("pop")("glossary", py::none());
    require(phrases.is_none() || py::hasattr(phrases, "keys"),
            "translate: glossary: expected a dict of phrases");
    if (!phrases.is_none() && py::len(phrases) > 0) {
      std::vector<GlossaryEntry> entries;
      for (const auto& [source, target] : py::dict(phrases))
        entries.push_back({utf8_of(source), utf8_of(target)});
      options.glossary = std::make_shared<const Glossary>(std::move(entries));
    }
    const py::object retry = others.attr("pop")("retry", py::none());
    read_keywords(
        others, "translate",
        {AnyOptions(options), AnyOptions(options.details), AnyOptions(generation), AnyOptions(constraints)});
    if (retry.is_none()) return;
    require(py::hasattr(retry, "keys"), "translate: retry: expected a dict of settings");
    read_keywords(py::dict(retry), "translate: retry",
                  {AnyOptions(options.retry.emplace(options.settings(generation)))});
  }
};

py::list translate(Opened<Translator>& opened, const py::sequence& lines, size_t first,
                   const py::dict& keywords) {
  const auto translator = opened.get();
  TranslateCall arguments(*translator, keywords);
  arguments.options.first_line = first + 1;
  auto translated = Call::predict([&, sources = texts_of(lines)](Call& call) {
    arguments.options.cancel = call.token();
    std::vector<TranslatedLine> all;
    translator->translate(sources, arguments.options, [&](const TranslatedLine& line) { all.push_back(line); });
    return all;
  });
  py::list all;
  for (TranslatedLine& line : translated) all.append(line_of(std::move(line), arguments.options.details));
  return all;
}

py::list score(Opened<Translator>& opened, const py::sequence& sources, const py::sequence& targets,
               const py::dict& keywords) {
  const auto translator = opened.get();
  TranslateCall arguments(*translator, keywords);
  require(!arguments.options.constrained() && arguments.options.candidates() == 1 &&
              !arguments.options.sample && !arguments.options.retry && !arguments.options.details.search,
          "score: n_best, sample, mbr, retry, search, prefix, phrases, banned_phrases and glossary are for "
          "translations that the model makes");
  require(
      arguments.options.split_sentences.empty() && !arguments.options.keep_symbols &&
          arguments.options.seed == TranslateOptions().seed &&
          differing_keys(write_options(arguments.options.draw), write_options(DrawOptions())).empty(),
      "score: split_sentences, keep_symbols, seed, temperature, top_k, top_p and min_p have no effect on given "
      "translations; leave them out");
  auto scored = Call::predict([&, from = texts_of(sources), to = texts_of(targets)](Call& call) {
    arguments.options.cancel = call.token();
    return translator->score(from, to, arguments.options);
  });
  py::list all;
  for (Translation& one : scored) all.append(translation_of(std::move(one), arguments.options.details));
  return all;
}

py::object text_of_samples(GeneratedTexts& texts, size_t sample, const GenerateOptions& options) {
  const auto chosen = [](const ChosenToken& token) {
    return result("ChosenToken", text_of(token.added.text), token.log_probability, token.offset,
                  tuple_of(token.likeliest, [](const auto& other) {
                    return result("Token", text_of(other.first.text), other.second);
                  }));
  };
  GeneratedText failed;
  GeneratedText& text = texts.texts.empty() ? failed : texts.texts[sample];
  py::list others;
  for (size_t i = 1; sample == 0 && i < texts.texts.size(); ++i)
    others.append(text_of_samples(texts, i, options));
  return result("Generation", text_of(text.text), text.log_probability, text.tokens, name_of(text.reason),
                texts.prompt_tokens, texts.unknown_tokens, py::tuple(others),
                none_or(options.likeliest.has_value(), [&] { return tuple_of(text.chosen, chosen); }),
                error_of(texts.error));
}

/// `prompts`: texts, or conversations, which are lists of messages (`read_messages`).
py::list generate(Opened<Generator>& opened, const py::sequence& prompts, size_t first,
                  const py::object& on_text, const py::dict& keywords) {
  const auto generator = opened.get();
  GenerateOptions options{.first_prompt = first};
  read_keywords(keywords, "generate", {AnyOptions(options)});
  std::vector<Prompt> all;
  for (const py::handle prompt : prompts) {
    if (!py::isinstance<py::list>(prompt)) {
      all.push_back({utf8_of(prompt)});
      continue;
    }
    const py::object messages = py::module_::import("json").attr("dumps")(prompt);
    all.push_back(generator->chat_prompt(read_messages(messages.cast<std::string>())));
    options.chat = true;
  }
  const auto work = [&](Call& call) {
    options.cancel = call.token();
    std::mutex one_at_a_time;
    const auto receive = [&](const TextPiece& piece) {
      const std::lock_guard lock(one_at_a_time);
      call.ask([&] { on_text(piece.prompt + first, piece.sample, text_of(piece.text)); });
    };
    return generator->generate(all, options, on_text.is_none() ? TextReceiver() : receive);
  };
  auto texts = on_text.is_none() ? Call::predict(work) : Call::run(work);
  py::list made;
  for (GeneratedTexts& of_prompt : texts) made.append(text_of_samples(of_prompt, 0, options));
  return made;
}

py::object score_file(Opened<Generator>& opened, const std::filesystem::path& path, int stride) {
  const auto generator = opened.get();
  const TextScore score = Call::run(
      [&](Call& call) { return generator->score(path.string(), {.stride = stride, .cancel = call.token()}); });
  return result("TextScore", score.log_probability, score.tokens, score.bytes, score.unknown,
                score.perplexity(), score.bits_per_byte());
}

/// An array of bytes [height, width] or [height, width, channels], or the path of a file, as an image.
Image image_of(py::handle value) {
  if (!py::isinstance<py::array>(value))
    return read_image(py::module_::import("os").attr("fspath")(value).cast<std::string>());
  const auto array = value.cast<py::array>();
  const py::ssize_t channels = array.ndim() == 3 ? array.shape(2) : 1;
  require(py::isinstance<py::array_t<uint8_t>>(array) && (array.ndim() == 2 || array.ndim() == 3) &&
              (channels == 1 || channels == 3),
          "an image is an array of uint8 [height, width], or [height, width, channels] with 1 or 3 channels; "
          "found {} with shape {}",
          py::str(array.dtype()).cast<std::string>(), py::str(value.attr("shape")).cast<std::string>());
  require(array.shape(0) <= longest_image_side && array.shape(1) <= longest_image_side &&
              array.shape(0) * array.shape(1) <= most_image_pixels,
          "the image is too large: {}", py::str(value.attr("shape")).cast<std::string>());
  const auto bytes = py::array_t<uint8_t, py::array::c_style | py::array::forcecast>(array);
  return {{static_cast<int>(array.shape(0)), static_cast<int>(array.shape(1)), static_cast<int>(channels)},
          {bytes.data(), bytes.data() + bytes.size()}};
}

/// The images of a list that could be read, and, for each element of the list, the error if it could not be
/// read.
struct ReadImages {
  std::vector<Image> images;
  std::vector<std::optional<std::string>> errors;
};

ReadImages images_of(const py::sequence& list) {
  ReadImages read;
  for (const py::handle image : list) try {
      read.images.push_back(image_of(image));
      read.errors.emplace_back();
    } catch (const Error& error) {
      read.errors.emplace_back(error.what());
    }
  return read;
}

/// Inserts results with an error for the images that could not be read.
template <class Result>
std::vector<Result> with_errors(std::vector<Result> results, const ReadImages& read) {
  std::vector<Result> all;
  for (auto next = results.begin(); const auto& error : read.errors) {
    if (error)
      all.emplace_back().error = error;
    else
      all.push_back(std::move(*next++));
  }
  return all;
}

/// Adds a class for a predictor. It is constructed from a model folder and keyword arguments of
/// `RuntimeOptions`.
template <class P>
py::class_<Opened<P>> add(py::module_& m, const char* name) {
  return py::class_<Opened<P>>(m, name)
      .def(py::init([name](const std::filesystem::path& folder, const py::dict& keywords) {
        RuntimeOptions options;
        read_keywords(keywords, name, {AnyOptions(options)});
        return std::make_unique<Opened<P>>(folder.string(), options);
      }))
      .def("config", [](Opened<P>& o) { return text_of(to_json(write_options(o.get()->config()))); })
      .def("runtime", &Opened<P>::runtime);
}

py::list classify(Opened<Classifier>& opened, const py::sequence& inputs) {
  const auto classifier = opened.get();
  const bool reads_images = classifier->reads_images();
  auto found = Call::predict([&, texts = reads_images ? std::vector<std::string>() : texts_of(inputs),
                              read = reads_images ? images_of(inputs) : ReadImages()](Call& call) {
    const ClassifyOptions options{.cancel = call.token()};
    return reads_images ? with_errors(classifier->classify_images(read.images, options), read)
                        : classifier->classify(texts, options);
  });
  py::list all;
  for (Classification& one : found) {
    const py::ssize_t classes = std::ssize(one.probabilities);
    all.append(result("Classification", text_of(one.label), one.probability,
                      array_of(std::move(one.probabilities), {classes}), one.tokens_cut, error_of(one.error)));
  }
  return all;
}

py::list fill(Opened<MaskFiller>& opened, const py::sequence& texts, const py::dict& keywords) {
  const auto filler = opened.get();
  FillOptions options;
  read_keywords(keywords, "fill", {AnyOptions(options)});
  const auto filled = Call::predict([&, all = texts_of(texts)](Call& call) {
    options.cancel = call.token();
    return filler->fill(all, options);
  });
  py::list all;
  for (const FilledText& one : filled)
    all.append(result("FilledText", text_of(one.text),
                      tuple_of(one.masks,
                               [](const auto& mask) {
                                 return tuple_of(mask, [](const MaskCandidate& candidate) {
                                   return result("MaskCandidate", text_of(candidate.text),
                                                 candidate.probability);
                                 });
                               }),
                      one.tokens_cut, error_of(one.error)));
  return all;
}

py::list answer(Opened<QuestionAnswerer>& opened, const py::sequence& questions, const py::sequence& texts,
                const py::dict& keywords) {
  const auto answerer = opened.get();
  AnswerOptions options;
  read_keywords(keywords, "answer", {AnyOptions(options)});
  std::vector<TextQuestion> all;
  const std::vector<std::string> question_texts = texts_of(questions), read = texts_of(texts);
  require(question_texts.size() == read.size(), "there are {} questions and {} texts", question_texts.size(),
          read.size());
  for (size_t i = 0; i < question_texts.size(); ++i)
    all.push_back({.text = read[i], .question = question_texts[i]});
  const auto answers = Call::predict([&](Call& call) {
    options.cancel = call.token();
    return answerer->answers(all, options);
  });
  py::list made;
  for (size_t i = 0; i < answers.size(); ++i) {
    const TextAnswer& one = answers[i];
    // Python counts characters where the library counts bytes.
    const auto place = [&](size_t byte) { return py::len(text_of(std::string_view(read[i]).substr(0, byte))); };
    made.append(result("Answer", text_of(one.text), place(one.begin), place(one.end), one.probability,
                       one.tokens_cut, error_of(one.error)));
  }
  return made;
}

py::array_t<float> embed(Opened<Embedder>& opened, const py::sequence& texts, size_t first) {
  const auto embedder = opened.get();
  const auto size = static_cast<size_t>(embedder->size());
  auto values = Call::predict([&, all = texts_of(texts)](Call& call) {
    std::vector<float> rows;
    rows.reserve(all.size() * size);
    for (const TextEmbedding& one : embedder->embed(all, {.cancel = call.token()})) {
      require(!one.error, "text {}: {}", first + rows.size() / size + 1, one.error.value_or(""));
      rows.insert(rows.end(), one.values.begin(), one.values.end());
    }
    return rows;
  });
  const auto rows = static_cast<py::ssize_t>(values.size() / size);
  return array_of(std::move(values), {rows, static_cast<py::ssize_t>(size)});
}

py::list caption(Opened<Captioner>& opened, const py::sequence& inputs, const py::dict& keywords) {
  const auto captioner = opened.get();
  CaptionOptions options;
  GenerationConfig generation = captioner->generation();
  read_keywords(keywords, "caption", {AnyOptions(options), AnyOptions(generation)});
  options.generation = generation;
  const auto captions = Call::predict([&, read = images_of(inputs)](Call& call) {
    options.cancel = call.token();
    return with_errors(captioner->caption(read.images, options), read);
  });
  py::list all;
  for (const Caption& one : captions)
    all.append(result("Caption", text_of(one.text), one.score, one.log_probability, name_of(one.reason),
                      error_of(one.error)));
  return all;
}

py::object caption_attention(Opened<Captioner>& opened, const py::object& input, int layer) {
  const auto captioner = opened.get();
  ImageAttention a = Call::predict([&, image = image_of(input)](Call& call) {
    return captioner->attention(image, layer, {.cancel = call.token()});
  });
  const py::ssize_t tokens = std::ssize(a.tokens);
  return result("ImageAttention", text_of(a.caption), a.layer, tuple_of(a.tokens), a.patch, a.stride,
                array_of(std::move(a.weights), {a.heads, tokens, a.rows, a.columns}));
}

/// Lists the fields of options: name, type, whether the field is a list, whether None is allowed, and the help
/// text.
class Lister final : public OptionVisitor {
 public:
  py::list listed;

 private:
  bool visit_field(std::string_view name, OptionValue value, std::string_view help,
                   const Range& range) override {
    const std::string allowed = range.describe();
    listed.append(py::make_tuple(text_of(name), value.type_name(), value.is_list(),
                                 value.node().kind == OptionNode::Kind::null,
                                 text_of(allowed.empty() ? help : fmt::format("{}; {}", help, allowed))));
    return false;
  }
  void visit_group(std::string_view /*name*/, AnyOptions options, std::string_view /*help*/) override {
    options(*this);
  }
};

template <class... Options>
py::list options_of() {
  Lister lister;
  std::tuple<Options...> all;
  std::apply([&](auto&... each) { (visit(static_cast<OptionVisitor&>(lister), each), ...); }, all);
  return lister.listed;
}

}  // namespace

void add_predictors(py::module_& m) {
  m.def("options", [] {
    py::dict all;
    all["RuntimeOptions"] = options_of<RuntimeOptions>();
    all["TranslateOptions"] = options_of<TranslateOptions, ExtraOutputs, GenerationConfig, OutputConstraints>();
    all["GenerateOptions"] = options_of<GenerateOptions>();
    all["FillOptions"] = options_of<FillOptions>();
    all["AnswerOptions"] = options_of<AnswerOptions>();
    all["CaptionOptions"] = options_of<CaptionOptions, GenerationConfig>();
    all["TokenizerOptions"] = options_of<TokenizerOptions>();
    return all;
  });
  py::class_<ModelRuntime, std::shared_ptr<ModelRuntime>>(m, "Model");
  add<Translator>(m, "Translator")
      .def("translate", translate)
      .def("score", score)
      .def("languages", [](Opened<Translator>& o) { return o.get()->languages(); });
  add<Generator>(m, "Generator").def("generate", generate).def("score", score_file);
  add<Classifier>(m, "Classifier")
      .def("classify", classify)
      .def("labels", [](Opened<Classifier>& o) { return o.get()->labels(); })
      .def("reads_images", [](Opened<Classifier>& o) { return o.get()->reads_images(); });
  add<MaskFiller>(m, "MaskFiller").def("fill", fill);
  add<QuestionAnswerer>(m, "QuestionAnswerer").def("answer", answer);
  add<Embedder>(m, "Embedder").def("embed", embed).def("size", [](Opened<Embedder>& o) {
    return o.get()->size();
  });
  add<Captioner>(m, "Captioner").def("caption", caption).def("attention", caption_attention);
}

}  // namespace python
}  // namespace sixfold
