#include "data/stored_questions.h"

#include <cstring>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/threads.h"
#include "data/question_windows.h"

namespace sixfold {
namespace {

/// The number of elements that store a text of this size.
size_t packed_size(size_t bytes) { return (bytes + sizeof(int32_t) - 1) / sizeof(int32_t); }

std::vector<int32_t> packed(const std::string& text) {
  std::vector<int32_t> numbers(packed_size(text.size()));
  std::memcpy(numbers.data(), text.data(), text.size());
  return numbers;
}

std::string unpacked(std::span<const int32_t> numbers, size_t bytes) {
  return {reinterpret_cast<const char*>(numbers.data()), bytes};
}

int32_t number(size_t count) { return static_cast<int32_t>(count); }

struct EncodedQuestion {
  std::vector<int32_t> tokens;
  RowRange answer;
};

/// A text with its questions, before and after it is encoded.
struct EncodedText {
  Passage source;
  std::vector<LocatedToken> tokens = {};
  std::vector<EncodedQuestion> questions = {};
};

void encode(const Tokenizer& tokenizer, EncodedText& one) {
  const auto& place = one.source.questions[0].place;
  require(one.source.text.size() < size_t{std::numeric_limits<int32_t>::max()}, "{}: the text is too long",
          place);
  one.tokens = tokenizer.locate(without_line_ends(one.source.text));
  for (const PassageQuestion& question : one.source.questions) {
    EncodedQuestion& encoded = one.questions.emplace_back();
    encoded.tokens = tokenizer.encode(without_line_ends(question.text));
    require(!encoded.tokens.empty(), "{}: the tokenizer finds nothing in the question '{}'", question.place,
            question.text);
    const RightAnswer& answer = question.answers[0];
    encoded.answer = tokens_of_bytes(one.tokens, answer.begin, answer.begin + answer.text.size());
    require(encoded.answer.begin < encoded.answer.end, "{}: the tokenizer finds nothing in the answer '{}'",
            question.place, answer.text);
  }
}

/// Stores a passage in the layout that `StoredPassage` reads.
void store(const EncodedText& one, SequenceSink& sink) {
  std::vector<int32_t> ids, begins, ends;
  for (const LocatedToken& token : one.tokens) {
    ids.push_back(token.id);
    begins.push_back(number(token.begin));
    ends.push_back(number(token.end));
  }
  const std::string& text = one.source.text;
  const int32_t sizes[] = {number(one.questions.size()), number(ids.size()), number(text.size())};
  sink.append_numbers(sizes);
  sink.append(ids);
  sink.append_numbers(begins);
  sink.append_numbers(ends);
  sink.append_numbers(packed(text));
  for (size_t i = 0; i < one.questions.size(); ++i) {
    const auto& [tokens, answer] = one.questions[i];
    const std::vector<RightAnswer>& answers = one.source.questions[i].answers;
    const int32_t head[] = {number(tokens.size()), answer.begin, answer.end - 1, number(answers.size())};
    sink.append_numbers(head);
    sink.append(tokens);
    for (const RightAnswer& right : answers) {
      sink.append_number(number(right.text.size()));
      sink.append_numbers(packed(right.text));
    }
  }
  sink.end();
}

}  // namespace

EncodeFiles question_encoder(const Tokenizer& tokenizer, InvalidUtf8 invalid, int threads) {
  return [&tokenizer, invalid, threads](const std::vector<std::string>& files, SequenceSink& sink) {
    constexpr size_t block_texts = 512;
    QuestionReader reader(files, invalid);
    ThreadPool pool(threads);
    std::vector<EncodedText> block;
    const auto encode_block = [&] {
      pool.run(std::ssize(block), [&](int64_t i, int) { encode(tokenizer, block[static_cast<size_t>(i)]); });
      for (const EncodedText& one : block) store(one, sink);
      block.clear();
    };
    for (Passage text; reader.next(text);) {
      block.push_back({std::move(text)});
      if (block.size() == block_texts) encode_block();
    }
    encode_block();
    return reader.bytes();
  };
}

StoredPassage::StoredPassage(std::span<const int32_t> sequence)
    : sequence_(sequence), questions_(sequence[0]), text_bytes_(sequence[2]) {
  const auto tokens = static_cast<size_t>(sequence[1]);
  size_t at = 3;
  const auto take = [&](size_t count) { return sequence.subspan(std::exchange(at, at + count), count); };
  tokens_ = take(tokens);
  begins_ = take(tokens);
  ends_ = take(tokens);
  text_ = take(packed_size(static_cast<size_t>(text_bytes_)));
  first_question_ = at;
}

std::vector<LocatedToken> StoredPassage::located() const {
  std::vector<LocatedToken> all;
  for (size_t i = 0; i < tokens_.size(); ++i)
    all.push_back({tokens_[i], static_cast<size_t>(begins_[i]), static_cast<size_t>(ends_[i])});
  return all;
}

std::string StoredPassage::text() const { return unpacked(text_, static_cast<size_t>(text_bytes_)); }

StoredQuestion StoredPassage::question_at(size_t& place) const {
  const auto take = [&](size_t count) { return sequence_.subspan(std::exchange(place, place + count), count); };
  const auto head = take(4);
  StoredQuestion question{
      .tokens = take(static_cast<size_t>(head[0])), .first = head[1], .last = head[2], .answers = {}};
  for (int32_t i = 0; i < head[3]; ++i) {
    const auto bytes = static_cast<size_t>(take(1)[0]);
    question.answers.push_back(unpacked(take(packed_size(bytes)), bytes));
  }
  return question;
}

}  // namespace sixfold
