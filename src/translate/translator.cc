#include "translate/translator.h"

#include <algorithm>
#include <exception>
#include <map>
#include <mutex>

#include "base/error.h"
#include "base/join.h"
#include "base/log.h"
#include "base/threads.h"
#include "model/model_dir.h"
#include "search/search.h"
#include "text/tokenizers.h"
#include "text/utf8.h"
#include "translate/sealed.h"

namespace sixfold {
namespace {

using Ids = std::vector<int32_t>;
using Emit = std::function<void(size_t, const std::vector<Translation>&)>;

/// Every step reads all weights of the decoder, which many tokens share; but the more there are, the less of
/// their keys and values stays in a processor's cache. Measured (docs/benchmarks.md), the best number grows
/// with the weights.
int64_t batch_tokens_for(const Transformer& model) {
  int64_t bytes = 0;
  for (const Parameter& parameter : model.parameters()) bytes += static_cast<int64_t>(parameter.tensor.bytes());
  return std::clamp<int64_t>(bytes / 16384, 512, 4096);
}

/// A model folder in memory.
class OpenModel {
 public:
  OpenModel(const std::string& folder, WeightType type)
      : model_(load_model(folder, make_cpu_backend(1), DType::f32, type)),
        tokenizers_(load_sealed_tokenizers(folder, model_->config())) {
    model_->prepare();
  }

  const Transformer& model() const { return *model_; }
  const ModelConfig& config() const { return model_->config(); }
  const Tokenizer& source() const { return *tokenizers_.source; }
  const Tokenizer& target() const { return *tokenizers_.target; }

  /// What asks for that language before a source: ">>deu<<", or nothing for none. Throws an input error with
  /// the languages there are.
  std::string language_symbol(const std::string& language) const;
  /// `language_symbol`, a line's pieces and end symbol, or nothing where there is nothing to see.
  Ids encode(const std::string& language_symbol, const std::string& line, size_t line_number,
             int longest) const;

  /// The shortlist of a file, opened once; none for no file.
  std::shared_ptr<const Shortlist> shortlist(const std::string& path);

  /// What a thread decodes with. Once let go, it is the next one's: its buffers are warm.
  std::shared_ptr<Decoding> borrow();

 private:
  std::unique_ptr<Transformer> model_;
  Tokenizers tokenizers_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Decoding>> idle_;
  std::map<std::string, std::shared_ptr<const Shortlist>> shortlists_;
};

std::shared_ptr<const Shortlist> OpenModel::shortlist(const std::string& path) {
  if (path.empty()) return nullptr;
  const std::lock_guard lock(mutex_);
  auto& open = shortlists_[path];
  if (!open) open = std::make_shared<const Shortlist>(load_shortlist(path, config()));
  return open;
}

std::string OpenModel::language_symbol(const std::string& language) const {
  if (language.empty()) return {};
  const std::string symbol = fmt::format(">>{}<<", language);
  const auto known = source().language_symbols();
  require(!known.empty(), "target language {}: the model has no symbols for languages, it translates to one",
          language);
  if (std::find(known.begin(), known.end(), symbol) == known.end())
    throw_input_error("target language {}: the model knows {}", language, join(known, " "));
  return symbol;
}

Ids OpenModel::encode(const std::string& language_symbol, const std::string& line, size_t line_number,
                      int longest) const {
  if (!has_visible_character(replace_invalid_utf8(line))) return {};
  Ids ids = source().encode(language_symbol + line);
  if (ids.empty()) return {};
  if (ids.size() > static_cast<size_t>(longest)) {
    log_warning("line {}: {} tokens, cut to the first {}", line_number, ids.size(), longest);
    ids.resize(static_cast<size_t>(longest));
  }
  ids.push_back(source().eos());
  return ids;
}

std::shared_ptr<Decoding> OpenModel::borrow() {
  const auto give_back = [this](Decoding* decoding) {
    const std::lock_guard lock(mutex_);
    idle_.emplace_back(decoding);
  };
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) return {new Decoding(model(), make_cpu_backend(1)), give_back};
  std::shared_ptr<Decoding> decoding(idle_.back().release(), give_back);
  idle_.pop_back();
  return decoding;
}

/// The translation of some lines: threads take them from one queue, and what is ready goes out in order.
class Job {
 public:
  Job(OpenModel& open, std::vector<Ids> sources, const SearchOptions& options, const Emit& emit)
      : open_(open),
        sources_(std::move(sources)),
        queue_(sources_),
        options_(options),
        emit_(emit),
        ready_(sources_.size()) {}

  void run(int threads) {
    int64_t sentences = 0, tokens = 0;
    for (const Ids& source : sources_) {
      sentences += !source.empty();
      tokens += static_cast<int64_t>(source.size());
    }
    threads = static_cast<int>(std::clamp<int64_t>(sentences, 1, threads));
    // No thread takes more than its share at first.
    const int64_t share = (tokens * options_.rules.beam_size + threads - 1) / threads;
    options_.batch_tokens = std::min(options_.batch_tokens, std::max<int64_t>(share, 1));
    ThreadPool(threads).run(threads, [this](int64_t, int) { work(); });
    if (error_) std::rethrow_exception(error_);
  }

 private:
  void work();
  void finish(size_t index, const std::vector<Hypothesis>& best_first);

  OpenModel& open_;
  std::vector<Ids> sources_;
  SourceQueue queue_;
  SearchOptions options_;
  const Emit& emit_;
  std::mutex mutex_;  // of what follows
  std::vector<std::vector<Translation>> ready_;
  size_t next_ = 0;  // to go out
  std::exception_ptr error_;
};

void Job::work() {
  try {
    search(*open_.borrow(), queue_, options_, [this](size_t index, const auto& best) { finish(index, best); });
  } catch (...) {
    queue_.close();
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::current_exception();
  }
}

void Job::finish(size_t index, const std::vector<Hypothesis>& best_first) {
  std::vector<Translation> translations;
  for (const Hypothesis& hypothesis : best_first)
    translations.push_back({open_.target().decode(hypothesis.ids), hypothesis.score});
  const std::lock_guard lock(mutex_);
  ready_[index] = std::move(translations);
  try {
    for (; next_ < ready_.size() && !ready_[next_].empty() && !error_; ++next_) {
      emit_(next_, ready_[next_]);
      ready_[next_] = {};
    }
  } catch (...) {
    error_ = std::current_exception();  // while other threads wait, so that none emits after it
    throw;
  }
}

}  // namespace

struct Translator::Parts {
  OpenModel open;
  int threads;

  void translate(const std::vector<std::string>& lines, int n_best, const TranslateOptions& options,
                 const Emit& emit) {
    require(options.max_source_length >= 1, "max_source_length is {}; it must be at least 1",
            options.max_source_length);
    const auto shortlist = open.shortlist(options.shortlist);
    SearchOptions how{open.config().search, n_best, options.batch_tokens, shortlist.get()};
    if (how.batch_tokens == 0) how.batch_tokens = batch_tokens_for(open.model());
    if (options.beam_size) how.rules.beam_size = *options.beam_size;
    std::vector<Ids> sources;
    const std::string symbol = open.language_symbol(options.target_language);
    for (const std::string& line : lines)
      sources.push_back(
          open.encode(symbol, line, options.first_line + sources.size(), options.max_source_length));
    Job(open, std::move(sources), how, emit).run(threads);
  }
};

Translator::Translator(const std::string& model_folder, int threads, WeightType type) {
  require(threads >= 0, "threads is {}; it must be 0, for all there are, or more", threads);
  parts_.reset(new Parts{OpenModel(model_folder, type), threads == 0 ? available_threads() : threads});
}

Translator::~Translator() = default;
Translator::Translator(Translator&&) noexcept = default;

std::vector<std::string> Translator::translate(const std::vector<std::string>& lines,
                                               const TranslateOptions& options) const {
  std::vector<std::string> translations(lines.size());
  translate(lines, options, [&](size_t index, const std::string& line) { translations[index] = line; });
  return translations;
}

std::string Translator::translate(const std::string& line) const { return translate(std::vector{line})[0]; }

void Translator::translate(const std::vector<std::string>& lines, const TranslateOptions& options,
                           const std::function<void(size_t, const std::string&)>& emit) const {
  n_best(lines, 1, options, [&](size_t index, const auto& best_first) { emit(index, best_first[0].text); });
}

void Translator::n_best(const std::vector<std::string>& lines, int n, const TranslateOptions& options,
                        const std::function<void(size_t, const std::vector<Translation>&)>& emit) const {
  parts_->translate(lines, n, options, emit);
}

SentenceAttention Translator::attention(const std::string& source, std::optional<std::string> target,
                                        int layer) const {
  OpenModel& open = parts_->open;
  const ModelConfig& config = open.config();
  const auto decoding = open.borrow();
  Ids source_ids = open.encode({}, source, 1, TranslateOptions().max_source_length), target_ids;
  if (target)
    target_ids = open.target().encode(*target);
  else
    search(*decoding, {source_ids}, {config.search}, [&](size_t, auto best) { target_ids = best[0].ids; });
  if (source_ids.empty()) source_ids = {open.source().eos()};

  PairBatch batch;
  batch.source.add(source_ids);
  Ids input{config.search.decoder_start};
  input.insert(input.end(), target_ids.begin(), target_ids.end());
  batch.target.add(input);
  target_ids.push_back(config.eos);
  Pass pass(decoding->backend, decoding->arena);
  SentenceAttention result;
  result.heads = config.heads;
  result.weights = open.model().attention(batch, AttentionKind::cross,
                                          layer < 0 ? layer + config.decoder_layers : layer, pass)[0];
  for (const int32_t id : source_ids) result.source.push_back(open.source().piece(id));
  for (const int32_t id : target_ids) result.target.push_back(open.target().piece(id));
  return result;
}

}  // namespace sixfold
