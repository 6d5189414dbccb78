#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/log.h"
#include "base/plural.h"
#include "program/commands.h"
#include "program/kit/interrupt.h"
#include "program/kit/line_pairs.h"
#include "program/kit/model_folder.h"
#include "program/kit/text_io.h"
#include "program/kit/value_option.h"
#include "tasks/language_model/generator.h"
#include "tasks/translation/commands/translation_writer.h"
#include "tasks/translation/translator.h"
#include "text/utf8.h"

namespace sixfold::cli {
namespace {

constexpr size_t max_pairs_at_once = 2048;

struct ScoreSettings {
  std::string model, source, target, input, output = "-";
  InvalidUtf8 invalid = InvalidUtf8::error;
  TranslateOptions options;
  WriterOptions writer;
  int stride = 0;
  bool summary = false;
  RuntimeOptions runtime;
};

/// Scores a text under a language model.
void score_text(const ScoreSettings& settings) {
  const Generator generator(settings.model, settings.runtime);
  TextOutput output(settings.output, {settings.input, settings.model});
  const StopOnInterrupt interrupt;
  ScoreOptions options{
      .stride = settings.stride, .invalid = settings.invalid, .token = {}, .cancel = interrupt.token()};
  const bool tokens = settings.writer.details.tokens;
  if (tokens)
    options.token = [&](const ScoredToken& scored) {
      const nlohmann::ordered_json line{{"text", scored.text + 1},
                                        {"token", replace_invalid_utf8(scored.token)},
                                        {"log_probability", scored.log_probability}};
      output.write_line(line.dump());
    };
  const TextScore score = generator.score(readable_path(settings.input), options);
  if (!settings.summary)
    log_info("{}: {}, {}", text_name(settings.input), counted(score.tokens, "token"),
             counted(score.bytes, "byte"));
  if (score.unknown > 0)
    log_warning(
        "{} of {} are not in the vocabulary of the model, which can't tell their texts apart; perplexity and "
        "bits "
        "per byte look better than they are",
        score.unknown, counted(score.tokens, "token"));
  const std::string result = fmt::format("bits per byte: {:.3f}  loss per token: {:.4f}  perplexity: {:.2f}",
                                         score.bits_per_byte(), score.loss_per_token(), score.perplexity());
  if (tokens)
    log_info("{}", result);
  else
    output.write_line(result);
  output.close();
}

/// Throws an input error for a given option that has no effect on this kind of model.
void refuse_options(const CLI::App& command, std::initializer_list<const char*> names, const char* kind) {
  for (const char* name : names)
    require(command.get_option(name)->count() == 0, "{} is for {} models; leave it out", name, kind);
}

void score_pairs(const ScoreSettings& settings) {
  require(settings.source != "-" || settings.target != "-",
          "--source and --target can't both be standard input");
  check(settings.writer);
  LinePairs reader(settings.source, settings.target, settings.invalid, "be the translation of");
  const Translator translator(settings.model, settings.runtime);
  TextOutput output(settings.output,
                    with_ensemble({settings.source, settings.target, settings.model}, settings.runtime));
  ScoreWriter writer(settings.writer);
  TranslateOptions options = settings.options;
  options.details = settings.writer.details;
  size_t pairs = 0, tokens = 0;
  double sum = 0;
  const StopOnInterrupt interrupt;
  options.cancel = interrupt.token();
  for (std::vector<std::string> sources, targets; reader.next(max_pairs_at_once, sources, targets);) {
    check_interrupt();
    options.first_line = pairs + 1;
    const auto scored = translator.score(sources, targets, options);
    for (size_t i = 0; i < scored.size(); ++i) {
      output.write(writer.line(pairs++, sources[i], scored[i]));
      tokens += scored[i].tokens.size();
      sum += scored[i].log_probability;
    }
    output.flush();
  }
  require(pairs > 0, "{} and {} are empty; expected one sentence on each line", text_name(settings.source),
          text_name(settings.target));
  output.write(writer.end());
  log_info("{}, {}: log-probability {:.4f}, perplexity {:.4f}", counted(pairs, "pair"),
           counted(tokens, "target token"), sum, std::exp(-sum / static_cast<double>(tokens)));
  output.close();  // last: the file appears only if everything succeeded
}

void run(const ScoreSettings& settings, const CLI::App& command) {
  const bool pairs = !settings.source.empty() || !settings.target.empty();
  require(
      pairs != !settings.input.empty() && (!pairs || (!settings.source.empty() && !settings.target.empty())),
      "expected --source and --target for a translation model, or --input for a language model");
  if (pairs) {
    refuse_options(command, {"--summary", "--stride"}, "language");
    return score_pairs(settings);
  }
  const bool tokens = settings.writer.details.tokens;
  require(
      tokens ? settings.writer.format == OutputFormat::jsonl : command.get_option("--format")->count() == 0,
      "of a text, --token-scores and --format jsonl go together: a line for each token; give both, or none");
  require(!tokens || !settings.summary,
          "--summary prints the line with the result alone; leave it out, or --token-scores");
  refuse_options(
      command,
      {"--alignments", "--confidence", "--attention", "--layer", "--batch-tokens", "--max-source-length",
       "--source-language", "--target-language", "--ensemble", "--ensemble-weights", "--ensemble-mean"},
      "translation");
  score_text(settings);
}

}  // namespace

void add_score(CLI::App& app) {
  const auto settings = std::make_shared<ScoreSettings>();
  CLI::App& command = *app.add_subcommand(
      "score", "Compute the probability of given translations, or of a text, under a model");
  add_model_argument(command, settings->model);
  command.add_option("--source", settings->source, "file of source lines; - is standard input")
      ->type_name("FILE");
  command.add_option("--target", settings->target, "file of their translations; - is standard input")
      ->type_name("FILE");
  command.add_option("-i,--input", settings->input, "text file for a language model; - is standard input")
      ->type_name("FILE");
  command.add_flag("--summary", settings->summary, "for a language model: print only the line with the result");
  command
      .add_option("--stride", settings->stride,
                  "for a language model: number of tokens that are scored in each window of a long text; a "
                  "smaller number gives "
                  "each token more context and takes more time; 0: half of what the model reads at once")
      ->type_name("N")
      ->capture_default_str();
  add_text_output_option(command, settings->output);
  add_writer_options(command, settings->writer);
  add_invalid_utf8_option(command, settings->invalid);
  add_scoring_options(command, settings->options);
  add_ensemble_options(command, settings->runtime);
  add_runtime_options(command, settings->runtime);
  command.footer(
      "With --format text each line has the natural logarithm of the translation's probability, including the\n"
      "end token. With tsv the columns are line number, log-probability, tokens and perplexity. The sum over\n"
      "all lines is printed to standard error. Of a text, bits per byte, the mean negative log-probability of "
      "a\n"
      "token and the perplexity are printed; with --token-scores --format jsonl a line for each token "
      "instead,\n"
      "with the number of its text, and these figures go to standard error.\n"
      "Example:\n  sixfold score run/model --source test.en --target test.de --format tsv\n"
      "  sixfold score run/model --input valid.txt");
  command.callback([settings, &command] { run(*settings, command); });
}

}  // namespace sixfold::cli
