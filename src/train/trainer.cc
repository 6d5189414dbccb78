#include "train/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "base/log.h"
#include "base/threads.h"
#include "model/derived.h"
#include "model/model_dir.h"
#include "train/checkpoint.h"
#include "train/precision.h"
#include "train/progress.h"
#include "train/schedule.h"
#include "train/training_data.h"
#include "translate/sealed.h"

namespace sixfold {
namespace fs = std::filesystem;
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

ModelConfig model_config(const TrainOptions& options, const Tokenizers& tokenizers) {
  ModelConfig config;
  static_cast<Architecture&>(config) = options.model;
  seal(config, tokenizers);
  require(config.tied_embeddings != TiedEmbeddings::all || tokenizers.joint,
          "model.tied_embeddings: all three matrices can be one only with a joint vocabulary; set it to "
          "decoder or none, or "
          "tokenizer.joint to true");
  return config;
}

/// One run of training, from its folder's state to its end.
class Run {
 public:
  Run(const TrainOptions& options, const TrainRequest& request);
  TrainOutcome finish();

 private:
  std::shared_ptr<Backend> make_backend();
  int64_t planned_updates() const;
  void resume_or_begin();
  void update();
  void train_on(const Batch& batch, double loss_scale);
  void measure_rate();
  void validate();
  void save();
  bool due(int64_t every_updates) const { return every_updates > 0 && state_.update % every_updates == 0; }
  bool epoch_due(double every_epochs) const;
  bool stopped() const { return request_.stop && request_.stop->load() != 0; }
  bool finished() const;
  std::string build_model();

  TrainOptions options_;
  TrainRequest request_;
  int threads_;
  Checkpoints checkpoints_;
  std::string newest_;  ///< the checkpoint to resume from; empty: begin anew
  TrainingState state_;
  std::shared_ptr<Backend> backend_;
  std::shared_ptr<Arena> arena_;
  TrainingData data_;
  Transformer model_;
  Optimizer optimizer_;
  Batcher batcher_;
  std::unique_ptr<Progress> progress_;
  double learning_rate_ = 0, resumed_seconds_ = 0, began_ = 0, saved_at_ = 0;
  int64_t saved_update_ = -1;
  bool gave_up_ = false;  ///< validation has not become better for too long
};

std::string newest_checkpoint(const Checkpoints& checkpoints, const TrainRequest& request) {
  const auto all = checkpoints.list();
  if (request.resume) {
    require(!all.empty(), "{}: no checkpoint to resume from; start without --resume", request.run);
    return all.back();
  }
  require(all.empty() && !fs::exists(request.run + "/model"),
          "{} holds a run already: --resume goes on with it, another --out begins a new one", request.run);
  return {};
}

Run::Run(const TrainOptions& options, const TrainRequest& request)
    : options_(options),
      request_(request),
      threads_(options.train.threads > 0 ? options.train.threads : available_threads()),
      checkpoints_(request.run, std::max(options.checkpoint.keep_last, options.train.average_last)),
      newest_(newest_checkpoint(checkpoints_, request)),
      state_(newest_.empty() ? TrainingState() : Checkpoints::read_state(newest_)),
      backend_(make_backend()),
      arena_(std::make_shared<Arena>(backend_)),
      data_(read_training_data(options, newest_, threads_)),
      model_(model_config(options, data_.tokenizers), backend_, DType::f32, options.train.seed),
      optimizer_(backend_, model_.parameters(), options.optimizer, options.train.ema_decay),
      batcher_(data_.train, {.batch_tokens = options.data.batch_tokens,
                             .shuffle = options.data.shuffle,
                             .sort_by_length = options.data.sort_by_length,
                             .seed = options.train.seed}) {
  resume_or_begin();
}

/// A run keeps the precision that it began with, unless another is asked for by name.
std::shared_ptr<Backend> Run::make_backend() {
  const Precision asked = options_.train.precision;
  if (newest_.empty())
    state_.precision = asked == Precision::automatic ? choose_precision(asked, product_rates()) : asked;
  else if (asked != Precision::automatic)
    state_.precision = asked;
  return make_cpu_backend(threads_, state_.precision == Precision::bf16 ? Products::bf16 : Products::fp32);
}

/// The update that ends the run, from its options; 0 where only minutes are given.
int64_t Run::planned_updates() const {
  int64_t last = options_.train.updates;
  if (options_.train.epochs > 0) {
    const double batches = options_.train.epochs * static_cast<double>(batcher_.batches_in_epoch());
    const auto updates = static_cast<int64_t>(std::ceil(batches / options_.train.accumulate));
    last = last > 0 ? std::min(last, updates) : updates;
  }
  return last;
}

void Run::resume_or_begin() {
  const std::string instruction_set = backend_->name();
  if (newest_.empty()) {
    fs::create_directories(request_.run);
    state_.instruction_set = instruction_set;
  } else {
    Checkpoints::load(newest_, model_, optimizer_);
    batcher_.seek(state_.position);
    log_info("resuming from {} (update {})", newest_, state_.update);
    if (state_.instruction_set != instruction_set)
      log_warning("the run was on {}, this machine is {}: it goes on, but not bit for bit",
                  state_.instruction_set, instruction_set);
  }
  if (const int64_t planned = planned_updates(); planned > 0) state_.last_update = planned;
  save_train_options(request_.run + "/config.json", options_);
  progress_ = std::make_unique<Progress>(request_.run + "/train.jsonl", state_);
  log_info("model: {} parameters; {}, {} threads", parameter_count(model_.config()), instruction_set, threads_);
  began_ = now();
  resumed_seconds_ = state_.seconds;
  saved_at_ = state_.seconds;
}

void Run::train_on(const Batch& batch, double loss_scale) {
  Tape tape;
  Pass pass(backend_, arena_, tape,
            {static_cast<uint32_t>(options_.train.seed), static_cast<uint32_t>(state_.update)});
  const Tensor states = model_.states({batch.source, batch.target_input, batch.sentence_ids}, pass);
  state_.sums.loss +=
      ops::cross_entropy(pass, states, model_.output(), pass.indices(batch.target_output),
                         {.label_smoothing = options_.train.label_smoothing, .scale = loss_scale});
  tape.backward();
}

void Run::update() {
  std::vector<Batch> batches;
  int64_t target_tokens = 0;
  for (int i = 0; i < options_.train.accumulate; ++i) {
    Batch batch = batcher_.next();
    target_tokens += batch.target_tokens();
    state_.sums.tokens += batch.tokens();
    const int64_t most = options_.data.micro_batch_tokens;
    if (most > 0 && batch.tokens() > most)
      for (auto& part : split(batch, most)) batches.push_back(std::move(part));
    else
      batches.push_back(std::move(batch));
  }
  state_.sums.target_tokens += target_tokens;
  optimizer_.clear_gradients();
  for (const Batch& batch : batches) train_on(batch, 1.0 / static_cast<double>(target_tokens));

  const double norm = optimizer_.gradient_norm(), clip = options_.train.clip_norm;
  if (!std::isfinite(norm) || !std::isfinite(state_.sums.loss))
    throw_input_error(
        "update {}: the {} is not finite; the last checkpoint is whole ({}). A lower schedule.learning_rate, a "
        "longer schedule.warmup or train.clip_norm usually mends this",
        state_.update + 1, std::isfinite(norm) ? "loss" : "gradient",
        newest_.empty() ? "there is none yet" : newest_);
  state_.sums.gradient_norm = norm;
  learning_rate_ =
      Schedule(options_.schedule, model_.config().d_model, state_.last_update).rate(state_.update + 1);
  optimizer_.update(state_.update + 1, learning_rate_, clip > 0 && norm > clip ? clip / norm : 1.0);
  ++state_.update;
  state_.position = batcher_.position();
  state_.seconds = resumed_seconds_ + now() - began_;
}

// A run by minutes becomes a run by updates: once some time has shown how long one takes. A part is left for
// validation.
void Run::measure_rate() {
  const double given = options_.train.minutes * 60;
  if (given <= 0 || state_.last_update > 0 || state_.update < 10 || state_.seconds < 0.03 * given) return;
  const double updates = 0.95 * given / state_.seconds * static_cast<double>(state_.update);
  state_.last_update = std::max(state_.update, static_cast<int64_t>(updates));
  progress_->say(fmt::format("{:.2f} updates/s: {} minutes are {} updates",
                             static_cast<double>(state_.update) / state_.seconds, options_.train.minutes,
                             state_.last_update));
}

bool Run::epoch_due(double every_epochs) const {
  if (every_epochs <= 0) return false;
  const auto epochs = [&](int64_t update) {
    return std::floor(static_cast<double>(update) * options_.train.accumulate /
                      static_cast<double>(batcher_.batches_in_epoch()) / every_epochs);
  };
  return epochs(state_.update) > epochs(state_.update - 1);
}

void Run::validate() {
  if (data_.valid.text.source.empty()) return;
  optimizer_.swap_average();
  const Scores scores =
      validate_model(model_, data_.tokenizers, data_.valid, options_.validation, options_.data.batch_tokens);
  const double value = scores.at(std::string(name_of_enum(options_.validation.best_by)));
  const bool better = !state_.best || is_better(options_.validation.best_by, value, *state_.best);
  if (better) {
    state_.best = value;
    state_.best_update = state_.update;
    state_.without_better = 0;
    if (options_.checkpoint.keep_best) write_model_folder(request_.run + "/best", model_, data_.tokenizers);
  } else {
    ++state_.without_better;
  }
  optimizer_.swap_average();
  progress_->validation(state_, scores, better);
  gave_up_ = options_.validation.patience > 0 && state_.without_better >= options_.validation.patience;
  state_.seconds = resumed_seconds_ + now() - began_;
}

void Run::save() {
  state_.log_bytes = progress_->log_bytes();
  checkpoints_.save(model_, data_.tokenizers, optimizer_, state_);
  newest_ = checkpoints_.list().back();
  saved_at_ = state_.seconds;
  saved_update_ = state_.update;
}

bool Run::finished() const {
  return gave_up_ || (state_.last_update > 0 && state_.update >= state_.last_update);
}

TrainOutcome Run::finish() {
  gave_up_ = options_.validation.patience > 0 && state_.without_better >= options_.validation.patience;
  while (!finished() && !stopped()) {
    update();
    measure_rate();
    progress_->update(state_, learning_rate_);
    if (due(options_.log.every_updates) || finished()) {
      progress_->line(state_, learning_rate_);
      state_.sums = {};
    }
    if (due(options_.validation.every_updates) || epoch_due(options_.validation.every_epochs) || finished())
      validate();
    const double minutes = options_.checkpoint.every_minutes;
    if (due(options_.checkpoint.every_updates) || (minutes > 0 && state_.seconds - saved_at_ >= 60 * minutes))
      save();
  }
  if (saved_update_ != state_.update && state_.update > 0) save();
  TrainOutcome outcome{.model = {}, .checkpoint = newest_, .updates = state_.update};
  if (finished()) outcome.model = build_model();
  return outcome;
}

std::string Run::build_model() {
  const std::string folder = request_.run + "/model";
  const auto all = checkpoints_.list();
  const size_t wanted = static_cast<size_t>(options_.train.average_last);
  if (wanted > 1) {
    const std::vector<std::string> last(all.end() - static_cast<ptrdiff_t>(std::min(all.size(), wanted)),
                                        all.end());
    average_models(last, folder);
    progress_->say(fmt::format("model: the mean of the last {} checkpoints", last.size()));
  } else if (state_.best && options_.checkpoint.keep_best) {
    load_weights(request_.run + "/best/model.safetensors", model_);
    write_model_folder(folder, model_, data_.tokenizers);
    progress_->say(fmt::format("model: the best at validation, of update {}", state_.best_update));
  } else {
    optimizer_.swap_average();
    write_model_folder(folder, model_, data_.tokenizers);
  }
  return folder;
}

}  // namespace

TrainOutcome train(const TrainOptions& options, const TrainRequest& request) {
  validate(options);
  return Run(options, request).finish();
}

}  // namespace sixfold
