#include "tasks/language_model/generator.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "base/error.h"
#include "base/options.h"
#include "data/document_reader.h"
#include "runtime/model_runtime.h"
#include "search/repetition_draft.h"
#include "tasks/language_model/job.h"
#include "tasks/language_model/settings.h"

namespace sixfold {

void visit(OptionVisitor& v, GenerateOptions& o) {
  constexpr double token_limit = 1 << 24;
  v.field("max_tokens", o.max_tokens,
          "maximum number of tokens after the prompt [as stored with the model, or 256]",
          between(0, token_limit));
  v.field("min_tokens", o.min_tokens,
          "no end of the text before this many tokens, unless a stop string comes [as stored with the model]",
          between(0, token_limit));
  visit(v, o.draw);
  v.field("no_repeat_ngram", o.no_repeat_ngram,
          "never repeat an n-gram of this many tokens; 0: off [as stored with the model]", at_least(0));
  v.field("beam_size", o.beam_size,
          "search for the likeliest text with this many hypotheses; 0: draw [as stored with the model]",
          between(0, 1000));
  v.field(
      "draft_tokens", o.draft_tokens,
      "maximum number of tokens that are guessed from repetitions in the text and verified in one step, which "
      "takes less time and gives the same texts; 0: off [7, or 0 where the model does not support it]",
      between(0, RepetitionDraft::max_guesses));
  v.field("samples", o.samples, "number of texts for each prompt", between(1, 65536));
  v.field("seed", o.seed, "seed of the random numbers; the same seed gives the same texts");
  v.field("likeliest", o.likeliest, "return each token with so many of the likeliest in its place",
          at_least(0));
  v.field("stop", o.stop, "end before this text; may be given several times");
}

namespace {

using Ids = std::vector<int32_t>;

/// A part of a text that the model reads at once: it predicts each of the labels.
struct Window {
  std::span<const int32_t> labels;
  size_t scored = 0;  ///< the last labels, in this number, are scored; the others are context
};

/// Cuts the labels of a text into windows of at most `context` labels, so that each label is scored once.
void add_windows(std::span<const int32_t> labels, size_t context, size_t stride, std::vector<Window>& windows) {
  size_t end = std::min(labels.size(), context);
  windows.push_back({labels.first(end), end});
  while (end < labels.size()) {
    const size_t next = std::min(labels.size(), end + stride);
    windows.push_back({labels.subspan(next - context, context), next - end});
    end = next;
  }
}

/// Divides windows into batches of at most `max_tokens` tokens; a longer window is a batch of its own. Returns
/// the index of the first window of each batch, and the number of windows.
std::vector<size_t> batches_of(std::span<const Window> windows, int64_t max_tokens) {
  std::vector<size_t> begins{0};
  int64_t tokens = 0;
  for (size_t i = 0; i < windows.size(); ++i) {
    if (i > begins.back() && tokens + std::ssize(windows[i].labels) > max_tokens) {
      begins.push_back(i);
      tokens = 0;
    }
    tokens += std::ssize(windows[i].labels);
  }
  begins.push_back(windows.size());
  return begins;
}

/// The log-probabilities of the scored labels, window by window.
std::vector<double> score_windows(const DecodeWorkspace& decoding, std::span<const Window> windows) {
  BatchBuilder builder;
  for (const Window& window : windows)
    builder.teacher_forced_prefix(window.labels, decoding.model.config().decoder_start_token);
  const Batch batch = builder.take();
  Context context(decoding.backend, decoding.arena);
  const auto all = ops::log_probability(context, decoding.model.states(batch, context), decoding.model.output(),
                                        context.indices(batch.labels))
                       .to_doubles(context.backend());
  std::vector<double> scores;
  for (size_t i = 0; i < windows.size(); ++i) {
    const auto end = all.begin() + batch.target.rows.begin(static_cast<int>(i) + 1);
    scores.insert(scores.end(), end - static_cast<ptrdiff_t>(windows[i].scored), end);
  }
  return scores;
}

/// The log-probabilities of the labels of texts, for each batch. They do not depend on the number of threads.
std::vector<std::vector<double>> score_texts(ModelRuntime& model, std::span<const Ids> texts, int stride,
                                             const std::stop_token& cancel) {
  const auto context = static_cast<size_t>(model.config().context_tokens);
  std::vector<Window> windows;
  for (const Ids& text : texts) {
    const size_t window = context > 0 ? context : text.size();
    add_windows(text, window, stride > 0 ? static_cast<size_t>(stride) : std::max<size_t>(window / 2, 1),
                windows);
  }
  const std::vector<size_t> begins = batches_of(windows, 2 * model.batch_tokens());
  std::vector<std::vector<double>> scores(begins.size() - 1);
  model.run(scores.size(), cancel, [&](size_t i, const DecodeWorkspace& workspace) {
    scores[i] = score_windows(workspace, std::span(windows).subspan(begins[i], begins[i + 1] - begins[i]));
  });
  return scores;
}

}  // namespace

double TextScore::loss_per_token() const { return -log_probability / static_cast<double>(tokens); }
double TextScore::perplexity() const { return std::exp(loss_per_token()); }
double TextScore::bits_per_byte() const {
  return -log_probability / std::numbers::ln2 / static_cast<double>(bytes);
}

Generator::Generator(std::shared_ptr<ModelRuntime> opened) : Predictor(std::move(opened)) {
  require_task(config(), LanguageModelSettings::network, model().folder());
  settings_of<LanguageModelSettings>(config());
  model().target();  // throws if there is no tokenizer
}

std::vector<GeneratedTexts> Generator::generate(std::span<const std::string> prompts,
                                                const GenerateOptions& options,
                                                const TextReceiver& receive) const {
  std::vector<Prompt> texts;
  for (const std::string& prompt : prompts) texts.push_back({prompt});
  return generate(texts, options, receive);
}

std::vector<GeneratedTexts> Generator::generate(std::span<const Prompt> prompts, const GenerateOptions& options,
                                                const TextReceiver& receive) const {
  return GenerationJob(model(), prompts, options, receive).run();
}

Prompt Generator::chat_prompt(std::span<const ChatMessage> messages) const {
  const auto settings = settings_of<LanguageModelSettings>(config());
  const Tokenizer& tokenizer = model().target();
  const ChatFormat& format = chat_format_of(model());
  for (size_t i = 0; i < messages.size(); ++i)
    if (const auto fault = fault_of_text(messages[i].content))
      throw_input_error("message {}: it is not text: {}", i + 1, *fault);
  ChatText chat = chat_text(format, settings.chat.system, messages);
  std::vector<int32_t> ids = tokenizer.encode_with_special_tokens(chat.text, chat.contents);
  return {.text = std::move(chat.text), .ids = std::move(ids)};
}

int Generator::max_tokens(size_t prompt_tokens, const GenerateOptions& options) const {
  return max_tokens_after(model().config(), prompt_tokens, options);
}

std::optional<std::string> Generator::refusal(const Prompt& prompt, const GenerateOptions& options) const {
  return encode_prompt(model(), prompt, options).refusal;
}

std::string Generator::text_of(std::span<const int32_t> ids) const { return model().target().decode_text(ids); }

TextScore Generator::score(const std::string& path, const ScoreOptions& options) const {
  constexpr int64_t max_pending_tokens = 1 << 18;  // of texts that are scored together
  const ModelConfig& config = model().config();
  const TextUnit unit = settings_of<LanguageModelSettings>(config).text_unit;
  require(options.stride >= 0 && (config.context_tokens == 0 || options.stride <= config.context_tokens),
          "stride is {}; it must be from 1 to {}, the number of tokens that the model reads at once, or 0 for "
          "half of "
          "them",
          options.stride, config.context_tokens);
  const auto check_cancel = [&] {
    if (options.cancel.stop_requested()) throw Cancelled();
  };
  DocumentReader reader({path}, unit, options.invalid, check_cancel);
  TextScore score;
  std::vector<Ids> texts(1);  // the last text is not complete yet
  int64_t pending_tokens = 0;
  int64_t texts_shown = 0;
  const auto show = [&](std::span<const Ids> scored, const std::vector<std::vector<double>>& scores) {
    size_t batch = 0, at = 0;
    for (const Ids& text : scored) {
      for (const int32_t id : text) {
        while (at == scores[batch].size()) ++batch, at = 0;
        options.token({texts_shown, model().target().token_text(id), scores[batch][at++]});
      }
      ++texts_shown;
    }
  };
  const auto flush = [&] {
    const auto complete = std::span(texts).first(texts.size() - 1);
    const auto scores = score_texts(model(), complete, options.stride, options.cancel);
    double sum = 0;
    for (const std::vector<double>& batch : scores) sum += std::accumulate(batch.begin(), batch.end(), 0.0);
    score.log_probability += sum;
    if (options.token) show(complete, scores);
    texts.assign(1, {});
    pending_tokens = 0;
  };
  const auto add = [&](std::span<const int32_t> ids) {
    check_cancel();
    score.unknown += std::ranges::count(ids, config.unk);
    texts.back().insert(texts.back().end(), ids.begin(), ids.end());
  };
  const auto end = [&] {
    if (unit != TextUnit::stream) texts.back().push_back(config.eos);
    score.tokens += std::ssize(texts.back());
    pending_tokens += std::ssize(texts.back());
    texts.emplace_back();
    if (pending_tokens > max_pending_tokens) flush();
  };
  encode_documents(reader, unit, model().target(), model().engine().threads(), add, end);
  require(score.tokens > 0, "{}: there is no text to score", name_of_text(path));
  flush();
  require(std::isfinite(score.log_probability),
          "the probabilities that the model computes are not finite; its weights must be damaged");
  score.bytes = reader.bytes();
  return score;
}

}  // namespace sixfold
