#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/named_option.h"
#include "cli/text_io.h"
#include "data/lines.h"
#include "metrics/bleu.h"
#include "metrics/chrf.h"

namespace sixfold {

namespace cli {
enum class MetricName { bleu, chrf, chrf_plus_plus };
enum class ReportFormat { text, json };
}  // namespace cli

template <>
struct EnumNames<cli::MetricName> {
  static constexpr std::pair<cli::MetricName, std::string_view> names[] = {
      {cli::MetricName::bleu, "bleu"},
      {cli::MetricName::chrf, "chrf"},
      {cli::MetricName::chrf_plus_plus, "chrf++"}};
};

template <>
struct EnumNames<cli::ReportFormat> {
  static constexpr std::pair<cli::ReportFormat, std::string_view> names[] = {{cli::ReportFormat::text, "text"},
                                                                             {cli::ReportFormat::json, "json"}};
};

namespace cli {
namespace {

constexpr std::string_view kVersion = "sixfold-" SIXFOLD_VERSION;

struct Settings {
  std::string hypothesis = "-";
  std::vector<std::string> references;
  std::vector<MetricName> metrics{MetricName::bleu, MetricName::chrf};
  BleuOptions bleu;
  bool lowercase = false;
  ReportFormat format = ReportFormat::text;
  int width = 1;
};

/// A translation and its references: `references[k][i]` is the k-th reference of line i.
struct EvaluatedText {
  std::vector<std::string> hypotheses;
  std::vector<std::vector<std::string>> references;
};

struct Report {
  std::string name, signature;
  double score = 0;
  std::string details;  // of BLEU
};

std::vector<std::string> read_text(const std::string& path) {
  std::vector<std::string> lines = read_lines(readable_path(path));
  require(!lines.empty(), "{}: is empty; there should be a sentence on each line", readable_path(path));
  return lines;
}

EvaluatedText read_texts(const Settings& settings) {
  EvaluatedText text;
  for (const std::string& path : settings.references) text.references.push_back(read_text(path));
  text.hypotheses = read_text(settings.hypothesis);
  for (size_t k = 0; k < text.references.size(); ++k)
    require(text.references[k].size() == text.hypotheses.size(),
            "{} has {} lines and {} has {}: line n of both should translate the same sentence",
            readable_path(settings.hypothesis), text.hypotheses.size(), settings.references[k],
            text.references[k].size());
  return text;
}

template <class Metric>
auto corpus_statistics(const Metric& metric, const EvaluatedText& text) {
  decltype(metric.statistics({}, {})) sum;
  std::vector<std::string> references(text.references.size());
  for (size_t i = 0; i < text.hypotheses.size(); ++i) {
    for (size_t k = 0; k < references.size(); ++k) references[k] = text.references[k][i];
    sum += metric.statistics(text.hypotheses[i], references);
  }
  return sum;
}

Report evaluate(MetricName name, const Settings& settings, const EvaluatedText& text) {
  const size_t references = text.references.size();
  if (name == MetricName::bleu) {
    BleuOptions options = settings.bleu;
    options.lowercase = settings.lowercase;
    const Bleu bleu(options);
    const BleuScore score = bleu.score(corpus_statistics(bleu, text));
    return {"BLEU", bleu.signature(references, kVersion), score.score, score.details()};
  }
  const Chrf chrf({.word_order = name == MetricName::chrf ? 0 : 2, .lowercase = settings.lowercase});
  return {chrf.name(), chrf.signature(references, kVersion), chrf.score(corpus_statistics(chrf, text)), ""};
}

std::string text_line(const Report& report, int width) {
  return fmt::format("{}|{} = {:.{}f}{}{}\n", report.name, report.signature, report.score, width,
                     report.details.empty() ? "" : " ", report.details);
}

/// sacreBLEU's fields: those of the score, then those of the signature.
nlohmann::ordered_json json_object(const Report& report, int width) {
  nlohmann::ordered_json object{{"name", report.name},
                                {"score", std::stod(fmt::format("{:.{}f}", report.score, width))},
                                {"signature", report.signature}};
  if (!report.details.empty()) object["verbose_score"] = report.details;
  for (const std::string& field : CLI::detail::split(report.signature, '|'))
    object[field.substr(0, field.find(':'))] = field.substr(field.find(':') + 1);
  return object;
}

void run(const Settings& settings) {
  require(!settings.bleu.smooth_value || settings.bleu.smoothing == BleuSmoothing::floor ||
              settings.bleu.smoothing == BleuSmoothing::add_k,
          "--smooth-value belongs to --smooth floor and --smooth add-k; {} takes none",
          name_of_enum(settings.bleu.smoothing));
  const double smooth_value = settings.bleu.smooth_value.value_or(0);
  require(std::isfinite(smooth_value) && smooth_value >= 0,
          "--smooth-value: expected a number from 0 on, found {}", smooth_value);
  const EvaluatedText text = read_texts(settings);
  std::vector<Report> reports;
  for (const MetricName name : settings.metrics) reports.push_back(evaluate(name, settings, text));

  TextOutput output("-");
  if (settings.format == ReportFormat::json) {
    auto objects = nlohmann::ordered_json::array();
    for (const Report& report : reports) objects.push_back(json_object(report, settings.width));
    output.write((objects.size() == 1 ? objects[0] : objects).dump(1) + "\n");
  } else {
    for (const Report& report : reports) output.write(text_line(report, settings.width));
  }
  output.close();
}

}  // namespace

void add_evaluate(CLI::App& app) {
  auto settings = std::make_shared<Settings>();
  CLI::App& command = *app.add_subcommand("evaluate", "Score translations by BLEU and chrF, as sacreBLEU does");
  command
      .add_option("-r,--reference", settings->references,
                  "file of reference translations; more than one can be given")
      ->type_name("FILE")
      ->required()
      ->allow_extra_args(false);
  command
      .add_option("--hypothesis", settings->hypothesis, "file of translations to score; - is standard input")
      ->type_name("FILE")
      ->capture_default_str();
  add_named_option(command, "--metric", settings->metrics,
                   "bleu, chrf (chrF2), chrf++, or several with commas [bleu,chrf]");
  add_named_option(command, "--tokenize", settings->bleu.tokenizer,
                   "BLEU's words: 13a, intl, char or none [13a]");
  add_named_option(command, "--smooth", settings->bleu.smoothing,
                   "where BLEU finds no match of an order: exp, floor, add-k or none [exp]");
  command
      .add_option("--smooth-value", settings->bleu.smooth_value, "the constant of floor [0.1] and add-k [1]")
      ->type_name("NUMBER");
  command.add_flag("--lowercase", settings->lowercase, "upper and lower case are the same");
  add_named_option(command, "--format", settings->format, "text or json [text]");
  command.add_option("--width", settings->width, "digits after the decimal point of a score")
      ->check(CLI::Range(0, 15))
      ->type_name("DIGITS")
      ->capture_default_str();
  command.footer(
      "The score's signature names this program's version where sacreBLEU names its own.\n"
      "Example:\n  sixfold translate model --input test.en | sixfold evaluate --reference test.de");
  command.callback([settings] { run(*settings); });
}

}  // namespace cli
}  // namespace sixfold
