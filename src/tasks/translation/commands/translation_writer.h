#pragma once
#include <CLI/CLI.hpp>

#include "base/options.h"
#include "tasks/translation/translation.h"

namespace sixfold {

namespace cli {
enum class OutputFormat { text, tsv, json, jsonl, moses };
}  // namespace cli

template <>
struct EnumNames<cli::OutputFormat> {
  static constexpr std::pair<cli::OutputFormat, std::string_view> names[] = {
      {cli::OutputFormat::text, "text"},
      {cli::OutputFormat::tsv, "tsv"},
      {cli::OutputFormat::json, "json"},
      {cli::OutputFormat::jsonl, "jsonl"},
      {cli::OutputFormat::moses, "moses"}};
};

namespace cli {

/// The format of the output and its optional parts.
struct WriterOptions {
  OutputFormat format = OutputFormat::text;
  ExtraOutputs details;
};

/// The command-line flags of the language options.
inline const std::vector<std::pair<std::string_view, std::string>> language_flags{
    {"source_language", "--source-language,--from"}, {"target_language", "--target-language,--to"}};

/// Adds --format, --token-scores, --alignments, --confidence, --attention and --layer.
void add_writer_options(CLI::App& command, WriterOptions& options);
/// Adds the options for scoring given translations: --batch-tokens, --max-source-length, --source-language and
/// --target-language.
void add_scoring_options(CLI::App& command, TranslateOptions& options);
/// Throws an input error if the format can't contain a requested part.
void check(const WriterOptions& options);

/// Formats lines and their translations:
///   text   each translation; with alignments, followed by " ||| 0-0 1-2"
///   tsv    line number, rank, score, text; with token scores a column of token:score, with alignments and
///          confidence one more for each
///   json   an array of the objects of jsonl
///   moses  line number from 0 ||| text ||| logprob= log-probability ||| score, then ||| alignments if
///   requested jsonl  {"line": 1, "source": ..., "translations": [{"text", "score", "log_probability", ...}]}
class TranslationWriter {
 public:
  /// In the text format each input line gives `n_best` lines; the last ones are empty if there are fewer
  /// translations. `lines_before`: the number of lines before the first one that is written.
  TranslationWriter(const WriterOptions& options, int n_best, size_t lines_before = 0)
      : options_(options), n_best_(static_cast<size_t>(n_best)), lines_before_(lines_before) {}

  /// Returns the output for a line.
  std::string line(const TranslatedLine& line);
  /// Returns the end of the output, after all lines.
  std::string end() const;

 private:
  WriterOptions options_;
  size_t n_best_, lines_before_;
  bool begun_ = false;
};

/// The same for the scores of given pairs. Text has only the log-probability; tsv has line number,
/// log-probability, number of tokens and perplexity; json, jsonl and moses have the same fields as
/// `TranslationWriter`.
class ScoreWriter {
 public:
  explicit ScoreWriter(const WriterOptions& options) : options_(options) {}
  std::string line(size_t index, const std::string& source, const Translation& scored);
  std::string end() const;

 private:
  WriterOptions options_;
  bool begun_ = false;
};

}  // namespace cli
}  // namespace sixfold
