#include "metrics/command_metric.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/plural.h"
#include "base/subprocess.h"
#include "base/trim.h"

namespace sixfold {
namespace {

std::string json_lines(const MetricLines& lines) {
  std::string text;
  for (size_t i = 0; i < lines.outputs.size(); ++i) {
    nlohmann::ordered_json line;
    if (!lines.sources.empty()) line["source"] = lines.sources[i];
    line["output"] = lines.outputs[i];
    line["references"] = nlohmann::ordered_json::array();
    for (const std::vector<std::string>& one : lines.references) line["references"].push_back(one[i]);
    text += line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  }
  return text;
}

/// The numbers of a text with one on each line.
std::vector<double> numbers_in(std::string_view text, const std::string& command) {
  std::vector<double> numbers;
  text = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = without_blanks(text.substr(begin, end - begin));
    double number = 0;
    const auto read = std::from_chars(line.data(), line.data() + line.size(), number);
    require(read.ec == std::errc() && read.ptr == line.data() + line.size() && std::abs(number) < 1e100,
            "'{}' printed '{}' in line {}, which is not a number below 1e100; a program of a metric prints a "
            "number for each "
            "line that it reads, or one for all, and nothing else",
            command, line.substr(0, 80), numbers.size() + 1);
    numbers.push_back(number);
    begin = end + 1;
  }
  return numbers;
}

}  // namespace

void visit(OptionVisitor& v, CommandMetricOptions& o) {
  v.field(
      "metric_command", o.command,
      "program of the metric command: it reads lines as JSON with output, references and source, and prints "
      "a number for each, or one for all");
  v.field("metric_timeout", o.timeout, "seconds after which that program is ended", above(0));
}

CommandMetric::CommandMetric(CommandMetricOptions options) : options_(std::move(options)) {
  require(!options_.command.empty(), "the metric command needs a program: give metric_command");
  check_ranges(options_);
}

MetricStatistics CommandMetric::statistics(std::string_view output,
                                           std::span<const std::string> references) const {
  const std::string line(output);
  References streams;
  for (const std::string& reference : references) streams.push_back({reference});
  MetricStatistics found;
  for_each_statistics({.outputs = {&line, 1}, .references = streams},
                      [&](MetricStatistics one) { found = std::move(one); });
  return found;
}

void CommandMetric::for_each_statistics(const MetricLines& lines,
                                        const std::function<void(MetricStatistics)>& use) const {
  const size_t count = lines.outputs.size();
  constexpr size_t max_bytes_per_number = 100;
  const Subprocess program{.command = options_.command,
                           .timeout = options_.timeout,
                           .max_output = (count + 1) * max_bytes_per_number,
                           .stop = options_.stop};
  const std::vector<double> numbers = numbers_in(run_subprocess(program, json_lines(lines)), options_.command);
  require(numbers.size() == count || numbers.size() == 1,
          "'{}' printed {} for {}; expected one for each, or one", options_.command,
          counted(numbers.size(), "number"), counted(count, "line"));
  require(
      numbers.size() == count || !lines.each,
      "'{}' printed one number for all {} lines; scores of single lines, intervals and comparisons need one "
      "for each",
      options_.command, count);
  for (size_t i = 0; i < count; ++i) use({{numbers[numbers.size() == 1 ? 0 : i]}});
}

}  // namespace sixfold
