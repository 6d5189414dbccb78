#include <memory>
#include <optional>

#include "base/log.h"
#include "base/plural.h"
#include "base/threads.h"
#include "data/corpus.h"
#include "data/word_aligner.h"
#include "metrics/alignment_errors.h"
#include "model_folder/ownership.h"
#include "program/kit/interrupt.h"
#include "program/kit/text_io.h"
#include "program/kit/value_option.h"
#include "tasks/translation/commands/commands.h"
#include "text/words.h"

namespace sixfold::cli {
namespace {

struct AlignSettings {
  std::vector<std::string> files;
  std::string source_language, target_language;
  std::string gold, output = "-";
  InvalidUtf8 invalid = InvalidUtf8::error;
  AlignerOptions options;
};

/// Reads the gold alignments, made by hand, of the first pairs.
std::vector<GoldLinks> read_gold(const std::string& path) {
  std::vector<GoldLinks> gold;
  LineReader reader(readable_path(path));
  for (std::string line; next_line(reader, line);)
    gold.push_back(parse_word_links(line, fmt::format("{}:{}", text_name(path), reader.line_number())));
  require(!gold.empty(), "{}: is empty; expected the links of a pair in each line", text_name(path));
  return gold;
}

void run(const AlignSettings& settings) {
  const std::vector<CorpusFiles> files =
      corpus_files(settings.files, "files", settings.source_language, settings.target_language);
  std::vector<std::string> inputs = settings.files;
  inputs.push_back(settings.gold);
  require_output_file(settings.output, inputs);
  std::vector<GoldLinks> gold;
  if (!settings.gold.empty()) gold = read_gold(settings.gold);
  AlignerOptions options = settings.options;
  options.threads = available_threads();
  options.stop = &note_interrupts();
  WordAligner aligner(options);
  PairReader reader(files, settings.invalid);
  ReadingProgress progress("reading the text");
  size_t pairs = 0, too_long = 0;
  std::string source, target;
  for (std::string_view dropped; reader.next_of_all(source, target, dropped); ++pairs) {
    check_interrupt();
    progress.update([&] { return reader.fraction_read(); });
    if (!dropped.empty()) source.clear();
    if (pairs < gold.size())
      for (const WordLinks* links : {&gold[pairs].sure, &gold[pairs].possible})
        require_within(*links, count_words(source), count_words(target),
                       fmt::format("{}:{}", settings.gold, pairs + 1));
    too_long += aligner.add(source, target) ? 0 : 1;
  }
  require(gold.size() <= pairs, "{} has {}, but the text has {}", settings.gold, counted(gold.size(), "line"),
          counted(pairs, "pair"));
  if (too_long > 0)
    log_warning("left without links, since a side has more than {} words: {}", WordAligner::max_words,
                counted(too_long, "pair"));
  TextOutput output(settings.output, inputs);
  AlignmentErrors errors;
  size_t line = 0;
  aligner.align([&](const WordLinks& links) {
    output.write(to_pharaoh(links) + "\n");
    if (line < gold.size()) errors.add(links, gold[line]);
    ++line;
  });
  output.close();
  if (!gold.empty())
    log_info("alignment error rate {:.2f} %, precision {:.2f} %, recall {:.2f} %, for {}", 100 * errors.rate(),
             100 * errors.precision(), 100 * errors.recall(), counted(gold.size(), "pair"));
}

}  // namespace

void add_align(CLI::App& app) {
  const auto settings = std::make_shared<AlignSettings>();
  CLI::App& command = *app.add_subcommand("align", "Link the words of a parallel text with their translations");
  add_parallel_text_argument(command, settings->files);
  add_text_output_option(command, settings->output);
  command
      .add_option("--gold", settings->gold,
                  "links of the first pairs that were made by hand, a line for each pair; a possible link is "
                  "written 1p2: report the alignment error rate")
      ->type_name("FILE");
  add_value_option(command, "--threshold", settings->options.threshold,
                   "link words whose probability, the geometric mean of both directions, is at least this",
                   between(0.01, 1.0));
  add_value_option(command, "--iterations", settings->options.iterations,
                   "number of passes over the text for each of the two models", between(1, 1000));
  command.add_option("--source-language", settings->source_language, "language of the source in .tmx files")
      ->type_name("CODE");
  command.add_option("--target-language", settings->target_language, "the same for the target")
      ->type_name("CODE");
  add_invalid_utf8_option(command, settings->invalid);
  command.footer(
      "Writes a line for each pair, such as \"0-0 1-2\": the words, separated by white space, are counted from "
      "0.\n"
      "Examples:\n  sixfold align train.en train.de --output train.alignment\n"
      "  sixfold align test.en test.de train.en train.de --gold test.alignment --output all.alignment");
  command.callback([settings] { run(*settings); });
}

}  // namespace sixfold::cli
