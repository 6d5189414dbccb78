#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>

#include "base/plural.h"
#include "base/threads.h"
#include "data/measure.h"
#include "program/commands.h"
#include "program/kit/model_folder.h"
#include "program/kit/text_io.h"
#include "program/kit/value_option.h"

namespace sixfold::cli {
namespace {

struct CorpusSettings {
  std::vector<std::string> files;
  std::string model;
  MeasureOptions options;
  bool json = false;
};

/// "482322 words; mean 16.6, median 16, 99 % up to 33, longest 47", where the unit is "word".
std::string lengths_text(const std::vector<int64_t>& lengths, int64_t tokens, int64_t pairs, const char* unit) {
  const int64_t longest = quantile(lengths, 1);
  return fmt::format("{}; mean {:.1f}, median {}, 99 % up to {}, longest {}{}", counted(tokens, unit),
                     pairs ? static_cast<double>(tokens) / static_cast<double>(pairs) : 0,
                     quantile(lengths, 0.5), quantile(lengths, 0.99), longest,
                     longest == CorpusReport::longest ? " or more" : "");
}

std::string bar(int64_t count, int64_t most) {
  constexpr int width = 24;
  constexpr const char* eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int64_t parts = most > 0 ? (count * width * 8 + most - 1) / most : 0;
  std::string text;
  for (int64_t i = 0; i < parts / 8; ++i) text += "█";
  text += eighths[parts % 8];
  for (int64_t i = (parts + 7) / 8; i < width; ++i) text += " ";
  return text;
}

/// A table of the lengths of both sides, in some fifteen rows.
std::string histogram(const CorpusReport& report) {
  const int64_t longest =
      std::max(quantile(report.source_lengths, 0.999), quantile(report.target_lengths, 0.999));
  int64_t step = 1;
  for (const int64_t next : {2, 5, 10, 20, 50, 100})
    if (longest / step > 15) step = next;
  struct Row {
    std::string name;
    int64_t source, target;
  };
  std::vector<Row> rows;
  const auto sum = [](const std::vector<int64_t>& counts, int64_t begin, int64_t end) {
    end = std::min<int64_t>(end, std::ssize(counts));
    return std::accumulate(counts.begin() + std::min(begin, end), counts.begin() + end, int64_t{0});
  };
  for (int64_t begin = 1; begin <= longest; begin += step)
    rows.push_back({step == 1 ? fmt::format("{}", begin) : fmt::format("{}-{}", begin, begin + step - 1),
                    sum(report.source_lengths, begin, begin + step),
                    sum(report.target_lengths, begin, begin + step)});
  const int64_t covered = 1 + std::ssize(rows) * step;
  if (const int64_t s = sum(report.source_lengths, covered, CorpusReport::longest + 1),
      t = sum(report.target_lengths, covered, CorpusReport::longest + 1);
      s + t > 0)
    rows.push_back({fmt::format("{}-", covered), s, t});
  int64_t most = 0;
  for (const Row& row : rows) most = std::max({most, row.source, row.target});
  std::string text = fmt::format("\n{:>11}  {:<34}  {}\n", "length", "source", "target");
  for (const Row& row : rows)
    text += fmt::format("{:>11}  {:>8}  {}  {:>8}  {}\n", row.name, row.source, bar(row.source, most),
                        row.target, bar(row.target, most));
  return text;
}

std::string as_text(const CorpusReport& report, const char* unit) {
  std::string text;
  const auto line = [&](std::string_view name, const std::string& value) {
    text += fmt::format("{:<8} {}\n", name, value);
  };
  line("pairs", report.describe());
  const int64_t measured =
      std::accumulate(report.source_lengths.begin(), report.source_lengths.end(), int64_t{0});
  if (measured == 0) return text;
  line("source", lengths_text(report.source_lengths, report.source_tokens, measured, unit));
  line("target", lengths_text(report.target_lengths, report.target_tokens, measured, unit));
  const auto ratio = [&](double part) {
    return CorpusReport::ratio_of_bin(static_cast<int>(quantile(report.ratios, part)));
  };
  line("ratio", fmt::format("target / source: median {:.2f}, 98 % between {:.2f} and {:.2f}", ratio(0.5),
                            ratio(0.01), ratio(0.99)));
  return text + histogram(report);
}

void run(const CorpusSettings& settings) {
  std::optional<Tokenizers> tokenizers;
  if (!settings.model.empty()) tokenizers = open_text_model(settings.model).tokenizers;
  MeasureOptions options = settings.options;
  options.encode.threads = available_threads();
  const CorpusReport report = measure_corpus(corpus_files(settings.files, "files"), tokenizers, options);
  TextOutput output("-");
  output.write(settings.json ? to_json_text(report) : as_text(report, tokenizers ? "token" : "word"));
  output.close();
}

}  // namespace

void add_corpus(CLI::App& app) {
  const auto settings = std::make_shared<CorpusSettings>();
  CLI::App& command = *app.add_subcommand(
      "corpus",
      "Report statistics of a parallel corpus: lengths, repeated pairs, pairs that training would drop");
  command
      .add_option("files", settings->files,
                  "alternately a source and a target file, or .tsv files; each may be gzipped")
      ->type_name("FILE")
      ->required();
  command.add_option("--model", settings->model, "measure lengths in tokens of this model instead of words")
      ->type_name("MODEL");
  add_value_option(command, "--max-length", settings->options.encode.max_length,
                   "count pairs with more tokens on a side as dropped; 0: no limit", at_least(0));
  add_value_option(
      command, "--max-ratio", settings->options.encode.max_ratio,
      "count pairs with more than this many times as many tokens on one side as dropped; 0: no limit",
      at_least(0));
  add_value_option(command, "--invalid-utf8", settings->options.invalid,
                   "what to do with lines that are not valid UTF-8: error, replace (with U+FFFD) or skip");
  command.add_flag("--json", settings->json, "print the report as JSON, which 'sixfold plot corpus' can draw");
  command.footer("Example:\n  sixfold corpus train.en train.de --max-length 200 --max-ratio 3");
  command.callback([settings] { run(*settings); });
}

}  // namespace sixfold::cli
