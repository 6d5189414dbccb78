#include "tasks/kit/size_choice.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iterator>
#include <optional>
#include <set>
#include <sstream>

#include "base/threads.h"
#include "tasks/kit/run_check.h"

namespace sixfold {
namespace {

constexpr std::string_view sets_of_sizes[] = {"model.preset", "start.model"};
constexpr std::string_view sizes[] = {"model.d_model",       "model.heads",        "model.decoder_heads",
                                      "model.d_ff",          "model.decoder_d_ff", "model.encoder_layers",
                                      "model.decoder_layers"};

/// The number that a config sets for a key, or 0. A malformed number is an error when the options are read.
double number_at(const OptionNode& root, std::string_view key) {
  const OptionNode* node = root.find_path(key);
  double number = 0;
  if (node) std::from_chars(node->text.data(), node->text.data() + node->text.size(), number);
  return number;
}

bool is_limited_by_minutes_alone(const OptionNode& root) {
  return number_at(root, "train.minutes") > 0 && number_at(root, "train.updates") <= 0 &&
         number_at(root, "train.epochs") <= 0;
}

std::vector<std::string> training_files(const OptionNode& root) {
  std::vector<std::string> names;
  if (const OptionNode* files = root.find_path("data.train"))
    for (const OptionNode& file : list_elements({*files, "data.train", {}})) names.push_back(file.text);
  return names;
}

/// The size of the training data in megabytes. A gzipped file counts three times its size.
double megabytes_of_data(const OptionNode& root) {
  double bytes = 0;
  for (const std::string& file : training_files(root)) {
    std::error_code missing;  // reported when the file is read
    const auto size = std::filesystem::file_size(file, missing);
    if (!missing) bytes += static_cast<double>(size) * (file.ends_with(".gz") ? 3 : 1);
  }
  return bytes / 1e6;
}

/// An assignment of tokenizer.vocab_size with a size that has room for all characters and for words. All other
/// assignments are unchanged.
std::string with_room_for_characters(std::string assignment, const OptionNode& root) {
  constexpr std::string_view vocabulary = "tokenizer.vocab_size=";
  if (!assignment.starts_with(vocabulary)) return assignment;
  const size_t given = std::stoul(assignment.substr(vocabulary.size()));
  const size_t needed = count_distinct_characters(training_files(root), {}) * 5 / 4 + 500;
  return needed <= given ? assignment : fmt::format("{}{}", vocabulary, (needed + 999) / 1000 * 1000);
}

Precision precision_of(const OptionNode& root) {
  const OptionNode* node = root.find_path("train.precision");
  return node && node->text == "fp32" ? Precision::fp32 : Precision::automatic;
}

std::vector<std::string> words_of(std::string_view text) {
  std::istringstream words{std::string(text)};
  return {std::istream_iterator<std::string>(words), {}};
}

std::string key_of(const std::string& assignment) {
  return assignment.substr(0, assignment.find_first_of("?="));
}
bool is_condition(const std::string& assignment) { return assignment.find("?=") != std::string::npos; }
bool has_value(const std::string& assignment) {
  return assignment.find('=') != std::string::npos && !is_condition(assignment);
}

/// The options of a run that has begun; none if there is no such run.
std::optional<OptionNode> options_of(const std::string& run) {
  const std::string path = run + "/config.json";
  std::error_code missing;  // reported when the run is resumed
  if (run.empty() || !std::filesystem::is_regular_file(path, missing)) return {};
  return read_option_file(path);
}

/// Whether the options have another value than a condition requires.
bool contradicts(const std::string& condition, const OptionNode& root) {
  const OptionNode* node = root.find_path(key_of(condition));
  return is_condition(condition) && node && !condition.ends_with("?=" + node->text);
}

/// The values of a run for all keys of the table that the config does not set.
template <class IsGiven>
std::vector<std::string> values_of_run(const OptionNode& begun, const OptionNode& root,
                                       std::span<const SizeChoice> table, const IsGiven& given) {
  std::set<std::string> keys;
  for (const SizeChoice& row : table)
    for (const std::string_view group : row.options) {
      const std::vector<std::string> words = words_of(group);
      if (std::ranges::any_of(words, [&](const std::string& word) { return contradicts(word, root); }))
        continue;
      for (const std::string& word : words)
        if (has_value(word)) keys.insert(key_of(word));
    }
  std::vector<std::string> values;
  for (const std::string& key : keys)
    if (const OptionNode* node = begun.find_path(key); node && !given(key))
      values.push_back(fmt::format("{}={}", key, value_text(*node)));
  return values;
}

}  // namespace

std::vector<std::string> choose_sizes(const OptionNode& root, std::span<const SizeChoice> table,
                                      const std::string& run) {
  const auto given = [&](std::string_view key) { return root.find_path(key) != nullptr; };
  if (table.empty() || std::ranges::any_of(sets_of_sizes, given)) return {};
  const bool has_sizes = std::ranges::any_of(sizes, given);
  // A run that may have chosen its sizes keeps the others where some are given.
  if (const auto begun = options_of(run); begun && (!has_sizes || is_limited_by_minutes_alone(*begun)))
    return values_of_run(*begun, root, table, given);
  if (has_sizes || !is_limited_by_minutes_alone(root)) return {};
  const double minutes = number_at(root, "train.minutes");
  const int given_threads = static_cast<int>(number_at(root, "train.threads"));
  const int threads = given_threads > 0 ? given_threads : available_threads();
  const double operations = 60 * minutes * threads * training_rate(precision_of(root)) / 1e12;
  const double megabytes = megabytes_of_data(root);
  const SizeChoice* best = &table.front();
  for (const SizeChoice& row : table)
    if (row.operations <= operations && row.megabytes <= megabytes &&
        std::pair(best->megabytes, best->operations) <= std::pair(row.megabytes, row.operations))
      best = &row;
  const auto excludes = [&](const std::string& word) {
    return is_condition(word) ? contradicts(word, root) : given(key_of(word));
  };
  std::vector<std::string> chosen;
  for (const std::string_view group : best->options) {
    const std::vector<std::string> assignments = words_of(group);
    if (std::ranges::any_of(assignments, excludes)) continue;
    for (const std::string& assignment : assignments)
      if (has_value(assignment)) chosen.push_back(with_room_for_characters(assignment, root));
  }
  return chosen;
}

}  // namespace sixfold
