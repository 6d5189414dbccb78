#include "tasks/translation/commands/translation_writer.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "program/kit/value_option.h"
#include "tasks/translation/confidence.h"
#include "tasks/translation/n_best.h"
#include "text/utf8.h"
#include "text/word_links.h"

namespace sixfold::cli {
namespace {

using nlohmann::ordered_json;

std::string dump(const ordered_json& object) {
  return object.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

/// Text for a column of TSV, with tabs replaced by spaces.
std::string column(std::string text) {
  std::replace(text.begin(), text.end(), '\t', ' ');
  return text;
}

/// A line of an n-best list.
std::string n_best_line(size_t index, const Translation& translation, const ExtraOutputs& details) {
  return to_text(
      {.index = index,
       .text = translation.text,
       .features = fmt::format("logprob= {:.6f}", translation.log_probability),
       .score = translation.score,
       .extra_fields = details.alignment ? std::optional(to_pharaoh(translation.alignment)) : std::nullopt});
}

/// The optional columns of a line of TSV.
std::string detail_columns(const Translation& translation, const ExtraOutputs& details) {
  std::string text;
  if (details.tokens) {
    text += '\t';
    for (size_t i = 0; i < translation.tokens.size(); ++i)
      text += fmt::format("{}{}:{:.4f}", i == 0 ? "" : " ", column(translation.tokens[i].text),
                          translation.tokens[i].log_probability);
  }
  if (details.alignment) text += "\t" + to_pharaoh(translation.alignment);
  if (details.confidence)
    text += translation.confidence ? fmt::format("\t{:.4f}", translation.confidence->value) : "\t";
  return text;
}

/// Attention weights as [heads][target][source], rounded to four decimal places.
ordered_json json_of(const SentenceAttention& attention) {
  ordered_json heads = ordered_json::array();
  auto weight = attention.weights.begin();
  for (int head = 0; head < attention.heads; ++head) {
    ordered_json rows = ordered_json::array();
    for (size_t t = 0; t < attention.target.size(); ++t) {
      ordered_json row = ordered_json::array();
      for (size_t s = 0; s < attention.source.size(); ++s)
        row.push_back(std::round(static_cast<double>(*weight++) * 1e4) / 1e4);
      rows.push_back(std::move(row));
    }
    heads.push_back(std::move(rows));
  }
  return {{"layer", attention.layer},
          {"source", attention.source},
          {"target", attention.target},
          {"heads", std::move(heads)}};
}

ordered_json json_of(const Translation& translation, const ExtraOutputs& details) {
  ordered_json object{{"text", translation.text},
                      {"score", translation.score},
                      {"log_probability", translation.log_probability}};
  if (details.tokens) {
    object["tokens"] = ordered_json::array();
    for (const TranslatedToken& token : translation.tokens)
      object["tokens"].push_back({{"piece", token.text}, {"log_probability", token.log_probability}});
  }
  if (details.alignment) object["alignment"] = to_pharaoh(translation.alignment);
  if (translation.attention) object["attention"] = json_of(*translation.attention);
  if (details.confidence)
    for (const auto& [name, value] : confidence_fields(translation.confidence))
      object[name] = value ? ordered_json(*value) : nullptr;
  if (!translation.unmet.empty()) object["unmet"] = translation.unmet;
  const TranslationFaults& faults = translation.faults;
  for (const auto& [name, has] :
       {std::pair("loops", faults.loops), {"copies", faults.copies}, {"too_long", faults.too_long}})
    if (has) object[name] = true;
  return object;
}

/// One object, as a line or as an element of an array.
std::string object_text(OutputFormat format, bool first, const ordered_json& object) {
  if (format == OutputFormat::jsonl) return dump(object) + "\n";
  return (first ? "[\n" : ",\n") + dump(object);
}

std::string end_of_objects(OutputFormat format, bool empty) {
  if (format != OutputFormat::json) return "";
  return empty ? "[]\n" : "\n]\n";
}

std::string line_of(std::string text) { return one_line(std::move(text)) + '\n'; }

}  // namespace

void add_writer_options(CLI::App& command, WriterOptions& options) {
  add_value_option(command, "--format", options.format, "text, tsv, json, jsonl or moses (n-best lists)");
  add_field_options(command, OptionVisitor::AnyOptions(options.details),
                    {.except = {"all_attention", "search"},
                     .flags = {{"tokens", "--token-scores"}, {"alignment", "--alignments"}},
                     .switches = true});
}

void add_scoring_options(CLI::App& command, TranslateOptions& options) {
  add_field_options(command, OptionVisitor::AnyOptions(options),
                    {.only = {"batch_tokens", "max_source_length", "source_language", "target_language"},
                     .flags = language_flags});
  for (const char* name : {"--source-language", "--target-language"})
    command.get_option(name)->type_name("CODE");
}

void check(const WriterOptions& options) {
  const bool json = options.format == OutputFormat::json || options.format == OutputFormat::jsonl;
  const bool text_only = options.format == OutputFormat::text || options.format == OutputFormat::moses;
  const std::string_view format = options.format == OutputFormat::text ? "text" : "moses";
  require(!options.details.tokens || !text_only,
          "--token-scores: --format {} can't contain them; choose --format tsv, json or jsonl", format);
  require(!options.details.confidence || !text_only,
          "--confidence: --format {} can't contain it; choose --format tsv, json or jsonl", format);
  require(!options.details.attention || json,
          "--attention: only --format json and jsonl can contain attention weights; choose one of them");
}

std::string TranslationWriter::line(const TranslatedLine& line) {
  const bool first = !std::exchange(begun_, true);
  std::string text;
  const auto& translations = line.translations;
  const ExtraOutputs& details = options_.details;
  switch (options_.format) {
    case OutputFormat::text:
      for (size_t i = 0; i < n_best_; ++i) {
        const bool found = i < translations.size();
        const std::string alignment =
            found && details.alignment ? " ||| " + to_pharaoh(translations[i].alignment) : "";
        text += line_of(found ? translations[i].text + alignment : "");
      }
      break;
    case OutputFormat::tsv:
      for (size_t i = 0; i < translations.size(); ++i)
        text += line_of(fmt::format("{}\t{}\t{:.6f}\t{}{}", lines_before_ + line.index + 1, i + 1,
                                    translations[i].score, column(translations[i].text),
                                    detail_columns(translations[i], details)));
      break;
    case OutputFormat::moses:
      for (const Translation& one : translations)
        text += line_of(n_best_line(lines_before_ + line.index, one, details));
      break;
    case OutputFormat::json:
    case OutputFormat::jsonl: {
      ordered_json object{{"line", lines_before_ + line.index + 1}, {"source", line.source}};
      object["translations"] = ordered_json::array();
      for (const Translation& translation : translations)
        object["translations"].push_back(json_of(translation, details));
      if (line.retried) object["retried"] = true;
      text = object_text(options_.format, first, object);
    }
  }
  return text;
}

std::string TranslationWriter::end() const { return end_of_objects(options_.format, !begun_); }

std::string ScoreWriter::line(size_t index, const std::string& source, const Translation& scored) {
  const bool first = !std::exchange(begun_, true);
  const double tokens = static_cast<double>(scored.tokens.size());
  const double perplexity = std::exp(-scored.log_probability / tokens);
  switch (options_.format) {
    case OutputFormat::text:
      return line_of(fmt::format("{:.6f}{}", scored.log_probability,
                                 options_.details.alignment ? " ||| " + to_pharaoh(scored.alignment) : ""));
    case OutputFormat::tsv:
      return line_of(fmt::format("{}\t{:.6f}\t{}\t{:.4f}{}", index + 1, scored.log_probability,
                                 scored.tokens.size(), perplexity, detail_columns(scored, options_.details)));
    case OutputFormat::moses:
      return line_of(n_best_line(index, scored, options_.details));
    case OutputFormat::json:
    case OutputFormat::jsonl: {
      ordered_json object{{"line", index + 1}, {"source", source}};
      object.update(json_of(scored, options_.details));
      object["perplexity"] = perplexity;
      return object_text(options_.format, first, object);
    }
  }
  return "";
}

std::string ScoreWriter::end() const { return end_of_objects(options_.format, !begun_); }

}  // namespace sixfold::cli
