#include "tasks/translation/translator.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "base/error.h"
#include "base/options.h"
#include "model/attention_weights.h"
#include "model_folder/provenance.h"
#include "model_folder/shortlist.h"
#include "runtime/model_runtime.h"
#include "runtime/search.h"
#include "search/beam.h"
#include "tasks/translation/confidence.h"
#include "tasks/translation/extra_outputs.h"
#include "tasks/translation/job.h"
#include "tasks/translation/line_case.h"
#include "tasks/translation/paragraphs.h"
#include "tasks/translation/placeholder.h"
#include "tasks/translation/settings.h"
#include "tasks/translation/source.h"

namespace sixfold {

void visit(OptionVisitor& v, TranslateOptions& o) {
  v.field(
      "n_best", o.n_best,
      "number of translations of each line, best first; the search keeps at least this many hypotheses, and "
      "a smaller beam size is an error",
      between(1, 1000));
  v.field("sample", o.sample,
          "draw each translation token by token instead of searching for the best; the same line with the same "
          "seed gives the same translations");
  visit_choice(v, o.draw);
  v.field("seed", o.seed, "seed of sampling");
  v.field(
      "mbr", o.mbr,
      "of this many translations, drawn or found by the search, give those that are most like all of them by "
      "chrF (minimum Bayes risk); 0: those with the best scores",
      between(0, 1000));
  v.field(
      "split_sentences", o.split_sentences,
      "treat each line as a paragraph: split it into sentences by the rules of this language (en, de, ...)");
  visit_search_fields(v, o.beam_size, o.batch_tokens);
  v.field(
      "replace_unknown", o.replace_unknown,
      "allow the unknown token, and replace each word that has one by the word of the source that it attends "
      "to most");
  v.field(
      "keep_symbols", o.keep_symbols,
      "keep a line without a letter or digit as it is [true, but false for imported models, which translate it "
      "as the original program does]");
  v.field("capitals", o.capitals,
          "translate a line in capitals as one in small letters, and write its translation in capitals");
  v.field(
      "shortlist", o.shortlist,
      "use only the target tokens that this shortlist allows; made by 'sixfold shortlist'; none: no shortlist, "
      "even if the model folder has one");
  v.field("max_source_length", o.max_source_length,
          "maximum number of tokens in a source line; a longer line is cut, with a warning", at_least(1));
  v.field("source_language", o.source_language,
          "source language for models with tokens for several; 'sixfold info' lists them");
  v.field("target_language", o.target_language,
          "target language for models with several: deu puts >>deu<< before each line; 'sixfold info' lists "
          "them");
}

void visit(OptionVisitor& v, ExtraOutputs& o) {
  v.field("tokens", o.tokens, "add each token with its log-probability");
  v.field("alignment", o.alignment, "add word alignments as pairs of source and target word, counted from 0");
  v.field("confidence", o.confidence, "add how good the translation may be, from 0 to 1");
  v.field("attention", o.attention, "add the attention weights of all heads");
  v.field("layer", o.layer,
          "decoder layer of alignments and attention, counted from 0, or from the last with -1, -2, ... "
          "[as stored with the model: 'sixfold info' shows it]");
  v.field("all_attention", o.all_attention, "add the attention weights of all layers, of the best translation");
  v.field("search", o.search, "add the steps of the beam search");
}

void check_layer(const TranslateOptions& o, const GenerationConfig& model_settings) {
  require(
      !o.details.layer || o.reads_layer(model_settings),
      "layer has no effect without an output that reads attention, such as alignment or attention; add one, "
      "or leave layer out");
}

namespace {

using Ids = std::vector<int32_t>;

double log_probability(const Translation& translation) {
  double sum = 0;
  for (const TranslatedToken& token : translation.tokens) sum += token.log_probability;
  return sum;
}

/// Divides pairs into batches of at most `max_tokens` tokens; a longer pair is a batch of its own. Returns the
/// index of the first pair of each batch, and the number of pairs.
std::vector<size_t> batches_of(const std::vector<ScoredPair>& pairs, int64_t max_tokens) {
  std::vector<size_t> begins{0};
  int64_t tokens = 0;
  for (size_t i = 0; i < pairs.size(); ++i) {
    const int64_t pair_tokens = std::ssize(pairs[i].source) + std::ssize(pairs[i].output.ids) + 1;
    if (i > begins.back() && tokens + pair_tokens > max_tokens) {
      begins.push_back(i);
      tokens = 0;
    }
    tokens += pair_tokens;
  }
  if (!pairs.empty()) begins.push_back(pairs.size());
  return begins;
}

/// The attention that each source token of a pair receives from all target tokens, averaged over the heads.
/// `weights`: the attention of the pair, from `cross_attention`.
std::vector<float> coverage_of(const std::vector<float>& weights, const ScoredPair& pair) {
  const size_t columns = std::max<size_t>(pair.source.size(), 1), rows = pair.output.ids.size() + 1;
  std::vector<double> sums(columns);
  for (size_t i = 0; i < weights.size(); ++i) sums[i % columns] += double{weights[i]};
  const size_t heads = weights.size() / columns / rows;
  std::vector<float> coverage;
  for (const double sum : sums) coverage.push_back(static_cast<float>(sum / static_cast<double>(heads)));
  return coverage;
}

SentenceAttention self_attention(ModelRuntime& runtime, const std::string& source, const std::string& target,
                                 int layer, AttentionKind kind, const SourceEncoder& source_encoder) {
  const ModelConfig& config = runtime.config();
  const bool encoder = kind == AttentionKind::encoder;
  const int layers = encoder ? config.encoder_layers : config.decoder_layers;
  const EncodedLine encoded = source_encoder.encode(source, TranslateOptions().max_source_length, "the source");
  encoded.warn("the source");
  const Batch batch =
      BatchBuilder()
          .source(encoded.ids.empty() ? Ids{config.eos} : encoded.ids)
          .teacher_forced(source_encoder.layout().target(runtime.target().encode(target)), config.target_ends())
          .take();
  const auto decoding = runtime.borrow();
  Context context(decoding->backend, decoding->arena);
  SentenceAttention result;
  result.kind = kind;
  result.layer = layer < 0 ? layer + layers : layer;
  result.heads = encoder ? config.heads : config.of_decoder().heads;
  result.weights = attention_weights(runtime.model(), batch, kind, result.layer, context)[0];
  result.source = encoder ? token_texts(runtime.source(), batch.source.ids)
                          : token_texts(runtime.target(), batch.target.ids);
  result.target = result.source;
  return result;
}

}  // namespace

struct Translator::State {
  using Languages = std::pair<std::string, std::string>;  // source and target, as in `TranslateOptions`

  explicit State(const std::string& folder) {
    try {
      keeps_symbols_ = !is_imported(folder);
    } catch (const Error& error) {
      fault_ = error.what();
    }
  }

  /// The default of `TranslateOptions::keep_symbols`. Throws an input error if the folder did not tell where
  /// the model comes from.
  bool keeps_symbols() const {
    require(fault_.empty(), "{}", fault_);
    return keeps_symbols_;
  }

  std::mutex mutex;                                                    // guards the following members
  std::map<std::string, std::shared_ptr<const Shortlist>> shortlists;  // by file
  std::map<Languages, SourceEncoder> encoders;
  std::map<std::vector<std::string>, std::string> placeholders;  // by languages and shortlist

  /// The encoder of sources for the languages in `options`.
  const SourceEncoder& encoder(ModelRuntime& model, const TranslateOptions& options) {
    const std::lock_guard lock(mutex);
    const Languages languages(options.source_language, options.target_language);
    if (const auto known = encoders.find(languages); known != encoders.end()) return known->second;
    return encoders.emplace(languages, source_encoder(model.config(), model.source(), options)).first->second;
  }

  /// The shortlist in a file, which is loaded once. An empty path requests the shortlist of the model's folder.
  /// Null for "none", and for an empty path if the folder has no shortlist.
  std::shared_ptr<const Shortlist> shortlist(const std::string& requested, const ModelRuntime& model) {
    const std::string path = requested.empty()                             ? shortlist_of_folder(model.folder())
                             : requested == TranslateOptions::no_shortlist ? ""
                                                                           : requested;
    if (path.empty()) return nullptr;
    const std::lock_guard lock(mutex);
    auto& loaded = shortlists[path];
    if (!loaded) loaded = std::make_shared<const Shortlist>(load_shortlist(path, model.config()));
    return loaded;
  }

 private:
  bool keeps_symbols_ = false;
  std::string fault_;
};

Translator::Translator(std::shared_ptr<ModelRuntime> opened)
    : Predictor(std::move(opened)), state_(std::make_shared<State>(model().folder())) {
  require_task(config(), TranslationSettings::network, model().folder());
  settings_of<TranslationSettings>(config());
  model().source(), model().target();  // throws if a tokenizer is missing
}

std::vector<std::string> Translator::languages() const {
  std::vector<std::string> codes;
  for (const auto& [code, token] : languages_of(settings_of<TranslationSettings>(config()), model().source()))
    codes.push_back(code);
  return codes;
}

std::string Translator::placeholder(const TranslateOptions& options) const {
  const std::vector key{options.source_language, options.target_language, options.shortlist};
  {
    const std::lock_guard lock(state_->mutex);
    if (const auto known = state_->placeholders.find(key); known != state_->placeholders.end())
      return known->second;
  }
  require(!state_->encoder(model(), options).needs_target_token(),
          "the target language must be given for documents, whose texts do not all begin with its token");
  TranslateOptions greedy;
  greedy.beam_size = 1;
  if (model().is_ensemble()) {  // which has no penalty in greedy search
    greedy.generation = generation();
    greedy.generation->repetition_penalty = 1;
  }
  greedy.source_language = options.source_language;
  greedy.target_language = options.target_language;
  greedy.shortlist = options.shortlist;
  greedy.caller = options.caller;
  greedy.cancel = options.cancel;
  std::string found =
      find_placeholder(model().source(), model().target(),
                       [&](const std::vector<std::string>& lines) { return translate(lines, greedy); });
  const std::lock_guard lock(state_->mutex);
  return state_->placeholders.emplace(key, std::move(found)).first->second;
}

std::vector<std::string> Translator::translate(const std::vector<std::string>& lines,
                                               const TranslateOptions& options) const {
  std::vector<std::string> translations;
  translate(lines, options,
            [&](const TranslatedLine& line) { translations.push_back(line.translations[0].text); });
  return translations;
}

void Translator::translate(const std::vector<std::string>& lines, const TranslateOptions& options,
                           const TranslatedLineReceiver& emit) const {
  size_t next = 0;
  const LineSource source = [&](std::string& line, bool) {
    if (next == lines.size()) return NextLine::end;
    line = lines[next++];
    return NextLine::line;
  };
  translate(source, options, emit);
}

std::string Translator::translate(const std::string& line) const { return translate(std::vector{line})[0]; }

void Translator::translate(const LineSource& next, const TranslateOptions& options,
                           const TranslatedLineReceiver& emit) const {
  const auto shortlist = state_->shortlist(options.shortlist, model());
  const SourceEncoder& encoder = state_->encoder(model(), options);
  require(
      options.split_sentences.empty() || !encoder.needs_target_token(),
      "the target language must be given where lines are split into sentences: only the first of them would "
      "begin with its token");
  const bool keeps_symbols = options.keep_symbols ? *options.keep_symbols : state_->keeps_symbols();
  if (options.split_sentences.empty())
    return TranslationJob(model(), encoder, shortlist.get(), next, options, keeps_symbols, emit, nullptr).run();
  const ExtraOutputs& extra = options.details;
  require(!extra.tokens && !extra.attention && !extra.all_attention && !extra.search,
          "token scores, attention and the steps of the search are not available for paragraphs, which are "
          "translated sentence by sentence; turn off the splitting, or these outputs");
  Paragraphs paragraphs(options.split_sentences, extra.word_parts, next, emit);
  const LineSource next_sentence = [&](std::string& line, bool wait) {
    return paragraphs.next_sentence(line, wait);
  };
  const TranslatedLineReceiver receive = [&](const TranslatedLine& line) { paragraphs.receive(line); };
  TranslationJob(model(), encoder, shortlist.get(), next_sentence, options, keeps_symbols, receive, &paragraphs)
      .run();
}

std::vector<Translation> Translator::score(std::span<const std::string> sources,
                                           std::span<const std::string> targets,
                                           const TranslateOptions& options) const {
  check_ranges(options);
  check_layer(options, generation());
  require(sources.size() == targets.size(), "{} sources and {} targets to score", sources.size(),
          targets.size());
  ModelRuntime& runtime = model();
  const SourceEncoder& encoder = state_->encoder(runtime, options);
  LineCase line_case(runtime.config(), runtime.source(), options);
  std::vector<EncodedLine> encoded;
  std::vector<std::string> texts;
  std::vector<Hypothesis> outputs;
  for (size_t i = 0; i < sources.size(); ++i) {
    const auto small = line_case.source_in_small_letters(sources[i]);
    texts.push_back(small ? small->text : sources[i]);
    const std::string place = fmt::format("{} {}", options.line_name, options.first_line + i);
    const EncodedLine& source =
        encoded.emplace_back(encoder.encode(texts[i], options.max_source_length, place));
    const std::string target = small ? line_case.target_in_small_letters(targets[i]) : targets[i];
    const Hypothesis& output =
        outputs.emplace_back(Hypothesis{.ids = encoder.layout().target(runtime.target().encode(target))});
    source.warn(place);
    require_positions(runtime.config(), std::max(std::ssize(source.ids), std::ssize(output.ids) + 1), place);
  }
  const GenerationConfig rules = options.generation.value_or(generation());
  const size_t forced = encoder.layout().target_language >= 0 || rules.forced_first_token >= 0 ? 1 : 0;
  std::vector<ScoredPair> pairs;
  for (size_t i = 0; i < sources.size(); ++i) pairs.push_back({encoded[i].ids, outputs[i], texts[i]});
  ExtraOutputs extra = options.details;
  extra.tokens = true;
  const std::vector<double> weights = confidence_weights(runtime, extra);
  const PairContext common{
      .prefix = encoder.prefix(), .suffix = encoder.suffix(), .forced = forced, .confidence = weights};
  std::vector<Translation> scored(pairs.size());
  std::vector<std::vector<float>> coverage(pairs.size());
  const int layer = options.details.layer.value_or(runtime.config().alignment_layer(rules));
  const int64_t max_tokens = options.batch_tokens > 0 ? options.batch_tokens : 2 * runtime.batch_tokens();
  const std::vector<size_t> begins = batches_of(pairs, max_tokens);
  runtime.run(begins.size() - 1, options.cancel, [&](size_t i, const DecodeWorkspace& workspace) {
    const size_t begin = begins[i], count = begins[i + 1] - begin;
    add_extra_outputs(runtime, workspace, std::span(pairs).subspan(begin, count), extra, common,
                      std::span(scored).subspan(begin, count));
    if (rules.coverage_penalty == 0) return;
    const auto attention = cross_attention(runtime, workspace, std::span(pairs).subspan(begin, count), layer);
    for (size_t j = 0; j < count; ++j) coverage[begin + j] = coverage_of(attention[j], pairs[begin + j]);
  });
  for (size_t i = 0; i < scored.size(); ++i) {
    scored[i].text = targets[i];
    scored[i].faults = faults_of({sources[i], encoded[i].ids}, {targets[i], outputs[i].ids});
    scored[i].log_probability = log_probability(scored[i]);
    scored[i].score =
        score_of(rules, scored[i].log_probability, static_cast<int>(scored[i].tokens.size()), coverage[i]);
  }
  return scored;
}

SentenceAttention Translator::attention(const std::string& source, std::optional<std::string> target, int layer,
                                        AttentionKind kind, const TranslateOptions& options) const {
  if (kind != AttentionKind::cross) {
    LineCase line_case(config(), model().source(), options);
    const auto small = line_case.source_in_small_letters(source);
    const std::string text = small ? small->text : source;
    TranslateOptions plain = options;
    plain.capitals = false;
    std::string output = kind == AttentionKind::encoder ? ""
                         : target                       ? *target
                                                        : translate(std::vector{text}, plain)[0];
    if (small && target) output = line_case.target_in_small_letters(output);
    return self_attention(model(), text, output, layer, kind, state_->encoder(model(), options));
  }
  TranslateOptions with_attention = options;
  with_attention.details = {.attention = true, .layer = layer};
  std::optional<SentenceAttention> attention;
  if (!target)
    translate({source}, with_attention,
              [&](const TranslatedLine& line) { attention = line.translations[0].attention; });
  if (attention) return *attention;
  const std::string output = target.value_or("");  // empty for a source without visible characters
  return *score({&source, 1}, {&output, 1}, with_attention)[0].attention;
}

}  // namespace sixfold
