#include "translate/translator.h"

#include <algorithm>

#include "base/error.h"
#include "base/threads.h"
#include "model/attention_weights.h"
#include "search/beam.h"
#include "translate/extra_outputs.h"
#include "translate/loaded_model.h"
#include "translate/paragraphs.h"
#include "translate/translation_job.h"

namespace sixfold {
namespace {

using Ids = std::vector<int32_t>;

double log_probability(const Translation& translation) {
  double sum = 0;
  for (const TranslatedToken& token : translation.tokens) sum += token.log_probability;
  return sum;
}

/// Where to cut pairs into batches of no more than `most` tokens, or of one pair: begins, and the end.
std::vector<size_t> batches_of(const std::vector<ScoredPair>& pairs, int64_t most) {
  std::vector<size_t> begins{0};
  int64_t tokens = 0;
  for (size_t i = 0; i < pairs.size(); ++i) {
    const int64_t more = std::ssize(pairs[i].source) + std::ssize(pairs[i].target) + 1;
    if (i > begins.back() && tokens + more > most) {
      begins.push_back(i);
      tokens = 0;
    }
    tokens += more;
  }
  if (!pairs.empty()) begins.push_back(pairs.size());
  return begins;
}

SentenceAttention self_attention(LoadedModel& open, const std::string& source, const std::string& target,
                                 int layer, AttentionKind kind) {
  const ModelConfig& config = open.config();
  const bool encoder = kind == AttentionKind::encoder;
  const int layers = encoder ? config.encoder_layers : config.decoder_layers;
  const Ids source_ids =
      open.encode({}, source, TranslateOptions().max_source_length, [] { return "the source"; });
  const Batch batch = BatchBuilder()
                          .source(source_ids.empty() ? Ids{config.eos} : source_ids)
                          .teacher_forced(open.target().encode(target), config.target_ends())
                          .take();
  const auto decoding = open.borrow();
  Context context(decoding->backend, decoding->arena);
  SentenceAttention result;
  result.layer = layer < 0 ? layer + layers : layer;
  result.heads = config.heads;
  result.weights = attention_weights(open.model(), batch, kind, result.layer, context)[0];
  const auto& ids = encoder ? batch.source.ids : batch.target.ids;
  for (const int32_t id : ids)
    result.source.push_back(id == ModelConfig::zero_start ? "(start)"
                            : encoder                     ? open.source().piece(id)
                                                          : open.target().piece(id));
  result.target = result.source;
  return result;
}

}  // namespace

struct Translator::Parts {
  LoadedModel open;
  int threads;

  /// `lines`: how many there are at most.
  void translate(const LineSource& next, size_t lines, const TranslateOptions& options,
                 const TranslatedLineReceiver& emit) {
    if (options.split_sentences.empty()) {
      TranslationJob(open, next, lines, options, emit).run(threads);
      return;
    }
    require(options.n_best == 1 && !options.details.any(),
            "paragraphs are translated in parts: n best, token scores, alignments and attention are only of "
            "sentences; leave out the splitting, or these");
    Paragraphs paragraphs(options.split_sentences, next, emit);
    const LineSource next_sentence = [&](std::string& line, bool wait) {
      return paragraphs.next_sentence(line, wait);
    };
    const TranslatedLineReceiver receive = [&](const TranslatedLine& line) { paragraphs.receive(line); };
    TranslationJob(open, next_sentence, lines, options, receive).run(threads);
  }
};

Translator::Translator(const std::string& model_folder, int threads, WeightType type) {
  require(threads >= 0, "threads is {}; it must be 0, for all there are, or more", threads);
  parts_.reset(new Parts{LoadedModel(model_folder, type), threads == 0 ? available_threads() : threads});
}

Translator::~Translator() = default;
Translator::Translator(Translator&&) noexcept = default;

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
  parts_->translate(source, options.split_sentences.empty() ? lines.size() : SIZE_MAX, options, emit);
}

std::string Translator::translate(const std::string& line) const { return translate(std::vector{line})[0]; }

void Translator::translate(const LineSource& next, const TranslateOptions& options,
                           const TranslatedLineReceiver& emit) const {
  parts_->translate(next, SIZE_MAX, options, emit);
}

std::vector<Translation> Translator::score(std::span<const std::string> sources,
                                           std::span<const std::string> targets,
                                           const TranslateOptions& options) const {
  require(sources.size() == targets.size(), "{} sources and {} targets to score", sources.size(),
          targets.size());
  LoadedModel& open = parts_->open;
  const std::string symbol = open.language_symbol(options.target_language);
  std::vector<ScoredPair> pairs;
  for (size_t i = 0; i < sources.size(); ++i)
    pairs.push_back({open.encode(symbol, sources[i], options.max_source_length,
                                 [&] { return fmt::format("line {}", options.first_line + i); }),
                     open.target().encode(targets[i])});
  ExtraOutputs details = options.details;
  details.tokens = true;
  std::vector<Translation> scored(pairs.size());
  const int64_t most = options.batch_tokens > 0 ? options.batch_tokens : 2 * open.batch_tokens();
  const std::vector<size_t> begins = batches_of(pairs, most);
  ThreadPool(parts_->threads).run(std::ssize(begins) - 1, [&](int64_t batch, int) {
    const auto i = static_cast<size_t>(batch);
    const size_t begin = begins[i], count = begins[i + 1] - begin;
    if (options.cancel.stop_requested()) throw Cancelled();
    add_extra_outputs(open, *open.borrow(), std::span(pairs).subspan(begin, count), details,
                      symbol.empty() ? 0 : 1, std::span(scored).subspan(begin, count));
  });
  for (size_t i = 0; i < scored.size(); ++i) {
    scored[i].text = targets[i];
    scored[i].log_probability = log_probability(scored[i]);
    scored[i].score = scored[i].log_probability /
                      normalizer(open.config().generation, static_cast<int>(scored[i].tokens.size()));
  }
  return scored;
}

SentenceAttention Translator::attention(const std::string& source, std::optional<std::string> target, int layer,
                                        AttentionKind kind) const {
  if (kind != AttentionKind::cross) {
    const bool encoder = kind == AttentionKind::encoder;
    const std::string said = encoder ? "" : target ? *target : translate(source);
    return self_attention(parts_->open, source, said, layer, kind);
  }
  TranslateOptions options;
  options.details.attention = true;
  options.details.layer = layer;
  std::optional<SentenceAttention> attention;
  if (!target)
    translate({source}, options,
              [&](const TranslatedLine& line) { attention = line.translations[0].attention; });
  if (attention) return *attention;
  const std::string said = target.value_or("");  // where there is nothing to translate, nothing is said
  return *score({&source, 1}, {&said, 1}, options)[0].attention;
}

}  // namespace sixfold
