#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/log.h"
#include "base/plural.h"
#include "data/image_reader.h"
#include "data/lines.h"
#include "metrics/answers.h"
#include "metrics/bleu.h"
#include "metrics/bootstrap.h"
#include "metrics/chrf.h"
#include "metrics/classification.h"
#include "metrics/exact_match.h"
#include "program/commands.h"
#include "program/kit/label_files.h"
#include "program/kit/named_option.h"
#include "program/kit/text_io.h"
#include "program/squad_answers.h"
#include "text/utf8.h"

namespace sixfold {

namespace cli {
enum class MetricName {
  bleu,
  chrf,
  chrf_plus_plus,
  exact_match,
  accuracy,
  macro_f1,
  squad_exact_match,
  squad_f1
};
enum class ReportFormat { text, json };
}  // namespace cli

template <>
struct EnumNames<cli::MetricName> {
  static constexpr std::pair<cli::MetricName, std::string_view> names[] = {
      {cli::MetricName::bleu, "bleu"},
      {cli::MetricName::chrf, "chrf"},
      {cli::MetricName::chrf_plus_plus, "chrf++"},
      {cli::MetricName::exact_match, "exact_match"},
      {cli::MetricName::accuracy, "accuracy"},
      {cli::MetricName::macro_f1, "macro_f1"},
      {cli::MetricName::squad_exact_match, "squad_exact_match"},
      {cli::MetricName::squad_f1, "squad_f1"}};
};

template <>
struct EnumNames<cli::ReportFormat> {
  static constexpr std::pair<cli::ReportFormat, std::string_view> names[] = {{cli::ReportFormat::text, "text"},
                                                                             {cli::ReportFormat::json, "json"}};
};

namespace cli {
namespace {

constexpr std::string_view kVersion = "sixfold-" SIXFOLD_VERSION;

/// Whether a metric compares labels, not texts.
bool is_of_labels(MetricName name) { return name == MetricName::accuracy || name == MetricName::macro_f1; }

/// Whether a metric compares answers to questions, as SQuAD's script does.
bool is_of_answers(MetricName name) {
  return name == MetricName::squad_exact_match || name == MetricName::squad_f1;
}

struct EvaluateSettings {
  std::string hypothesis = "-", other;
  std::vector<std::string> references;
  InvalidUtf8 invalid = InvalidUtf8::error;
  std::vector<MetricName> metrics{MetricName::bleu, MetricName::chrf};
  BleuOptions bleu;
  bool lowercase = false, confidence = false;
  BootstrapOptions bootstrap;
  ReportFormat format = ReportFormat::text;
  int width = 1;

  bool resamples() const { return confidence || !other.empty(); }
};

/// Translations and their references. `references[k][i]` is the k-th reference of line i.
struct EvaluatedText {
  std::vector<std::vector<std::string>> systems;  // one system, or the two to compare
  std::vector<std::vector<std::string>> references;
};

/// The result of a metric for one system.
struct SystemScore {
  double score = 0;
  std::string details{};  // for BLEU
  std::vector<double> samples{};
};

struct Report {
  std::string name, signature;
  std::vector<SystemScore> systems;
};

/// Reads a text as sacreBLEU does: a byte order mark is a character of the first line and lowers its score.
std::vector<std::string> read_text(const std::string& path, const EvaluateSettings& settings) {
  const bool compares_text =
      std::ranges::any_of(settings.metrics, [](MetricName name) { return !is_of_labels(name); });
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
  for (const MetricName metric : settings.metrics)
    require(is_of_answers(metric),
            "--metric {}: can't compare answers in JSON; choose squad_exact_match or squad_f1",
            name_of_enum(metric));
  require(settings.references.size() == 1, "--reference: there are {} files, but one JSON file has all answers",
          settings.references.size());
  const SquadAnswers answers = read_squad_answers(settings.references[0], settings.invalid);
  EvaluatedText text{.systems = {}, .references = answers.references};
  for (const std::string& path : hypotheses) text.systems.push_back(read_predictions(path, answers));
  return text;
}

/// Throws an input error that names the line if a metric compares labels, or answers, and a reference has none.
/// A hypothesis may be blank: it is wrong.
void require_references(const std::vector<std::string>& lines, const std::string& path, MetricName metric) {
  const bool labels = is_of_labels(metric);
  if (!labels && !is_of_answers(metric)) return;
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = lines[i];
    require(has_visible_character(labels ? line.substr(0, line.find('\t')) : line.substr(line.rfind('\t') + 1)),
            "{}:{}: has no {} to compare with; remove the line here and in the other files, or complete it",
            text_name(path), i + 1, labels ? "label" : "answer");
  }
}

EvaluatedText read_texts(const EvaluateSettings& settings) {
  std::vector<std::string> paths{settings.hypothesis};
  if (!settings.other.empty()) paths.push_back(settings.other);
  if (std::ranges::any_of(settings.metrics, is_of_answers) &&
      std::ranges::any_of(settings.references, is_squad_file))
    return read_squad_texts(settings, paths);
  EvaluatedText text;
  for (const std::string& path : settings.references) {
    text.references.push_back(read_text(path, settings));
    for (const MetricName metric : settings.metrics) require_references(text.references.back(), path, metric);
  }
  for (const std::string& path : paths) {
    const auto& lines = text.systems.emplace_back(read_text(path, settings));
    if (std::ranges::all_of(settings.metrics, is_of_labels))
      for (const std::string& reference : settings.references)
        refuse_names_beside_numbers(lines, path, reference);
    for (size_t k = 0; k < text.references.size(); ++k)
      require(text.references[k].size() == lines.size(),
              "{} has {} and {} has {}; line n of both must belong to the same text", text_name(path),
              counted(lines.size(), "line"), text_name(settings.references[k]), text.references[k].size());
  }
  return text;
}

/// The statistics of each sentence. Those of a corpus are their sum.
template <class Metric>
auto sentence_statistics(const Metric& metric, const EvaluatedText& text, size_t system) {
  std::vector<decltype(metric.statistics({}, {}))> all;
  std::vector<std::string> references(text.references.size());
  for (size_t i = 0; i < text.systems[system].size(); ++i) {
    for (size_t k = 0; k < references.size(); ++k) references[k] = text.references[k][i];
    all.push_back(metric.statistics(text.systems[system][i], references));
  }
  return all;
}

/// The scores of all systems by one metric. `score` computes a score and its details from statistics.
template <class Metric, class Score>
std::vector<SystemScore> scores_of(const Metric& metric, const EvaluateSettings& settings,
                                   const EvaluatedText& text, const Score& score) {
  std::vector<SystemScore> scores;
  for (size_t system = 0; system < text.systems.size(); ++system) {
    const auto statistics = sentence_statistics(metric, text, system);
    auto sum = statistics[0];
    for (size_t i = 1; i < statistics.size(); ++i) sum += statistics[i];
    scores.push_back(score(sum));
    if (!settings.resamples()) continue;
    scores.back().samples =
        bootstrap(std::ssize(statistics), settings.bootstrap, [&](std::span<const uint32_t> drawn) {
          decltype(sum) sample;
          for (const uint32_t sentence : drawn) sample += statistics[sentence];
          return score(sample).score;
        });
  }
  return scores;
}

/// The signature of a metric. With resampling, its options follow the references, as in sacreBLEU.
std::string with_resampling(const std::string& signature, const EvaluateSettings& settings) {
  if (!settings.resamples()) return signature;
  const size_t references = signature.find('|');
  return fmt::format("{}|bs:{}|seed:{}{}", signature.substr(0, references), settings.bootstrap.samples,
                     settings.bootstrap.seed, signature.substr(references));
}

Report evaluate(MetricName name, const EvaluateSettings& settings, const EvaluatedText& text) {
  const size_t references = text.references.size();
  if (name == MetricName::bleu) {
    BleuOptions options = settings.bleu;
    options.lowercase = settings.lowercase;
    const Bleu bleu(options);
    return {"BLEU", with_resampling(bleu.signature(references, kVersion), settings),
            scores_of(bleu, settings, text, [&](const auto& sum) {
              const BleuScore score = bleu.score(sum);
              return SystemScore{score.score, score.details()};
            })};
  }
  if (is_of_labels(name)) {
    require(!settings.lowercase, "--lowercase: labels are compared as they are; leave it out with --metric {}",
            name_of_enum(name));
    require(references == 1, "--metric {}: there are {}, but a text has one label", name_of_enum(name),
            counted(references, "reference"));
    const std::string signature = fmt::format("nrefs:1|version:{}", kVersion);
    return {std::string(name_of_enum(name)), with_resampling(signature, settings),
            scores_of(LabelMetric(), settings, text, [&](const LabelPairs& sum) {
              const ClassCounts counts = sum.classes();
              return SystemScore{100 * (name == MetricName::accuracy ? counts.accuracy() : counts.macro_f1())};
            })};
  }
  if (is_of_answers(name)) {
    require(!settings.lowercase, "--lowercase: case never counts in answers; leave it out with --metric {}",
            name_of_enum(name));
    const std::string signature = fmt::format("nrefs:{}|version:{}", references, kVersion);
    return {std::string(name_of_enum(name)), with_resampling(signature, settings),
            scores_of(AnswerLineMetric(), settings, text, [&](const AnswerStatistics& sum) {
              return SystemScore{100 * (name == MetricName::squad_f1 ? sum.mean_f1() : sum.exact_match())};
            })};
  }
  if (name == MetricName::exact_match) {
    require(!settings.lowercase, "--lowercase: --metric exact_match compares lines as they are; leave it out");
    const std::string signature = fmt::format("nrefs:{}|version:{}", references, kVersion);
    return {std::string(name_of_enum(name)), with_resampling(signature, settings),
            scores_of(ExactMatch(), settings, text,
                      [](const ExactMatches& sum) { return SystemScore{sum.percent()}; })};
  }
  const Chrf chrf({.word_order = name == MetricName::chrf ? 0 : 2, .lowercase = settings.lowercase});
  return {chrf.name(), with_resampling(chrf.signature(references, kVersion), settings),
          scores_of(chrf, settings, text, [&](const auto& sum) { return SystemScore{chrf.score(sum)}; })};
}

double p_value(const Report& report) {
  const auto& [first, second] = std::tie(report.systems[0], report.systems[1]);
  return paired_p_value(first.samples, second.samples, second.score - first.score);
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
  if (report.systems.size() == 2)
    text += fmt::format("{} difference {:+.{}f}, p = {:.4f} (paired bootstrap, {} samples{})\n", report.name,
                        report.systems[1].score - report.systems[0].score, settings.width, p_value(report),
                        settings.bootstrap.samples,
                        report.systems[0].samples == report.systems[1].samples
                            ? "; both score the same in every sample, so p has no meaning"
                            : "");
  return text;
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
  if (index == 1) object["p_value"] = rounded(p_value(report), 4);
  for (const std::string& field : CLI::detail::split(report.signature, '|'))
    object[field.substr(0, field.find(':'))] = field.substr(field.find(':') + 1);
  return object;
}

void run(const EvaluateSettings& settings) {
  require(!settings.bleu.smooth_value || settings.bleu.smoothing == BleuSmoothing::floor ||
              settings.bleu.smoothing == BleuSmoothing::add_k,
          "--smooth-value applies only to --smooth floor and --smooth add-k, not to {}",
          name_of_enum(settings.bleu.smoothing));
  const double smooth_value = settings.bleu.smooth_value.value_or(0);
  require(std::isfinite(smooth_value) && smooth_value >= 0,
          "--smooth-value: expected a number at least 0, found {}", smooth_value);
  const bool one = settings.hypothesis == "-", other = settings.other == "-";
  require(std::ranges::count(settings.references, "-") + one + other <= 1,
          "--reference, --hypothesis (unless it is given) and --compare can't both be standard input");
  require(!settings.metrics.empty(), "--metric: name at least one metric");
  const EvaluatedText text = read_texts(settings);
  std::vector<Report> reports;
  for (auto name = settings.metrics.begin(); name != settings.metrics.end(); ++name)
    if (std::find(settings.metrics.begin(), name, *name) == name)  // each once
      reports.push_back(evaluate(*name, settings, text));

  TextOutput output("-");
  if (settings.format == ReportFormat::json) {
    auto objects = nlohmann::ordered_json::array();
    for (const Report& report : reports)
      for (size_t i = 0; i < report.systems.size(); ++i) objects.push_back(json_object(report, i, settings));
    output.write((objects.size() == 1 ? objects[0] : objects).dump(1) + "\n");
  } else {
    for (const Report& report : reports) output.write(text_lines(report, settings));
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
  command.add_option("--samples", settings->bootstrap.samples, "number of bootstrap samples")
      ->check(CLI::Range(1, 1'000'000))
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--seed", settings->bootstrap.seed, "random seed of the bootstrap")
      ->check(number_in<uint64_t>(Range()))
      ->type_name("N")
      ->capture_default_str();
  add_named_option(
      command, "--metric", settings->metrics,
      "bleu, chrf (chrF2), chrf++, exact_match (percent of lines that equal a reference), or several "
      "separated by commas [bleu,chrf]; for labels, the beginnings of lines up to a tab: accuracy, "
      "macro_f1; for answers, the ends of reference lines after a tab and the beginnings of the others: "
      "squad_exact_match, squad_f1");
  add_named_option(command, "--tokenize", settings->bleu.tokenizer,
                   "tokenization of BLEU: 13a, intl, char or none [13a]");
  add_named_option(command, "--smooth", settings->bleu.smoothing,
                   "smoothing of BLEU if no n-gram of an order matches: exp, floor, add-k or none [exp]");
  command
      .add_option("--smooth-value", settings->bleu.smooth_value,
                  "constant of --smooth floor [0.1] and add-k [1]")
      ->type_name("NUMBER");
  command.add_flag("--lowercase", settings->lowercase, "ignore case");
  add_named_option(command, "--format", settings->format, "text or json [text]");
  command.add_option("--width", settings->width, "digits after the decimal point of a score")
      ->check(CLI::Range(0, 15))
      ->type_name("DIGITS")
      ->capture_default_str();
  command.footer(
      "The signature of a score contains the version of this program instead of sacreBLEU's. Intervals and\n"
      "p-values equal those of sacreBLEU's paired bootstrap (sacrebleu --paired-bs) with the same seed.\n"
      "Example:\n  sixfold translate model --input test.en | sixfold evaluate --reference test.de");
  command.callback([settings] { run(*settings); });
}

}  // namespace cli
}  // namespace sixfold
