#include "program/evaluation_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/plural.h"
#include "metrics/calibration.h"
#include "program/kit/text_io.h"

namespace sixfold::cli {
namespace {

double rounded(double value, int width) { return std::stod(fmt::format("{:.{}f}", value, width)); }

/// The p-values of the further systems, adjusted for their number.
std::vector<std::optional<double>> adjusted_p_values(const EvaluationReport& report) {
  std::vector<std::optional<double>> p_values;
  for (const SystemDifference& difference : report.differences) p_values.push_back(difference.p_value);
  return holm_adjusted(p_values);
}

bool is_significant(const std::optional<double>& adjusted) {
  return adjusted && *adjusted < significance_level;
}

std::string line(const EvaluationReport& report, const SystemScore& system, const EvaluationForm& form) {
  std::string text = form.score_only ? "" : fmt::format("{}|{} = ", report.name, report.signature);
  text += fmt::format("{:.{}f}", system.score, form.width);
  if (!system.samples.empty()) {
    const Confidence c = confidence(system.samples);
    text += fmt::format(" (μ = {:.{}f} ± {:.{}f})", c.mean, form.width, c.half_width, form.width);
  }
  if (!system.details.empty() && !form.score_only) text += " " + system.details;
  return text + "\n";
}

/// "31.2 (31.1 ± 0.6)", and with several runs "31.2 ± 0.3 (31.1 ± 0.6)".
std::string score_cell(const std::vector<SystemScore>& runs, const EvaluationForm& form) {
  const std::vector<double> scores = scores_of(runs);
  std::string text = fmt::format("{:.{}f}", mean_of(scores), form.width);
  if (const auto deviation = deviation_of(scores)) text += fmt::format(" ± {:.{}f}", *deviation, form.width);
  if (!form.resampling) return text;
  const Confidence c = confidence(mean_samples(runs));
  return text + fmt::format(" ({:.{}f} ± {:.{}f})", c.mean, form.width, c.half_width, form.width);
}

std::string table(const std::vector<EvaluationReport>& reports, const EvaluationForm& form) {
  const size_t count = form.systems.size();
  std::string head = "| system |", rule = "|---|";
  std::vector<std::string> rows;
  for (const std::string& system : form.systems) rows.push_back(fmt::format("| {} |", markdown_cell(system)));
  for (const EvaluationReport& report : reports) {
    head += fmt::format(" {} |", report.name) + (count > 1 ? " p |" : "");
    rule += count > 1 ? "---:|---:|" : "---:|";
    const auto adjusted = adjusted_p_values(report);
    for (size_t i = 0; i < count; ++i) {
      rows[i] += fmt::format(" {} |", score_cell(report.systems[i], form));
      if (count == 1) continue;
      const auto p = i > 0 ? report.differences[i - 1].p_value : std::nullopt;
      rows[i] += p ? fmt::format(" {:.4f}{} |", *p, is_significant(adjusted[i - 1]) ? " *" : "") : "  |";
    }
  }
  std::string text = head + "\n" + rule + "\n";
  for (const std::string& row : rows) text += row + "\n";
  return text;
}

std::string explanation(const std::vector<EvaluationReport>& reports, const EvaluationForm& form) {
  const auto& systems = reports[0].systems;
  const bool several = std::ranges::any_of(systems, [](const auto& runs) { return runs.size() > 1; });
  std::string text = "\n";
  if (several) text += "±: standard deviation of the runs of a system.\n";
  if (form.resampling)
    text += fmt::format("In parentheses: the mean of {} bootstrap samples, and half of the 95 % interval.\n",
                        form.resampling->samples);
  if (form.systems.size() > 1) {
    text += fmt::format("p: of the difference from {}, by approximate randomization of {} ({} trials)",
                        form.systems[0], counted(systems[0][0].statistics.size(), "line"),
                        form.randomization.trials);
    if (several)
      text +=
          fmt::format(" and by Welch's t-test of the runs, of which each system needs {}; the larger p counts",
                      min_compared_runs);
    text += fmt::format(".\n*: p < {}, adjusted by Holm's method for {} in each column.\n", significance_level,
                        counted(form.systems.size() - 1, "comparison"));
  }
  for (const EvaluationReport& report : reports) text += fmt::format("{}|{}\n", report.name, report.signature);
  return text;
}

/// Adds the fields of a signature.
void add_signature(nlohmann::ordered_json& object, const std::string& signature) {
  for (size_t begin = 0; begin < signature.size();) {
    const size_t end = std::min(signature.find('|', begin), signature.size());
    const std::string field = signature.substr(begin, end - begin);
    object[field.substr(0, field.find(':'))] = field.substr(field.find(':') + 1);
    begin = end + 1;
  }
}

/// The fields of sacreBLEU's JSON: those of the score, then those of the signature.
nlohmann::ordered_json json_object(const EvaluationReport& report, size_t index, const EvaluationForm& form) {
  const std::vector<SystemScore>& runs = report.systems[index];
  const std::vector<double> scores = scores_of(runs);
  nlohmann::ordered_json object{
      {"name", report.name}, {"score", rounded(mean_of(scores), form.width)}, {"signature", report.signature}};
  if (const auto deviation = deviation_of(scores)) {
    object["standard_deviation"] = rounded(*deviation, form.width);
    for (const double score : scores) object["runs"].push_back(rounded(score, form.width));
  } else if (!runs[0].details.empty()) {
    object["verbose_score"] = runs[0].details;
  }
  if (form.resampling) {
    const Confidence c = confidence(mean_samples(runs));
    object["confidence_mean"] = rounded(c.mean, form.width);
    object["confidence_var"] = rounded(c.half_width, form.width);
    object["n_bootstrap"] = form.resampling->samples;
  }
  if (form.systems.size() > 1) object["system"] = form.systems[index];
  if (index > 0) {
    const SystemDifference& difference = report.differences[index - 1];
    object["difference"] = rounded(difference.difference, form.width);
    object["bootstrap_p_value"] = rounded(difference.bootstrap_p, 4);
    object["n_trials"] = form.randomization.trials;
    if (difference.p_value) {
      const auto adjusted = adjusted_p_values(report)[index - 1];
      object["p_value"] = rounded(*difference.p_value, 4);
      object["adjusted_p_value"] = rounded(*adjusted, 4);
      object["significant"] = is_significant(adjusted);
    }
  }
  add_signature(object, report.signature);
  return object;
}

/// An object on a line for each line of text.
std::string json_lines(const EvaluationReport& report, const EvaluationForm& form) {
  std::string text;
  for (const SystemScore& line : report.lines) {
    nlohmann::ordered_json object{
        {"name", report.name}, {"score", rounded(line.score, form.width)}, {"signature", report.signature}};
    if (!line.details.empty()) object["verbose_score"] = line.details;
    add_signature(object, report.signature);
    text += object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  }
  return text;
}

std::string text_of(const ConfidenceReport& report) {
  const auto shown = [](std::optional<double> r) { return r ? fmt::format("{:.3f}", *r) : "not defined"; };
  return fmt::format(
      "confidence: correlation with chrF of lines = {} (mean log-probability: {}), calibration error = {:.3f}, "
      "{}\n",
      shown(report.correlation), shown(report.log_probability_correlation), report.calibration_error,
      counted(report.lines, "line"));
}

nlohmann::ordered_json json_of(const ConfidenceReport& report) {
  const auto number = [](std::optional<double> r) { return r ? nlohmann::ordered_json(*r) : nullptr; };
  return {{"name", "confidence"},
          {"correlation", number(report.correlation)},
          {"correlation_of_mean_log_probability", number(report.log_probability_correlation)},
          {"calibration_error", report.calibration_error},
          {"lines", report.lines}};
}

}  // namespace

ConfidenceReport confidence_report(const RatedLines& rated, const References& references) {
  const LineRatings ratings = ratings_of(rated, references);
  return {.correlation = correlation(ratings.confidence, ratings.chrf),
          .log_probability_correlation = correlation(ratings.mean_log_probability, ratings.chrf),
          .calibration_error = calibration_error(reliability(ratings.confidence, ratings.chrf)),
          .lines = ratings.chrf.size()};
}

std::string evaluation_text(const std::vector<EvaluationReport>& reports, const EvaluationForm& form,
                            const std::optional<ConfidenceReport>& rated) {
  std::string text;
  for (const SystemScore& score : reports[0].lines) text += line(reports[0], score, form);
  if (!text.empty()) return text;
  if (form.systems.size() > 1 || reports[0].systems[0].size() > 1)
    return table(reports, form) + explanation(reports, form);
  for (const EvaluationReport& report : reports) text += line(report, report.systems[0][0], form);
  return rated ? text + text_of(*rated) : text;
}

std::string evaluation_json(const std::vector<EvaluationReport>& reports, const EvaluationForm& form,
                            const std::optional<ConfidenceReport>& rated) {
  if (!reports[0].lines.empty()) return json_lines(reports[0], form);
  auto objects = nlohmann::ordered_json::array();
  for (const EvaluationReport& report : reports)
    for (size_t i = 0; i < report.systems.size(); ++i) objects.push_back(json_object(report, i, form));
  if (rated) objects.push_back(json_of(*rated));
  return (objects.size() == 1 ? objects[0] : objects)
             .dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
         "\n";
}

}  // namespace sixfold::cli
