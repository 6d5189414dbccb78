#include "data/question_reader.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "base/plural.h"
#include "text/utf8.h"

namespace sixfold {
namespace {

using nlohmann::json;

/// A list of a JSON object whose elements are objects.
const json& list_of(const JsonObject& object, const char* key, const std::string& where) {
  const json& list = object.at(key);
  require(list.is_array(), "{}: '{}' is not a list", where, key);
  return list;
}

/// The byte at which a code point of well-formed text begins, or `npos` if the text is shorter.
size_t byte_of(std::string_view text, int64_t code_point) {
  for (size_t byte = 0; byte < text.size(); ++byte)
    if ((static_cast<unsigned char>(text[byte]) & 0xC0) != 0x80 && code_point-- == 0) return byte;
  return text.npos;
}

/// Removes white space at both ends. Throws an input error if nothing is left.
RightAnswer trimmed(const RightAnswer& answer, const std::string& where) {
  const std::string_view inner = trim_spaces(answer.text);
  require(has_visible_character(inner), "{}: an answer is empty", where);
  return {std::string(inner), answer.begin + static_cast<size_t>(inner.data() - answer.text.data())};
}

class SquadParser {
 public:
  SquadParser(const std::string& path, RightAnswers answers, InvalidUtf8 invalid)
      : path_(path), answers_(answers), invalid_(invalid) {}

  std::vector<Passage> parse(std::string_view text) {
    const json root = parse_json(text, path_);
    const JsonObject object(root, path_);
    const json& articles = list_of(object, "data", path_);
    for (size_t i = 0; i < articles.size(); ++i) {
      const std::string where = fmt::format("{}: data[{}]", path_, i);
      const JsonObject article(articles[i], where);
      const json& paragraphs = list_of(article, "paragraphs", where);
      for (size_t k = 0; k < paragraphs.size(); ++k)
        add_paragraph(paragraphs[k], fmt::format("{}.paragraphs[{}]", where, k));
    }
    return std::move(texts_);
  }

 private:
  /// A text of an object. An escaped NUL is the one fault that valid JSON can have.
  std::string text_of(const JsonObject& object, const char* key, const std::string& where) const {
    std::string text;
    object.read(key, text);
    if (invalid_ == InvalidUtf8::replace) return replace_faults(text);
    if (const auto fault = fault_of_text(text)) throw_input_error("{}: '{}': {}", where, key, *fault);
    return text;
  }

  void add_paragraph(const json& value, const std::string& where) {
    const JsonObject paragraph(value, where);
    Passage one{.text = text_of(paragraph, "context", where), .questions = {}};
    const json& questions = list_of(paragraph, "qas", where);
    for (size_t i = 0; i < questions.size(); ++i)
      one.questions.push_back(question_of(questions[i], one.text, fmt::format("{}.qas[{}]", where, i)));
    texts_.push_back(std::move(one));
  }

  PassageQuestion question_of(const json& value, const std::string& text, const std::string& where) {
    const JsonObject object(value, where);
    PassageQuestion question{.id = text_of(object, "id", where),
                             .text = text_of(object, "question", where),
                             .answers = {},
                             .place = where};
    require(ids_.insert(question.id).second, "{}: the id '{}' occurs twice", where, question.id);
    bool impossible = false;
    if (object.has("is_impossible")) object.read("is_impossible", impossible);
    if (answers_ == RightAnswers::required) {
      require(!impossible,
              "{}: 'is_impossible' is true, but questions without an answer, as SQuAD 2.0 has them, are not "
              "supported; remove them, or use SQuAD 1.1",
              where);
      require(has_visible_character(question.text), "{}: the question is empty", where);
    }
    if (answers_ == RightAnswers::required || object.has("answers")) read_answers(object, text, question);
    return question;
  }

  void read_answers(const JsonObject& object, const std::string& text, PassageQuestion& question) const {
    const json& answers = list_of(object, "answers", question.place);
    require(answers_ == RightAnswers::optional || !answers.empty(), "{}: 'answers' is empty", question.place);
    for (size_t i = 0; i < answers.size(); ++i) {
      const std::string where = fmt::format("{}.answers[{}]", question.place, i);
      const JsonObject answer(answers[i], where);
      RightAnswer one{.text = text_of(answer, "text", where)};
      int64_t start = 0;
      answer.read("answer_start", start);
      one.begin = byte_of(text, start);
      require(one.begin != text.npos && text.compare(one.begin, one.text.size(), one.text) == 0,
              "{}: 'answer_start' is {}, but the context does not have '{}' there; it counts characters (code "
              "points) from 0",
              where, start, one.text);
      question.answers.push_back(trimmed(one, where));
    }
  }

  const std::string& path_;
  RightAnswers answers_;
  InvalidUtf8 invalid_;
  std::vector<Passage> texts_;
  std::unordered_set<std::string> ids_;
};

/// The text and the question of a line.
Passage parse_line(std::string_view line, const std::string& place) {
  const size_t first = line.find('\t'), second = first == line.npos ? first : line.find('\t', first + 1);
  require(second != line.npos && line.find('\t', second + 1) == line.npos,
          "{}: expected a text, a tab, a question, a tab and an answer, but the line has {}", place,
          counted(std::ranges::count(line, '\t'), "tab"));
  Passage one{.text = std::string(line.substr(0, first)), .questions = {}};
  PassageQuestion question{
      .id = {}, .text = std::string(line.substr(first + 1, second - first - 1)), .answers = {}, .place = place};
  require(has_visible_character(one.text), "{}: the text is empty", place);
  require(has_visible_character(question.text), "{}: the question is empty", place);
  RightAnswer answer = trimmed({std::string(line.substr(second + 1))}, place);
  answer.begin = one.text.find(answer.text);
  require(answer.begin != one.text.npos, "{}: the answer '{}' is not in the text", place, answer.text);
  question.answers.push_back(std::move(answer));
  one.questions.push_back(std::move(question));
  return one;
}

}  // namespace

bool is_squad_file(std::string_view path) { return path.ends_with(".json") || path.ends_with(".json.gz"); }

std::vector<Passage> parse_squad(std::string_view json, const std::string& path, RightAnswers answers,
                                 InvalidUtf8 invalid) {
  return SquadParser(path, answers, invalid).parse(json);
}

std::vector<Passage> read_squad(const std::string& path, RightAnswers answers, InvalidUtf8 invalid) {
  LineReader reader(path);
  std::string whole;
  for (std::string line; reader.next(line); whole += '\n') {
    if (const auto fault = fault_of_text(line); fault && invalid != InvalidUtf8::replace)
      throw_input_error(
          "{}: {}; convert the file, or choose --invalid-utf8 replace (in training data.invalid_utf8): JSON "
          "can't be read without one of its lines",
          reader.place(), *fault);
    whole += invalid == InvalidUtf8::replace ? replace_faults(line) : line;
  }
  return parse_squad(whole, path, answers, invalid);
}

QuestionReader::QuestionReader(std::vector<std::string> files, InvalidUtf8 invalid)
    : files_(std::move(files)), invalid_(invalid) {
  for (const std::string& file : files_) require_readable(file);
}

/// Opens the next file. Returns false if there is none.
bool QuestionReader::open_file() {
  if (file_ == files_.size()) return false;
  const std::string& path = files_[file_++];
  if (is_squad_file(path))
    squad_ = read_squad(path, RightAnswers::required, invalid_), next_of_squad_ = 0;
  else
    lines_ = std::make_unique<LineReader>(path);
  return true;
}

bool QuestionReader::next_line(std::string& line) {
  while (lines_->next(line)) {
    make_valid(line, *lines_, invalid_);
    if (has_visible_character(line)) return true;
  }
  return false;
}

/// Returns the next text of a file of lines; nothing at its end.
std::optional<Passage> QuestionReader::next_of_lines() {
  std::optional<Passage> text = std::exchange(next_passage_, std::nullopt);
  for (std::string line; next_line(line);) {
    Passage one = parse_line(line, lines_->place());
    if (!text) {
      text = std::move(one);
    } else if (one.text == text->text) {
      text->questions.push_back(std::move(one.questions[0]));
    } else {
      next_passage_ = std::move(one);
      return text;
    }
  }
  return text;
}

bool QuestionReader::next(Passage& text) {
  while (true) {
    if (next_of_squad_ < squad_.size()) {
      text = std::move(squad_[next_of_squad_++]);
      if (text.questions.empty()) continue;
    } else if (auto found = lines_ ? next_of_lines() : std::nullopt) {
      text = std::move(*found);
    } else {
      lines_.reset();
      if (!open_file()) return false;
      continue;
    }
    bytes_ += std::ssize(text.text);
    for (const PassageQuestion& question : text.questions) bytes_ += std::ssize(question.text);
    return true;
  }
}

std::string without_line_ends(std::string text) {
  for (char& c : text)
    if (c == '\n' || c == '\r' || c == '\t') c = ' ';
  return text;
}

}  // namespace sixfold
