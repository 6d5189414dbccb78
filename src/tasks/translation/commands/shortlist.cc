#include "model_folder/shortlist.h"

#include <memory>

#include "base/log.h"
#include "data/corpus.h"
#include "data/lexicon.h"
#include "model_folder/ownership.h"
#include "program/kit/model_folder.h"
#include "program/kit/value_option.h"
#include "tasks/translation/commands/commands.h"
#include "tasks/translation/settings.h"

namespace sixfold::cli {
namespace {

struct ShortlistSettings {
  std::string model, source, target, output;
  InvalidUtf8 invalid = InvalidUtf8::error;
  int best = 50, common = 100;
};

void run(const ShortlistSettings& settings) {
  require(settings.output != "-", "--output: a shortlist can't be written to standard output; name a file");
  require_output_file(settings.output, {settings.source, settings.target, settings.model});
  const ModelFolder folder = load_text_model(settings.model);
  require_task(folder.config, TranslationSettings::network, settings.model);
  Corpus corpus = read_corpus({{.source = settings.source, .target = settings.target}}, settings.invalid);
  const TokenCorpus tokens = encode_corpus(corpus.text, folder.tokenizers, {.threads = 1}, corpus.report);
  log_info("{}", corpus.report.describe());
  const ModelConfig& config = folder.config;
  const Shortlist shortlist(frequent_targets(tokens, config.target_vocab, settings.common),
                            learn_lexicon(tokens, config.source_vocab, config.target_vocab, settings.best));
  save_shortlist(settings.output, shortlist, config);
  int64_t sum = 0;
  for (int64_t i = 0; i < tokens.size(); ++i) sum += std::ssize(shortlist.targets(tokens.source[i]));
  log_info("{}: on average a sentence of this text may use {} of {} target tokens", settings.output,
           sum / tokens.size(), config.target_vocab);
}

}  // namespace

void add_shortlist(CLI::App& app) {
  const auto settings = std::make_shared<ShortlistSettings>();
  CLI::App& command =
      *app.add_subcommand("shortlist", "Learn the likely translations of each token, to translate faster");
  add_model_argument(command, settings->model);
  command
      .add_option("--source", settings->source,
                  "source side of a parallel corpus, best the one that the model was trained on")
      ->type_name("FILE")
      ->required();
  command
      .add_option("--target", settings->target,
                  "target side of the corpus; line n is the translation of line n of --source")
      ->type_name("FILE")
      ->required();
  command.add_option("-o,--output", settings->output, "file for the shortlist")->type_name("FILE")->required();
  add_value_option(command, "--best", settings->best,
                   "number of target tokens to keep for each source token, the most likely ones",
                   between(1, 100000));
  add_value_option(command, "--common", settings->common,
                   "number of target tokens that every translation may use, the most frequent ones",
                   between(1, 100000));
  add_value_option(command, "--invalid-utf8", settings->invalid,
                   "what to do with lines that are not valid UTF-8: error, replace (with U+FFFD) or skip");
  command.footer(
      "The likely tokens are learned from the text by word alignment (IBM model 1).\n"
      "Example:\n  sixfold shortlist run/model --source train.en --target train.de --output run/shortlist\n"
      "  sixfold translate run/model --shortlist run/shortlist --input test.en");
  command.callback([settings] { run(*settings); });
}

}  // namespace sixfold::cli
