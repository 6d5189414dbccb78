#include "tasks/translation/commands/constraint_files.h"

#include "base/error.h"
#include "base/file.h"
#include "base/join.h"
#include "base/log.h"
#include "program/kit/text_io.h"

namespace sixfold::cli {
namespace {

/// The nonempty columns of a line, which are separated by tabs.
std::vector<std::string> columns_of(const std::string& line) {
  std::vector<std::string> columns;
  for (size_t begin = 0; begin <= line.size();) {
    const size_t end = std::min(line.find('\t', begin), line.size());
    if (end > begin) columns.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  return columns;
}

}  // namespace

void add_constraint_options(CLI::App& command, ConstraintPaths& paths) {
  const auto add = [&](const char* name, std::string& path, const char* help) {
    command.add_option(name, path, help)->type_name("FILE");
  };
  add("--prefixes", paths.prefixes,
      "what each translation begins with: a line for each line of the input, empty for none");
  add("--constraints", paths.constraints,
      "phrases that each translation contains: a line for each line of the input, with tabs between phrases");
  add("--avoid", paths.avoid, "phrases that each translation does not contain, in the same form");
  add("--glossary", paths.glossary,
      "phrases and their translations, with a tab between them: where a phrase occurs, the translation "
      "contains "
      "that of the glossary");
  command.add_flag("--allow-endings", paths.allow_endings,
                   "let the model add an ending to the last word of a phrase of --constraints or --glossary");
}

ConstraintFiles::ConstraintFiles(const ConstraintPaths& paths, InvalidUtf8 invalid)
    : invalid_(invalid), allow_endings_(paths.allow_endings) {
  const auto open = [](const std::string& path) {
    return path.empty() ? nullptr : std::make_unique<File>(path);
  };
  prefixes_ = open(paths.prefixes);
  constraints_ = open(paths.constraints);
  avoid_ = open(paths.avoid);
  if (!paths.glossary.empty())
    glossary_ =
        std::make_shared<const Glossary>(Glossary::from_tsv(LineReader(paths.glossary).rest(), paths.glossary));
}

std::string ConstraintFiles::next_line(std::unique_ptr<File>& file, size_t index) const {
  if (!file) return {};
  std::string line;
  require(cli::next_line(file->reader, line), "{}: ends before line {} of the input; it needs a line for each",
          file->path, index + 1);
  make_valid(line, file->reader, invalid_);
  return line;
}

void ConstraintFiles::set(TranslateOptions& options) {
  options.glossary = glossary_;
  if (!prefixes_ && !constraints_ && !avoid_ && !allow_endings_) return;
  options.constraints = [this](size_t index, const std::string&) {
    return OutputConstraints{.prefix = next_line(prefixes_, index),
                             .phrases = columns_of(next_line(constraints_, index)),
                             .banned_phrases = columns_of(next_line(avoid_, index)),
                             .whole_words = !allow_endings_};
  };
}

void ConstraintFiles::finish() {
  for (File* const file : {prefixes_.get(), constraints_.get(), avoid_.get()}) {
    std::string line;
    if (file && file->reader.next(line))
      throw_input_error("{}: has more lines than the input; it needs a line for each", file->path);
  }
}

void warn_of_unmet(const Translation& translation, const std::string& place) {
  if (!translation.unmet.empty())
    log_warning("{}: the translation lacks {}", place, join(translation.unmet, ", "));
}

}  // namespace sixfold::cli
