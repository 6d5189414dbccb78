#include <gtest/gtest.h>

#include <map>

#include "base/file.h"
#include "tasks/translation/markup/fake_translators.h"
#include "tasks/translation/markup/translate_markup.h"

namespace sixfold {
namespace {

/// The blocks of docs/markup.md that follow a heading, without their fences.
std::vector<std::string> documented_blocks(const std::string& heading) {
  const std::string all = read_file(SIXFOLD_SOURCE_DIR "/docs/markup.md");
  const size_t begin = all.find("\n## " + heading + "\n"), end = all.find("\n## ", begin + 1);
  const std::string section = all.substr(begin, end - begin);
  std::vector<std::string> blocks;
  for (size_t at = section.find("\n```"); at != section.npos; at = section.find("\n```", at + 4)) {
    const size_t first = section.find('\n', at + 1) + 1;
    const bool is_transcript = section.compare(at, 11, "\n```console") == 0;  // which other tests replay
    at = section.find("\n```", first);
    if (!is_transcript) blocks.push_back(section.substr(first, at + 1 - first));
  }
  return blocks;
}

/// The sentence of the documents, word by word.
TextTranslator german() {
  return fake_translator([](const std::vector<std::string>& words) {
    const std::map<std::string, std::string> known{
        {"The", "Der"}, {"old", "alte"}, {"dog", "Hund"}, {"sleeps.", "schl\u00E4ft."}};
    FakeWords result;
    for (size_t i = 0; i < words.size(); ++i) result.emplace_back(known.at(words[i]), static_cast<int>(i));
    return result;
  });
}

TEST(Documented, ExamplesAreWhatIsWritten) {
  const std::vector<std::string> subtitles = documented_blocks("Subtitles"), xliff = documented_blocks("XLIFF"),
                                 markdown = documented_blocks("Markdown");
  ASSERT_EQ(subtitles.size(), 2u);
  EXPECT_EQ(translate_webvtt(subtitles[0], german()), subtitles[1]);
  ASSERT_EQ(markdown.size(), 2u);
  EXPECT_EQ(translate_markdown(markdown[0], german()), markdown[1]);
  ASSERT_EQ(xliff.size(), 2u);
  const std::string begin = "<xliff version=\"1.2\">", end = "</xliff>";
  EXPECT_EQ(translate_xliff(begin + xliff[0] + end, german()), begin + xliff[1] + end);
}

TEST(Documented, InlineTagsGoWhereIsWritten) {
  const std::string page = read_file(SIXFOLD_SOURCE_DIR "/docs/markup.md");
  struct Example {
    std::string source, text, written;
    std::vector<std::pair<int, int>> alignment;
  };
  for (const Example& one : {Example{"The <b>old dog</b> sees <a href=\"x\">a cat</a> there.",
                                     "Eine Katze sieht der alte Hund dort.",
                                     "Eine <a href=\"x\">Katze</a> sieht der <b>alte Hund</b> dort.",
                                     {{5, 1}, {3, 2}, {0, 3}, {1, 4}, {2, 5}, {6, 6}}},
                             Example{"I live in <b>Tokyo</b>.",
                                     "私は東京に住んでいます。",
                                     "私は<b>東京</b>に住んでいます。",
                                     {{0, 0}, {3, 2}, {1, 4}}}}) {
    EXPECT_NE(page.find("    " + one.source + "\n    " + one.written + "\n"), page.npos);
    EXPECT_EQ(translate_html(one.source,
                             [&](const std::vector<std::string>& texts) {
                               return std::vector<TranslatedText>(texts.size(), {one.text, one.alignment});
                             }),
              one.written);
  }
}

}  // namespace
}  // namespace sixfold
