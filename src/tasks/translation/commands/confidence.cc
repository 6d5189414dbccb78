#include "tasks/translation/confidence.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/log.h"
#include "base/threads.h"
#include "data/corpus.h"
#include "model_folder/derived.h"
#include "model_folder/model_folder.h"
#include "model_folder/ownership.h"
#include "program/kit/interrupt.h"
#include "program/kit/model_folder.h"
#include "program/kit/text_io.h"
#include "program/kit/value_option.h"
#include "tasks/translation/commands/commands.h"
#include "tasks/translation/commands/translation_writer.h"
#include "tasks/translation/settings.h"
#include "tasks/translation/source.h"

namespace sixfold::cli {
namespace {

struct ConfidenceSettings {
  std::string model, source, reference, output;
  InvalidUtf8 invalid = InvalidUtf8::error;
  TranslateOptions languages;
  int threads = 0;
};

void run(const ConfidenceSettings& settings) {
  require_new_or_model(settings.output, {settings.model, settings.source, settings.reference});
  const ModelFolder folder = load_text_model(settings.model);
  require_task(folder.config, TranslationSettings::network, settings.model);
  const Corpus corpus =
      read_corpus({{.source = settings.source, .target = settings.reference}}, settings.invalid);
  log_info("{}", corpus.report.describe());
  const SourceEncoder encoder = source_encoder(folder.config, *folder.tokenizers.source, settings.languages);
  const std::string shortlist_file = shortlist_of_folder(settings.model);
  std::optional<Shortlist> shortlist;
  if (!shortlist_file.empty()) shortlist = load_shortlist(shortlist_file, folder.config);
  SearchOptions search_options{.rules = folder.config.generation,
                               .shortlist = shortlist ? &*shortlist : nullptr};
  if (encoder.layout().target_language >= 0)
    search_options.rules.forced_first_token = encoder.layout().target_language;
  const auto model = load_packed_model(settings.model,
                                       make_backend({.threads = usable_threads(settings.threads, "--threads")}),
                                       WeightType::stored);
  const ReferencedText text{
      corpus.text.source.size(),
      [&](size_t line) {
        return encoder
            .encode(corpus.text.source[line], TranslateOptions().max_source_length,
                    fmt::format("line {}", line + 1))
            .ids;
      },
      [&](size_t line) { return folder.tokenizers.target->join(corpus.text.target[line]); }};
  auto task = settings_of<TranslationSettings>(folder.config);
  task.confidence = fit_confidence(*model, folder.tokenizers, text, search_options, &note_interrupts());
  require(!task.confidence.empty(), "{}: no confidence was fitted; give another text", settings.source);
  copy_with_settings(settings.model, write_options(task), settings.output,
                     nlohmann::ordered_json{{"step", "confidence"}, {"lines", text.lines}}.dump());
  log_info("{}: {} with a confidence", settings.output, settings.model);
}

}  // namespace

void add_confidence(CLI::App& app) {
  const auto settings = std::make_shared<ConfidenceSettings>();
  CLI::App& command =
      *app.add_subcommand("confidence", "Fit how good a model's translations may be to a text with references");
  add_model_argument(command, settings->model);
  command
      .add_option("--source", settings->source,
                  "source side of a text that the model was not trained on; it needs 200 lines, and at most "
                  "1,000 of them are used")
      ->type_name("FILE")
      ->required();
  command.add_option("-r,--reference", settings->reference, "reference translations of its lines")
      ->type_name("FILE")
      ->required();
  command.add_option("-o,--output", settings->output, "folder for the model with the confidence")
      ->type_name("MODEL")
      ->required();
  add_field_options(command, OptionVisitor::AnyOptions(settings->languages),
                    {.only = {"source_language", "target_language"}, .flags = language_flags});
  for (const char* name : {"--source-language", "--target-language"})
    command.get_option(name)->type_name("CODE");
  add_invalid_utf8_option(command, settings->invalid);
  add_threads_option(command, settings->threads);
  command.footer(
      "Training does this when it ends, with its validation text; the command is for imported and older "
      "models.\n"
      "Example:\n  sixfold confidence opus --source valid.en --reference valid.de --output opus-rated\n"
      "  sixfold translate opus-rated --confidence --format tsv --input test.en");
  command.callback([settings] { run(*settings); });
}

}  // namespace sixfold::cli
