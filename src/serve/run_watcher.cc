#include "serve/run_watcher.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "serve/http/json_text.h"

namespace sixfold::serve {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t max_samples = 100;           // number of validations whose samples are kept
constexpr size_t max_line_bytes = 1 << 20;    // a longer line does not belong to a training log
constexpr size_t max_sample_bytes = 1 << 16;  // of the samples of a validation; larger ones are not shown
constexpr size_t max_curves = 64;
constexpr size_t max_diagnoses = 32;
constexpr size_t max_diagnosis_bytes = 4096;
constexpr size_t max_tail_bytes = 256;
constexpr int64_t max_config_bytes = 1 << 20;

}  // namespace

/// A file that is open for reading.
class RunWatcher::OpenFile {
 public:
  explicit OpenFile(const std::string& path) : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (file_ >= 0 && (::fstat(file_, &status_) != 0 || !S_ISREG(status_.st_mode))) close();
  }
  ~OpenFile() { close(); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  explicit operator bool() const { return file_ >= 0; }
  uint64_t inode() const { return status_.st_ino; }
  int64_t bytes() const { return status_.st_size; }
  ssize_t read(char* to, size_t count, int64_t at) const { return ::pread(file_, to, count, at); }

 private:
  void close() {
    if (file_ >= 0) ::close(file_);
    file_ = -1;
  }

  int file_;
  struct stat status_ {};
};

namespace {

/// The points of a curve as JSON, in which NaN becomes null.
Json curve_of(const DownsampledCurve& curve) { return Json::array({curve.updates(), curve.values()}); }

/// Adds the task of a run, and the groups of its config in which runs usually differ.
void add_config(const std::string& folder, Json& run) {
  const std::string path = folder + "/config.json";
  std::error_code error;
  const auto bytes = std::filesystem::file_size(path, error);
  if (error || static_cast<int64_t>(bytes) > max_config_bytes) return;
  const Json config = parse_json(read_regular_file(path), path);
  if (!config.is_object()) return;
  run["task"] = config.value("task", Json("translation"));
  for (const char* group : {"model", "train", "optimizer", "schedule", "data"})
    if (config.contains(group) && config[group].is_object()) run["settings"][group] = config[group];
}

bool is_list_of(const Json& list, bool (*fits)(const Json&)) {
  return list.is_array() && std::all_of(list.begin(), list.end(), fits);
}
bool is_string(const Json& value) { return value.is_string(); }
bool is_row(const Json& value) {
  return is_list_of(value, [](const Json& weight) { return weight.is_number(); });
}

/// Whether a sample has the form that the page can draw.
bool is_sample(const Json& sample) {
  if (!sample.is_object()) return false;
  for (const char* name : {"input", "output", "reference"})
    if (sample.contains(name) && !sample[name].is_string()) return false;
  if (!sample.contains("attention") || sample["attention"].is_null()) return true;
  const Json attention = sample["attention"];
  return attention.is_object() && attention.value("layer", Json()).is_number() &&
         is_list_of(attention.value("source", Json()), is_string) &&
         is_list_of(attention.value("target", Json()), is_string) &&
         is_list_of(attention.value("weights", Json()), is_row);
}

/// Throws an input error if samples do not have the form that the page can draw.
void require_samples(const std::string& samples, const std::string& place) {
  require(is_list_of(Json::parse(samples, nullptr, false), is_sample),
          "{}: its samples are not those of a training log", place);
}

}  // namespace

void DownsampledCurve::add(double update, double value) {
  if (pending_ == 0) {
    if (updates_.size() == max_points) merge_neighbours();
    updates_.push_back(update), values_.push_back(value);
  } else {
    const auto share = 1 / static_cast<double>(pending_ + 1);
    updates_.back() += (update - updates_.back()) * share;
    // A value that is not finite is a gap only if its neighbours are gaps too.
    if (!std::isfinite(values_.back()))
      values_.back() = value;
    else if (std::isfinite(value))
      values_.back() += (value - values_.back()) * share;
  }
  pending_ = (pending_ + 1) % stride_;
}

void DownsampledCurve::truncate(double update) {
  const auto end = std::ranges::lower_bound(updates_, update);
  values_.resize(static_cast<size_t>(end - updates_.begin()));
  updates_.resize(values_.size());
  pending_ = 0;
}

void DownsampledCurve::merge_neighbours() {
  for (size_t i = 0; i < max_points / 2; ++i) {
    updates_[i] = (updates_[2 * i] + updates_[2 * i + 1]) / 2;
    const double first = values_[2 * i], second = values_[2 * i + 1];
    values_[i] = !std::isfinite(first) ? second : !std::isfinite(second) ? first : (first + second) / 2;
  }
  updates_.resize(max_points / 2), values_.resize(max_points / 2);
  stride_ *= 2;
}

void RunWatcher::reset() {
  bytes_ = lines_ = update_ = 0;
  tail_.clear(), incomplete_line_.clear(), curves_.clear(), diagnoses_.clear(), samples_.clear(),
      problem_.clear();
  seconds_ = 0;
  ++version_;
}

void RunWatcher::add_line(const std::string& line) {
  ++lines_;
  if (line.empty()) return;
  try {
    const std::string place = folder_ + "/train.jsonl:" + std::to_string(lines_);
    const LogEntry entry = parse_log_line(line, place);
    if (entry.update < update_) roll_back(entry.update);
    update_ = entry.update;
    for (const auto& [name, value] : entry.values)
      if (name == "seconds")
        seconds_ = value;
      else if (curves_.size() < max_curves || curves_.contains(name))
        curves_[name].add(static_cast<double>(entry.update), value);
    if (!entry.diagnosis.empty() && diagnoses_.size() < max_diagnoses && line.size() < max_diagnosis_bytes)
      diagnoses_.push_back(entry);
    if (entry.samples.empty() || entry.samples.size() > max_sample_bytes) return;
    require_samples(entry.samples, place);
    samples_.emplace_back(entry.update, entry.samples);
    if (samples_.size() > max_samples) samples_.pop_front();
  } catch (const Error& error) {
    problem_ = error.what();  // the line is damaged, or the file is no log; the lines after it are read
  }
}

/// Removes what was read of the updates from `update` on, which training repeats after a rollback.
void RunWatcher::roll_back(int64_t update) {
  for (auto& curve : curves_) curve.second.truncate(static_cast<double>(update));
  while (!samples_.empty() && samples_.back().first >= update) samples_.pop_back();
}

/// Whether a log begins with what has been read so far. It does not if the run was replaced, or resumed from an
/// earlier update.
bool RunWatcher::is_same_log(const OpenFile& log) const {
  if (log.inode() != inode_ || log.bytes() < bytes_) return false;
  std::string same_place(tail_.size(), '\0');
  const auto count = log.read(same_place.data(), same_place.size(), bytes_ - std::ssize(tail_));
  return count == std::ssize(tail_) && same_place == tail_;
}

void RunWatcher::read_more() {
  const OpenFile log(folder_ + "/train.jsonl");
  if (!log) {
    if (bytes_ > 0) reset();
    return;
  }
  if (!is_same_log(log)) reset();
  inode_ = log.inode();
  std::string buffer(1 << 16, '\0');
  while (true) {
    const ssize_t count = log.read(buffer.data(), buffer.size(), bytes_);
    if (count <= 0) return;
    ++version_;
    bytes_ += count;
    tail_.append(buffer, 0, static_cast<size_t>(count));
    tail_.erase(0, tail_.size() - std::min(tail_.size(), max_tail_bytes));
    incomplete_line_.append(buffer, 0, static_cast<size_t>(count));
    size_t begin = 0;
    for (size_t end; (end = incomplete_line_.find('\n', begin)) != incomplete_line_.npos; begin = end + 1)
      add_line(incomplete_line_.substr(begin, end - begin));
    incomplete_line_.erase(0, begin);
    if (incomplete_line_.size() > max_line_bytes) {
      problem_ = folder_ + "/train.jsonl: is not a training log; it has a line of more than 1 MiB";
      incomplete_line_.clear();
    }
  }
}

int64_t RunWatcher::version() {
  const std::lock_guard lock(mutex_);
  read_more();
  return version_;
}

std::string RunWatcher::read_json() {
  const std::lock_guard lock(mutex_);
  read_more();
  Json run{{"name", name_}, {"path", folder_}, {"update", update_}, {"seconds", seconds_}};
  try {
    add_config(folder_, run);
  } catch (const Error& error) {
    run["problem"] = error.what();
  }
  if (!problem_.empty()) run["problem"] = problem_;
  run["curves"] = Json::object();
  for (const auto& [name, curve] : curves_) run["curves"][name] = curve_of(curve);
  run["diagnoses"] = Json::array();
  for (const LogEntry& diagnosis : diagnoses_)
    run["diagnoses"].push_back(
        {{"update", diagnosis.update}, {"id", diagnosis.diagnosis}, {"text", diagnosis.text}});
  run["validations"] = Json::array();
  for (const auto& [update, samples] : samples_)
    run["validations"].push_back({{"update", update}, {"samples", Json::parse(samples, nullptr, false)}});
  return json_text(run);
}

}  // namespace sixfold::serve
