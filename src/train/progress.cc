#include "train/progress.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/log.h"
#include "base/memory.h"

namespace sixfold {
namespace {

std::string clock_text(double seconds) {
  const auto whole = static_cast<int64_t>(seconds + 0.5);
  return whole >= 3600 ? fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60)
                       : fmt::format("{}:{:02}", whole / 60, whole % 60);
}

double mean_loss(const ProgressSums& sums) { return sums.loss_weight > 0 ? sums.loss / sums.loss_weight : 0; }

nlohmann::json json_of(const ValidationSample& sample) {
  nlohmann::json json = {{"input", sample.input}, {"output", sample.output}, {"reference", sample.reference}};
  if (!sample.attention) return json;
  const SampleAttention& seen = *sample.attention;
  nlohmann::json rows = nlohmann::json::array();
  for (size_t row = 0; row < seen.target.size(); ++row) {
    nlohmann::json weights = nlohmann::json::array();
    for (size_t column = 0; column < seen.source.size(); ++column)
      weights.push_back(
          std::round(1000.0 * static_cast<double>(seen.weights[row * seen.source.size() + column])) / 1000.0);
    rows.push_back(std::move(weights));
  }
  json["attention"] = {
      {"layer", seen.layer}, {"source", seen.source}, {"target", seen.target}, {"weights", rows}};
  return json;
}

}  // namespace

Progress::Progress(const std::string& jsonl, const TrainingState& state, LogEntryReceiver receive)
    : receive_(std::move(receive)),
      terminal_(log_is_terminal()),
      started_(state.seconds),
      started_update_(state.update),
      interval_began_(state.seconds),
      interval_tokens_(state.sums.tokens) {
  if (!jsonl.empty()) log_.emplace(jsonl, state.log_bytes);
}

Progress::~Progress() { clear_line(); }

void Progress::clear_line() {
  if (line_shown_) std::fputs("\r\033[K", stderr);
  line_shown_ = false;
}

double Progress::tokens_per_second(const TrainingState& s) const {
  const double seconds = s.seconds - interval_began_;
  return seconds > 0 ? static_cast<double>(s.sums.tokens - interval_tokens_) / seconds : 0;
}

/// Estimated from the mean time of the updates of this process; none while the last update is not known.
std::optional<double> Progress::seconds_left(const TrainingState& s) const {
  if (s.last_update == 0 || s.update == started_update_) return {};
  return (s.seconds - started_) / static_cast<double>(s.update - started_update_) *
         static_cast<double>(s.last_update - s.update);
}

std::string Progress::describe(const TrainingState& s, double learning_rate) const {
  const double loss = mean_loss(s.sums);
  const std::optional<double> seconds = seconds_left(s);
  const std::string left = seconds ? "  left " + clock_text(*seconds) : "";
  return fmt::format(
      "update {}{}  epoch {}  loss {:.3f}  perplexity {:.2f}  {:.0f} tokens/s  rate {:.2e}  {}{}", s.update,
      s.last_update > 0 ? fmt::format("/{}", s.last_update) : "", s.position.last_epoch(), loss, std::exp(loss),
      tokens_per_second(s), learning_rate, clock_text(s.seconds), left);
}

void Progress::update(const TrainingState& s, double learning_rate) {
  if (!log_ || !terminal_ || s.seconds - shown_at_ < 0.5) return;
  std::fputs(("\r" + describe(s, learning_rate) + "\033[K").c_str(), stderr);
  line_shown_ = true;
  shown_at_ = s.seconds;
}

void Progress::write_line(const TrainingState& s, double learning_rate) {
  if (!log_) return;
  if (!terminal_) log_line(describe(s, learning_rate));
  const double loss = mean_loss(s.sums);
  const std::optional<double> left = seconds_left(s);
  write(nlohmann::json{{"update", s.update},
                       {"last_update", s.last_update},
                       {"epoch", s.position.last_epoch()},
                       {"loss", loss},
                       {"perplexity", std::exp(loss)},
                       {"learning_rate", learning_rate},
                       {"gradient_norm", s.sums.gradient_norm},
                       {"tokens", s.sums.tokens},
                       {"tokens_per_second", tokens_per_second(s)},
                       {"seconds", s.seconds},
                       {"seconds_left", left ? nlohmann::json(*left) : nlohmann::json(nullptr)},
                       {"seconds_waited", s.sums.waited},
                       {"memory_mb", static_cast<double>(resident_memory()) / 1e6}}
            .dump());
  interval_began_ = s.seconds;
  interval_tokens_ = 0;
}

void Progress::validation(const TrainingState& s, const Evaluation& evaluation, bool better) {
  if (!log_) return;
  nlohmann::json json = {{"update", s.update}, {"epoch", s.position.last_epoch()}};
  std::string text = fmt::format("validation at update {}:", s.update);
  for (const auto& [name, score] : evaluation.scores) {
    json["validation"][name] = score.value;
    text += fmt::format("  {} {:.{}f}", name, score.value, name == "loss" ? 4 : 2);
  }
  print(text + (better ? "  (best so far)" : ""));
  for (const ValidationSample& sample : evaluation.samples) json["samples"].push_back(json_of(sample));
  // A token may be a part of a character, which is invalid UTF-8.
  write(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

void Progress::diagnosis(const TrainingState& s, const Finding& finding) {
  if (!log_) return;
  clear_line();
  log_warning("update {}: {} ({})", s.update, finding.text, finding.id);
  write(
      nlohmann::json{{"update", s.update}, {"diagnosis", {{"id", finding.id}, {"text", finding.text}}}}.dump());
}

void Progress::rollback(int64_t from, int64_t to, const std::string& why) {
  if (!log_) return;
  print(fmt::format("update {}: {}; going back to update {} and skipping the batch", from, why, to));
  write(nlohmann::json{{"update", from}, {"rollback_to", to}, {"reason", why}}.dump());
}

void Progress::plan(const PlannedEnd& end, const std::string& limit) {
  if (!log_) return;
  if (10 * std::abs(end.last_update - shown_end_) >= shown_end_) {  // the others would only fill the terminal
    print(fmt::format("update {}: {} are {} updates", end.update, limit, end.last_update));
    shown_end_ = end.last_update;
  }
  write(nlohmann::json{{"update", end.update}, {"planned_last_update", end.last_update}}.dump());
}

void Progress::write(const std::string& entry) {
  log_->append(entry + "\n");
  if (receive_) receive_(entry);
}

void Progress::print(const std::string& text) {
  if (!log_) return;
  clear_line();
  log_line(text);
}

}  // namespace sixfold
