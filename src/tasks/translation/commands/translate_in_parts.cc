#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "backend/backend.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/join.h"
#include "base/log.h"
#include "base/plural.h"
#include "model_folder/ownership.h"
#include "program/kit/interrupt.h"
#include "tasks/translation/commands/translate.h"
#include "tasks/translation/commands/translation_parts.h"
#include "tasks/translation/translator.h"
#include "train/agreement.h"
#include "train/distributed/processors.h"

namespace sixfold::cli {
namespace {

/// Whether a path is a regular file or does not exist. Also true if the system reports an error: opening the
/// file then reports the reason.
bool may_be_file(const std::filesystem::path& path) {
  std::error_code unknown;
  const std::filesystem::file_status status = std::filesystem::status(path, unknown);
  return std::filesystem::is_regular_file(status) || !std::filesystem::exists(status);
}

void check_parts(const TranslateSettings& settings) {
  require(settings.markup == TextKind::plain,
          "--markup: a document is translated by one process; leave out --part, or start one process");
  require(settings.paths.input != "-" && settings.paths.output != "-",
          "several processes need files; give --input and --output");
  require(may_be_file(settings.paths.input),
          "{}: several processes read the input, so that it must be a regular file", settings.paths.input);
  require(!settings.constraints.by_line(),
          "--prefixes, --constraints and --avoid are read along with the input by one process; leave them out");
  require(settings.writer.format != OutputFormat::json,
          "--format json is one array; several processes can write text, tsv, jsonl and moses");
}

std::string hash_of_file(const std::string& path) {
  if (path.empty()) return "";
  const MappedFile file(path);
  return hash_hex({reinterpret_cast<const char*>(file.data()), file.size()});
}

std::map<std::string, std::string> hashes_of_folder(const std::string& folder) {
  std::map<std::string, std::string> hashes;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.is_regular_file()) hashes[entry.path().filename()] = hash_of_file(entry.path());
  return hashes;
}

/// Options that do not affect the bytes of a translation.
constexpr std::string_view options_without_effect[] = {"--help", "--output", "--part", "--batch-tokens",
                                                       "--threads"};

/// Describes everything that determines the bytes of a translation, as JSON: all options except those that are
/// known to have no effect, so that a new option is included. Files are described by the hash of their
/// contents, not by their names.
std::string describe_job(const TranslateSettings& settings) {
  nlohmann::ordered_json job{{"version", SIXFOLD_VERSION},
                             {"processor", make_backend()->name()},
                             {"chunk_lines", TranslationParts::chunk_lines},
                             {"model", hashes_of_folder(settings.model)}};
  for (const GivenOption& option : settings.given) {
    if (std::ranges::find(options_without_effect, option.name) != std::end(options_without_effect)) continue;
    std::vector<std::string> values = option.values;
    if (option.file)
      for (std::string& value : values)
        if (value != TranslateOptions::no_shortlist) value = hash_of_file(value);
    if (option.model)
      for (std::string& value : values) value = hash_hex(nlohmann::json(hashes_of_folder(value)).dump());
    job[option.name] = values.empty() ? "default" : join(values);
  }
  return job.dump(1) + "\n";
}

/// Translates chunks of the input, and joins them when all of them exist.
class PartsRun {
 public:
  PartsRun(const TranslateSettings& settings, Processes& processes)
      : settings_(settings),
        processes_(processes),
        parts_(settings.paths.output),
        input_(readable_path(settings.paths.input)),
        constraints_(settings.constraints, settings.paths.invalid),
        meter_(settings.paths.output) {}

  void run() {
    for (const std::string& input : inputs_of(settings_))
      require(!parts_.contains(input),
              "{}: is a part of a translation to --output {}, which removes it at its end", input,
              settings_.paths.output);
    const std::string job = describe_job(settings_);
    if (processes_.size() > 1)
      check_agreement(
          processes_,
          {{"program", hash_of_program()},
           {"--output", std::filesystem::absolute(settings_.paths.output).lexically_normal().string()},
           {"translation (input, model, options)", job}});
    if (processes_.is_root()) {
      check_output();
      parts_.open(job);
    }
    processes_.barrier();
    require(parts_.exist(),
            "{}: process 0 has made this folder, which is not seen here; the folder of the output must be on a "
            "file system that all hosts share",
            parts_.folder());
    options_ = settings_.options;
    options_.details = settings_.writer.details;
    constraints_.set(options_);
    options_.counts = &counts_;
    const StopOnInterrupt interrupt;
    // If another process fails, this one stops as well.
    std::stop_source stop;
    const std::stop_callback on_interrupt(interrupt.token(), [&] { stop.request_stop(); });
    const std::stop_callback on_failure(processes_.failure(), [&] { stop.request_stop(); });
    options_.cancel = stop.get_token();
    try {
      translate_chunks();
    } catch (const Cancelled&) {
      processes_.check();
      throw;
    }
    processes_.barrier();
    if (processes_.is_root()) finish();
  }

 private:
  /// Throws an input error, lines_before any line is translated, if the output can't be written.
  void check_output() {
    const std::filesystem::path path(settings_.paths.output);
    require(path.has_filename() && may_be_file(path),
            "{}: several processes write a regular file; give the name of one", settings_.paths.output);
    const TextOutput writable(settings_.paths.output, inputs_of(settings_));
  }

  /// Translates the chunks of this process. Reads the input to its end.
  void translate_chunks() {
    RuntimeOptions runtime = settings_.runtime;
    if (runtime.threads == 0) runtime.threads = available_threads(processes_);
    const Translator translator(settings_.model, runtime);
    log_wider_beam(translator, settings_.options);
    set_generation(settings_, translator, options_);
    const PartOfText part = settings_.part.empty() ? PartOfText() : parse_part(settings_.part);
    int64_t chunk = part.number - 1;
    for (;;) {
      if (processes_.size() > 1) chunk = processes_.next_ticket();
      std::string line;
      while (input_.line_number() < chunk * TranslationParts::chunk_lines && next_line(input_, line)) {
      }
      if (input_.line_number() < chunk * TranslationParts::chunk_lines || input_.at_end()) return;
      if (!parts_.has(chunk)) translate_chunk(translator, chunk);
      chunk += part.of;
    }
  }

  void translate_chunk(const Translator& translator, int64_t chunk) {
    const auto lines_before = static_cast<size_t>(input_.line_number());
    std::string text;
    TranslationWriter writer(settings_.writer, settings_.options.n_best, lines_before);
    options_.first_line = lines_before + 1;
    const auto next = [&](std::string& line, bool) {
      check_interrupt();
      const bool chunk_full =
          input_.line_number() - static_cast<int64_t>(lines_before) == TranslationParts::chunk_lines;
      if (chunk_full || !input_.next(line)) return NextLine::end;
      make_valid(line, input_, settings_.paths.invalid);
      return NextLine::line;
    };
    translator.translate(next, options_, [&](const TranslatedLine& line) {
      check_interrupt();
      warn_of_unmet(line.translations.front(), fmt::format("line {}", lines_before + line.index + 1));
      text += writer.line(line);
      if (processes_.is_root()) meter_.count(input_.fraction_read());
    });
    parts_.write(chunk, text + writer.end());
  }

  void finish() {
    const int64_t chunks =
        (input_.line_number() + TranslationParts::chunk_lines - 1) / TranslationParts::chunk_lines;
    const std::vector<int64_t> missing = parts_.missing(chunks);
    meter_.finish();
    warn_of(counts_);
    if (!settings_.part.empty()) {
      log_info("part {} is done; of {}, {} missing in {}{}", settings_.part, counted(chunks, "chunk"),
               missing.size() == 1 ? "1 is" : fmt::format("{} are", missing.size()), parts_.folder(),
               missing.empty() ? ": the same command without --part joins them" : "");
      return;
    }
    require(
        missing.empty(),
        "{}: {} are missing, which other processes made; the folder of the output must be one that all hosts "
        "share",
        parts_.folder(), counted(missing.size(), "chunk"));
    TextOutput output(settings_.paths.output, inputs_of(settings_));
    parts_.read(chunks, [&](const std::string& text) { output.write(text); });
    output.close();
    parts_.remove();
  }

  const TranslateSettings& settings_;
  Processes& processes_;
  TranslationParts parts_;
  LineReader input_;
  ConstraintFiles constraints_;
  TranslationMeter meter_;
  TranslationCounts counts_;
  TranslateOptions options_;
};

}  // namespace

void translate_in_parts(const TranslateSettings& settings, Processes& processes) {
  check_parts(settings);
  PartsRun(settings, processes).run();
}

}  // namespace sixfold::cli
