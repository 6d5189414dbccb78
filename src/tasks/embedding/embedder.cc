#include "tasks/embedding/embedder.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "data/class_dataset.h"
#include "data/lines.h"
#include "model/position_encodings.h"
#include "runtime/model_runtime.h"
#include "runtime/poll.h"
#include "runtime/source_batches.h"
#include "tasks/embedding/settings.h"

namespace sixfold {
namespace {

/// Returns the encoder input of a text, and sets `error` and the numbers of tokens in the result.
std::vector<int32_t> encode(const ModelRuntime& model, const std::string& text, TextEmbedding& result) {
  result.error = fault_of_text(text);
  if (result.error) return {};
  const Tokenizer& tokenizer = model.source();
  const std::vector<int32_t> ids = tokenizer.encode(text);
  const int64_t limit = model.config().context_tokens, max_tokens = limit > 0 ? limit : std::ssize(ids);
  result.tokens_cut = static_cast<size_t>(std::max<int64_t>(std::ssize(ids) - max_tokens, 0));
  std::vector<int32_t> input = classifier_input(ids, max_tokens, tokenizer.bos(), tokenizer.eos());
  result.tokens = input.size();
  return input;
}

/// Divides a vector by its Euclidean norm. Zero stays zero.
void normalize(std::span<float> values) {
  double sum = 0;
  for (const float value : values) sum += double{value} * double{value};
  const double norm = std::sqrt(sum);
  if (norm == 0) return;
  for (float& value : values) value = static_cast<float>(double{value} / norm);
}

/// Counts the texts of a batch in the statistics as running, during its own lifetime.
class RunningTexts {
 public:
  RunningTexts(DecodingStatistics& statistics, DecodingStatistics::Clock::time_point arrival,
               const Batch& batch)
      : statistics_(statistics), arrival_(arrival), batch_(batch) {
    for (size_t i = 0; i < batch.samples.size(); ++i)
      statistics.entered(arrival, batch.source.rows.length(static_cast<int>(i)));
  }
  ~RunningTexts() {
    for (size_t i = 0; i < batch_.samples.size(); ++i) statistics_.left(arrival_, /*target_tokens=*/0);
  }
  RunningTexts(const RunningTexts&) = delete;
  RunningTexts& operator=(const RunningTexts&) = delete;

 private:
  DecodingStatistics& statistics_;
  const DecodingStatistics::Clock::time_point arrival_;
  const Batch& batch_;
};

void embed_batch(const DecodeWorkspace& workspace, const Batch& batch, bool normalizes,
                 std::span<TextEmbedding> results) {
  Context context(workspace.backend, workspace.arena);
  const std::vector<float> all = workspace.model.head_input(batch, context).to_floats(*workspace.backend);
  const size_t size = all.size() / batch.samples.size();
  for (size_t i = 0; i < batch.samples.size(); ++i) {
    TextEmbedding& result = results[static_cast<size_t>(batch.samples[i])];
    const auto values = std::span(all).subspan(i * size, size);
    if (!std::ranges::all_of(values, [](float value) { return std::isfinite(value); })) {
      result.error = "the embedding that the model computes is not finite; its weights must be damaged";
      continue;
    }
    result.values.assign(values.begin(), values.end());
    if (normalizes) normalize(result.values);
  }
}

}  // namespace

Embedder::Embedder(std::shared_ptr<ModelRuntime> opened) : Predictor(std::move(opened)) {
  require_task(config(), EmbeddingSettings::network, model().folder());
  normalizes_ = settings_of<EmbeddingSettings>(config()).normalize;
}

int Embedder::size() const { return config().d_model; }

std::vector<TextEmbedding> Embedder::embed(std::span<const std::string> texts,
                                           const EmbedOptions& options) const {
  const auto arrival = DecodingStatistics::Clock::now();
  std::vector<TextEmbedding> results(texts.size());
  SourceBatches packed(model().batch_tokens(), config().source_ids_per_row());
  for (size_t i = 0; i < texts.size(); ++i) {
    Poll::now(options.cancel);
    if (const std::vector<int32_t> ids = encode(model(), texts[i], results[i]); !ids.empty())
      packed.add(static_cast<int32_t>(i), ids);
  }
  const std::vector<Batch> batches = packed.take();
  model().run(batches.size(), options.cancel, [&](size_t i, const DecodeWorkspace& workspace) {
    const RunningTexts running(model().engine().statistics(), arrival, batches[i]);
    embed_batch(workspace, batches[i], normalizes_, results);
  });
  return results;
}

double cosine(std::span<const float> a, std::span<const float> b) {
  require(a.size() == b.size(), "cosine: the embeddings have {} and {} values", a.size(), b.size());
  return std::clamp(cosine_similarity(a, b), -1.0, 1.0);
}

}  // namespace sixfold
