#include <charconv>
#include <memory>
#include <sstream>
#include <unordered_map>

#include "base/error.h"
#include "base/join.h"
#include "program/commands.h"
#include "program/kit/model_folder.h"
#include "program/kit/text_io.h"

namespace sixfold::cli {
namespace {

struct TokenizeSettings {
  std::string model;
  TextPaths paths;
  bool target = false, ids = false, decode = false, special_tokens = false;
};

/// Converts lines of text to lines of tokens, or back. Tokens are separated by spaces and written as in the
/// vocabulary or as ids.
class LineTokenizer {
 public:
  LineTokenizer(const Tokenizer& tokenizer, const TokenizeSettings& settings)
      : tokenizer_(tokenizer), ids_(settings.ids), special_tokens_(settings.special_tokens) {
    for (int32_t id = 0; id < tokenizer.vocab_size(); ++id) id_of_.emplace(tokenizer.token_text(id), id);
  }

  std::string encode(const std::string& line) const {
    const std::vector<int32_t> ids =
        special_tokens_ ? tokenizer_.encode_with_special_tokens(line) : tokenizer_.encode(line);
    if (ids_) return join(ids, " ");
    std::vector<std::string> pieces;
    for (const int32_t id : ids) pieces.push_back(tokenizer_.token_text(id));
    return join(pieces, " ");
  }

  /// `place` names the line in errors.
  std::string decode(const std::string& line, const std::string& place) const {
    std::vector<int32_t> ids;
    for (const std::string& token : CLI::detail::split(line, ' '))
      if (!token.empty()) ids.push_back(ids_ ? parse_id(token, place) : find_token(token, place));
    return tokenizer_.decode(ids);
  }

 private:
  int32_t parse_id(const std::string& text, const std::string& place) const {
    int32_t id = -1;
    const char* end = text.data() + text.size();
    const auto result = std::from_chars(text.data(), end, id);
    require(result.ec == std::errc{} && result.ptr == end && id >= 0 && id < tokenizer_.vocab_size(),
            "{}: '{}' is not an id from 0 to {}", place, text, tokenizer_.vocab_size() - 1);
    return id;
  }

  int32_t find_token(const std::string& piece, const std::string& place) const {
    const auto found = id_of_.find(piece);
    require(found != id_of_.end(), "{}: '{}' is not a token of the vocabulary", place, piece);
    return found->second;
  }

  const Tokenizer& tokenizer_;
  bool ids_, special_tokens_;
  std::unordered_map<std::string, int32_t> id_of_;
};

void run(const TokenizeSettings& settings) {
  const auto [config, tokenizers] = load_text_model(settings.model);
  const bool target =
      settings.target || config.continues_text();  // a language model reads with its target tokenizer
  const LineTokenizer tokenizer(target ? *tokenizers.target : *tokenizers.source, settings);
  LineReader input(readable_path(settings.paths.input));
  TextOutput output(settings.paths.output, {settings.paths.input, settings.model});
  for (std::string line; next_line(input, line);) {
    make_valid(line, input, settings.paths.invalid);
    output.write_line(settings.decode ? tokenizer.decode(line, input.place()) : tokenizer.encode(line));
    if (!input.ready(std::chrono::milliseconds(0))) output.flush();
  }
  output.close();
}

}  // namespace

void add_tokenize(CLI::App& app) {
  const auto settings = std::make_shared<TokenizeSettings>();
  CLI::App& command =
      *app.add_subcommand("tokenize", "Convert text to a model's tokens, or tokens back to text");
  add_model_argument(command, settings->model);
  add_text_options(command, settings->paths);
  command.add_flag("--target", settings->target, "use the target tokenizer instead of the source tokenizer");
  command.add_flag("--ids", settings->ids, "write token ids instead of tokens, or with --decode read them");
  command.add_flag(
      "--special-tokens", settings->special_tokens,
      "read special tokens in the text, such as [SEP], as these tokens; for tokenizers of tokenizer.json");
  command.add_flag("--decode", settings->decode, "convert tokens to text");
  command.footer(
      "Examples:\n  echo \"two young women\" | sixfold tokenize run/model\n"
      "  echo 17 4 90 | sixfold tokenize run/model --ids --decode --target");
  command.callback([settings] { run(*settings); });
}

}  // namespace sixfold::cli
