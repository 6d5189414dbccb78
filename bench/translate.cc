// Time and memory of translating a text, the same work that bench/peers/translate.py does with other programs.
// usage: bench_translate MODEL INPUT [--beam-size N] [--threads N] [--precision NAME] [--batch-tokens N]
// [--rounds N]
// [--one-at-a-time] [--output FILE] prints one line of JSON: seconds for the text (median over the rounds), or
// milliseconds for a line (median and 99th percentile), seconds to open the model, peak memory.

#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "tasks/translation/translator.h"

using namespace sixfold;

namespace {

struct Settings {
  std::string model, input, output, precision = "stored";
  TranslateOptions options;
  int threads = 1, rounds = 3;
  bool one_at_a_time = false;
};

double peak_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

std::vector<std::string> read_lines(const std::string& path) {
  std::ifstream file(path);
  require(file.good(), "{}: can't be read", path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

template <class Work>
double seconds_of(const Work& work) {
  const auto begun = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

double percentile(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1, static_cast<size_t>(part * static_cast<double>(values.size())))];
}

WeightType type_named(const std::string& name) {
  for (const auto& [type, type_name] : EnumNames<WeightType>::names)
    if (name == type_name) return type;
  throw_input_error("--precision {}: stored, fp32 or int8", name);
}

void run(const Settings& settings) {
  const std::vector<std::string> lines = read_lines(settings.input);
  nlohmann::json result{{"program", "Sixfold"}, {"baseline_mb", peak_mb()}};
  std::optional<Translator> translator;
  result["load_seconds"] = seconds_of([&] {
    translator.emplace(settings.model, RuntimeOptions{settings.threads, type_named(settings.precision)});
  });
  std::vector<std::string> output = translator->translate(
      {lines.begin(), lines.begin() + std::min<ptrdiff_t>(100, std::ssize(lines))}, settings.options);
  std::vector<double> times;
  if (settings.one_at_a_time) {
    output.clear();
    for (const std::string& line : lines)
      times.push_back(
          1e3 * seconds_of([&] { output.push_back(translator->translate({line}, settings.options)[0]); }));
    result["p50_ms"] = percentile(times, 0.5);
    result["p99_ms"] = percentile(times, 0.99);
  } else {
    for (int round = 0; round < settings.rounds; ++round)
      times.push_back(seconds_of([&] { output = translator->translate(lines, settings.options); }));
    result["seconds"] = percentile(times, 0.5);
  }
  result["peak_mb"] = peak_mb();
  std::cout << result << std::endl;
  if (settings.output.empty()) return;
  std::ofstream file(settings.output);
  for (const std::string& line : output) file << line << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  CLI::App app{"Time and memory of translating a text"};
  app.add_option("model", settings.model)->required();
  app.add_option("input", settings.input)->required();
  app.add_option("--beam-size", settings.options.beam_size);
  app.add_option("--threads", settings.threads);
  app.add_option("--precision", settings.precision);
  app.add_option("--batch-tokens", settings.options.batch_tokens);
  app.add_option("--shortlist", settings.options.shortlist);
  app.add_option("--rounds", settings.rounds);
  app.add_flag("--one-at-a-time", settings.one_at_a_time);
  app.add_option("--output", settings.output);
  try {
    CLI11_PARSE(app, argc, argv);
    run(settings);
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << std::endl;
    return 1;
  }
}
