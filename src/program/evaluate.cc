#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/join.h"
#include "base/log.h"
#include "base/plural.h"
#include "data/image_reader.h"
#include "data/lines.h"
#include "metrics/calibration.h"
#include "metrics/classification.h"
#include "metrics/evaluation.h"
#include "metrics/metrics.h"
#include "program/commands.h"
#include "program/kit/label_files.h"
#include "program/kit/text_io.h"
#include "program/kit/value_option.h"
#include "program/rated_lines.h"
#include "program/squad_answers.h"
#include "text/utf8.h"

namespace sixfold {

namespace cli {
enum class ReportFormat { text, json };
}  // namespace cli

template <>
struct EnumNames<cli::ReportFormat> {
  static constexpr std::pair<cli::ReportFormat, std::string_view> names[] = {{cli::ReportFormat::text, "text"},
                                                                             {cli::ReportFormat::json, "json"}};
};

namespace cli {
namespace {

struct EvaluateSettings {
  std::string hypothesis = "-", other;
  std::vector<std::string> references;
  InvalidUtf8 invalid = InvalidUtf8::error;
  ChosenNames metrics;
  MetricOptions options;
  bool confidence = false, line_confidence = false;
  BootstrapOptions bootstrap;
  ReportFormat format = ReportFormat::text;
  int width = 1;

  /// The chosen rows of the table, each once.
  std::vector<const MetricEntry*> rows;

  std::optional<BootstrapOptions> resampling() const {
    return confidence || !other.empty() ? std::optional(bootstrap) : std::nullopt;
  }
  bool compares_only(LineContent content) const {
    return std::ranges::all_of(rows, [&](const MetricEntry* row) { return row->content == content; });
  }
};

/// Translations and their references.
struct EvaluatedText {
  std::vector<std::vector<std::string>> systems;  // one system, or the two to compare
  References references;
  std::optional<RatedLines> rated = {};  // those of the only system
};

struct Report {
  std::string_view name;
  std::string signature;
  std::vector<SystemScore> systems;
};

/// Reads a text as sacreBLEU does: a byte order mark is a character of the first line and lowers its score.
std::vector<std::string> read_text(const std::string& path, const EvaluateSettings& settings) {
  const bool compares_text = !settings.compares_only(LineContent::label);
  if (!compares_text)
    if (auto labels = read_idx_labels(readable_path(path))) return *labels;
  std::vector<std::string> lines = read_lines(readable_path(path), settings.invalid, ByteOrderMark::keep);
  require(!lines.empty(), "{}: is empty; expected one sentence on each line", text_name(path));
  if (compares_text && lines[0].starts_with(byte_order_mark))
    log_warning(
        "{} begins with a byte order mark (U+FEFF), which counts as a character of the first line, as in "
        "sacreBLEU; remove the first three bytes of the file to score the text without it",
        text_name(path));
  return lines;
}

/// Reads the right answers of SQuAD's JSON, and predictions by id.
EvaluatedText read_squad_texts(const EvaluateSettings& settings, const std::vector<std::string>& hypotheses) {
  for (const MetricEntry* row : settings.rows)
    require(row->content == LineContent::answer, "--metric {}: can't compare answers in JSON; choose {}",
            row->name, join(metric_names(metric_table(), LineContent::answer), " or "));
  require(settings.references.size() == 1, "--reference: there are {} files, but one JSON file has all answers",
          settings.references.size());
  const SquadAnswers answers = read_squad_answers(settings.references[0], settings.invalid);
  EvaluatedText text{.systems = {}, .references = answers.references};
  for (const std::string& path : hypotheses) text.systems.push_back(read_predictions(path, answers));
  return text;
}

/// What a line holds, for a metric: a label before a tab; or an answer, which in a reference follows the last
/// tab, as in the data of training, and otherwise stands before the first, as 'sixfold answer' writes it.
std::string compared_part(const std::string& line, LineContent content, bool reference) {
  switch (content) {
    case LineContent::text:
      return line;
    case LineContent::label:
      return label_of(line);
    case LineContent::answer:
      return reference ? line.substr(line.rfind('\t') + 1) : line.substr(0, line.find('\t'));
  }
  throw_unknown("content of lines", content);
}

/// Throws an input error that names the line if a metric compares labels, or answers, and a reference has none.
/// A hypothesis may be blank: it is wrong.
void require_references(const std::vector<std::string>& lines, const std::string& path, LineContent content) {
  if (content == LineContent::text) return;
  for (size_t i = 0; i < lines.size(); ++i)
    require(has_visible_character(compared_part(lines[i], content, /*reference=*/true)),
            "{}:{}: has no {} to compare with; remove the line here and in the other files, or complete it",
            text_name(path), i + 1, content == LineContent::label ? "label" : "answer");
}

EvaluatedText read_texts(const EvaluateSettings& settings) {
  std::vector<std::string> paths{settings.hypothesis};
  if (!settings.other.empty()) paths.push_back(settings.other);
  if (std::ranges::any_of(settings.rows,
                          [](const MetricEntry* row) { return row->content == LineContent::answer; }) &&
      std::ranges::any_of(settings.references, is_squad_file))
    return read_squad_texts(settings, paths);
  EvaluatedText text;
  for (const std::string& path : settings.references) {
    text.references.push_back(read_text(path, settings));
    for (const MetricEntry* row : settings.rows) require_references(text.references.back(), path, row->content);
  }
  for (const std::string& path : paths) {
    if (settings.line_confidence) text.rated = read_rated_lines(path);
    const auto& lines = text.systems.emplace_back(text.rated ? text.rated->texts : read_text(path, settings));
    if (settings.compares_only(LineContent::label))
      for (const std::string& reference : settings.references)
        refuse_names_beside_numbers(lines, path, reference);
    for (size_t k = 0; k < text.references.size(); ++k)
      require(text.references[k].size() == lines.size(),
              "{} has {} and {} has {}; line n of both must belong to the same text", text_name(path),
              counted(lines.size(), "line"), text_name(settings.references[k]), text.references[k].size());
  }
  return text;
}

/// The parts of all lines that a metric compares.
EvaluatedText compared_parts(EvaluatedText text, LineContent content) {
  for (auto& lines : text.systems)
    for (std::string& line : lines) line = compared_part(line, content, /*reference=*/false);
  for (auto& lines : text.references)
    for (std::string& line : lines) line = compared_part(line, content, /*reference=*/true);
  return text;
}

Report evaluate(const MetricEntry& row, const EvaluateSettings& settings, const EvaluatedText& lines) {
  require(!settings.options.lowercase || row.fixed_case.empty(),
          "--lowercase: {}; leave it out with --metric {}", row.fixed_case, row.name);
  require(row.content != LineContent::label || lines.references.size() == 1,
          "--metric {}: there are {}, but a text has one label", row.name,
          counted(lines.references.size(), "reference"));
  const EvaluatedText text = compared_parts(lines, row.content);
  MetricOptions options = settings.options;
  if (row.content == LineContent::label) {
    std::set<std::string> labels;
    for (const auto* texts : {&text.systems, &text.references})
      for (const auto& all : *texts) labels.insert(all.begin(), all.end());
    options.labels.assign(labels.begin(), labels.end());
  }
  const auto metric = row.create(options);
  Report report{row.report, signature_of(*metric, text.references.size(), settings.resampling()), {}};
  for (const auto& outputs : text.systems)
    report.systems.push_back(score_system(*metric, outputs, text.references, settings.resampling()));
  return report;
}

std::string text_lines(const Report& report, const EvaluateSettings& settings) {
  std::string text;
  for (size_t i = 0; i < report.systems.size(); ++i) {
    const SystemScore& system = report.systems[i];
    text += fmt::format("{}|{} = {:.{}f}", report.name, report.signature, system.score, settings.width);
    if (!system.samples.empty()) {
      const Confidence c = confidence(system.samples);
      text += fmt::format(" (μ = {:.{}f} ± {:.{}f})", c.mean, settings.width, c.half_width, settings.width);
    }
    if (!system.details.empty()) text += " " + system.details;
    if (!settings.other.empty()) text += "  " + text_name(i == 0 ? settings.hypothesis : settings.other);
    text += "\n";
  }
  if (report.systems.size() < 2) return text;
  const SystemDifference found = compare_systems(report.systems[0], report.systems[1]);
  return text +
         fmt::format("{} difference {:+.{}f}, p = {:.4f} (paired bootstrap, {} samples{})\n", report.name,
                     found.difference, settings.width, found.p_value, settings.bootstrap.samples,
                     found.same_samples ? "; both score the same in every sample, so p has no meaning" : "");
}

double rounded(double value, int width) { return std::stod(fmt::format("{:.{}f}", value, width)); }

/// The fields of sacreBLEU's JSON: those of the score, then those of the signature.
nlohmann::ordered_json json_object(const Report& report, size_t index, const EvaluateSettings& settings) {
  const SystemScore& system = report.systems[index];
  nlohmann::ordered_json object{
      {"name", report.name}, {"score", rounded(system.score, settings.width)}, {"signature", report.signature}};
  if (!system.details.empty()) object["verbose_score"] = system.details;
  if (!system.samples.empty()) {
    const Confidence c = confidence(system.samples);
    object["confidence_mean"] = rounded(c.mean, settings.width);
    object["confidence_var"] = rounded(c.half_width, settings.width);
    object["n_bootstrap"] = settings.bootstrap.samples;
  }
  if (!settings.other.empty()) object["system"] = text_name(index == 0 ? settings.hypothesis : settings.other);
  if (index == 1) object["p_value"] = rounded(compare_systems(report.systems[0], system).p_value, 4);
  for (const std::string& field : CLI::detail::split(report.signature, '|'))
    object[field.substr(0, field.find(':'))] = field.substr(field.find(':') + 1);
  return object;
}

/// How well the confidence of lines tells their chrF: the correlations, if they are defined, and the
/// calibration error.
struct ConfidenceReport {
  std::optional<double> own, of_log_probability;
  double calibration_error = 0;
  size_t lines = 0;

  ConfidenceReport(const RatedLines& rated, const References& references) {
    const LineRatings ratings = ratings_of(rated, references);
    own = correlation(ratings.confidence, ratings.chrf);
    of_log_probability = correlation(ratings.mean_log_probability, ratings.chrf);
    calibration_error = sixfold::calibration_error(reliability(ratings.confidence, ratings.chrf));
    lines = ratings.chrf.size();
  }
  std::string text() const {
    const auto shown = [](std::optional<double> r) { return r ? fmt::format("{:.3f}", *r) : "not defined"; };
    return fmt::format(
        "confidence: correlation with chrF of lines = {} (mean log-probability: {}), calibration error = "
        "{:.3f}, "
        "{}\n",
        shown(own), shown(of_log_probability), calibration_error, counted(lines, "line"));
  }
  nlohmann::ordered_json json() const {
    const auto number = [](std::optional<double> r) { return r ? nlohmann::ordered_json(*r) : nullptr; };
    return {{"name", "confidence"},
            {"correlation", number(own)},
            {"correlation_of_mean_log_probability", number(of_log_probability)},
            {"calibration_error", calibration_error},
            {"lines", lines}};
  }
};

void run(EvaluateSettings& settings) {
  const BleuOptions& bleu = settings.options.bleu;
  require(
      !bleu.smooth_value || bleu.smoothing == BleuSmoothing::floor || bleu.smoothing == BleuSmoothing::add_k,
      "--smooth-value applies only to --smooth floor and --smooth add-k, not to {}",
      name_of_enum(bleu.smoothing));
  const double smooth_value = bleu.smooth_value.value_or(0);
  require(std::isfinite(smooth_value) && smooth_value >= 0,
          "--smooth-value: expected a number at least 0, found {}", smooth_value);
  const bool one = settings.hypothesis == "-", other = settings.other == "-";
  require(std::ranges::count(settings.references, "-") + one + other <= 1,
          "--reference, --hypothesis (unless it is given) and --compare can't both be standard input");
  require(!settings.metrics.chosen.empty(), "--metric: name at least one metric");
  for (const std::string& name : settings.metrics.chosen)
    if (const MetricEntry* row = &metric_named(name); std::ranges::count(settings.rows, row) == 0)
      settings.rows.push_back(row);
  require(!settings.line_confidence || (settings.other.empty() && settings.compares_only(LineContent::text)),
          "--line-confidence is for translations of one system; leave out --compare, and metrics of labels and "
          "answers");
  const EvaluatedText text = read_texts(settings);
  std::vector<Report> reports;
  for (const MetricEntry* row : settings.rows) reports.push_back(evaluate(*row, settings, text));

  std::optional<ConfidenceReport> rated;
  if (text.rated) rated.emplace(*text.rated, text.references);
  TextOutput output("-");
  if (settings.format == ReportFormat::json) {
    auto objects = nlohmann::ordered_json::array();
    for (const Report& report : reports)
      for (size_t i = 0; i < report.systems.size(); ++i) objects.push_back(json_object(report, i, settings));
    if (rated) objects.push_back(rated->json());
    output.write((objects.size() == 1 ? objects[0] : objects).dump(1) + "\n");
  } else {
    for (const Report& report : reports) output.write(text_lines(report, settings));
    if (rated) output.write(rated->text());
  }
  output.close();
}

}  // namespace

void add_evaluate(CLI::App& app) {
  auto settings = std::make_shared<EvaluateSettings>();
  CLI::App& command = *app.add_subcommand("evaluate",
                                          "Compute BLEU and chrF of translations, as sacreBLEU does, the "
                                          "accuracy of labels, or the agreement of answers, as "
                                          "SQuAD's script does");
  command
      .add_option(
          "-r,--reference", settings->references,
          "file of reference translations; several files give several references for each line; for answers "
          "also JSON of SQuAD, with a JSON object of answers by id as hypothesis")
      ->type_name("FILE")
      ->required();
  command
      .add_option("--hypothesis", settings->hypothesis, "file of translations to score; - is standard input")
      ->type_name("FILE")
      ->capture_default_str();
  command
      .add_option("--compare", settings->other,
                  "file of translations by another system, to compare by paired bootstrap resampling")
      ->type_name("FILE");
  add_invalid_utf8_option(command, settings->invalid);
  command.add_flag("--confidence", settings->confidence,
                   "print the mean and 95 % confidence interval of each score, by bootstrap resampling");
  command.add_flag(
      "--line-confidence", settings->line_confidence,
      "the hypotheses are the output of 'sixfold translate --confidence --format jsonl': print how "
      "well the confidence of each line tells its chrF");
  add_value_option(command, "--samples", settings->bootstrap.samples, "number of bootstrap samples",
                   between(1, 1'000'000));
  add_value_option(command, "--seed", settings->bootstrap.seed, "random seed of the bootstrap");
  settings->metrics = {.chosen = {"bleu", "chrf"}, .names = {}};
  for (const MetricEntry& row : metric_table()) settings->metrics.names.emplace_back(row.name);
  const auto named = [](LineContent content) { return join(metric_names(metric_table(), content)); };
  add_value_option(
      command, "--metric", settings->metrics,
      fmt::format("{}, or several separated by commas; for labels, the beginnings of lines up to "
                  "a tab: {}; for answers, the ends of reference lines after a tab and the beginnings "
                  "of the others: {}; described below",
                  named(LineContent::text), named(LineContent::label), named(LineContent::answer)));
  add_value_option(command, "--tokenize", settings->options.bleu.tokenizer,
                   "tokenization of BLEU: 13a, intl, char or none");
  add_value_option(command, "--smooth", settings->options.bleu.smoothing,
                   "smoothing of BLEU if no n-gram of an order matches: exp, floor, add-k or none");
  command
      .add_option("--smooth-value", settings->options.bleu.smooth_value,
                  "constant of --smooth floor [0.1] and add-k [1]")
      ->type_name("NUMBER");
  command.add_flag("--lowercase", settings->options.lowercase, "ignore case");
  add_value_option(command, "--format", settings->format, "text or json");
  add_value_option(command, "--width", settings->width, "digits after the decimal point of a score",
                   between(0, 15))
      ->type_name("DIGITS");
  std::string described = "Metrics:\n";
  for (const MetricEntry& row : metric_table())
    described += fmt::format("  {:<19}{}\n", row.name, row.explanation);
  command.footer(
      described +
      "The signature of a score contains the version of this program instead of sacreBLEU's. Intervals and\n"
      "p-values equal those of sacreBLEU's paired bootstrap (sacrebleu --paired-bs) with the same seed.\n"
      "Example:\n  sixfold translate model --input test.en | sixfold evaluate --reference test.de");
  command.callback([settings] { run(*settings); });
}

}  // namespace cli
}  // namespace sixfold
