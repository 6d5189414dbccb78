// A sentence means the same to every command, however it is written.
#include "text/forty_ways.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "program/shell.h"
#include "program/small_model.h"
#include "temporary_folder.h"
#include "text/sample_text.h"
#include "text/utf8.h"

namespace sixfold {
namespace {

class FortyWaysOfASentence : public testing::Test {
 protected:
  FortyWaysOfASentence() {
    TokenizerOptions options;
    options.vocab_size = 80;
    write_small_model(model_, 11, make_tokenizers(options, sample::english(), sample::german()));
    ways_.insert(ways_.begin(), sample::one_way);
  }
  /// The lines that a command prints of these lines.
  std::vector<std::string> lines_of(const std::string& command, const std::vector<std::string>& lines) const {
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    write_file_atomically(folder_ / "in", text);
    const Outcome outcome = shell("cat " + (folder_ / "in") + " | " SIXFOLD_BINARY " " + command);
    EXPECT_EQ(outcome.status, 0) << outcome.text;
    std::vector<std::string> printed;
    for (size_t begin = 0, end; begin < outcome.text.size(); begin = end + 1) {
      end = outcome.text.find('\n', begin);
      printed.push_back(outcome.text.substr(begin, end - begin));
    }
    return printed;
  }
  void expect_alike(const std::string& command, const std::string& before = "", const std::string& after = "") {
    SCOPED_TRACE(command);
    std::vector<std::string> lines;
    for (const std::string& way : ways_) lines.push_back(before + way + after);
    const auto printed = lines_of(command, lines);
    ASSERT_EQ(printed.size(), ways_.size());
    // Of a document, the white space around a text stays.
    const auto inner = [&](const std::string& line) {
      return std::string(trim_spaces(
          std::string_view(line).substr(before.size(), line.size() - before.size() - after.size())));
    };
    for (size_t i = 1; i < ways_.size(); ++i) EXPECT_EQ(inner(printed[i]), inner(printed[0])) << lines[i];
    EXPECT_NE(lines_of(command, {before + "Nobody likes two horses." + after})[0], printed[0]);
  }

  TemporaryFolder folder_;
  const std::string model_ = folder_ / "model";
  std::vector<std::string> ways_ = sample::forty_ways();
};

TEST_F(FortyWaysOfASentence, AreTranslatedAndTokenizedAlike) {
  expect_alike("tokenize " + model_);
  expect_alike("translate " + model_);
  expect_alike("translate " + model_ + " --split-sentences en");
  expect_alike("translate " + model_ + " --markup html", "<p>", "</p>");
}

/// A line without a letter or digit is kept, unless the model is another program's or asked to translate it.
TEST_F(FortyWaysOfASentence, SymbolsAreKept) {
  const std::vector<std::string> lines{"\U0001F337\U0001F337", "Zoë", " \u2026 ", "", "..."},
      kept{"\U0001F337\U0001F337", lines_of("translate " + model_, {"Zoë"})[0], "\u2026", "", "..."};
  EXPECT_NE(kept[1], "Zoë");
  EXPECT_EQ(lines_of("translate " + model_, lines), kept);
  const auto translated = lines_of("translate " + model_ + " --keep-symbols false", lines);
  for (const size_t i : {0, 2, 4}) EXPECT_NE(translated[i], kept[i]);
  write_file_atomically(model_ + "/provenance.json", R"([{"step": "import", "from": "marian"}])");
  EXPECT_EQ(lines_of("translate " + model_, lines), translated);
  EXPECT_EQ(lines_of("translate " + model_ + " --keep-symbols true", lines), kept);
  write_file_atomically(folder_ / "glossary", "...\tPferde\n");
  EXPECT_NE(
      lines_of("translate " + model_ + " --glossary " + (folder_ / "glossary"), {"..."})[0].find("Pferde"),
      std::string::npos);
  // Where the model comes from matters only to those who do not say it.
  write_file_atomically(model_ + "/provenance.json", "{bad");
  EXPECT_EQ(lines_of("translate " + model_ + " --keep-symbols true", lines), kept);
  write_file_atomically(folder_ / "line", "a\n");
  expect_error(sixfold("translate " + model_ + " --input " + (folder_ / "line")), "provenance.json");
  EXPECT_EQ(
      sixfold("score " + model_ + " --source " + (folder_ / "line") + " --target " + (folder_ / "line")).status,
      0);
}

TEST_F(FortyWaysOfASentence, AreScoredAlike) {
  std::string sources, targets;
  for (const std::string& way : ways_) sources += way + "\n", targets += "Ein Mann  mag\tA\u0308pfel.\n";
  write_file_atomically(folder_ / "sources", sources);
  write_file_atomically(folder_ / "targets", targets + "Ein Mann mag Äpfel.\n");
  write_file_atomically(folder_ / "sources", sources + sample::one_way + "\n");
  const Outcome scores =
      sixfold("score " + model_ + " --source " + (folder_ / "sources") + " --target " + (folder_ / "targets"));
  ASSERT_EQ(scores.status, 0) << scores.text;
  const std::string first = scores.text.substr(0, scores.text.find('\n') + 1);
  std::string all;
  for (size_t i = 0; i <= ways_.size(); ++i) all += first;
  EXPECT_EQ(scores.text.substr(0, all.size()), all);
}

}  // namespace
}  // namespace sixfold
