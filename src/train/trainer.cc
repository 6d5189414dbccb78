#include "train/trainer.h"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "backend/backend.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/plural.h"
#include "base/threads.h"
#include "data/batch_stream.h"
#include "model_folder/model_folder.h"
#include "train/agreement.h"
#include "train/calendar.h"
#include "train/diagnosis.h"
#include "train/distributed/processors.h"
#include "train/forecast.h"
#include "train/loss_guard.h"
#include "train/precision.h"
#include "train/progress.h"
#include "train/recovery.h"
#include "train/resume.h"
#include "train/run_models.h"
#include "train/run_plan.h"
#include "train/schedule.h"
#include "train/traffic.h"
#include "train/validation.h"

namespace sixfold {
namespace {

Processes& processes_of(const TrainRequest& request) {
  return request.processes ? *request.processes : Processes::one();
}

/// The checksum of the weights of a folder; empty if none is named.
std::string checksum_if_given(const std::string& folder) {
  return folder.empty() ? "" : weights_checksum(folder);
}

/// A training run.
class Trainer {
 public:
  Trainer(const TaskConfig& config, const TrainRequest& request);
  TrainOutcome run();

 private:
  TrainingState first_state();
  std::shared_ptr<Backend> make_backend() const;
  void save_options() const;
  std::unique_ptr<const RunFolder> open_folder() const;
  std::unique_ptr<const Task> open_task();
  void choose_precision(const ModelConfig& config);
  int64_t choose_parts(const Task& task);
  void begin();
  void resume();

  BatcherOptions batches() const;
  std::unique_ptr<BatchStream> stream_of(Batcher& batcher) const;
  RepeatUpdate repeat_update() const;
  double learning_rate() const;
  Schedule schedule() const;
  void count_update(const StepResult& step, const Update& batches, double rate);
  void report_diagnoses(const std::vector<Finding>& findings);
  void report_plan(const std::optional<PlannedEnd>& change);
  double now() const {
    if (request_.clock) return request_.clock();
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }
  bool stop_requested() const { return processes_.any(request_.stop && request_.stop->load() != 0); }
  /// Updates `TrainingState::seconds`. Returns the seconds since the last call.
  double update_seconds() {
    const double before = state_.seconds;
    return (state_.seconds = processes_.broadcast(now() - began_)) - before;
  }
  AdapterConfig adapters() const;
  void validate();
  void save();
  std::string build_model();

  const TaskConfig& config_;
  const TrainRequest request_;
  const TrainOptions options_;
  Processes& processes_;
  const std::unique_ptr<const RunFolder> open_folder_;
  const RunFolder& folder_ = *open_folder_;
  const int threads_;
  const Checkpoints checkpoints_;
  const std::string resumed_from_;  ///< a checkpoint; empty: the run starts from the beginning
  RunStart start_;
  TrainingState& state_ = start_.state;
  double operations_per_token_ = 0;  ///< as forecast when `task_` is opened
  const std::unique_ptr<const Task> task_;
  const std::shared_ptr<Backend> backend_;
  Replica replica_;
  Batcher batcher_;
  const RunLength length_;
  RunPlan plan_;
  Calendar calendar_;
  RunModels models_;
  std::unique_ptr<BatchStream> stream_;
  std::optional<Progress> progress_;
  std::optional<Recovery> recovery_;
  Diagnoses diagnoses_{state_.diagnosis,
                       {.fine_tuned = !options_.start.model.empty(),
                        .rate_is_step = rate_is_step(options_.optimizer),
                        .drops_layers = options_.train.layer_drop > 0,
                        .shuffles = options_.data.shuffle}};
  Batcher::Position before_;  ///< position at which the current batch began
  double began_ = 0;          ///< now - `TrainingState::seconds`: the start of a run that was never interrupted
};

/// The training loop.
TrainOutcome Trainer::run() {
  const Traffic traffic(processes_, state_.update);
  const int64_t first = state_.update;
  while (!calendar_.finished(state_) && !stop_requested()) {
    before_ = state_.position;
    const double waited = stream_->seconds_waited();
    Update batches(*stream_);
    state_.position = batches.after();
    const Context::Seeds seeds{static_cast<uint32_t>(options_.train.seed), static_cast<uint32_t>(state_.update),
                               options_.train.layer_drop};
    const StepResult step = replica_.gradients(batches, seeds);
    state_.sums.waited += stream_->seconds_waited() - waited;
    const Verdict verdict = check_step(step, options_, state_);
    if (verdict != Verdict::sound && recovery_->roll_back(verdict, step, repeat_update(), seeds, state_)) {
      report_plan(plan_.record_rollback(state_));
      continue;  // what follows was already done after the update to which the run returned
    }
    const double rate = learning_rate();
    replica_.update(state_.update + 1, rate, step.gradient_norm);
    count_update(step, batches, rate);
    progress_->update(state_, rate);
    if (calendar_.should_log(state_)) {
      progress_->write_line(state_, rate);
      if (diagnoses_.due(state_.update))
        report_diagnoses(diagnoses_.check_training(state_.update, replica_.optimizer(), step.gradient_squares));
      // The lower one of the loss of this batch and the running mean: either alone may be an outlier.
      if (state_.update >= options_.log.every_updates || calendar_.finished(state_))
        require_not_diverged(std::min(step.loss, state_.loss_ema), replica_.model().config(), state_.update,
                             models_.newest(), loss_terms(options_));
      state_.sums = {};
    }
    if (calendar_.should_validate(state_, before_)) validate();
    if (calendar_.should_save(state_)) save();
  }
  if (const std::string text = traffic.summary(state_.update); !text.empty()) progress_->print(text);
  if (calendar_.is_out_of_patience(state_))
    progress_->print(fmt::format(
        "validation.patience ends the run after update {}: {} in a row no better than the best; to go on, "
        "resume it with a higher value, or with 0 for no such end",
        state_.update, counted(state_.without_better, "validation was", "validations were")));
  else if (calendar_.finished(state_) && state_.update == first)
    progress_->print(fmt::format(
        "the run has made its last update, {}; to go on, resume it with a higher limit", state_.update));
  if (state_.update > 0) {
    state_.interrupted = !calendar_.finished(state_);
    save();
  }
  return {.model = calendar_.finished(state_) ? build_model() : "",
          .checkpoint = models_.newest(),
          .updates = state_.update};
}

Trainer::Trainer(const TaskConfig& config, const TrainRequest& request)
    : config_(config),
      request_(request),
      options_(config.training()),
      processes_(processes_of(request)),
      open_folder_(processes_.run_root_first([&] { return open_folder(); })),
      threads_(usable_threads(options_.train.threads, "train.threads", available_threads(processes_))),
      checkpoints_(folder_.path(), std::max(options_.checkpoint.keep_last, options_.train.average_last)),
      resumed_from_(checkpoint_to_resume(config, folder_, checkpoints_, request.resume, processes_)),
      start_(resumed_from_.empty() ? RunStart{first_state()}
                                   : resume_from(resumed_from_, folder_, config, request.other_processor)),
      task_(open_task()),
      backend_(make_backend()),
      replica_(backend_, *task_, options_, processes_, static_cast<int>(state_.shards), DType::f32, adapters()),
      batcher_(task_->training_data(), batches()),
      length_(options_, task_->training_data(), batcher_),
      plan_(options_, length_, *task_, replica_),
      calendar_(options_, length_, state_),
      models_(folder_, checkpoints_, options_, *task_, replica_, resumed_from_) {
  resumed_from_.empty() ? begin() : resume();
  if (processes_.size() > 1) check_agreement(processes_, {{"model", hash_of_weights(replica_.model())}});
  plan_.begin(state_, start_.limits_changed, folder_.log());
  for (const std::string& advice : advice_for(options_, state_.last_update)) log_warning("{}", advice);
  for (const std::string& advice : config_.advice()) log_warning("{}", advice);
  stream_ = stream_of(batcher_);
  progress_.emplace(processes_.is_root() ? folder_.log() : "", state_, request_.entry);
  for (const PlannedEnd& end : state_.plan)
    if (end.update > state_.update) report_plan(end);
  recovery_.emplace(options_, *task_, replica_, models_, *progress_, folder_.diverged());
  save_options();  // nothing after this can reject the run
  log_info(
      "model: {} parameters; {}, {}{}", parameter_count(replica_.model().config()), backend_->name(),
      processes_.size() > 1 ? fmt::format("{} with ", counted(processes_.size(), "process", "processes")) : "",
      counted(threads_, "thread"));
  if (state_.shards > 1) log_info("a batch has {}", counted(state_.shards, "shard"));
  began_ = now() - state_.seconds;
}

TrainingState Trainer::first_state() {
  TrainingState state;
  state.options = run_options(config_);
  state.instruction_set = sixfold::make_backend()->name();
  state.shards = options_.train.shards > 0 ? options_.train.shards : processes_.size();
  state.precision = options_.train.precision;
  return state;
}

/// With train.precision auto, the processor of the root and the width of the model decide.
void Trainer::choose_precision(const ModelConfig& config) {
  if (state_.precision == Precision::automatic) {
    const bool bf16 =
        processes_.is_root() && chosen_precision(state_.precision, config.d_model) == Precision::bf16;
    state_.precision = processes_.any(bf16) ? Precision::bf16 : Precision::fp32;
  }
  state_.bf16_instructions = state_.precision == Precision::bf16 ? bf16_instructions() : "";
}

std::shared_ptr<Backend> Trainer::make_backend() const {
  const bool bf16 = state_.precision == Precision::bf16;
  return sixfold::make_backend(
      {.threads = threads_, .products = bf16 ? MatmulPrecision::bf16 : MatmulPrecision::fp32});
}

std::unique_ptr<const RunFolder> Trainer::open_folder() const {
  if (!processes_.is_root())
    return std::make_unique<const RunFolder>(request_.run, RunFolder::OfAnotherProcess());
  return std::make_unique<const RunFolder>(
      request_.run, [this](std::string_view name) { return config_.is_data_file(name); });
}

void Trainer::save_options() const {
  if (processes_.is_root()) write_file_atomically(folder_.config(), to_json(state_.options));
}

/// Reads the data, and chooses parts of batches that fit into memory together with the data.
std::unique_ptr<const Task> Trainer::open_task() {
  make_backend();  // reports missing bf16 products before anything is written
  // A run that is stopped while it reads its data can be started again with this file.
  if (processes_.is_root() && (resumed_from_.empty() || !std::filesystem::exists(folder_.config())))
    save_options();
  if (options_.train.shards > 0) state_.shards = options_.train.shards;
  const ShardTree division(static_cast<int>(state_.shards), processes_.size());  // refuses too many processes
  TaskStart start{.run = folder_.path(),
                  .model = resumed_from_.empty() ? options_.start.model : resumed_from_,
                  .resumed = std::nullopt,
                  .threads = threads_,
                  .stop = request_.stop};
  if (!resumed_from_.empty()) start.resumed = {state_.training_data, state_.validation_data};
  std::unique_ptr<const Task> task = processes_.run_root_first([&] { return config_.open(start); });
  check_agreement(processes_,
                  {{"training data", task->training_data().hash()},
                   {"validation data", task->validation_data() ? task->validation_data()->hash() : ""}});
  check_validation(*task, options_);
  require_teacher_reads(options_.teacher, task->training_data());
  if (task->validation_data()) state_.best_by = options_.best_by;
  choose_precision(task->model_config());
  state_.part_tokens = choose_parts(*task);
  return task;
}

/// The adapters of a new run follow from its options and the model to start from. Those of a resumed run are
/// unchanged.
AdapterConfig Trainer::adapters() const {
  const std::string& base = options_.start.model;
  AdapterConfig adapters = resumed_from_.empty() ? adapters_of(options_.start) : load_adapters(resumed_from_);
  if (adapters.rank == 0) return adapters;
  if (resumed_from_.empty()) {
    adapters.trained = task_->new_weights(base);
    adapters.base_checksum = weights_checksum(base);
  } else if (!options_.start.lora_merge) {
    require_base(base, adapters.base_checksum);  // now, since the end of the training needs it
  }
  return adapters;
}

/// A resumed run keeps its part size, because another one would change the bits of the results. Batch norm
/// normalizes over a part, so that another size would train another model; then even --fit does not change it.
int64_t Trainer::choose_parts(const Task& task) {
  const bool resumed = !resumed_from_.empty();
  const int64_t requested =
      resumed && !start_.parts_changed ? state_.part_tokens : options_.data.micro_batch_tokens;
  const bool kept = resumed && !start_.parts_changed && task.model_config().norm == Norm::batch;
  const FittingParts fitting = fitting_parts(
      task, options_, requested, available_memory() / processes_.local_size(), request_.fit && !kept,
      {.shards = static_cast<int>(state_.shards), .processes = processes_.size()});
  operations_per_token_ = fitting.forecast.operations_per_token;
  // 0 means whole batches.
  int64_t parts = fitting.tokens;
  const auto own_parts = static_cast<double>(parts);
  for (const std::vector<double>& other : processes_.all_gather_numbers({&own_parts, 1}))
    if (other.at(0) > 0 && (parts == 0 || other[0] < static_cast<double>(parts)))
      parts = static_cast<int64_t>(other[0]);
  if (resumed && parts != requested)
    state_.changes.push_back(
        {state_.update, "tokens of a part of a batch", std::to_string(requested), std::to_string(parts)});
  return parts;
}

void Trainer::begin() {
  state_.training_data = task_->training_data().hash();
  if (task_->validation_data()) state_.validation_data = task_->validation_data()->hash();
  state_.teacher_weights = checksum_if_given(options_.teacher.model);
  state_.start_weights = checksum_if_given(options_.start.model);
  if (options_.start.model.empty()) return;
  task_->start_from(options_.start.model, replica_.model());
  replica_.optimizer().restart_average();
  log_info("starting from {}: {} of {} weights are trained", options_.start.model,
           replica_.optimizer().trained_weights(), parameter_count(replica_.model().config()));
}

void Trainer::resume() {
  require(task_->training_data().hash() == state_.training_data,
          "{}: the data are not those of the run (their hash is {}, the run's is {}); restore the run's data",
          folder_.path(), task_->training_data().hash(), state_.training_data);
  const std::string validation = task_->validation_data() ? task_->validation_data()->hash() : "";
  require(
      validation == state_.validation_data,
      "{}: the validation data are not those of the run (their hash is '{}', the run's is '{}'); restore the "
      "run's data",
      folder_.path(), validation, state_.validation_data);
  const std::string teacher = checksum_if_given(options_.teacher.model);
  if (start_.teacher_changed) state_.teacher_weights = teacher;
  require(state_.teacher_weights.empty() || state_.teacher_weights == teacher,
          "teacher.model: {} is not the model that the run has learned from; its weights differ; restore it",
          options_.teacher.model);
  for (const std::string& change : start_.changes) log_info("{}", change);
  Checkpoints::load(resumed_from_, replica_.model(), replica_.optimizer());
  batcher_.seek(state_.position);
  log_info("resuming from {} (update {})", resumed_from_, state_.update);
  if (options_.checkpoint.keep_best) keep_later_best(state_, folder_.best(), processes_);
  // The run was killed after a checkpoint and before its best model was written.
  if (state_.best && options_.checkpoint.keep_best && state_.best_update == state_.update &&
      !models_.has_best(state_))
    models_.save_best(state_);
}

/// The learning rate of the next update.
double Trainer::learning_rate() const { return schedule().rate(state_.update + 1); }

Schedule Trainer::schedule() const { return {options_.schedule, replica_.model().config().d_model, state_}; }

BatcherOptions Trainer::batches() const {
  return {.batch_tokens = options_.data.batch_tokens,
          .shuffle = options_.data.shuffle,
          .seed = options_.train.seed};
}

std::unique_ptr<BatchStream> Trainer::stream_of(Batcher& batcher) const {
  const ShardInterval& own = replica_.own_shards();
  const ShardRange shards{.count = static_cast<int>(state_.shards), .begin = own.begin, .end = own.end};
  return std::make_unique<BatchStream>(batcher, state_.part_tokens, shards, options_.train.accumulate);
}

RepeatUpdate Trainer::repeat_update() const {
  return [this](const std::function<void(Update&)>& use) {
    Batcher batcher(task_->training_data(), batches());
    batcher.seek(before_);
    const auto stream = stream_of(batcher);
    Update update(*stream);
    use(update);
  };
}

/// Adds an update to the state's sums and counts.
void Trainer::count_update(const StepResult& step, const Update& batches, double rate) {
  track_loss(step, state_);
  state_.sums.loss += step.loss_sum;
  state_.sums.loss_weight += batches.loss_weight();
  state_.sums.tokens += batches.tokens();
  if (state_.update == 0 || state_.operations > 0)
    state_.operations += operations_per_token_ * static_cast<double>(batches.tokens());
  state_.sums.gradient_norm = step.gradient_norm;
  ++state_.update;
  const double seconds = update_seconds();
  diagnoses_.record_update(state_.update, step.loss_sum, batches.loss_weight(), rate, batches.tokens(),
                           seconds);
  report_plan(plan_.record_update(state_, seconds));
}

void Trainer::report_diagnoses(const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) progress_->diagnosis(state_, finding);
}

void Trainer::report_plan(const std::optional<PlannedEnd>& change) {
  if (!change) return;
  const double minutes = options_.train.minutes;
  progress_->plan(*change, minutes > 0 ? fmt::format("by the time that updates take, {} minutes", minutes)
                                       : fmt::format("{} epochs", options_.train.epochs));
}

void Trainer::validate() {
  if (!task_->validation_data()) return;
  const double before = state_.seconds;
  const EvaluationRun evaluation_run{
      .part_tokens = state_.part_tokens, .arena = replica_.arena(), .processes = processes_};
  std::optional<double> trained_loss;
  if (replica_.optimizer().has_average())
    trained_loss = first_batch_loss(*task_, replica_.model(), options_.data, evaluation_run);
  replica_.optimizer().swap_average();
  const Validation evaluation =
      validate_model(*task_, replica_.model(), options_.data, options_.train.label_smoothing, evaluation_run);
  replica_.optimizer().swap_average();
  require_not_diverged(evaluation.scores.at("loss").value, replica_.model().config(), state_.update,
                       models_.newest());
  const Score& score = evaluation.scores.at(options_.best_by);
  const bool better = is_better(score, state_.best);
  if (better) {
    state_.best = score.value;
    state_.best_update = state_.update;
    state_.without_better = 0;
  } else {
    ++state_.without_better;
  }
  progress_->validation(state_, evaluation, better);
  if (schedule().record_validation(better, state_))
    progress_->print(fmt::format("validation has stalled: the learning rate is {:.2e} now", learning_rate()));
  report_diagnoses(diagnoses_.check_validation(state_.update, {evaluation, trained_loss}));
  if (better && options_.checkpoint.keep_best) {
    // If the run were killed now, a best model without a checkpoint would be all that is left of it.
    if (models_.newest_scheduled().empty()) save();
    models_.save_best(state_);
  }
  update_seconds();
  plan_.record_validation(state_.seconds - before);
}

void Trainer::save() {
  if (models_.has_scheduled_checkpoint(state_)) return;
  progress_->flush_log();  // a checkpoint stores the length of the log
  state_.log_bytes = progress_->log_bytes();
  models_.save_checkpoint(state_);
  calendar_.record_checkpoint(state_);
  plan_.record_checkpoint(update_seconds());
}

std::string Trainer::build_model() {
  const std::string which = models_.save_result(state_);
  if (!which.empty()) progress_->print("model: " + which);
  return folder_.model();
}

}  // namespace

TrainOutcome train(const TaskConfig& config, const TrainRequest& request) try {
  require(!request.run.empty(), "the name of the run's folder is empty");
  validate(config.training());
  Processes& processes = processes_of(request);
  if (processes.size() > 1)  // first, since the collective calls depend on the config
    check_agreement(processes, {{"program", hash_of_program()},
                                {"processor", make_backend()->name()},
                                {"config", to_json(config.options())}});
  processes.set_timeout(config.training().distributed.timeout);
  try {
    return Trainer(config, request).run();
  } catch (const Cancelled&) {        // while the data were read
    if (processes.size() > 1) throw;  // the others are waiting
    TrainOutcome outcome;
    for (const std::string& checkpoint : Checkpoints(request.run, 1).list())
      outcome = {.model = "", .checkpoint = checkpoint, .updates = Checkpoints::read_state(checkpoint).update};
    return outcome;
  }
} catch (...) {
  rethrow_as_error();
}

}  // namespace sixfold
