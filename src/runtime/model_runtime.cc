#include "runtime/model_runtime.h"

#include <algorithm>
#include <exception>
#include <future>
#include <numeric>
#include <system_error>

#include "base/error.h"
#include "base/options.h"
#include "base/threads.h"
#include "model/decoding_state.h"
#include "model_folder/binding.h"
#include "model_folder/model_folder.h"

namespace sixfold {
namespace {

// Larger numbers have no other effect; the limit keeps sums of tokens within the range of the type.
constexpr int64_t max_batch_tokens = int64_t{1} << 40;
constexpr int64_t least_fitting = 512, most_fitting = 2048;  // tokens of a batch that fits the model
constexpr int64_t max_state_bytes = 100'000'000;             // of the keys and values of such a batch

int threads_of(const RuntimeOptions& options) {
  require(options.threads >= 0, "threads is {}; it must be at least 0 (0: all processor cores)",
          options.threads);
  return options.threads == 0 ? available_threads() : options.threads;
}

}  // namespace

int64_t fitting_batch_tokens(int64_t weight_bytes) {
  return std::clamp<int64_t>(weight_bytes / 16384, least_fitting, most_fitting);
}

int64_t fitting_batch_tokens(int64_t weight_bytes, std::pair<int64_t, int64_t> bytes_per_token,
                             int hypotheses) {
  const auto [source, target] = bytes_per_token;
  const int64_t bytes = std::max<int64_t>(source / std::max(hypotheses, 1) + target, 1);
  return std::clamp(std::min(weight_bytes / 4 * 3, max_state_bytes) / bytes, least_fitting,
                    fitting_batch_tokens(weight_bytes));
}

ModelRuntime::ModelRuntime(const std::string& folder, const RuntimeOptions& options)
    : folder_(folder),
      engine_(
          threads_of(options), [this] { return workspace(); }, options.calling) {
  // The tokenizers are read beside the weights, since either takes about as long as the other. They are read by
  // this thread, because a heap that another thread begins grows by a system call for each page.
  const auto read = [&] { return load_packed_model(folder, make_backend(), options.weights); };
  auto weights = std::async(std::launch::deferred, read);
  try {
    if (engine_.threads() > 1) weights = std::async(std::launch::async, read);
  } catch (const std::system_error&) {  // no thread can be started
  }
  std::exception_ptr no_tokenizers;
  try {
    tokenizers_ = load_bound_tokenizers(folder, load_model_config(folder));
  } catch (...) {
    no_tokenizers = std::current_exception();
  }
  model_ = weights.get();  // what is wrong with them is reported first
  if (no_tokenizers) std::rethrow_exception(no_tokenizers);
  // Another model may have replaced the folder in between, whose config they were checked with.
  if (tokenizers_.target) require_bound(tokenizers_, folder, config());
  load_ensemble(options);
}

/// Loads the other models of the ensemble.
void ModelRuntime::load_ensemble(const RuntimeOptions& options) {
  const size_t count = options.ensemble.size() + 1;
  if (count == 1) {
    require(options.ensemble_weights.empty() && options.ensemble_mean == EnsembleMean::probabilities,
            "ensemble_weights and ensemble_mean have no effect without an ensemble; leave them out");
    return;
  }
  require(options.ensemble_weights.empty() || options.ensemble_weights.size() == count,
          "ensemble_weights has {} numbers, but there are {} models", options.ensemble_weights.size(), count);
  check_ranges(options);
  ensemble_ = {.models = {model_.get()}, .weights = options.ensemble_weights, .mean = options.ensemble_mean};
  ensemble_.weights.resize(count, 1);
  const double sum = std::accumulate(ensemble_.weights.begin(), ensemble_.weights.end(), 0.0);
  for (double& weight : ensemble_.weights) weight /= sum;
  for (const std::string& folder : options.ensemble) {
    others_.push_back(load_packed_model(folder, model_->backend(), options.weights));
    require_compatible_ensemble({config(), folder_}, {others_.back()->config(), folder});
    ensemble_.models.push_back(others_.back().get());
  }
}

const Tokenizer* ModelRuntime::required(const std::shared_ptr<const Tokenizer>& tokenizer) const {
  require(tokenizer != nullptr, "{}: has no tokenizer; its config.json names none", folder_);
  return tokenizer.get();
}

std::vector<const Transformer*> ModelRuntime::models() const {
  return is_ensemble() ? ensemble_.models : std::vector<const Transformer*>{model_.get()};
}

int64_t ModelRuntime::weight_bytes() const {
  int64_t bytes = 0;
  for (const Transformer* one : models())
    for (const Parameter& parameter : one->parameters())
      bytes += static_cast<int64_t>(parameter.tensor.bytes());
  return bytes;
}

int64_t ModelRuntime::batch_tokens(int64_t requested, int hypotheses) const {
  require(requested >= 0, "batch_tokens is {}; it must be at least 1, or 0 for a number that fits the model",
          requested);
  if (requested > 0) return std::min(requested, max_batch_tokens);
  std::pair<int64_t, int64_t> per_token;
  for (const Transformer* one : models()) {
    const auto [source, target] = DecodingState::bytes_per_token(*one);
    per_token.first += source, per_token.second += target;
  }
  return fitting_batch_tokens(weight_bytes(), per_token, hypotheses);
}

int ModelRuntime::decoder_layer(int layer) const {
  const int layers = config().decoder_layers, chosen = layer < 0 ? layer + layers : layer;
  require(chosen >= 0 && chosen < layers, "layer {}: the model's decoder has layers 0 to {}", layer,
          layers - 1);
  return chosen;
}

ModelRuntime::BorrowedWorkspace ModelRuntime::borrow() {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) {
    auto created = std::make_unique<DecodeWorkspace>(workspace());
    idle_.reserve(++workspaces_);
    return {created.release(), ReturnWorkspace{this}};
  }
  BorrowedWorkspace borrowed(idle_.back().release(), ReturnWorkspace{this});
  idle_.pop_back();
  return borrowed;
}

void ModelRuntime::ReturnWorkspace::operator()(DecodeWorkspace* workspace) const noexcept {
  const std::lock_guard lock(owner->mutex_);
  owner->idle_.emplace_back(workspace);
}

void ModelRuntime::run(size_t count, const std::stop_token& cancel,
                       const std::function<void(size_t, const DecodeWorkspace&)>& task) {
  engine_.run(static_cast<int64_t>(count), [&](int64_t i) {
    if (cancel.stop_requested()) throw Cancelled();
    task(static_cast<size_t>(i), *borrow());
  });
}

}  // namespace sixfold
