#include "program/rated_lines.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "metrics/chrf.h"
#include "program/kit/text_io.h"

namespace sixfold::cli {
namespace {

/// The number of a field, or NaN for null. Throws an input error if the field is something else.
double number_or_null(const nlohmann::json& translation, const char* key, const std::string& where) {
  const nlohmann::json& value = JsonObject(translation, where).at(key);
  if (value.is_null()) return std::numeric_limits<double>::quiet_NaN();
  double number = 0;
  JsonObject(translation, where).read(key, number);
  return number;
}

void add_line(const std::string& line, const std::string& where, RatedLines& rated) {
  const nlohmann::json object = parse_json(line, where);
  const nlohmann::json& all = JsonObject(object, where).at("translations");
  require(all.is_array() && !all.empty(), "{}: translations: expected a list of translations", where);
  JsonObject(all[0], where).read("text", rated.texts.emplace_back());
  require(all[0].contains("confidence"),
          "{}: has no confidence; translate the text with --confidence and --format jsonl", where);
  const double confidence = rated.confidence.emplace_back(number_or_null(all[0], "confidence", where));
  require(!(confidence < 0 || confidence > 1), "{}: confidence: expected a number from 0 to 1, found {}", where,
          confidence);
  rated.mean_log_probability.push_back(number_or_null(all[0], "mean_log_probability", where));
}

}  // namespace

RatedLines read_rated_lines(const std::string& path) {
  LineReader reader(readable_path(path));
  RatedLines rated;
  for (std::string line; reader.next(line);)
    add_line(line, fmt::format("{}:{}", text_name(path), reader.line_number()), rated);
  require(!rated.texts.empty(), "{}: is empty; expected a line of JSON for each sentence", text_name(path));
  require(std::ranges::any_of(rated.confidence, [](double one) { return std::isfinite(one); }),
          "{}: no line has a confidence", text_name(path));
  return rated;
}

LineRatings ratings_of(const RatedLines& lines, const References& references) {
  const Chrf chrf;
  LineRatings ratings;
  std::vector<std::string> of_line(references.size());
  for (size_t i = 0; i < lines.texts.size(); ++i) {
    if (!std::isfinite(lines.confidence[i]) || !std::isfinite(lines.mean_log_probability[i])) continue;
    for (size_t k = 0; k < references.size(); ++k) of_line[k] = references[k][i];
    ratings.confidence.push_back(lines.confidence[i]);
    ratings.mean_log_probability.push_back(lines.mean_log_probability[i]);
    ratings.chrf.push_back(score_of_output(chrf, lines.texts[i], of_line) / 100);
  }
  return ratings;
}

}  // namespace sixfold::cli
