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
#include "train/checkpoint.h"
#include "train/forecast.h"
#include "train/loss_guard.h"
#include "train/non_finite.h"
#include "train/precision.h"
#include "train/progress.h"
#include "train/provenance_step.h"
#include "train/replica.h"
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
class Trainer {
 public:
  Trainer(const TrainOptions& options, const TrainRequest& request);
  TrainOutcome run();

 private:
  TrainingState first_state();
  std::shared_ptr<Backend> make_backend() const;
  TextOrigin text_origin() const;
  ModelConfig choose_parts(const ModelConfig& config);
  void begin();
  void resume();

  UpdateBatch next_update();
  Context::Seeds seeds() const;
  double learning_rate() const;
  void account(const StepResult& step, const UpdateBatch& batch);
  bool rolled_back(Verdict verdict, const StepResult& step, const UpdateBatch& batch);
  void roll_back(const std::string& why);
  std::string report_non_finite(const StepResult& step, const UpdateBatch& batch);
  void measure_rate();

  bool stop_requested() const { return request_.stop && request_.stop->load() != 0; }
  bool finished() const;
  bool due(int64_t every_updates) const { return every_updates > 0 && state_.update % every_updates == 0; }
  bool validation_due() const;
  bool save_due() const;

  void validate();
  void save();
  void store_best();
  void write_model(const std::string& folder) const;
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
  TrainingData data_;
  Replica replica_;
  Batcher batcher_;
  RunLength length_;
  Batcher::Position before_;  ///< where the update at hand began
  std::unique_ptr<BatchStream> stream_;
  std::unique_ptr<Progress> progress_;
  std::vector<std::string> earlier_steps_;  ///< of the model's provenance, before this run
  double resumed_seconds_ = 0, began_ = 0, saved_at_ = 0;
  int64_t saved_update_ = -1;
};

/// The loop of training.
TrainOutcome Trainer::run() {
  while (!finished() && !stop_requested()) {
    const UpdateBatch batch = next_update();
    const StepResult step = replica_.gradients(batch, seeds());
    const Verdict verdict = judge(step, options_, state_);
    if (verdict != Verdict::sound && rolled_back(verdict, step, batch)) continue;  // what is due there was done
    const double rate = learning_rate();
    replica_.update(state_.update + 1, rate, step.gradient_norm);
    account(step, batch);
    measure_rate();
    progress_->update(state_, rate);
    if (due(options_.log.every_updates) || finished()) {
      progress_->line(state_, rate);
      state_.sums = {};
    }
    if (validation_due()) validate();
    if (save_due()) save();
  }
  if (state_.update > 0) save();
  return {.model = finished() ? build_model() : "", .checkpoint = newest_, .updates = state_.update};
}

Trainer::Trainer(const TrainOptions& options, const TrainRequest& request)
    : options_(options),
      request_(request),
      folder_(request.run),
      threads_(options.train.threads > 0 ? options.train.threads : available_threads()),
      checkpoints_(folder_.path(), std::max(options.checkpoint.keep_last, options.train.average_last)),
      newest_(checkpoint_to_resume(folder_, checkpoints_, request.resume)),
      start_(resumed_ ? resume_from(newest_, folder_, options_, request_) : RunStart{first_state()}),
      backend_(make_backend()),
      data_(read_training_data(options_, text_origin(), threads_)),
      replica_(
          backend_,
          choose_parts(model_config(options_, resumed_ ? newest_ : options_.start.model, data_.tokenizers)),
          options_),
      batcher_(data_.train, {.batch_tokens = options_.data.batch_tokens,
                             .shuffle = options_.data.shuffle,
                             .seed = options_.train.seed,
                             .decoder_start = replica_.model().config().decoder_start_token}),
      length_(options_, data_.train, batcher_) {
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
  log_info("model: {} parameters; {}, {}", parameter_count(replica_.model().config()), backend_->name(),
           counted(threads_, "thread"));
  began_ = now();
  resumed_seconds_ = state_.seconds;
  saved_at_ = state_.seconds;
}

TrainingState Trainer::first_state() {
  save_run_options(folder_.config(), options_);  // so that a run that is stopped early can be begun again by it
  TrainingState state;
  state.instruction_set = make_cpu_backend(1)->name();
  const Precision asked = options_.train.precision;
  state.precision = asked == Precision::automatic ? choose_precision(asked, product_rates()) : asked;
  return state;
}

std::shared_ptr<Backend> Trainer::make_backend() const {
  return make_cpu_backend(threads_,
                          state_.precision == Precision::bf16 ? MatmulPrecision::bf16 : MatmulPrecision::fp32);
}

TextOrigin Trainer::text_origin() const {
  return {.store = folder_.text(),
          .validation = folder_.validation_text(),
          .tokenizers = resumed_ ? newest_ : options_.start.model,
          .resumed = resumed_ ? &state_ : nullptr,
          .stop = request_.stop};
}

/// A run keeps the parts of batches that it began with: others would give other bits.
ModelConfig Trainer::choose_parts(const ModelConfig& config) {
  const int64_t asked =
      resumed_ && !start_.parts_changed ? state_.part_tokens : options_.data.micro_batch_tokens;
  const int64_t parts = fitting_parts(config, options_, {data_.train, &data_.valid.tokens}, asked,
                                      available_memory(), request_.fit);
  if (resumed_ && parts != asked)
    state_.changes.push_back(
        {state_.update, "tokens of a part of a batch", std::to_string(asked), std::to_string(parts)});
  state_.part_tokens = parts;
  return config;
}

void Trainer::begin() {
  state_.corpus = data_.record.hash;
  state_.validation_text = data_.valid_hash;
  if (options_.start.model.empty()) return;
  earlier_steps_ = read_provenance(options_.start.model);
  load_weights(options_.start.model + "/model.safetensors", replica_.model());
  replica_.optimizer().restart_average();
  log_info("starting from {}: {} of {} weights are trained", options_.start.model,
           replica_.optimizer().trained_weights(), parameter_count(replica_.model().config()));
}

void Trainer::resume() {
  earlier_steps_ = read_provenance(newest_);
  if (!earlier_steps_.empty()) earlier_steps_.pop_back();  // this run's
  Checkpoints::load(newest_, replica_.model(), replica_.optimizer());
  batcher_.seek(state_.position);
  log_info("resuming from {} (update {})", newest_, state_.update);
  // Killed between a checkpoint and its best model.
  if (state_.best && options_.checkpoint.keep_best && state_.best_update == state_.update &&
      stored_best_update(folder_.best()) != state_.best_update)
    store_best();
}

Context::Seeds Trainer::seeds() const {
  return {static_cast<uint32_t>(options_.train.seed), static_cast<uint32_t>(state_.update)};
}

/// Of the update to come.
double Trainer::learning_rate() const {
  return Schedule(options_.schedule, replica_.model().config().d_model, state_.last_update)
      .rate(state_.update + 1);
}

UpdateBatch Trainer::next_update() {
  const double waited = stream_->seconds_waited();
  before_ = state_.position;
  UpdateBatch batch;
  for (int i = 0; i < options_.train.accumulate; ++i) {
    BatchStream::Next next = stream_->next();
    state_.position = next.after;
    for (Batch& part : next.parts) batch.add(std::move(part));
  }
  state_.sums.waited += stream_->seconds_waited() - waited;
  return batch;
}

/// After an update.
void Trainer::account(const StepResult& step, const UpdateBatch& batch) {
  track_loss(step, state_);
  state_.sums.loss += step.loss_sum;
  state_.sums.target_tokens += static_cast<int64_t>(batch.loss_weight);
  state_.sums.tokens += batch.tokens;
  state_.sums.gradient_norm = step.gradient_norm;
  ++state_.update;
  state_.seconds = resumed_seconds_ + now() - began_;
}

/// Goes back to the last checkpoint where the options ask for it, or throws; false where the update is to be
/// made all the same, since there is nothing yet to go back to.
bool Trainer::rolled_back(Verdict verdict, const StepResult& step, const UpdateBatch& batch) {
  const bool wanted = options_.train.on_spike == OnSpike::rollback, possible = wanted && !newest_.empty();
  const std::string last = newest_.empty() ? "there is no checkpoint yet" : "the last checkpoint is " + newest_;
  if (verdict == Verdict::not_finite) {
    const std::string report = report_non_finite(step, batch);
    if (!possible)
      throw_input_error(
          "update {}: {}; {}. A lower schedule.learning_rate, a longer schedule.warmup or train.clip_norm "
          "usually "
          "mends this{}",
          state_.update + 1, report, last,
          wanted ? "" : "; --on-spike rollback goes back to the last checkpoint and past the batch");
    roll_back(report);
    return true;
  }
  const std::string leap = fmt::format("the loss leapt from {:.3f} to {:.3f}", state_.loss_ema, step.loss);
  require(wanted, "update {}: {}; {}", state_.update + 1, leap, last);
  if (possible) roll_back(leap);
  return possible;
}

/// Weights and counts become those of the last checkpoint; the text goes on behind the batch at hand.
void Trainer::roll_back(const std::string& why) {
  constexpr int64_t most = 20;
  const int64_t rollbacks = state_.rollbacks + 1;
  require(rollbacks <= most,
          "update {}: {}, after {} rollbacks; a lower schedule.learning_rate or train.clip_norm may help",
          state_.update + 1, why, most);
  const TrainingState before = Checkpoints::read_state(newest_);
  progress_->rollback(state_.update + 1, before.update, why);
  Checkpoints::load(newest_, replica_.model(), replica_.optimizer());
  state_.update = before.update;
  state_.sums = before.sums;
  state_.loss_ema = before.loss_ema;
  state_.without_better = before.without_better;
  state_.rollbacks = rollbacks;
}

/// Finds out where it arose, and keeps that in the run's folder.
std::string Trainer::report_non_finite(const StepResult& step, const UpdateBatch& batch) {
  const NonFiniteReport report = find_non_finite(
      {replica_.model(), data_.tokenizers, seeds(), options_.train.label_smoothing, 1 / batch.loss_weight},
      batch.parts);
  const std::string path = folder_.diverged();
  write_file_atomically(path, to_json_text(report, state_.update + 1));
  return fmt::format("the {} is not finite; {}; all of it is in {}",
                     std::isfinite(step.loss_sum) ? "gradient" : "loss", report.describe(), path);
}

void Trainer::measure_rate() {
  const auto last = length_.measured(state_);
  if (!last) return;
  state_.last_update = state_.last_update > 0 ? std::min(state_.last_update, *last) : *last;
  state_.rate_measured = true;
  progress_->say(fmt::format("{:.2f} updates/s: {} min are {}",
                             static_cast<double>(state_.update) / state_.seconds, options_.train.minutes,
                             counted(*last, "update")));
}

bool Trainer::finished() const {
  const bool out_of_patience =
      options_.validation.patience > 0 && state_.without_better >= options_.validation.patience;
  return out_of_patience || (state_.last_update > 0 && state_.update >= state_.last_update);
}

bool Trainer::validation_due() const {
  return due(options_.validation.every_updates) ||
         length_.passes(options_.validation.every_epochs, before_, state_.position) || finished();
}

bool Trainer::save_due() const {
  const double minutes = options_.checkpoint.every_minutes;
  return due(options_.checkpoint.every_updates) || (minutes > 0 && state_.seconds - saved_at_ >= 60 * minutes);
}

void Trainer::validate() {
  if (data_.valid.text.source.empty()) return;
  replica_.optimizer().swap_average();
  const Scores scores = validate_model(replica_.model(), data_.tokenizers, data_.valid, options_.validation,
                                       options_.data.batch_tokens, state_.part_tokens, replica_.arena());
  replica_.optimizer().swap_average();
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
  progress_->validation(state_, scores, better);
  if (better && options_.checkpoint.keep_best) {
    // A best model that no checkpoint goes with would be all that is left of the run if it were killed now.
    if (newest_.empty()) save();
    store_best();
  }
  state_.seconds = resumed_seconds_ + now() - began_;
}

void Trainer::write_model(const std::string& folder) const {
  write_model_folder(folder, replica_.model(), data_.tokenizers, [this](const std::string& path) {
    write_provenance(path, earlier_steps_, provenance_step(options_, state_, data_.record));
  });
}

void Trainer::store_best() {
  replica_.optimizer().swap_average();
  write_model(folder_.best());
  replica_.optimizer().swap_average();
}

void Trainer::save() {
  if (saved_update_ == state_.update) return;
  progress_->flush_log();  // a checkpoint says how long the log is
  state_.log_bytes = progress_->log_bytes();
  checkpoints_.save(replica_.model(), data_.tokenizers, replica_.optimizer(), state_,
                    [this](const std::string& path) {
                      write_provenance(path, earlier_steps_, provenance_step(options_, state_, data_.record));
                    });
  newest_ = checkpoints_.list().back();
  folder_.note_checkpoint();
  saved_at_ = state_.seconds;
  saved_update_ = state_.update;
}

/// The run's result: the mean of the last checkpoints, the best at validation, or what the weights are now.
std::string Trainer::build_model() {
  const auto all = checkpoints_.list();
  const size_t wanted = static_cast<size_t>(options_.train.average_last);
  std::string which;
  if (wanted > 1) {
    const std::vector<std::string> last(all.end() - static_cast<ptrdiff_t>(std::min(all.size(), wanted)),
                                        all.end());
    average_weights(last, replica_.model());
    which = fmt::format("the mean of the last {}", counted(last.size(), "checkpoint"));
  } else if (state_.best && options_.checkpoint.keep_best &&
             stored_best_update(folder_.best()) == state_.best_update) {
    load_weights(folder_.best() + "/model.safetensors", replica_.model());
    which = fmt::format("the best at validation, of update {}", state_.best_update);
  } else {
    replica_.optimizer().swap_average();
  }
  write_model(folder_.model());
  if (!which.empty()) progress_->say("model: " + which);
  return folder_.model();
}

}  // namespace

TrainOutcome train(const TrainOptions& options, const TrainRequest& request) {
  validate(options);
  try {
    return Trainer(options, request).run();
  } catch (const Cancelled&) {  // before its first update
    return {};
  }
}

}  // namespace sixfold
