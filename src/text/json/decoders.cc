#include "text/json/decoders.h"

#include "text/json/normalizers.h"
#include "text/json/subword_models.h"
#include "text/json/text_edit.h"
#include "text/utf8.h"

// The types are defined in the documentation of Hugging Face's tokenizers.

namespace sixfold {
namespace {

using Texts = std::vector<std::string>;

size_t size_of(const Texts& texts) {
  size_t size = 0;
  for (const std::string& text : texts) size += text.size();
  return size;
}

std::string replaced(const std::string& text, const std::vector<TextRange>& matches, std::string_view by) {
  std::string result;
  size_t done = 0;
  for (const TextRange& match : matches) {
    result.append(text, done, match.begin - done).append(by);
    done = match.end;
  }
  return result.append(text, done);
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  size_t at = text.find(what), done = 0;
  if (at == text.npos) return text;
  std::string result;
  for (; at != text.npos; done = at + what.size(), at = text.find(what, done))
    result.append(text, done, at - done).append(by);
  return result.append(text, done);
}

/// Tokens such as "<0x41>" are bytes. Adjacent ones are decoded together as UTF-8; if they are not valid, each
/// becomes U+FFFD.
class ByteFallback : public Decoder {
 public:
  explicit ByteFallback(const JsonStage&) {}
  Texts apply(Texts texts) const override {
    Texts result;
    std::string bytes;
    const auto flush = [&] {
      if (!first_invalid_utf8(bytes)) {
        if (!bytes.empty()) result.push_back(bytes);
      } else {
        result.insert(result.end(), bytes.size(), "\uFFFD");
      }
      bytes.clear();
    };
    for (std::string& text : texts) {
      const int byte = byte_of(text);
      if (byte >= 0) {
        bytes += static_cast<char>(byte);
        continue;
      }
      flush();
      result.push_back(std::move(text));
    }
    flush();
    return result;
  }

 private:
  static int byte_of(std::string_view text) {
    if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return -1;
    const auto digit = [](char c) {
      return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
    };
    const int high = digit(text[3]), low = digit(text[4]);
    return high < 0 || low < 0 ? -1 : 16 * high + low;
  }
};

class ByteLevelDecoder : public Decoder {
 public:
  explicit ByteLevelDecoder(const JsonStage&) {}
  Texts apply(Texts texts) const override {
    std::string bytes;
    for (const std::string& text : texts) bytes += bytes_of_characters(text).value_or(text);
    return {bytes};
  }
};

class Fuse : public Decoder {
 public:
  explicit Fuse(const JsonStage&) {}
  Texts apply(Texts texts) const override {
    std::string all;
    for (const std::string& text : texts) all += text;
    return {all};
  }
};

class MetaspaceDecoder : public Decoder {
 public:
  explicit MetaspaceDecoder(const JsonStage& json)
      : mark_(json.short_text("replacement")),
        adds_(json.flag("add_prefix_space", true) && json.text_or("prepend_scheme", "always") != "never") {
    if (mark_.empty()) json.refuse("'replacement' is empty");
  }
  Texts apply(Texts texts) const override {
    for (size_t i = 0; i < texts.size(); ++i)
      texts[i] = replaced(std::move(texts[i]), mark_, i == 0 && adds_ ? "" : " ");
    return texts;
  }

 private:
  std::string mark_;
  bool adds_;
};

class ReplaceDecoder : public Decoder {
 public:
  explicit ReplaceDecoder(const JsonStage& json)
      : find_(read_pattern(json.part("pattern"))), by_(json.short_text("content")) {}
  Texts apply(Texts texts) const override {
    for (std::string& text : texts)
      if (const auto matches = find_(text); !matches.empty()) text = replaced(text, matches, by_);
    return texts;
  }

 private:
  FindMatches find_;
  std::string by_;
};

class StripDecoder : public Decoder {
 public:
  explicit StripDecoder(const JsonStage& json)
      : content_(json.short_text("content")),
        start_(json.number("start", 0, INT32_MAX)),
        stop_(json.number("stop", 0, INT32_MAX)) {
    if (content_.empty()) json.refuse("'content' is empty");
  }
  Texts apply(Texts texts) const override {
    for (std::string& text : texts) {
      std::string_view rest = text;
      for (int64_t i = 0; i < start_ && rest.starts_with(content_); ++i) rest.remove_prefix(content_.size());
      for (int64_t i = 0; i < stop_ && rest.ends_with(content_); ++i) rest.remove_suffix(content_.size());
      text = std::string(rest);
    }
    return texts;
  }

 private:
  std::string content_;
  int64_t start_, stop_;
};

/// Joins words with spaces, and leaves out those before punctuation and contractions where asked.
class WordPieceDecoder : public Decoder {
 public:
  explicit WordPieceDecoder(const JsonStage& json)
      : prefix_(json.text_or("prefix", "##")), cleans_(json.flag("cleanup", true)) {}
  Texts apply(Texts texts) const override {
    for (size_t i = 0; i < texts.size(); ++i) {
      if (i > 0) texts[i] = texts[i].starts_with(prefix_) ? texts[i].substr(prefix_.size()) : " " + texts[i];
      if (cleans_) clean(texts[i]);
    }
    return texts;
  }

 private:
  static void clean(std::string& text) {
    if (text.find(' ') == text.npos) return;
    constexpr std::pair<std::string_view, std::string_view> changes[] = {
        {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},   {" n't", "n't"},
        {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
    for (const auto& [what, by] : changes) text = replaced(std::move(text), what, by);
  }

  std::string prefix_;
  bool cleans_;
};

class DecoderSequence : public Decoder {
 public:
  explicit DecoderSequence(const JsonStage& json) {
    for (const JsonStage& step : json.list("decoders")) steps_.push_back(make_decoder(step));
  }
  Texts apply(Texts texts) const override {
    const size_t before = size_of(texts);
    for (const auto& step : steps_) {
      texts = step->apply(std::move(texts));
      check_growth(before, size_of(texts));
    }
    return texts;
  }

 private:
  std::vector<std::unique_ptr<const Decoder>> steps_;
};

constexpr StageType<Decoder> decoder_types[] = {
    {"ByteFallback", make_as<Decoder, ByteFallback>},
    {"ByteLevel", make_as<Decoder, ByteLevelDecoder>},
    {"Fuse", make_as<Decoder, Fuse>},
    {"Metaspace", make_as<Decoder, MetaspaceDecoder>},
    {"Replace", make_as<Decoder, ReplaceDecoder>},
    {"Sequence", make_as<Decoder, DecoderSequence>},
    {"Strip", make_as<Decoder, StripDecoder>},
    {"WordPiece", make_as<Decoder, WordPieceDecoder>},
};

}  // namespace

std::unique_ptr<const Decoder> make_decoder(const JsonStage& json) { return make_stage(decoder_types, json); }

}  // namespace sixfold
