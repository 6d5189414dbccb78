// Asks a running server, ours or any that answers POST /translate as LibreTranslate does, from many clients at
// once, of which a share is hostile. Each answer must equal the expected line. usage: bench_serve PORT TEXT
// EXPECTED [--source en] [--target de] [--clients N] [--requests N] [--hostile SHARE]
// [--lines N] [--rate R] [--seed N] [--pid PID]
// Prints one line of JSON: requests answered, refused, wrong and lost, lines/s, percentiles of the latency in
// milliseconds, of all requests and by their number of lines, what hostile requests were told, and with --pid
// the peak memory of the server.

#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>

#include "base/error.h"
#include "serve/load.h"

using namespace sixfold;

namespace {

std::vector<std::string> read_lines(const std::string& path) {
  std::ifstream file(path);
  require(file.good(), "{}: can't be read", path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  require(!lines.empty(), "{}: has no lines", path);
  return lines;
}

/// The line `VmHWM:  1234 kB` of the process, in megabytes.
double peak_mb_of(int process) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::stod(line.substr(6)) / 1024;
  throw_input_error("--pid {}: there is no such process", process);
}

}  // namespace

int main(int argc, char** argv) try {
  serve::LoadOptions options;
  options.hostile = 0;
  std::string text, expected;
  int process = 0;
  CLI::App app("Asks a server from many clients at once");
  app.add_option("port", options.port)->required();
  app.add_option("text", text)->required();
  app.add_option("expected", expected)->required();
  app.add_option("--source", options.source);
  app.add_option("--target", options.target);
  app.add_option("--clients", options.clients)->check(CLI::Range(1, 4096));
  app.add_option("--requests", options.requests)->check(CLI::PositiveNumber);
  app.add_option("--hostile", options.hostile)->check(CLI::Range(0.0, 1.0));
  app.add_option("--lines", options.lines, "lines of each request; 0: 1 to 16, mostly few")
      ->check(CLI::Range(0, 1000));
  app.add_option("--rate", options.rate, "requests/s of all clients; 0: as fast as they are answered");
  app.add_option("--seed", options.seed);
  app.add_option("--pid", process);
  CLI11_PARSE(app, argc, argv);

  const serve::LoadText lines{read_lines(text), read_lines(expected)};
  require(lines.lines.size() == lines.expected.size(), "{} has {} lines, {} has {}", text, lines.lines.size(),
          expected, lines.expected.size());
  const serve::LoadResult result = serve::run_load(lines, options);
  nlohmann::ordered_json said{{"answered", result.answered},
                              {"refused", result.refused},
                              {"wrong", result.wrong},
                              {"lost", result.lost},
                              {"seconds", result.seconds},
                              {"requests_per_second", static_cast<double>(result.answered) / result.seconds},
                              {"lines_per_second", static_cast<double>(result.lines) / result.seconds}};
  const auto say_percentiles = [](nlohmann::ordered_json& json, const std::vector<double>& latencies) {
    for (const auto& [name, share] :
         {std::pair("p50_ms", 0.5), std::pair("p90_ms", 0.9), std::pair("p99_ms", 0.99)})
      json[name] = 1000 * serve::percentile(latencies, share);
  };
  say_percentiles(said, result.all_latencies());
  for (const auto& [count, latencies] : result.latencies)
    say_percentiles(said["requests_of_lines"][std::to_string(count)], latencies);
  for (const auto& [kind, statuses] : result.hostile)
    for (const auto& [status, count] : statuses) said["hostile"][kind][std::to_string(status)] = count;
  if (process) said["peak_mb"] = peak_mb_of(process);
  std::cout << said.dump() << "\n";
  if (!result.first_wrong.empty()) std::cerr << result.first_wrong << "\n";
  return result.wrong + result.lost == 0 ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << "error: " << error.what() << "\n";
  return 1;
}
