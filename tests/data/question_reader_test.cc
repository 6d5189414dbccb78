// Questions about texts: lines and SQuAD's JSON, and how they are stored.
#include "data/question_reader.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "data/gzip.h"
#include "data/stored_questions.h"
#include "error_message.h"
#include "temporary_folder.h"
#include "text/characters.h"

namespace sixfold {
namespace {

using Texts = std::vector<std::string>;

/// A file of SQuAD's with one text and the given questions.
std::string squad(const std::string& questions, const std::string& text = "Zo\u00eb lives in \u6771\u4eac.") {
  return R"({"version": "1.1", "data": [{"title": "t", "paragraphs": [{"context": ")" + text +
         R"(", "qas": [)" + questions + "]}]}]}";
}

std::string question(const std::string& id, const std::string& answers) {
  return R"({"id": ")" + id + R"(", "question": "Where?", "answers": [)" + answers + "]}";
}

std::string answer(const std::string& text, int start) {
  return R"({"text": ")" + text + R"(", "answer_start": )" + std::to_string(start) + "}";
}

std::vector<Passage> parse(const std::string& json, RightAnswers answers = RightAnswers::required) {
  return parse_squad(json, "dev.json", answers);
}

void expect_refused(const std::string& json, const std::string& message,
                    RightAnswers answers = RightAnswers::required) {
  const std::string error = error_message([&] { parse(json, answers); });
  EXPECT_NE(error.find(message), std::string::npos) << error;
  EXPECT_TRUE(error.starts_with("dev.json")) << error;
}

TEST(Squad, IsRead) {
  const auto texts = parse(squad(question("a", answer("\u6771\u4eac", 13) + "," + answer(" lives in ", 3)) +
                                 "," + question("b", answer("Zo\u00eb", 0))));
  ASSERT_EQ(texts.size(), 1u);
  EXPECT_EQ(texts[0].text, "Zo\u00eb lives in \u6771\u4eac.");
  ASSERT_EQ(texts[0].questions.size(), 2u);
  const PassageQuestion& first = texts[0].questions[0];
  EXPECT_EQ(first.id, "a");
  EXPECT_EQ(first.text, "Where?");
  EXPECT_EQ(first.place, "dev.json: data[0].paragraphs[0].qas[0]");
  ASSERT_EQ(first.answers.size(), 2u);
  EXPECT_EQ(first.answers[0].text, "\u6771\u4eac");
  EXPECT_EQ(first.answers[0].begin, 14u) << "bytes, not code points";
  EXPECT_EQ(first.answers[1].text, "lives in") << "without the spaces at both ends";
  EXPECT_EQ(first.answers[1].begin, 5u);
  EXPECT_EQ(texts[0].questions[1].answers[0].begin, 0u);
}

TEST(Squad, NeedsAnswersOnlyInTraining) {
  const std::string without = squad(R"({"id": "a", "question": "Where?"})");
  EXPECT_EQ(parse(without, RightAnswers::optional)[0].questions[0].answers.size(), 0u);
  expect_refused(without, "dev.json: data[0].paragraphs[0].qas[0]: 'answers' is missing");
  const std::string impossible =
      squad(R"({"id": "a", "question": "Where?", "answers": [], "is_impossible": true})");
  EXPECT_EQ(parse(impossible, RightAnswers::optional)[0].questions.size(), 1u);
  expect_refused(impossible, "questions without an answer, as SQuAD 2.0 has them, are not supported");
  EXPECT_EQ(parse(squad(question("a", answer("Zo\u00eb", 0)).insert(1, R"("is_impossible": false, )")))[0]
                .questions.size(),
            1u);
}

TEST(Squad, IsRefusedByPlace) {
  const std::string good = question("a", answer("Zo\u00eb", 0));
  expect_refused("[1", "dev.json: ");
  expect_refused("[]", "dev.json: ");
  expect_refused("{}", "'data' is missing");
  expect_refused(R"({"data": 1})", "'data' is not a list");
  expect_refused(R"({"data": [{"paragraphs": [7]}]})", "dev.json: data[0].paragraphs[0]");
  expect_refused(R"({"data": [{"paragraphs": [{"qas": []}]}]})", "data[0].paragraphs[0]: 'context' is missing");
  expect_refused(R"({"data": [{"paragraphs": [{"context": 1, "qas": []}]}]})", "'context'");
  expect_refused(R"({"data": [{"paragraphs": [{"context": "a\u0000", "qas": []}]}]})",
                 "'context': byte 2 is NUL");
  expect_refused(squad(good + "," + good), "qas[1]: the id 'a' occurs twice");
  expect_refused(squad(question("a", "")), "qas[0]: 'answers' is empty");
  expect_refused(squad(question("a", answer("Zoe", 0))),
                 "answers[0]: 'answer_start' is 0, but the context does");
  expect_refused(squad(question("a", answer("lives", 5))), "'answer_start' is 5");
  expect_refused(squad(question("a", answer("lives", 1000))), "'answer_start' is 1000");
  expect_refused(squad(question("a", R"({"text": "Z", "answer_start": -1})")), "'answer_start'");
  expect_refused(squad(question("a", R"({"text": "Z", "answer_start": 0.5})")), "'answer_start'");
  expect_refused(squad(question("a", answer(" ", 3))), "answers[0]: an answer is empty");
  expect_refused(squad(question("a", answer("", 0))), "answers[0]: an answer is empty");
  expect_refused(squad(R"({"id": "a", "question": " ", "answers": []})"), "the question is empty");
  expect_refused(squad(question("a", answer("Zoe", 0))), "'answer_start' is 0", RightAnswers::optional);
}

class QuestionLines : public testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text) const {
    write_file_atomically(folder_ / name, text);
    return folder_ / name;
  }
  static std::vector<Passage> read(const Texts& files, InvalidUtf8 invalid = InvalidUtf8::error) {
    QuestionReader reader(files, invalid);
    std::vector<Passage> all;
    for (Passage text; reader.next(text);) all.push_back(text);
    return all;
  }
  void expect_line_error(const std::string& text, const std::string& message) const {
    const std::string path = file("x", text), error = error_message([&] { read({path}); });
    EXPECT_EQ(error.substr(0, path.size() + message.size()), path + message);
  }
  TemporaryFolder folder_;
};

TEST_F(QuestionLines, ReadsLinesAndJson) {
  const std::string lines = file("a.tsv",
                                 "Karo lives here. Zo\u00eb too.\tWho?\tZo\u00eb\n"
                                 "Karo lives here. Zo\u00eb too.\tWhere?\t here \n"
                                 "\n"
                                 "It is Karo. Karo!\tWho?\tKaro\n"),
                    json = file("b.json", squad(question("a", answer("Zo\u00eb", 0)))),
                    packed = folder_ / "c.tsv.gz";
  write_gzip(packed, "One text.\tHow many?\tOne\n");
  const auto texts = read({lines, json, packed});
  ASSERT_EQ(texts.size(), 4u);
  ASSERT_EQ(texts[0].questions.size(), 2u) << "lines with one text are questions about it";
  EXPECT_EQ(texts[0].questions[0].answers[0].begin, 17u);
  EXPECT_EQ(texts[0].questions[1].answers[0].text, "here");
  EXPECT_EQ(texts[0].questions[1].answers[0].begin, 11u);
  EXPECT_EQ(texts[0].questions[1].place, lines + ":2");
  EXPECT_EQ(texts[1].questions[0].answers[0].begin, 6u) << "the first occurrence";
  EXPECT_EQ(texts[1].questions[0].place, lines + ":4");
  EXPECT_EQ(texts[2].questions[0].id, "a");
  EXPECT_EQ(texts[3].questions[0].answers[0].text, "One");
}

/// JSON has no lines to skip, but what is no character can be replaced as elsewhere.
TEST_F(QuestionLines, InvalidCharactersOfJsonAreReplaced) {
  const std::string path = folder_ / "bad.json";
  const auto read = [&](InvalidUtf8 invalid) { return read_squad(path, RightAnswers::required, invalid); };
  write_file_atomically(path, "\n" + squad(question("a", answer("b", 3)), "a\xFF b \\u0000"));
  const auto texts = read(InvalidUtf8::replace);
  ASSERT_EQ(texts.size(), 1u);
  EXPECT_EQ(texts[0].text, "a\uFFFD b \uFFFD");
  EXPECT_EQ(texts[0].questions[0].answers[0].begin, 5u);
  for (const InvalidUtf8 invalid : {InvalidUtf8::error, InvalidUtf8::skip})
    EXPECT_TRUE(error_message([&] { read(invalid); })
                    .starts_with(path +
                                 ":2: byte 73 is not valid UTF-8; convert the file, or choose --invalid-utf8 "
                                 "replace (in training data.invalid_utf8)"))
        << error_message([&] { read(invalid); });
  QuestionReader reader({path}, InvalidUtf8::replace);
  Passage text;
  EXPECT_TRUE(reader.next(text));
}

TEST_F(QuestionLines, AreRefusedByLine) {
  expect_line_error("a b\tWho?\ta\nno tab\n",
                    ":2: expected a text, a tab, a question, a tab and an answer, but the line has 0 tabs");
  expect_line_error("a\tWho?\n",
                    ":1: expected a text, a tab, a question, a tab and an answer, but the line has 1 tab");
  expect_line_error("a\tWho?\ta\tb\n",
                    ":1: expected a text, a tab, a question, a tab and an answer, but the line has 3 tabs");
  expect_line_error(" \tWho?\ta\n", ":1: the text is empty");
  expect_line_error("a\t \ta\n", ":1: the question is empty");
  expect_line_error("a\tWho?\t \n", ":1: an answer is empty");
  expect_line_error("a b\tWho?\ta\na b\tWho?\tc\n", ":2: the answer 'c' is not in the text");
  expect_line_error("a\xFF\tWho?\ta\n", ":1: byte 2 is not valid UTF-8");
  const std::string path = file("x", "a\xFF\tWho?\ta\nb\tWho?\tb\n");
  EXPECT_EQ(read({path}, InvalidUtf8::skip).size(), 1u);
  EXPECT_EQ(read({path}, InvalidUtf8::replace)[0].text, "a\uFFFD");
  EXPECT_NE(error_message([&] { read({path, folder_ / "none"}); }).find("none"), std::string::npos);
  EXPECT_NE(error_message([&] { read({file("bad.json", "{")}); }).find("bad.json: "), std::string::npos);
}

TEST_F(QuestionLines, AreStoredWithTheirAnswers) {
  const std::string text = "Zo\u00eb is here";
  const std::string json = file("b.json", squad(question("a", answer("here", 7) + "," + answer("is here", 4)) +
                                                    "," + question("b", answer("o\u00eb", 1)),
                                                text)),
                    lines = file("a.tsv", "x\ty\tx\n");
  Tokenizers tokenizers;
  tokenizers.source = tokenizers.target = load_characters("\nZehisor?W\u00eb", "test");
  for (const int threads : {1, 2}) {
    const SequenceStoreRecord record =
        write_sequence_store(folder_ / "store", {{json}, {lines}}, tokenizers, {},
                             question_encoder(*tokenizers.source, InvalidUtf8::error, threads));
    EXPECT_EQ(record.training.documents, 1);
    EXPECT_EQ(record.validation.documents, 1);
    EXPECT_EQ(record.training.tokens, 11 + 2 * 6);
    const IdSequences all = map_sequences(folder_ / "store", /*validation=*/false);
    const StoredPassage stored(all[0]);
    EXPECT_EQ(stored.text(), text);
    EXPECT_EQ(stored.located(), tokenizers.source->locate(text));
    ASSERT_EQ(stored.questions(), 2);
    size_t place = stored.first_question();
    const StoredQuestion first = stored.question_at(place), second = stored.question_at(place);
    EXPECT_EQ(first.answers, (Texts{"here", "is here"}));
    EXPECT_EQ(first.first, 7);
    EXPECT_EQ(first.last, 10);
    EXPECT_EQ(second.first, 1);
    EXPECT_EQ(second.last, 2);
    EXPECT_EQ(second.answers, (Texts{"o\u00eb"}));
    EXPECT_EQ(place, all[0].size());
  }
}

}  // namespace
}  // namespace sixfold
