#include "tasks/language_model/text_stream.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "tasks/language_model/chosen_tokens.h"
#include "text/characters.h"
#include "text/tokenizer_json.h"
#include "text/tokenizers.h"
#include "text/utf8.h"

namespace sixfold {
namespace {

using Ids = std::vector<int32_t>;

/// What is shown after each token, and at the end.
std::vector<std::string> pieces(const Tokenizer& tokenizer, const Ids& ids,
                                const std::vector<std::string>& stops = {}) {
  const StopStrings strings(stops);
  TextStream stream(tokenizer, strings);
  std::vector<std::string> pieces;
  for (size_t count = 1; count <= ids.size(); ++count)
    pieces.push_back(stream.push(std::span(ids).first(count)));
  pieces.push_back(stream.finish(ids));
  return pieces;
}

std::string joined(const std::vector<std::string>& pieces) {
  std::string all;
  for (const std::string& piece : pieces) all += piece;
  return all;
}

using TextPieces = std::vector<std::string>;

TEST(TextStream, ShowsWholeCharacters) {
  const auto bytes = load_bytes(byte_tokenizer_file, "test");
  EXPECT_EQ(pieces(*bytes, bytes->encode("aé€b")), (TextPieces{"a", "", "é", "", "", "€", "b", ""}));
  // What never becomes a character is shown as U+FFFD.
  EXPECT_EQ(joined(pieces(*bytes, bytes->encode("a\xFF\xC3z\xE2\x82"))),
            replace_invalid_utf8("a\xFF\xC3z\xE2\x82"));
  EXPECT_EQ(joined(pieces(*bytes, {})), "");
}

/// Tokens that add nothing to the text, such as parts of a character, are told too.
TEST(ChosenTokens, HaveAlsoThoseWithoutText) {
  const auto bytes = load_bytes(byte_tokenizer_file, "test");
  const Ids ids = bytes->encode("aé€");
  const std::vector<float> log_probs{-1};
  ChosenTokens chosen(*bytes, 0);
  for (size_t i = 0; i + 1 < ids.size(); ++i)  // the last byte is missing
    chosen.see(std::span(ids).first(i), {std::span(ids).subspan(i, 1), log_probs});
  constexpr int64_t all = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(chosen.all(all).size(), 5u);
  EXPECT_EQ(chosen.all(2).size(), 3u);  // those of "aé"
  EXPECT_EQ(chosen.take(2).size(), 3u);
  EXPECT_EQ(chosen.take(all).size(), 2u);
}

/// A token without text, or with bytes that are no text, has its name; what the others add is the text.
TEST(ChosenTokens, AreNamedWhereTheyHaveNoText) {
  const auto bytes = load_bytes(byte_tokenizer_file, "test");
  const Ids ids = bytes->encode("aé\xFFz"), others = bytes->encode("\x80\x81");
  const std::vector<float> log_probs{-1, -2, -3};
  ChosenTokens chosen(*bytes, 0);
  for (size_t i = 0; i < ids.size(); ++i) {
    const Ids one{ids[i], others[0], others[1]};
    chosen.see(std::span(ids).first(i), {one, log_probs});
  }
  std::vector<std::string> added;
  for (const ChosenToken& token : chosen.all(std::numeric_limits<int64_t>::max())) {
    added.push_back((token.added.is_name ? "name " : "") + token.added.text);
    EXPECT_NE(token.likeliest[0].first.text, token.likeliest[1].first.text) << "no two tokens look the same";
  }
  const auto name = [&](size_t token) { return "name " + bytes->token_text(ids[token]); };
  EXPECT_EQ(added, (std::vector<std::string>{"a", name(1), "é", name(3), "\uFFFDz"}));
}

TEST(TextStream, EndsBeforeAStopString) {
  const auto characters = load_characters("\nabc", "test");
  EXPECT_EQ(pieces(*characters, characters->encode("abcab"), {"ca"}), (TextPieces{"a", "b", "", "", "", ""}));
  EXPECT_EQ(pieces(*characters, characters->encode("acb"), {"cc"}), (TextPieces{"a", "", "cb", ""}));
  EXPECT_EQ(joined(pieces(*characters, characters->encode("abc"), {"ca", "bcb"})), "abc");
  EXPECT_EQ(joined(pieces(*characters, characters->encode("aab"), {"ab", "aa"})), "");
}

/// Tokens of words depend on those before them: the space between a prompt and the text is part of the text.
TEST(TextStream, GoesOnAfterAPrompt) {
  const std::vector<std::string> lines(30, "the cat sat on the mat and the dog ran");
  const StopStrings none;
  for (const TokenizerKind kind : {TokenizerKind::sentencepiece, TokenizerKind::whitespace}) {
    TokenizerOptions options;
    options.kind = kind;
    options.vocab_size = kind == TokenizerKind::sentencepiece ? 40 : 0;
    const auto tokenizer = make_tokenizer(options, text_reader(lines), TextSide::exact).target;
    const Ids prompt = tokenizer->encode("the cat"), text = tokenizer->encode("the cat sat on");
    ASSERT_TRUE(std::ranges::equal(prompt, std::span(text).first(prompt.size())));
    for (const bool whole : {false, true}) {
      TextStream stream(*tokenizer, none, prompt.size());
      std::string shown;
      for (size_t count = prompt.size() + 1; count <= text.size() && !whole; ++count)
        shown += stream.push(std::span(text).first(count));
      EXPECT_EQ(shown + stream.finish(text), " sat on") << name_of_enum(kind);
    }
    const StopStrings stops({" on"});
    TextStream stopped(*tokenizer, stops, prompt.size());
    EXPECT_EQ(stopped.finish(text), " sat");
    EXPECT_TRUE(stopped.stopped());
  }
}

TEST(TextStream, AStopStringMayBeTheReplacementCharacter) {
  const auto tokenizer = load_bytes(byte_tokenizer_file, "test");
  const Ids ids = tokenizer->encode(
      "a\xFF"
      "b");
  const StopStrings stops({"\uFFFD"});
  for (const bool whole : {false, true}) {
    TextStream stream(*tokenizer, stops, 0);
    std::string shown;
    for (size_t count = 1; count <= ids.size() && !whole; ++count)
      shown += stream.push(std::span(ids).first(count));
    EXPECT_EQ(shown + stream.finish(ids), "a");
    EXPECT_TRUE(stream.stopped());
  }
}

TEST(TextStream, AStopStringIsFoundWhereverItBegins) {
  const auto characters = load_characters("\nab", "test");
  const auto shown = [&](const std::string& text, const std::vector<std::string>& stops) {
    return joined(pieces(*characters, characters->encode(text), stops));
  };
  RandomStream random(5, 0);
  const auto draw = [&](uint32_t most) {
    std::string text;
    for (uint32_t i = 0, length = 1 + random.below(most); i < length; ++i) text += "ab"[random.below(2)];
    return text;
  };
  for (int i = 0; i < 2000; ++i) {
    const std::string text = draw(30), one = draw(6), other = draw(6);
    std::string expected = text;
    for (size_t end = 1; end <= text.size() && expected == text; ++end) {
      const std::string_view part = std::string_view(text).substr(0, end);
      size_t length = 0;
      for (const std::string& stop : {one, other})
        if (part.ends_with(stop)) length = std::max(length, stop.size());
      if (length > 0) expected = part.substr(0, end - length);
    }
    EXPECT_EQ(shown(text, {one, other}), expected) << text << " " << one << " " << other;
  }
}

/// A character that is not complete yet is none.
TEST(TextStream, PartsOfCharactersAreNoReplacementCharacters) {
  const auto bytes = load_bytes(byte_tokenizer_file, "test");
  const StopStrings stops({"\uFFFD"});
  const Ids ids = bytes->encode("é€😀");
  TextStream stream(*bytes, stops);
  for (size_t count = 1; count <= ids.size(); ++count) stream.push(std::span(ids).first(count));
  EXPECT_FALSE(stream.stopped());
}

/// U+FFFD that a model writes is shown as it comes, and not at the end alone.
TEST(TextStream, ShowsReplacementCharactersAsTheyCome) {
  const auto characters = load_characters("\n\uFFFD", "test");
  std::string text;
  for (int i = 0; i < 40; ++i) text += "\uFFFD";
  const Ids ids = characters->encode(text);
  const std::vector<std::string> shown = pieces(*characters, ids);
  EXPECT_EQ(joined(shown), text);
  EXPECT_GE(std::ranges::count_if(shown, [](const std::string& piece) { return !piece.empty(); }), 8);
}

/// The pieces together are the text, for tokens that are parts of words too.
TEST(TextStream, LosesNothing) {
  const std::vector<std::string> lines(30, "the cat sat on the mat and the dog ran");
  TokenizerOptions options;
  options.byte_fallback = true;
  options.vocab_size = 290;
  const Tokenizers tokenizers = make_tokenizer(options, text_reader(lines), TextSide::exact);
  for (const std::string text : {"the cat\n\nand  thé 😀 dog", " the\n", "\n", "sat"}) {
    const Ids ids = tokenizers.target->encode_text(text);
    EXPECT_EQ(joined(pieces(*tokenizers.target, ids)), text);
  }
}

/// A tokenizer.json with a token for each byte, which decodes a run of bytes that is no text to U+FFFD for
/// each.
std::shared_ptr<const Tokenizer> byte_fallback_json() {
  nlohmann::json vocabulary{{"<unk>", 0}, {"</s>", 1}};
  for (int byte = 0; byte < 256; ++byte) vocabulary[fmt::format("<0x{:02X}>", byte)] = 2 + byte;
  for (const char* letter : {"a", "n"}) vocabulary[letter] = vocabulary.size();
  const nlohmann::json end{{"id", 1}, {"content", "</s>"}, {"special", true}};
  const nlohmann::json file{
      {"added_tokens", nlohmann::json::array({end})},
      {"model",
       {{"type", "BPE"},
        {"vocab", vocabulary},
        {"merges", nlohmann::json::array()},
        {"unk_token", "<unk>"},
        {"byte_fallback", true}}},
      {"decoder", {{"type", "Sequence"}, {"decoders", {{{"type", "ByteFallback"}}, {{"type", "Fuse"}}}}}}};
  return load_hugging_face_tokenizer(file.dump(), {.bos = -1, .eos = 1, .size = 260}, "test");
}

/// What is shown of `text` after `prompt`, as it comes and at once.
void expect_after_prompt(const Tokenizer& tokenizer, const std::string& begin, const std::string& prompt,
                         const std::string& text, const std::string& expected) {
  Ids ids = tokenizer.encode_text(begin);
  const auto add = [&](const std::string& bytes) {
    for (const char byte : bytes) {
      const auto id_of = [&](const std::string& name) {
        int32_t id = 0;
        while (id < tokenizer.vocab_size() && tokenizer.token_text(id) != name) ++id;
        return id;
      };
      const int32_t letter = id_of(std::string(1, byte));
      ids.push_back(letter < tokenizer.vocab_size()
                        ? letter
                        : id_of(fmt::format("<0x{:02X}>", static_cast<unsigned char>(byte))));
    }
  };
  add(prompt);
  const StopStrings none;
  TextStream stream(tokenizer, none, ids.size());
  std::string shown;
  for (size_t i = 0; i < text.size(); ++i) {
    add(text.substr(i, 1));
    shown += stream.push(ids);
  }
  EXPECT_EQ(shown + stream.finish(ids), expected);
}

/// A prompt may end within a character: the text has the whole character, or what follows its bytes.
TEST(TextStream, CompletesTheCharacterOfAPrompt) {
  const std::vector<std::string> lines(30, "an an na nan");
  TokenizerOptions options;
  options.byte_fallback = true;
  options.vocab_size = 265;
  const std::shared_ptr<const Tokenizer> all[] = {
      load_bytes(byte_tokenizer_file, "test"), byte_fallback_json(),
      make_tokenizer(options, text_reader(lines), TextSide::exact).target};
  for (const auto& tokenizer : all) {
    for (const char* begin : {"aé", ""}) {
      expect_after_prompt(*tokenizer, begin, "\xF0\x9F\x98", "\x83nanan", "😃nanan");
      expect_after_prompt(*tokenizer, begin, "\xF0", "\x9F\x98\x83nanan", "😃nanan");
      expect_after_prompt(*tokenizer, begin, "\xF0\x9F\x98", "nanan", "nanan");
    }
  }
}

/// Many tokens without text cost no more each than few of them.
TEST(TextStream, TokensWithoutTextTakeLinearTime) {
  const auto tokenizer = byte_fallback_json();
  Ids ids = tokenizer->encode_text("an");
  const StopStrings none;
  TextStream stream(*tokenizer, none, ids.size());
  for (int i = 0; i < 20'000; ++i) {
    ids.push_back(tokenizer->eos());
    EXPECT_EQ(stream.push(ids), "");
  }
  ids.push_back(tokenizer->encode_text("n")[0]);
  EXPECT_EQ(stream.finish(ids), "n");
}

/// Bytes that were shown as a character stay one when the byte after them is no text.
TEST(TextStream, KeepsWhatWasShown) {
  expect_after_prompt(*byte_fallback_json(), "aé", "", "\xE2\x82\xAC\xFFnan", "€\uFFFDnan");
}

}  // namespace
}  // namespace sixfold
