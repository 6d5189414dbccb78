#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/log.h"
#include "base/plural.h"
#include "formats/npy_writer.h"
#include "model_folder/ownership.h"
#include "program/kit/interrupt.h"
#include "program/kit/line_pairs.h"
#include "program/kit/model_folder.h"
#include "program/kit/task_program.h"
#include "program/kit/text_io.h"
#include "program/kit/value_option.h"
#include "tasks/embedding/embedder.h"

namespace sixfold {

namespace cli {
enum class EmbeddingFormat { npy, text, jsonl };
}  // namespace cli

template <>
struct EnumNames<cli::EmbeddingFormat> {
  static constexpr std::pair<cli::EmbeddingFormat, std::string_view> names[] = {
      {cli::EmbeddingFormat::npy, "npy"},
      {cli::EmbeddingFormat::text, "text"},
      {cli::EmbeddingFormat::jsonl, "jsonl"}};
};

namespace cli {
namespace {

constexpr size_t embed_lines_per_block = 2048;

struct EmbedSettings {
  std::string model;
  TextPaths text;
  std::optional<EmbeddingFormat> format;
  bool cosine = false;
  std::string source, target;
  RuntimeOptions runtime;

  bool has_two_files() const { return !source.empty(); }
  std::vector<std::string> inputs() const {
    if (has_two_files()) return {source, target, model};
    return {text.input, model};
  }
};

EmbeddingFormat format_of(const EmbedSettings& settings) {
  const bool npy = settings.text.output.ends_with(".npy");
  return settings.format.value_or(npy ? EmbeddingFormat::npy : EmbeddingFormat::text);
}

std::string json_of(const std::string& error) { return nlohmann::ordered_json{{"error", error}}.dump(); }

/// Counts the failures and cut texts that are reported at the end.
class EmbedSummary {
 public:
  void add(const TextEmbedding& embedding) { cut_ += embedding.tokens_cut > 0; }
  void fail(size_t line, const std::string& error) {
    log_warning("line {}: {}", line, error);
    ++failed_;
  }
  /// Call before the output is closed.
  void warn_of_cuts() const {
    if (cut_ > 0)
      log_warning("{} longer than the model reads; what follows was ignored",
                  cut_ == 1 ? "1 text is" : fmt::format("{} texts are", cut_));
  }
  /// Call last.
  void require_all() const {
    require(failed_ == 0, "{} failed; the others are complete", counted(failed_, "line"));
  }

 private:
  size_t failed_ = 0, cut_ = 0;
};

/// An array of numpy, with a row for each line.
class ArrayOutput {
 public:
  ArrayOutput(const EmbedSettings& settings, int columns)
      : file_((require_output_file(settings.text.output, settings.inputs()), note_interrupts(),
               settings.text.output),
              columns) {}

  void write(const TextEmbedding& embedding, size_t line) {
    check_interrupt();
    require(!embedding.error, "line {}: {}; an array of embeddings can't leave out a line", line,
            embedding.error.value_or(""));
    file_.write(embedding.values);
  }
  void flush() {}
  void close() {
    check_interrupt();
    file_.close();
  }

 private:
  NpyWriter file_;
};

/// A line with the numbers, or an object of JSON, for each line.
class LineOutput {
 public:
  LineOutput(const EmbedSettings& settings, EmbedSummary& summary)
      : json_(format_of(settings) == EmbeddingFormat::jsonl),
        summary_(summary),
        output_(settings.text.output, settings.inputs()) {}

  void write(const TextEmbedding& embedding, size_t line) {
    if (embedding.error) return fail(*embedding.error, line);
    output_.write_line(json_ ? fmt::format(R"({{"embedding":[{}],"tokens":{}}})",
                                           fmt::join(embedding.values, ","), embedding.tokens)
                             : fmt::format("{}", fmt::join(embedding.values, " ")));
  }
  void write_cosine(double cosine) {
    output_.write_line(json_ ? fmt::format(R"({{"cosine":{}}})", cosine) : fmt::format("{:.6f}", cosine));
  }
  void fail(const std::string& error, size_t line) {
    output_.write_line(json_ ? json_of(error) : "");
    summary_.fail(line, error);
  }
  void flush() { output_.flush(); }
  void close() { output_.close(); }

 private:
  bool json_;
  EmbedSummary& summary_;
  TextOutput output_;
};

template <class Output>
void embed_lines(const Embedder& embedder, LineBlocks& blocks, Output& output, EmbedSummary& summary) {
  const StopOnInterrupt interrupt;
  size_t line = 0;
  for (std::vector<std::string> lines; !(lines = blocks.next(embed_lines_per_block)).empty();) {
    for (const TextEmbedding& embedding : embedder.embed(lines, {.cancel = interrupt.token()})) {
      summary.add(embedding);
      output.write(embedding, ++line);
    }
    output.flush();
  }
  summary.warn_of_cuts();
  output.close();
}

void embed(const EmbedSettings& settings) {
  const std::string input = readable_path(settings.text.input);
  require_readable(input);
  const Embedder embedder(settings.model, settings.runtime);
  LineBlocks blocks(input, settings.text.invalid);
  EmbedSummary summary;
  if (format_of(settings) == EmbeddingFormat::npy) {
    ArrayOutput output(settings, embedder.size());
    embed_lines(embedder, blocks, output, summary);
  } else {
    LineOutput output(settings, summary);
    embed_lines(embedder, blocks, output, summary);
  }
  summary.require_all();
}

/// Two texts to compare, or the reason why a line does not have them.
struct TextPair {
  std::string first, second, error;
};

TextPair parse_pair(const std::string& line) {
  const auto tabs = std::ranges::count(line, '\t');
  if (tabs != 1)
    return {.error = fmt::format("expected two texts with a tab between them, found {}", counted(tabs, "tab"))};
  const size_t tab = line.find('\t');
  return {line.substr(0, tab), line.substr(tab + 1), {}};
}

/// Reads pairs of texts from two files, or from one file with a tab in each line.
class TextPairReader {
 public:
  explicit TextPairReader(const EmbedSettings& settings) {
    if (settings.has_two_files())
      two_files_.emplace(settings.source, settings.target, settings.text.invalid, "go with");
    else
      one_file_.emplace(readable_path(settings.text.input), settings.text.invalid);
  }

  /// Returns the next pairs; none at the end.
  std::vector<TextPair> next() {
    constexpr size_t pairs_per_block = embed_lines_per_block / 2;
    std::vector<TextPair> pairs;
    std::vector<std::string> firsts, seconds;
    if (one_file_)
      for (const std::string& line : one_file_->next(pairs_per_block)) pairs.push_back(parse_pair(line));
    else if (two_files_->next(pairs_per_block, firsts, seconds))
      for (size_t i = 0; i < firsts.size(); ++i) pairs.push_back({firsts[i], seconds[i], {}});
    return pairs;
  }

 private:
  std::optional<LineBlocks> one_file_;
  std::optional<LinePairs> two_files_;
};

void compare(const EmbedSettings& settings) {
  TextPairReader reader(settings);
  const Embedder embedder(settings.model, settings.runtime);
  EmbedSummary summary;
  LineOutput output(settings, summary);
  const StopOnInterrupt interrupt;
  size_t line = 0;
  for (std::vector<TextPair> pairs; !(pairs = reader.next()).empty(); output.flush()) {
    std::vector<std::string> texts;
    for (TextPair& pair : pairs) {
      texts.push_back(std::move(pair.first));
      texts.push_back(std::move(pair.second));
    }
    const std::vector<TextEmbedding> all = embedder.embed(texts, {.cancel = interrupt.token()});
    for (size_t i = 0; i < pairs.size(); ++i) {
      const TextEmbedding &a = all[2 * i], &b = all[2 * i + 1];
      ++line;
      summary.add(a), summary.add(b);
      if (const std::string error = a.error.value_or(b.error.value_or(pairs[i].error)); !error.empty())
        output.fail(error, line);
      else
        output.write_cosine(cosine(a.values, b.values));
    }
  }
  summary.warn_of_cuts();
  output.close();
  summary.require_all();
}

void run(const EmbedSettings& settings, const CLI::App& command) {
  const bool npy = format_of(settings) == EmbeddingFormat::npy;
  require(settings.source.empty() == settings.target.empty(), "--source and --target go together; give both");
  require(settings.cosine || !settings.has_two_files(), "--source and --target are for --cosine; give --input");
  require(!settings.has_two_files() || command.get_option("--input")->count() == 0,
          "--input has pairs of texts, and --source and --target too; leave out one of them");
  require(settings.source != "-" || settings.target != "-",
          "--source and --target can't both be standard input");
  require(!settings.cosine || !npy, "--cosine writes a number for each pair; choose --format text or jsonl");
  require(!npy || (settings.text.output != "-" && !settings.text.output.ends_with(".gz")),
          "--format npy writes a file that is not gzipped; give --output FILE.npy, or choose text or jsonl");
  settings.cosine ? compare(settings) : embed(settings);
}

void add_embed(CLI::App& app) {
  const auto settings = std::make_shared<EmbedSettings>();
  CLI::App& command = *app.add_subcommand(
      "embed", "Compute an embedding, a vector, of each line of a text, or compare pairs of texts");
  add_model_argument(command, settings->model);
  add_text_options(command, settings->text);
  add_value_option(
      command, "--format", settings->format,
      "npy (an array of numpy), text (numbers with spaces between them) or jsonl (objects of JSON) "
      "[npy if the name of the output ends in .npy, else text]");
  command.add_flag(
      "--cosine", settings->cosine,
      "write the cosine of each pair of texts, from -1 to 1; the input has two on each line, with a "
      "tab between them");
  command
      .add_option("--source", settings->source, "for --cosine: file of the first texts; - is standard input")
      ->type_name("FILE");
  command
      .add_option("--target", settings->target, "for --cosine: file of the second texts; - is standard input")
      ->type_name("FILE");
  add_runtime_options(command, settings->runtime);
  command.footer(
      "An array has a row of 32-bit numbers for each line of the input: numpy.load('FILE.npy').shape is "
      "(lines,\n"
      "size). An empty line has an embedding too. Longer texts than the model reads are cut off.\n"
      "Example:\n  sixfold embed model --input sentences.txt --output sentences.npy\n"
      "  sixfold embed model --cosine --source a.txt --target b.txt");
  command.callback([settings, &command] { run(*settings, command); });
}

}  // namespace

TaskProgram embedding_program() {
  return {.name = "embedding",
          .add_commands = [](Commands& commands) { commands.add(Commands::use, {add_embed}); }};
}

}  // namespace cli
}  // namespace sixfold
