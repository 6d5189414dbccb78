#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/plural.h"
#include "program/kit/interrupt.h"
#include "program/kit/model_folder.h"
#include "program/kit/text_io.h"
#include "program/kit/value_option.h"
#include "tasks/translation/commands/commands.h"
#include "tasks/translation/commands/translation_writer.h"
#include "tasks/translation/n_best.h"
#include "tasks/translation/translator.h"
#include "text/utf8.h"

namespace sixfold {

namespace cli {
enum class RerankedFormat { text, moses };
}  // namespace cli

template <>
struct EnumNames<cli::RerankedFormat> {
  static constexpr std::pair<cli::RerankedFormat, std::string_view> names[] = {
      {cli::RerankedFormat::text, "text"}, {cli::RerankedFormat::moses, "moses"}};
};

namespace cli {
namespace {

constexpr size_t max_translations_per_batch = 2048;

struct RerankSettings {
  std::string model, source;
  TextPaths paths;
  bool reverse = false;
  double weight = 1;
  std::string name = "rerank";
  RerankedFormat format = RerankedFormat::text;
  TranslateOptions options;
  RuntimeOptions runtime;
};

/// A source line and its n-best list.
struct SourceWithTranslations {
  std::string source;
  std::vector<NBestLine> list;
};

/// Reads n-best lists along with the source lines.
class ListReader {
 public:
  explicit ListReader(const RerankSettings& settings)
      : source_name_(settings.source),
        sources_(readable_path(settings.source)),
        list_(readable_path(settings.paths.input)),
        invalid_(settings.paths.invalid) {}

  /// Reads the next source line with its translations. Returns whether there is one. Throws an input error for
  /// lines of the list that are out of order or have no source.
  bool next(SourceWithTranslations& item) {
    item.list.clear();
    if (!next_line(sources_, item.source)) {
      if (next_ || read_ahead())
        throw_input_error("{}: has the number {}, which counts from 0, but {} has {}", list_.place(),
                          next_->index, text_name(source_name_), counted(index_, "line"));
      return false;
    }
    make_valid(item.source, sources_, invalid_);
    while ((next_ || read_ahead()) && next_->index == index_) {
      item.list.push_back(std::move(*next_));
      next_.reset();
    }
    ++index_;
    return true;
  }

 private:
  bool read_ahead() {
    std::string line;
    do {
      if (!next_line(list_, line)) return false;
      make_valid(line, list_, invalid_);
    } while (invalid_ == InvalidUtf8::skip && line.empty());
    next_ = parse_n_best_line(line, list_.place());
    require(next_->index >= index_, "{}: the number {} comes after {}; the lines of a list are sorted by it",
            list_.place(), next_->index, index_);
    return true;
  }

  const std::string source_name_;
  LineReader sources_, list_;
  const InvalidUtf8 invalid_;
  std::optional<NBestLine> next_;
  size_t index_ = 0;  // of the next source line
};

/// Adds the scores of the model to those of the lists, and sorts the lists. Translations without text come
/// last. Returns the number of translations that have text.
size_t score(const Translator& translator, const RerankSettings& settings, const TranslateOptions& options,
             std::vector<SourceWithTranslations>& items) {
  std::vector<std::string> sources, translations;
  std::vector<NBestLine*> scored;
  for (SourceWithTranslations& item : items)
    for (NBestLine& one : item.list) {
      if (!has_visible_character(item.source) || !has_visible_character(one.text)) continue;
      sources.push_back(item.source);
      translations.push_back(one.text);
      scored.push_back(&one);
    }
  if (settings.reverse) std::swap(sources, translations);
  const std::vector<Translation> scores = translator.score(sources, translations, options);
  for (size_t i = 0; i < scored.size(); ++i) {
    scored[i]->features += fmt::format(" {}= {:.6f}", settings.name, scores[i].score);
    scored[i]->score += settings.weight * scores[i].score;
  }
  const auto sort_key = [](const NBestLine& one) {
    return std::pair(has_visible_character(one.text), one.score);
  };
  for (SourceWithTranslations& item : items) std::ranges::stable_sort(item.list, std::greater(), sort_key);
  return scored.size();
}

void run(const RerankSettings& settings) {
  require(settings.source != "-" || settings.paths.input != "-",
          "--source and --input can't both be standard input");
  require(!settings.name.empty() && settings.name.find_first_of(" =|\t\r\n") == std::string::npos &&
              !fault_of_text(settings.name),
          "--name: expected a name without spaces, = and bars, found '{}'", settings.name);
  ListReader reader(settings);
  const Translator translator(settings.model, settings.runtime);
  TextOutput output(settings.paths.output,
                    with_ensemble({settings.source, settings.paths.input, settings.model}, settings.runtime));
  TranslateOptions options = settings.options;
  const StopOnInterrupt interrupt;
  options.cancel = interrupt.token();
  options.line_name = "translation with text";
  size_t lines = 0, translations = 0, scored = 0, changed = 0;
  for (bool more = true; more;) {
    std::vector<SourceWithTranslations> items;
    size_t bytes = 0, count = 0;
    while (count < max_translations_per_batch && bytes < max_bytes_at_once) {
      SourceWithTranslations& item = items.emplace_back();
      if (more = reader.next(item); !more) {
        items.pop_back();
        break;
      }
      bytes += 1 + item.source.size();
      for (const NBestLine& one : item.list) bytes += one.text.size() + item.source.size();
      count += item.list.size();
    }
    std::vector<std::string> first;
    for (const SourceWithTranslations& item : items)
      first.push_back(item.list.empty() ? "" : item.list[0].text);
    options.first_line = scored + 1;
    scored += score(translator, settings, options, items);
    for (size_t i = 0; i < items.size(); ++i) {
      const std::vector<NBestLine>& list = items[i].list;
      if (settings.format == RerankedFormat::moses)
        for (const NBestLine& one : list) output.write_line(to_text(one));
      else
        output.write_line(list.empty() ? "" : list[0].text);
      changed += !list.empty() && list[0].text != first[i];
    }
    lines += items.size();
    translations += count;
    output.flush();
  }
  require(translations > 0, "{} has no translations", text_name(settings.paths.input));
  log_info("{} of {}: {} have another first translation", counted(translations, "translation"),
           counted(lines, "line"), changed);
  output.close();
}

}  // namespace

void add_rerank(CLI::App& app) {
  const auto settings = std::make_shared<RerankSettings>();
  CLI::App& command = *app.add_subcommand("rerank", "Sort n-best lists by the scores of another model");
  add_model_argument(command, settings->model);
  command
      .add_option("--source", settings->source, "file of the lines that were translated; - is standard input")
      ->type_name("FILE")
      ->required();
  add_text_options(command, settings->paths);
  command.get_option("--input")->description(
      "n-best list of Moses, as 'sixfold translate --format moses' writes it; - is standard input");
  command.add_flag("--reverse", settings->reverse,
                   "the model translates in the other direction: score the source as a translation of each");
  add_value_option(command, "--weight", settings->weight,
                   "of the model's score, which is added to that of the list", between(-1e6, 1e6));
  command.add_option("--name", settings->name, "name of the score among the features")->capture_default_str();
  add_value_option(command, "--format", settings->format,
                   "text: the best translation of each line; moses: the sorted list");
  add_scoring_options(command, settings->options);
  add_ensemble_options(command, settings->runtime);
  add_runtime_options(command, settings->runtime);
  command.footer(
      "The score of a translation becomes that of the list plus the weight times the model's, which is\n"
      "normalized as the model's generation settings say. More models are added one after the other.\n"
      "Translations without text keep their score, and come last.\n"
      "Example:\n"
      "  sixfold translate en-de --n-best 10 --format moses --input test.en --output test.list\n"
      "  sixfold rerank de-en --reverse --weight 0.5 --source test.en --input test.list --output test.de");
  command.callback([settings] { run(*settings); });
}

}  // namespace cli
}  // namespace sixfold
