#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <memory>
#include <numeric>

#include "base/ascii.h"
#include "base/plural.h"
#include "base/threads.h"
#include "data/check/clean.h"
#include "data/measure.h"
#include "model_folder/ownership.h"
#include "program/commands.h"
#include "program/kit/interrupt.h"
#include "program/kit/model_folder.h"
#include "program/kit/text_io.h"
#include "program/kit/value_option.h"
#include "text/utf8.h"

namespace sixfold::cli {
namespace {

struct CorpusSettings {
  std::vector<std::string> files;
  std::string model;
  MeasureOptions options;
  bool json = false;
  std::string clean;  ///< the folder for the cleaned files; empty: the corpus is only measured
  std::string part;
  CleanOptions cleaning;
};

/// "482322 words; mean 16.6, median 16, 99 % up to 33, longest 47", where the unit is "word".
std::string lengths_text(const std::vector<int64_t>& lengths, int64_t tokens, int64_t pairs, const char* unit) {
  const int64_t longest = quantile(lengths, 1);
  return fmt::format("{}; mean {:.1f}, median {}, 99 % up to {}, longest {}{}", counted(tokens, unit),
                     pairs ? static_cast<double>(tokens) / static_cast<double>(pairs) : 0,
                     quantile(lengths, 0.5), quantile(lengths, 0.99), longest,
                     longest == CorpusReport::longest ? " or more" : "");
}

/// A bar of block characters, whose full width stands for `max_count`.
std::string bar(int64_t count, int64_t max_count) {
  constexpr int width = 24;
  constexpr const char* eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int64_t parts = max_count > 0 ? (count * width * 8 + max_count - 1) / max_count : 0;
  std::string text;
  for (int64_t i = 0; i < parts / 8; ++i) text += "█";
  text += eighths[parts % 8];
  for (int64_t i = (parts + 7) / 8; i < width; ++i) text += " ";
  return text;
}

/// A histogram of the lengths of both sides, in about fifteen rows.
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
  int64_t max_count = 0;
  for (const Row& row : rows) max_count = std::max({max_count, row.source, row.target});
  std::string text = fmt::format("\n{:>11}  {:<34}  {}\n", "length", "source", "target");
  for (const Row& row : rows)
    text += fmt::format("{:>11}  {:>8}  {}  {:>8}  {}\n", row.name, row.source, bar(row.source, max_count),
                        row.target, bar(row.target, max_count));
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

std::vector<CorpusFiles> files_of(const CorpusSettings& settings) {
  const PairLanguages& languages = settings.cleaning.languages;
  require(
      !settings.clean.empty() || (languages.source.empty() && languages.target.empty()) ||
          std::ranges::any_of(settings.files, is_tmx),
      "--source-language and --target-language have no effect without --clean or a .tmx file; leave them out");
  return corpus_files(settings.files, "files", languages.source, languages.target);
}

/// The output files of cleaning, in a new folder: one for each input file, with the same name and format (TSV
/// for TMX), and dropped.tsv. All appear at `close`.
class CleanedFiles {
 public:
  CleanedFiles(const std::string& folder, const std::vector<CorpusFiles>& texts,
               const std::vector<std::string>& inputs)
      : folder_(folder), dropped_(add("dropped.tsv", inputs)) {
    for (const CorpusFiles& text : texts)
      texts_.push_back(text.tsv.empty() ? std::pair{add(text.source, inputs), add(text.target, inputs)}
                                        : std::pair{add(text.tsv, inputs), static_cast<TextOutput*>(nullptr)});
  }

  void write(size_t text, const CleanedPair& pair) {
    const auto& [source, target] = texts_[text];
    const auto& [first, second] = pair.lines;
    if (!pair.rule.empty()) {
      dropped_->write(
          fmt::format("{}\t{}\t{}\t{}\n", pair.rule, pair.place, as_column(first), as_column(second)));
    } else if (target) {
      source->write(first + "\n");
      target->write(second + "\n");
    } else {
      source->write(first + "\t" + second + "\n");
    }
  }

  void close() {
    for (auto& [name, file] : files_) file->close();
    folder_.commit();
  }

 private:
  TextOutput* add(const std::string& input, const std::vector<std::string>& inputs) {
    std::string name = std::filesystem::path(input).filename().string();
    if (is_tmx(name)) name.replace(ascii_lower(name).rfind(".tmx"), 4, ".tsv");
    auto& file = files_[name];
    require(
        !file,
        "{}: another file of the same name, {}, is written, too; rename this one, or clean texts one by one",
        input, name);
    file = std::make_unique<TextOutput>(folder_.path() + "/" + name, inputs);
    return file.get();
  }

  static std::string as_column(const std::string& text) {
    std::string line = one_line(replace_invalid_utf8(text));
    std::ranges::replace(line, '\t', ' ');
    return line;
  }

  AtomicDirectory folder_;
  std::map<std::string, std::unique_ptr<TextOutput>> files_;
  std::vector<std::pair<TextOutput*, TextOutput*>> texts_;
  TextOutput* dropped_;
};

/// Reads "3/10".
void read_part(const std::string& text, CleanOptions& options) {
  const char* end = text.data() + text.size();
  const auto [slash, error] = std::from_chars(text.data(), end, options.part);
  const bool has_both = error == std::errc() && slash != end && *slash == '/';
  const auto [rest, second_error] = std::from_chars(has_both ? slash + 1 : end, end, options.parts);
  require(has_both && second_error == std::errc() && rest == end,
          "--part: '{}' is not a part such as 3/10, the third of ten", text);
}

std::string as_text(const CleanReport& report) {
  const auto row = [](std::string_view name, int64_t count, int64_t all) {
    return fmt::format("{:<17}{:>12}{:>8.2f} %\n", name, count,
                       all > 0 ? 100 * static_cast<double>(count) / static_cast<double>(all) : 0.0);
  };
  std::string text = fmt::format("{:<17}{:>12}\n", "read", report.read) + row("kept", report.kept, report.read);
  if (report.mended > 0) text += row("mended", report.mended, report.read);
  for (const auto& [rule, count] : report.dropped)
    if (count > 0) text += row(rule, count, report.read);
  return text;
}

/// Warns of rules that can be left out and have dropped most pairs.
void warn_of_losses(const CleanReport& report, const std::string& folder) {
  const std::vector<std::string_view> rules = clean_rules();
  for (const auto& [rule, count] : report.dropped)
    if (2 * count > report.read && rule != rules[0] && rule != rules[1])
      log_warning(
          "{} has dropped {} of {}; look at {}/dropped.tsv, and clean again with --keep {} if they are good",
          rule, count, counted(report.read, "pair"), folder, rule);
}

void clean(const CorpusSettings& settings) {
  const std::vector<CorpusFiles> files = files_of(settings);
  CleanOptions options = settings.cleaning;
  options.invalid = settings.options.invalid;
  options.threads = available_threads();
  options.stop = &note_interrupts();
  if (!settings.part.empty()) read_part(settings.part, options);
  require_new(settings.clean, settings.files);
  CleanedFiles output(settings.clean, files, settings.files);
  const CleanReport report =
      clean_corpus(files, options, [&](size_t text, const CleanedPair& pair) { output.write(text, pair); });
  output.close();
  warn_of_losses(report, settings.clean);
  TextOutput("-").write(settings.json ? to_json_text(report) : as_text(report));
}

void run(const CorpusSettings& settings) {
  if (!settings.clean.empty()) return clean(settings);
  std::optional<Tokenizers> tokenizers;
  if (!settings.model.empty()) tokenizers = load_text_model(settings.model).tokenizers;
  MeasureOptions options = settings.options;
  options.encode.threads = available_threads();
  const CorpusReport report = measure_corpus(files_of(settings), tokenizers, options);
  TextOutput output("-");
  output.write(settings.json ? to_json_text(report) : as_text(report, tokenizers ? "token" : "word"));
  output.close();
}

}  // namespace

void add_corpus(CLI::App& app) {
  const auto settings = std::make_shared<CorpusSettings>();
  CLI::App& command = *app.add_subcommand("corpus",
                                          "Report statistics of a parallel corpus: lengths, repeated pairs, "
                                          "pairs that training would drop; or clean it");
  add_parallel_text_argument(command, settings->files);
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
  CLI::Option* clean =
      command
          .add_option(
              "--clean", settings->clean,
              "write the pairs without the faults that 'sixfold check' finds to files of the same names in a "
              "new folder, and the others to dropped.tsv, with the rule and the line; print how many each "
              "rule has dropped instead of the statistics")
          ->type_name("FOLDER");
  for (const char* other : {"--model", "--max-length", "--max-ratio"})
    clean->excludes(command.get_option(other));
  const auto add = [&](const char* flag, auto& value, const std::string& help, const char* type) {
    command.add_option(flag, value, help)->type_name(type)->needs(clean);
  };
  add_value_option(command, "--keep", settings->cleaning.keep,
                   "a rule that is not applied; may be given several times")
      ->type_name("RULE")
      ->needs(clean);
  const auto add_language = [&](const char* flag, std::string& value, const std::string& help) {
    command.add_option(flag, value, help)->type_name("LANGUAGE");
  };
  add_language(
      "--source-language", settings->cleaning.languages.source,
      "code of the language of the sources, such as en, which a .tmx file needs (default for --clean: the "
      "end of the file's name, or the language of most lines)");
  add_language("--target-language", settings->cleaning.languages.target, "the same of the targets");
  add("--part", settings->part,
      "clean only this part of the pairs, 3/10 for the third of ten; the files of all parts, one "
      "after the other, are those of the whole",
      "PART/PARTS");
  command
      .add_flag("--near-duplicates", settings->cleaning.near_duplicates,
                "also drop pairs that differ from an earlier one only in case, punctuation, digits "
                "and white space")
      ->needs(clean);
  command
      .add_flag("--mend", settings->cleaning.mend,
                "mend white space, normal forms and characters that were decoded in the wrong way, "
                "instead of dropping such pairs")
      ->needs(clean);
  std::string rules;
  for (const std::string_view rule : clean_rules()) rules += (rules.empty() ? "" : ", ") + std::string(rule);
  command.footer("Rules of --clean: " + rules +
                 ".\n\n"
                 "Examples:\n  sixfold corpus train.en train.de --max-length 200 --max-ratio 3\n"
                 "  sixfold corpus raw/train.en raw/train.de --clean clean");
  command.callback([settings] { run(*settings); });
}

}  // namespace sixfold::cli
