#pragma once
#include <CLI/CLI.hpp>

#include "base/options.h"
#include "cli/text_io.h"
#include "translate/translation.h"

namespace sixfold {

namespace cli {
enum class OutputFormat { text, tsv, json, jsonl };
}  // namespace cli

template <>
struct EnumNames<cli::OutputFormat> {
  static constexpr std::pair<cli::OutputFormat, std::string_view> names[] = {
      {cli::OutputFormat::text, "text"},
      {cli::OutputFormat::tsv, "tsv"},
      {cli::OutputFormat::json, "json"},
      {cli::OutputFormat::jsonl, "jsonl"}};
};

namespace cli {

/// How much is written of translations, and in what form.
struct WriterOptions {
  OutputFormat format = OutputFormat::text;
  ExtraOutputs details;
};

/// Adds --format, --token-scores, --alignments, --attention and --layer.
void add_writer_options(CLI::App& command, WriterOptions& options);
/// Throws an input error for what the format has no place for.
void check(const WriterOptions& options);

/// Writes lines with their translations, one line after another.
///   text   each translation; with alignments, " ||| 0-0 1-2" behind it
///   tsv    line number, rank, score, text; with token scores a column piece:score, with alignments one more
///   json   an array of what jsonl has
///   jsonl  {"line": 1, "source": ..., "translations": [{"text", "score", "log_probability", ...}]}
class TranslationWriter {
 public:
  /// `n_best`: the text format has so many lines for each, the last ones empty where there are fewer.
  TranslationWriter(TextOutput& output, const WriterOptions& options, int n_best)
      : output_(output), options_(options), n_best_(static_cast<size_t>(n_best)) {}

  void write(const TranslatedLine& line);
  /// Call once, last.
  void finish();

 private:
  TextOutput& output_;
  WriterOptions options_;
  size_t n_best_;
  bool begun_ = false;
};

/// The same for pairs that were given: text is the log-probability alone, tsv line number, log-probability,
/// tokens and perplexity.
class ScoreWriter {
 public:
  ScoreWriter(TextOutput& output, const WriterOptions& options) : output_(output), options_(options) {}
  void write(size_t index, const std::string& source, const Translation& scored);
  void finish();

 private:
  TextOutput& output_;
  WriterOptions options_;
  bool begun_ = false;
};

}  // namespace cli
}  // namespace sixfold
