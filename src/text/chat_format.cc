#include "text/chat_format.h"

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace sixfold {
namespace {

constexpr std::string_view roles[] = {"system", "user", "assistant"};
constexpr std::string_view end_of_thoughts = "</think>";

/// The dates in templates of Llama 3.1. Templates of Llama 3.2 have them too if no other date is given.
constexpr std::string_view llama_dates = "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n";
constexpr std::string_view header = "<|start_header_id|>", header_end = "<|end_header_id|>\n\n";

const ChatFormat formats[] = {
    {.name = "chatml", .open = "<|im_start|>", .middle = "\n", .close = "<|im_end|>\n"},
    {.name = "qwen3", .open = "<|im_start|>", .middle = "\n", .close = "<|im_end|>\n", .drops_thoughts = true},
    {.name = "llama3", .open = header, .middle = header_end, .close = "<|eot_id|>", .trims = true},
    {.name = "llama3.1",
     .open = header,
     .middle = header_end,
     .close = "<|eot_id|>",
     .trims = true,
     .preamble = llama_dates},
    {.name = "phi3", .open = "<|", .middle = "|>\n", .close = "<|end|>\n"},
    {.name = "phi4", .open = "<|im_start|>", .middle = "<|im_sep|>", .close = "<|im_end|>"},
    {.name = "phi4-mini", .open = "<|", .middle = "|>", .close = "<|end|>"},
};

/// The text before the content of a message.
std::string begin_of(const ChatFormat& format, std::string_view role) {
  return fmt::format("{}{}{}", format.open, role, format.middle);
}

/// The control tokens that a format writes.
std::vector<std::string> control_tokens(const ChatFormat& format) {
  std::string all;
  for (const std::string_view role : roles) all.append(begin_of(format, role)).append(format.close);
  return control_tokens_in(all);
}

/// How often a part, which does not overlap itself, occurs in a text.
std::ptrdiff_t count_of(std::string_view part, std::string_view text) {
  std::ptrdiff_t count = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

std::string content_of(const ChatFormat& format, const ChatMessage& message) {
  std::string_view content = message.content;
  if (format.drops_thoughts && message.role == "assistant")
    if (const size_t end = content.rfind(end_of_thoughts); end != content.npos) {
      content = content.substr(end + end_of_thoughts.size());
      content = content.substr(std::min(content.find_first_not_of('\n'), content.size()));
    }
  return std::string(format.trims ? trim_spaces(content) : content);
}

}  // namespace

std::vector<std::string> control_tokens_in(std::string_view text) {
  std::vector<std::string> tokens;
  for (size_t begin = text.find("<|"); begin != text.npos; begin = text.find("<|", begin + 1)) {
    size_t end = begin + 2;
    while (end < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_' || text[end] == '/'))
      ++end;
    if (end > begin + 2 && text.substr(end).starts_with("|>"))
      tokens.emplace_back(text.substr(begin, end + 2 - begin));
  }
  std::ranges::sort(tokens);
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
  return tokens;
}

std::string jinja_literal(std::string_view text) {
  std::string result = "'";
  for (const char c : text)
    if (c == '\n')
      result += "\\n";
    else
      result.append(c == '\'' || c == '"' || c == '\\' ? "\\" : "").append(1, c);
  return result + "'";
}

std::span<const ChatFormat> chat_formats() { return formats; }

const ChatFormat* chat_format_named(std::string_view name) {
  const auto found = std::ranges::find(formats, name, &ChatFormat::name);
  return found == std::end(formats) ? nullptr : found;
}

std::string chat_template_of(const ChatFormat& format, const std::string& system, bool starts) {
  const auto begin = [&](std::string_view role) { return jinja_literal(begin_of(format, role)); };
  const std::string trim = format.trims ? " | trim" : "", close = jinja_literal(format.close);
  std::string jinja = starts ? "{{ bos_token }}" : "";
  if (!format.preamble.empty())
    jinja += fmt::format(
        "{{% if messages[0]['role'] == 'system' %}}{{% set first = messages[0]['content'] | trim %}}"
        "{{% set messages = messages[1:] %}}{{% else %}}{{% set first = {} %}}{{% endif %}}"
        "{{{{ {} + {} + first + {} }}}}",
        jinja_literal(system), begin("system"), jinja_literal(format.preamble), close);
  jinja += "{% for message in messages %}";
  if (format.preamble.empty() && !system.empty())
    jinja += fmt::format("{{% if loop.first and message['role'] != 'system' %}}{{{{ {} }}}}{{% endif %}}",
                         jinja_literal(begin_of(format, "system") + system + std::string(format.close)));
  jinja += fmt::format("{{% set content = message['content']{} %}}", trim);
  if (format.drops_thoughts)
    jinja +=
        "{% if message['role'] == 'assistant' and '</think>' in content %}"
        "{% set content = content.split('</think>')[-1].lstrip('\\n') %}{% endif %}";
  jinja += fmt::format("{{{{ {} + message['role'] + {} + content + {} }}}}{{% endfor %}}",
                       jinja_literal(format.open), jinja_literal(format.middle), close);
  return jinja + fmt::format("{{% if add_generation_prompt %}}{{{{ {} }}}}{{% endif %}}", begin("assistant"));
}

ChatText chat_text(const ChatFormat& format, const std::string& system, std::span<const ChatMessage> messages) {
  for (size_t i = 0; i < messages.size(); ++i)
    require(std::ranges::count(roles, messages[i].role) > 0,
            "message {}: its role is '{}'; it must be system, user or assistant", i + 1, messages[i].role);
  require(!messages.empty() && messages.back().role == "user",
          "a conversation must end with a message of the user, which is answered");
  ChatText result;
  std::string& text = result.text;
  const auto add = [&](std::string_view role, std::string_view before, std::string_view content) {
    text.append(begin_of(format, role)).append(before);
    result.contents.push_back({text.size(), text.size() + content.size()});
    text.append(content).append(format.close);
  };
  if (messages.front().role != "system" && !(system.empty() && format.preamble.empty()))
    text.append(begin_of(format, "system")).append(format.preamble).append(system).append(format.close);
  for (size_t i = 0; i < messages.size(); ++i) {
    const ChatMessage& message = messages[i];
    const std::string content = content_of(format, message);
    require(message.role != "system" || !content.empty(),
            "message {}: the system message is empty; leave it out", i + 1);
    add(message.role, i == 0 && message.role == "system" ? format.preamble : std::string_view(), content);
  }
  text.append(begin_of(format, "assistant"));
  return result;
}

std::optional<std::string> chat_fault(const ChatFormat& format, const Tokenizer& tokenizer) {
  if (tokenizer.kind() != TokenizerKind::tokenizer_json)
    return fmt::format(
        "a tokenizer of the kind {} finds no control tokens in texts; one of a tokenizer.json does",
        name_of_enum(tokenizer.kind()));
  for (const std::string& token : control_tokens(format))
    for (const std::string& content : {token, fmt::format("a{}a", token)}) {
      const ChatMessage messages[] = {
          {"system", content}, {"user", content}, {"assistant", content}, {"user", content}};
      const ChatText chat = chat_text(format, "", messages);
      const auto ids = tokenizer.encode_with_special_tokens(chat.text, chat.contents);
      const auto found =
          std::ranges::count_if(ids, [&](int32_t id) { return tokenizer.token_text(id) == token; });
      const auto written = count_of(token, chat.text) - std::ssize(messages);
      if (found < written)
        return fmt::format("its tokenizer finds no special token '{}' in conversations", token);
      if (found > written)
        return fmt::format("its token '{}' is not special, so that any text can contain it", token);
    }
  return {};
}

int32_t end_of_message(const ChatFormat& format, const Tokenizer& tokenizer) {
  return tokenizer.encode_with_special_tokens(control_tokens_in(format.close).at(0)).at(0);
}

}  // namespace sixfold
