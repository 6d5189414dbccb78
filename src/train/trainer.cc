#include "train/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/plural.h"
#include "base/threads.h"
#include "data/batch_stream.h"
#include "model/derived.h"
#include "model/model_dir.h"
#include "model/provenance.h"
#include "train/batch_loss.h"
#include "train/checkpoint.h"
#include "train/forecast.h"
#include "train/non_finite.h"
#include "train/precision.h"
#include "train/progress.h"
#include "train/provenance_step.h"
#include "train/resume.h"
#include "train/run_folder.h"
#include "train/run_length.h"
#include "train/schedule.h"
#include "train/start.h"
#include "train/training_data.h"
#include "translate/binding.h"

namespace sixfold {
namespace fs = std::filesystem;
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// One run of training, from its folder's state to its end.
class Run {
 public:
  Run(const TrainOptions& options, const TrainRequest& request);
  TrainOutcome finish();

 private:
  struct Step {
    std::vector<Batch> batches;
    int64_t target_tokens = 0;
    double loss = 0, gradient_norm = 0;
  };

  TrainingState first_state();
  std::shared_ptr<Backend> make_backend() const;
  TextOrigin text_origin() const;
  const ModelConfig& choose_parts(const ModelConfig& config);
  void store_best() const;
  void begin();
  void resume();
  bool update();
  Context::Seeds seeds() const;
  Step take_batches();
  void compute(Step& step);
  bool is_spike(const Step& step) const;
  void roll_back(const std::string& why);
  [[noreturn]] void stop_diverged(const Step& step);
  std::string diverged(const Step& step);
  double train_on(const Batch& batch, double loss_scale);
  void measure_rate();
  void validate();
  void save();
  void write_provenance_to(const std::string& folder) const;
  bool due(int64_t every_updates) const { return every_updates > 0 && state_.update % every_updates == 0; }
  bool stopped() const { return request_.stop && request_.stop->load() != 0; }
  bool finished() const;
  std::string build_model();

  TrainOptions options_;
  TrainRequest request_;
  RunFolder folder_;
  int threads_;
  Checkpoints checkpoints_;
  std::string newest_;  ///< the newest checkpoint; empty: there is none yet
  const bool resumed_ = !newest_.empty();
  RunStart start_;
  TrainingState& state_ = start_.state;
  std::shared_ptr<Backend> backend_;
  std::shared_ptr<Arena> arena_;
  TrainingData data_;
  ModelConfig config_;
  Transformer model_;
  Optimizer optimizer_;
  Batcher batcher_;
  RunLength length_;
  Batcher::Position before_;  ///< the update at hand
  std::unique_ptr<BatchStream> stream_;
  std::unique_ptr<Progress> progress_;
  std::vector<std::string> earlier_steps_;  ///< of the model's history, before this run
  double learning_rate_ = 0, resumed_seconds_ = 0, began_ = 0, saved_at_ = 0;
  int64_t saved_update_ = -1;
  bool early_stopped_ = false;  ///< validation has not become better for too long
};

Run::Run(const TrainOptions& options, const TrainRequest& request)
    : options_(options),
      request_(request),
      folder_(request.run),
      threads_(options.train.threads > 0 ? options.train.threads : available_threads()),
      checkpoints_(folder_.path(), std::max(options.checkpoint.keep_last, options.train.average_last)),
      newest_(checkpoint_to_resume(folder_, checkpoints_, request.resume)),
      start_(resumed_ ? resume_from(newest_, folder_, options_, request_) : RunStart{first_state()}),
      backend_(make_backend()),
      arena_(std::make_shared<Arena>(backend_)),
      data_(read_training_data(options_, text_origin(), threads_)),
      model_(choose_parts(model_config(options_, resumed_ ? newest_ : options_.start.model, data_.tokenizers)),
             backend_, DType::f32, options.train.seed),
      optimizer_(backend_, trained_parameters(model_, options_.start.freeze), options_.optimizer,
                 options_.train.ema_decay),
      batcher_(data_.train, {.batch_tokens = options_.data.batch_tokens,
                             .shuffle = options_.data.shuffle,
                             .seed = options_.train.seed}),
      length_(options_, data_.train, batcher_) {
  data_.train.target_start = data_.valid.tokens.target_start = model_.config().search.decoder_start;
  resumed_ ? resume() : begin();
  if (start_.stops_changed) {
    state_.last_update = length_.planned(state_);
    state_.rate_measured = false;
  }
  state_.options = options_;
  save_run_options(folder_.config(), options_);
  for (const std::string& advice : advice_for(options_, state_.last_update)) log_warning("{}", advice);
  stream_ = std::make_unique<BatchStream>(batcher_, state_.part_tokens);
  progress_ = std::make_unique<Progress>(folder_.log(), state_);
  log_info("model: {} parameters; {}, {}", parameter_count(model_.config()), backend_->name(),
           counted(threads_, "thread"));
  began_ = now();
  resumed_seconds_ = state_.seconds;
  saved_at_ = state_.seconds;
}

TrainingState Run::first_state() {
  save_run_options(folder_.config(), options_);  // so that a run that is stopped early can be begun again by it
  TrainingState state;
  state.instruction_set = make_cpu_backend(1)->name();
  const Precision asked = options_.train.precision;
  state.precision = asked == Precision::automatic ? choose_precision(asked, product_rates()) : asked;
  return state;
}

std::shared_ptr<Backend> Run::make_backend() const {
  return make_cpu_backend(threads_,
                          state_.precision == Precision::bf16 ? MatmulPrecision::bf16 : MatmulPrecision::fp32);
}

TextOrigin Run::text_origin() const {
  return {.store = folder_.text(),
          .validation = folder_.validation_text(),
          .tokenizers = resumed_ ? newest_ : options_.start.model,
          .resumed = resumed_ ? &state_ : nullptr,
          .stop = request_.stop};
}

/// A run keeps the parts of batches that it began with: others would give other bits.
const ModelConfig& Run::choose_parts(const ModelConfig& config) {
  config_ = config;
  const int64_t asked =
      resumed_ && !start_.parts_changed ? state_.part_tokens : options_.data.micro_batch_tokens;
  const int64_t parts = fitting_parts(config_, options_, {data_.train, &data_.valid.tokens}, asked,
                                      available_memory(), request_.fit);
  if (resumed_ && parts != asked)
    state_.changes.push_back(
        {state_.update, "tokens of a part of a batch", std::to_string(asked), std::to_string(parts)});
  state_.part_tokens = parts;
  return config_;
}

void Run::begin() {
  state_.corpus = data_.record.hash;
  state_.validation_text = data_.valid_hash;
  if (options_.start.model.empty()) return;
  earlier_steps_ = read_provenance(options_.start.model);
  load_weights(options_.start.model + "/model.safetensors", model_);
  optimizer_.restart_average();
  log_info("starting from {}: {} of {} weights are trained", options_.start.model, optimizer_.trained_weights(),
           parameter_count(model_.config()));
}

void Run::resume() {
  earlier_steps_ = read_provenance(newest_);
  if (!earlier_steps_.empty()) earlier_steps_.pop_back();  // this run's
  Checkpoints::load(newest_, model_, optimizer_);
  batcher_.seek(state_.position);
  log_info("resuming from {} (update {})", newest_, state_.update);
  // Killed between a checkpoint and its best model.
  if (state_.best && options_.checkpoint.keep_best && state_.best_update == state_.update &&
      stored_best_update(folder_.best()) != state_.best_update)
    store_best();
}

Context::Seeds Run::seeds() const {
  return {static_cast<uint32_t>(options_.train.seed), static_cast<uint32_t>(state_.update)};
}

double Run::train_on(const Batch& batch, double loss_scale) {
  Tape tape;
  Context context(backend_, arena_, tape, seeds());
  const double loss = batch_loss(
      model_, batch, {.label_smoothing = options_.train.label_smoothing, .scale = loss_scale}, context);
  tape.backward();
  return loss;
}

Run::Step Run::take_batches() {
  Step step;
  for (int i = 0; i < options_.train.accumulate; ++i) {
    BatchStream::Next next = stream_->next();
    state_.position = next.after;
    for (Batch& part : next.parts) step.batches.push_back(std::move(part));
  }
  for (const Batch& batch : step.batches) step.target_tokens += batch.target_tokens();
  return step;
}

void Run::compute(Step& step) {
  optimizer_.clear_gradients();
  for (const Batch& batch : step.batches)
    step.loss += train_on(batch, 1.0 / static_cast<double>(step.target_tokens));
  step.gradient_norm = optimizer_.gradient_norm();
}

/// Returns whether the weights were updated, and not rolled back.
bool Run::update() {
  const double waited = stream_->seconds_waited();
  before_ = state_.position;
  Step step = take_batches();
  state_.sums.waited += stream_->seconds_waited() - waited;
  compute(step);
  const bool rolls_back = options_.train.on_spike == OnSpike::rollback && !newest_.empty();
  if (!std::isfinite(step.loss) || !std::isfinite(step.gradient_norm)) {
    if (!rolls_back) stop_diverged(step);
    roll_back(diverged(step));
    return false;
  }
  const double loss = step.loss / static_cast<double>(step.target_tokens);
  if (is_spike(step)) {
    const std::string leap = fmt::format("the loss leapt from {:.3f} to {:.3f}", state_.loss_ema, loss);
    require(options_.train.on_spike == OnSpike::rollback, "update {}: {}; the last checkpoint is {}",
            state_.update + 1, leap, newest_.empty() ? "none yet" : newest_);
    if (rolls_back) {
      roll_back(leap);
      return false;
    }
  }
  constexpr double memory = 0.9;  // of the mean: some ten updates
  state_.loss_ema = state_.loss_ema > 0 ? memory * state_.loss_ema + (1 - memory) * loss : loss;
  state_.sums.loss += step.loss;
  state_.sums.target_tokens += step.target_tokens;
  for (const Batch& batch : step.batches) state_.sums.tokens += batch.tokens();
  state_.sums.gradient_norm = step.gradient_norm;
  learning_rate_ =
      Schedule(options_.schedule, model_.config().d_model, state_.last_update).rate(state_.update + 1);
  const double clip = options_.train.clip_norm;
  optimizer_.update(state_.update + 1, learning_rate_,
                    clip > 0 && step.gradient_norm > clip ? clip / step.gradient_norm : 1.0);
  ++state_.update;
  state_.seconds = resumed_seconds_ + now() - began_;
  return true;
}

bool Run::is_spike(const Step& step) const {
  return options_.train.on_spike != OnSpike::go_on && state_.loss_ema > 0 &&
         step.loss / static_cast<double>(step.target_tokens) > options_.train.spike_factor * state_.loss_ema;
}

/// Weights and counts become those of the last checkpoint; the text goes on behind the batch at hand.
void Run::roll_back(const std::string& why) {
  constexpr int64_t most = 20;
  const int64_t rollbacks = state_.rollbacks + 1;
  require(rollbacks <= most,
          "update {}: {}, after {} rollbacks; a lower schedule.learning_rate or train.clip_norm may help",
          state_.update + 1, why, most);
  const TrainingState before = Checkpoints::read_state(newest_);
  progress_->rollback(state_.update + 1, before.update, why);
  Checkpoints::load(newest_, model_, optimizer_);
  state_.update = before.update;
  state_.sums = before.sums;
  state_.loss_ema = before.loss_ema;
  state_.without_better = before.without_better;
  state_.rollbacks = rollbacks;
}

/// Finds out where it arose, and keeps that in the run's folder.
std::string Run::diverged(const Step& step) {
  const NonFiniteReport divergence =
      find_non_finite({model_, data_.tokenizers, seeds(), options_.train.label_smoothing,
                       1.0 / static_cast<double>(step.target_tokens)},
                      step.batches);
  const std::string path = folder_.diverged();
  write_file_atomically(path, to_json_text(divergence, state_.update + 1));
  return fmt::format("the {} is not finite; {}; all of it is in {}",
                     std::isfinite(step.loss) ? "gradient" : "loss", divergence.describe(), path);
}

void Run::stop_diverged(const Step& step) {
  throw_input_error(
      "update {}: {}. {}. A lower schedule.learning_rate, a longer schedule.warmup or train.clip_norm usually "
      "mends "
      "this; --on-spike rollback goes back to the last checkpoint and past the batch",
      state_.update + 1, diverged(step),
      newest_.empty() ? "There is no checkpoint yet" : "The last checkpoint is whole (" + newest_ + ")");
}

void Run::measure_rate() {
  const auto last = length_.measured(state_);
  if (!last) return;
  state_.last_update = state_.last_update > 0 ? std::min(state_.last_update, *last) : *last;
  state_.rate_measured = true;
  progress_->say(fmt::format("{:.2f} updates/s: {} min are {}",
                             static_cast<double>(state_.update) / state_.seconds, options_.train.minutes,
                             counted(*last, "update")));
}

void Run::validate() {
  if (data_.valid.text.source.empty()) return;
  optimizer_.swap_average();
  const Scores scores = validate_model(model_, data_.tokenizers, data_.valid, options_.validation,
                                       options_.data.batch_tokens, state_.part_tokens, arena_);
  const double value = scores.at(std::string(name_of_enum(options_.validation.best_by)));
  const bool better =
      state_.best ? is_better(options_.validation.best_by, value, *state_.best) : std::isfinite(value);
  if (better) {
    state_.best = value;
    state_.best_update = state_.update;
    state_.without_better = 0;
  } else {
    ++state_.without_better;
  }
  optimizer_.swap_average();
  progress_->validation(state_, scores, better);
  if (better && options_.checkpoint.keep_best) {
    // A best model that no checkpoint goes with would be all that is left of the run if it were killed now.
    if (newest_.empty()) save();
    store_best();
  }
  early_stopped_ = options_.validation.patience > 0 && state_.without_better >= options_.validation.patience;
  state_.seconds = resumed_seconds_ + now() - began_;
}

void Run::store_best() const {
  optimizer_.swap_average();
  write_model_folder(folder_.best(), model_, data_.tokenizers,
                     [this](const std::string& folder) { write_provenance_to(folder); });
  optimizer_.swap_average();
}

void Run::save() {
  if (saved_update_ == state_.update) return;

  progress_->flush_log();  // a checkpoint says how long the log is
  state_.log_bytes = progress_->log_bytes();
  checkpoints_.save(model_, data_.tokenizers, optimizer_, state_,
                    [this](const std::string& folder) { write_provenance_to(folder); });
  newest_ = checkpoints_.list().back();
  folder_.note_checkpoint();
  saved_at_ = state_.seconds;
  saved_update_ = state_.update;
}

void Run::write_provenance_to(const std::string& folder) const {
  write_provenance(folder, earlier_steps_, provenance_step(options_, state_, data_.record));
}

bool Run::finished() const {
  return early_stopped_ || (state_.last_update > 0 && state_.update >= state_.last_update);
}

TrainOutcome Run::finish() {
  early_stopped_ = options_.validation.patience > 0 && state_.without_better >= options_.validation.patience;
  while (!finished() && !stopped()) {
    if (!update()) continue;  // what is due at the checkpoint's update was done when it was reached
    measure_rate();
    progress_->update(state_, learning_rate_);
    if (due(options_.log.every_updates) || finished()) {
      progress_->line(state_, learning_rate_);
      state_.sums = {};
    }
    if (due(options_.validation.every_updates) ||
        length_.passes(options_.validation.every_epochs, before_, state_.position) || finished())
      validate();
    const double minutes = options_.checkpoint.every_minutes;
    if (due(options_.checkpoint.every_updates) || (minutes > 0 && state_.seconds - saved_at_ >= 60 * minutes))
      save();
  }
  if (state_.update > 0) save();
  TrainOutcome outcome{.model = {}, .checkpoint = newest_, .updates = state_.update};
  if (finished()) outcome.model = build_model();
  return outcome;
}

std::string Run::build_model() {
  const std::string folder = folder_.model();
  const auto all = checkpoints_.list();
  const size_t wanted = static_cast<size_t>(options_.train.average_last);
  const auto write = [&] {
    write_model_folder(folder, model_, data_.tokenizers,
                       [this](const std::string& path) { write_provenance_to(path); });
  };
  if (wanted > 1) {
    const std::vector<std::string> last(all.end() - static_cast<ptrdiff_t>(std::min(all.size(), wanted)),
                                        all.end());
    average_weights(last, model_);
    write();
    progress_->say(fmt::format("model: the mean of the last {}", counted(last.size(), "checkpoint")));
  } else if (state_.best && options_.checkpoint.keep_best &&
             stored_best_update(folder_.best()) == state_.best_update) {
    load_weights(folder_.best() + "/model.safetensors", model_);
    write();
    progress_->say(fmt::format("model: the best at validation, of update {}", state_.best_update));
  } else {
    optimizer_.swap_average();
    write();
  }
  return folder;
}

}  // namespace

TrainOutcome train(const TrainOptions& options, const TrainRequest& request) {
  validate(options);
  try {
    return Run(options, request).finish();
  } catch (const Cancelled&) {  // before its first update
    return {};
  }
}

}  // namespace sixfold
