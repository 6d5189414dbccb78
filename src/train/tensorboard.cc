#include "train/tensorboard.h"

#include <sys/stat.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "formats/event_file.h"
#include "train/training_log.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;

constexpr const char* writer = "sixfold";

/// The time of a file's last change, in seconds since 1970.
double time_of_change(const std::string& path) {
  struct stat status {};
  require(::stat(path.c_str(), &status) == 0, "{}: can't be read", path);
  return static_cast<double>(status.st_mtim.tv_sec) + 1e-9 * static_cast<double>(status.st_mtim.tv_nsec);
}

double seconds_of(const LogEntry& entry, double before) {
  for (const auto& [name, value] : entry.values)
    if (name == "seconds") return value;
  return before;  // the entry of a validation has no time: it has that of the entry before it
}

/// The tag of a value; empty for values that TensorBoard does not show.
std::string tag_of(const std::string& name) {
  constexpr std::string_view validation = "validation ";
  if (name == "seconds" || name == "seconds_left" || name == "last_update") return {};
  return name.starts_with(validation) ? "valid/" + name.substr(validation.size()) : "train/" + name;
}

/// The texts of a sample as Markdown, in blocks of code, in which nothing is markup.
std::string markdown_of(const nlohmann::json& sample) {
  std::string text;
  for (const auto& [name, value] : sample.items()) {
    if (!value.is_string()) continue;
    text += name + "\n\n    ";
    for (const char c : value.get<std::string>()) text += c == '\n' ? std::string("\n    ") : std::string(1, c);
    text += "\n\n";
  }
  return text;
}

void add_samples(const LogEntry& entry, double time, EventFile& events) {
  if (entry.samples.empty()) return;
  int number = 0;
  for (const auto& sample : nlohmann::json::parse(entry.samples))
    if (sample.is_object())
      events.add_text("samples/" + std::to_string(++number), entry.update, time, markdown_of(sample));
}

/// Whether a file of an output folder is an event file of Sixfold, or an incomplete one whose writer was
/// killed.
bool is_our_file(const fs::directory_entry& entry) {
  if (entry.is_symlink() || !entry.is_regular_file()) return false;
  const std::string name = entry.path().filename().string();
  if (const auto temporary = parse_temporary_name(name)) return temporary->name == event_file_name;
  if (name != event_file_name) return false;
  const MappedFile file(entry.path().string());
  return writer_of_events({reinterpret_cast<const char*>(file.data()), file.size()}) == writer;
}

}  // namespace

void write_events(const std::string& log, const std::function<void(std::string_view)>& write) {
  double seconds = 0, last = 0;
  const std::string warning =
      read_training_log(log, [&](const LogEntry& entry) { last = seconds_of(entry, last); });
  if (!warning.empty()) log_warning("{}", warning);
  const double began = time_of_change(log) - last;
  EventFile events(write, began, writer);
  int64_t update = 0;
  read_training_log(log, [&](const LogEntry& entry) {
    seconds = seconds_of(entry, seconds);
    const double time = began + seconds;
    if (entry.update < update) events.restart(entry.update, time);
    update = entry.update;
    for (const auto& [name, value] : entry.values)
      if (const std::string tag = tag_of(name); !tag.empty()) events.add_scalar(tag, entry.update, time, value);
    add_samples(entry, time, events);
  });
}

void write_event_file(const std::string& log, const std::string& file) {
  AtomicFile output(file);
  write_events(log, [&](std::string_view record) { output.write(record); });
  output.commit();
}

bool may_hold_event_file(const std::string& folder) {
  if (!fs::exists(folder)) return true;
  if (!fs::is_directory(folder)) return false;
  for (const auto& entry : fs::directory_iterator(folder))
    if (!is_our_file(entry)) return false;
  return true;
}

}  // namespace sixfold
