#include "tasks/translation/commands/translate.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "base/ascii.h"
#include "base/log.h"
#include "base/plural.h"
#include "data/corpus_report.h"
#include "model_folder/model_folder.h"
#include "model_folder/provenance.h"
#include "program/kit/distributed_run.h"
#include "program/kit/interrupt.h"
#include "program/kit/model_folder.h"
#include "program/kit/value_option.h"
#include "tasks/translation/commands/commands.h"
#include "tasks/translation/commands/translation_parts.h"
#include "text/utf8.h"

namespace sixfold {

template <>
struct EnumNames<TextKind> {
  static constexpr std::pair<TextKind, std::string_view> names[] = {
      {TextKind::plain, "none"},  {TextKind::html, "html"},
      {TextKind::xml, "xml"},     {TextKind::srt, "srt"},
      {TextKind::po, "po"},       {TextKind::vtt, "vtt"},
      {TextKind::xliff, "xliff"}, {TextKind::markdown, "markdown"}};
};

namespace cli {
namespace {

void check_markup(const TranslateSettings& settings) {
  const bool xml = settings.markup == TextKind::xml;
  const bool xml_options = settings.no_outline_detection || !settings.xml.splitting_tags.empty() ||
                           !settings.xml.non_splitting_tags.empty() || !settings.xml.ignore_tags.empty();
  require(
      xml || !xml_options,
      "--splitting-tags, --non-splitting-tags, --ignore-tags and --no-outline-detection have no effect without "
      "--markup xml; add it, or leave them out");
  if (settings.markup == TextKind::plain) return;
  require(settings.writer.format == OutputFormat::text && !settings.writer.details.any() &&
              settings.options.n_best == 1,
          "--markup: a document has one translation and nothing else; leave out --format, --n-best, "
          "--token-scores, --alignments, --confidence and --attention");
  require(
      !settings.constraints.by_line(),
      "--prefixes, --constraints and --avoid are for lines, and --markup translates a document; leave one out");
  require(settings.paths.invalid != InvalidUtf8::skip,
          "--invalid-utf8 skip: a document has no lines to skip; choose replace or error");
}

void check_constraints(const TranslateSettings& settings) {
  require(!settings.constraints.by_line() || settings.options.split_sentences.empty(),
          "--prefixes, --constraints and --avoid are for lines that are translated whole; leave out "
          "--split-sentences, or these");
  const std::vector<std::string> paths = settings.constraints.all();
  require(std::find(paths.begin(), paths.end(), "-") == paths.end(),
          "standard input is for the lines to translate; give a file of constraints its name");
  const ConstraintPaths& given = settings.constraints;
  require(!given.allow_endings || !given.constraints.empty() || !given.glossary.empty(),
          "--allow-endings has no effect without --constraints or --glossary; leave it out");
  require(
      !settings.options.sample || (given.constraints.empty() && given.avoid.empty() && given.glossary.empty()),
      "--sample draws translations, so that --constraints, --avoid and --glossary can't be kept; leave them "
      "out");
}

}  // namespace

TranslationMeter::TranslationMeter(const std::string& output)
    : terminal_(::isatty(STDERR_FILENO)),
      updates_line_(terminal_ && (output != "-" || !::isatty(STDOUT_FILENO))) {}

void TranslationMeter::count(double done) {
  ++sentences_;
  const Clock::time_point now = Clock::now();
  if (!updates_line_ || now - shown_at_ < std::chrono::milliseconds(500)) return;
  shown_at_ = now;
  const double seconds = seconds_until(now);
  const std::string left =
      done > 0 ? fmt::format(", {:.0f} %, {:.0f} s left", 100 * done, seconds * (1 - done) / done) : "";
  fmt::print(stderr, "\r\033[K{}{}", text(seconds), left);
}

void TranslationMeter::finish() const {
  if (terminal_)
    fmt::print(stderr, "{}{}\n", updates_line_ ? "\r\033[K" : "", text(seconds_until(Clock::now())));
}

std::string TranslationMeter::text(double seconds) const {
  return fmt::format("{}, {:.1f} s, {:.1f} sentences/s", counted(sentences_, "sentence"), seconds,
                     static_cast<double>(sentences_) / std::max(seconds, 1e-3));
}

void warn_of(const TranslationCounts& counts) {
  const double share =
      static_cast<double>(counts.unknown) / static_cast<double>(std::max<int64_t>(counts.tokens, 1));
  if (share > max_unknown_share)
    log_warning(
        "{:.3g}% of the {} of the input are not in the vocabulary of the model, which can't tell such tokens "
        "apart; the first is in {}. Is the input in the language that the model reads?",
        100 * share, counted(counts.tokens, "token"), counts.first_unknown);
  if (counts.faulty > 0)
    log_warning(
        "{} of {} may be faulty: {} end in a repetition, {} copy their source, {} are far longer than it; the "
        "first is "
        "that of {}. {}",
        counts.faulty, counted(counts.translations, "translation"), counts.loops, counts.copies,
        counts.too_long, counts.first_faulty,
        counts.retried > 0 ? fmt::format("With --retry {} were made again.", counts.retried)
                           : "--retry makes such translations again with other settings.");
}

std::vector<std::string> inputs_of(const TranslateSettings& settings) {
  std::vector<std::string> inputs = settings.constraints.all();
  inputs.push_back(settings.paths.input);
  inputs.push_back(settings.options.shortlist);
  inputs.push_back(settings.model);
  return with_ensemble(std::move(inputs), settings.runtime);
}

void log_wider_beam(const Translator& translator, const TranslateOptions& options) {
  const int model_size = translator.generation().beam_size, width = options.beam_width(model_size);
  if (!options.sample && !options.beam_size && width > model_size)
    log_info("the search keeps {} hypotheses instead of {}, the beam size of the model, for {} {}", width,
             model_size, options.mbr > 0 ? "--mbr" : "--n-best", options.candidates());
}

void set_generation(const TranslateSettings& settings, const Translator& translator,
                    TranslateOptions& options) {
  options.generation = settings.generation.apply_to(translator.generation());
  if (settings.retry.empty()) return;
  OptionNode given;
  for (const std::string& assignment : settings.retry) set_option(given, assignment, "--retry");
  read_options(given, options.retry.emplace(options.settings(translator.generation())));
}

namespace {

/// Translates the whole input as one document.
void run_on_document(const TranslateSettings& settings) {
  ConstraintFiles constraints(settings.constraints, settings.paths.invalid);
  std::string document = LineReader(readable_path(settings.paths.input), ByteOrderMark::keep).rest();
  if (settings.paths.invalid == InvalidUtf8::replace) document = replace_faults(document);
  const Translator translator(settings.model, settings.runtime);
  TextOutput output(settings.paths.output, inputs_of(settings));
  TranslateOptions options = settings.options;
  constraints.set(options);
  options.details.layer = settings.writer.details.layer;
  const StopOnInterrupt interrupt;
  options.cancel = interrupt.token();
  set_generation(settings, translator, options);
  TranslationCounts counts;
  options.counts = &counts;
  const TextTranslator translate = text_translator(translator, options, [](const TranslatedLine& text) {
    warn_of_unmet(text.translations.front(), fmt::format("the text '{}'", excerpt(text.source)));
  });
  XmlOptions xml = settings.xml;
  xml.outline_detection = !settings.no_outline_detection;
  output.write(translate_document(settings.markup, document, translate, xml, text_name(settings.paths.input)));
  output.close();
  warn_of(counts);
}

/// Translates the lines of the input as they become available.
void run_on_stream(const TranslateSettings& settings) {
  LineReader input(readable_path(settings.paths.input));
  ConstraintFiles constraints(settings.constraints, settings.paths.invalid);
  const Translator translator(settings.model, settings.runtime);
  log_wider_beam(translator, settings.options);
  TextOutput output(settings.paths.output, inputs_of(settings));
  TranslationMeter meter(settings.paths.output);
  TranslationWriter writer(settings.writer, settings.options.n_best);
  TranslateOptions options = settings.options;
  options.details = settings.writer.details;
  constraints.set(options);
  set_generation(settings, translator, options);
  TranslationCounts counts;
  options.counts = &counts;
  std::atomic<double> done = 0;
  const StopOnInterrupt interrupt;
  options.cancel = interrupt.token();
  const auto next = [&](std::string& line, bool wait) {
    check_interrupt();
    if (!input.ready(std::chrono::milliseconds(wait ? 50 : 0))) return NextLine::none_yet;
    if (!input.next(line)) return NextLine::end;
    make_valid(line, input, settings.paths.invalid);
    done = input.fraction_read();
    return NextLine::line;
  };
  translator.translate(next, options, [&](const TranslatedLine& line) {
    check_interrupt();
    warn_of_unmet(line.translations.front(), fmt::format("line {}", line.index + 1));
    output.write(writer.line(line));
    output.flush();
    meter.count(done);
  });
  constraints.finish();
  output.write(writer.end());
  output.close();
  meter.finish();
  warn_of(counts);
}

/// Warns of an input whose name is that of a document, which would be translated with its tags as lines.
void warn_of_document(const std::string& input) {
  std::filesystem::path name = input;
  if (name.extension() == ".gz") name = name.stem();
  const auto format =
      std::ranges::find(document_formats(), ascii_lower(name.extension().string()), &DocumentFormat::extension);
  std::error_code ignored;
  if (format == document_formats().end() || !std::filesystem::exists(input, ignored)) return;
  log_warning(
      "{}: is translated line by line, with its tags as words; '--markup {}' translates only the text of a "
      "document ('--markup none' omits this warning)",
      input, value_text(node_of(format->kind)));
}

int run(const TranslateSettings& settings, Processes& processes) {
  check_markup(settings);
  check(settings.writer);
  check_constraints(settings);
  for (const std::string& folder : settings.runtime.ensemble) load_model_config(folder);
  require(settings.part.empty() || processes.size() == 1,
          "--part is for processes that don't know each other; leave it out with a launcher of MPI");
  const bool begun = settings.paths.output != "-" && TranslationParts(settings.paths.output).exist();
  require(
      !begun || !settings.part.empty() || processes.size() > 1 ||
          (settings.paths.input != "-" && settings.markup == TextKind::plain),
      "{} has parts of a translation of that name, which this command can't join; give another --output, or "
      "remove it",
      TranslationParts(settings.paths.output).folder());
  if (processes.size() > 1 || !settings.part.empty() || begun) {
    translate_in_parts(settings, processes);
  } else if (settings.markup != TextKind::plain) {
    run_on_document(settings);
  } else {
    run_on_stream(settings);
  }
  return 0;
}

/// All options of the command, with their given values or else their defaults.
std::vector<GivenOption> given_options(CLI::App& command) {
  std::vector<GivenOption> all;
  for (CLI::Option* option : command.get_options()) {
    if (option->get_positional()) continue;
    GivenOption& given = all.emplace_back(GivenOption{.name = option->get_name()});
    given.file = option->get_type_name() == "FILE";
    given.model = option->get_type_name() == "MODEL";
    if (option->count() > 0) {
      given.values = option->results();
    } else {
      option->capture_default_str();
      if (const std::string value = option->get_default_str(); !value.empty()) given.values = {value};
    }
  }
  return all;
}

void add_markup_options(CLI::App& command, TranslateSettings& settings) {
  add_value_option(
      command, "--markup", settings.markup,
      "html, xml, srt and vtt (subtitles), po (gettext), xliff or markdown: translate the whole input as one "
      "document, with its tags; none: translate lines");
  const auto add_tags = [&](const std::string& option, std::vector<std::string>& tags,
                            const std::string& help) {
    command.add_option(option, tags, help)->delimiter(',')->type_name("TAG,...");
  };
  add_tags("--ignore-tags", settings.xml.ignore_tags, "elements of XML whose content is not translated");
  add_tags("--splitting-tags", settings.xml.splitting_tags, "elements of XML that end a text");
  add_tags("--non-splitting-tags", settings.xml.non_splitting_tags,
           "elements of XML that are part of the text around them");
  command.add_flag("--no-outline-detection", settings.no_outline_detection,
                   "only --splitting-tags end a text of XML; otherwise its structure shows which elements do");
}

}  // namespace

void add_translate(CLI::App& app) {
  const auto settings = std::make_shared<TranslateSettings>();
  CLI::App& command = *app.add_subcommand("translate", "Translate text line by line, or a document");
  add_model_argument(command, settings->model);
  add_text_options(command, settings->paths);
  add_writer_options(command, settings->writer);
  add_markup_options(command, *settings);
  add_constraint_options(command, settings->constraints);
  command
      .add_option("--part", settings->part,
                  "translate only this part of the input, such as 3/16, into the folder OUTPUT.parts; when all "
                  "parts are done, the same command without --part joins them")
      ->type_name("I/N");
  add_field_options(command, OptionVisitor::AnyOptions(settings->options),
                    {.except = {"sample"}, .flags = language_flags});
  add_field_options(command, OptionVisitor::AnyOptions(settings->options),
                    {.only = {"sample"}, .switches = true});
  command.get_option("--keep-symbols")->default_function([&keep = settings->options.keep_symbols] {
    return value_text(node_of(keep.value_or(true)));
  });
  command.get_option("--shortlist")->type_name("FILE");
  command.get_option("--split-sentences")->type_name("LANGUAGE");
  for (const char* name : {"--source-language", "--target-language"})
    command.get_option(name)->type_name("CODE");
  settings->generation.add_options(command);
  command
      .add_option(
          "--retry", settings->retry,
          "translate a line again with these settings, e.g. no_repeat_ngram=3, if its translation ends in a "
          "repetition, copies the line or is far longer; 'sixfold info' lists them as generation")
      ->type_name("KEY=VALUE")
      ->take_all();
  add_ensemble_options(command, settings->runtime);
  add_runtime_options(command, settings->runtime);
  command.footer(
      "Each input line gives one output line, and an empty line gives an empty line. A line end within a\n"
      "translation becomes a space. Translations are written in the order of the input, each as soon as it is\n"
      "ready.\n"
      "Formats: text has only the translations; tsv has line number, rank, score, text and optional columns;\n"
      "jsonl has an object for each line; json has an array of these objects; moses has lines of an n-best "
      "list:\n"
      "number of the line from 0 ||| text ||| logprob= log-probability ||| score.\n"
      "With --markup the input is one document; everything but its text keeps its bytes.\n"
      "A translation that lacks a phrase of --constraints or --glossary is named in a warning.\n"
      "Examples:\n  sixfold translate run/model --input test.en --output test.de\n"
      "  sixfold translate run/model --markup html --split-sentences en --input page.html --output "
      "page.de.html");
  command.callback([settings, &command] {
    std::optional<bool>& keep_symbols = settings->options.keep_symbols;
    if (!keep_symbols) keep_symbols = !is_imported(settings->model);  // parts are described by what counts
    settings->given = given_options(command);
    if (command.count("--markup") == 0) warn_of_document(settings->paths.input);
    const int status =
        on_all_processes("translate", [&](Processes& processes) { return run(*settings, processes); });
    if (status != 0) std::exit(status);
  });
}

}  // namespace cli
}  // namespace sixfold
