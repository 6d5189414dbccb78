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

/// Templates of no format have these: they write what neither the messages nor their own texts say.
const std::vector<std::string_view> foreign = {"macro ", "default", "documents"};
/// Those of most formats have none of these either, by which they change contents or write dates.
const std::vector<std::string_view> changes = {"trim",    "strip",      "split(",         "strftime",
                                               "<think>", "set system", "system_message", "eos_token"};
/// Llama 3 trims contents.
const std::vector<std::string_view> changes_but_trim = {
    "strip", "split(", "strftime", "Date: ", "<think>", "set system", "system_message", "eos_token"};
/// Without a prompt for the assistant, templates of Phi end with the end token.
const std::vector<std::string_view> changes_but_end = {"trim",    "strip",      "split(",        "strftime",
                                                       "<think>", "set system", "system_message"};

/// The date that templates of Llama 3.1 have; those of 3.2 have it where they are told no other.
constexpr std::string_view llama_dates = "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n";
constexpr std::string_view header = "<|start_header_id|>", header_end = "<|end_header_id|>\n\n";

const ChatFormat formats[] = {
    {.name = "chatml", .open = "<|im_start|>", .middle = "\n", .close = "<|im_end|>\n", .lacks = changes},
    {.name = "qwen3",
     .open = "<|im_start|>",
     .middle = "\n",
     .close = "<|im_end|>\n",
     .drops_thoughts = true,
     .has = {"split('</think>')[-1].lstrip('\n')"},
     .lacks = {"trim", "strftime", "set system", "system_message", "eos_token", "'<think>\n'"}},
    {.name = "llama3",
     .open = header,
     .middle = header_end,
     .close = "<|eot_id|>",
     .trims = true,
     .has = {"trim"},
     .lacks = changes_but_trim},
    {.name = "llama3.1",
     .open = header,
     .middle = header_end,
     .close = "<|eot_id|>",
     .trims = true,
     .preamble = llama_dates,
     .has = {"trim", "Cutting Knowledge Date: December 2023\n", "Today Date: ", "26 Jul 2024"},
     .lacks = {"strip", "split(", "<think>", "if system_message", "eos_token"},
     .more_tokens = {"<|python_tag|>", "<|eom_id|>"}},
    {.name = "phi3", .open = "<|", .middle = "|>\n", .close = "<|end|>\n", .lacks = changes_but_end},
    {.name = "phi4", .open = "<|im_start|>", .middle = "<|im_sep|>", .close = "<|im_end|>", .lacks = changes},
    {.name = "phi4-mini",
     .open = "<|",
     .middle = "|>",
     .close = "<|end|>",
     .lacks = changes_but_end,
     .more_tokens = {"<|tool|>", "<|/tool|>"}},
};

/// What stands before the content of a message.
std::string begin_of(const ChatFormat& format, std::string_view role) {
  return fmt::format("{}{}{}", format.open, role, format.middle);
}

/// The control tokens in a text: "<|", letters, and "|>".
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

/// The control tokens that a format writes.
std::vector<std::string> control_tokens(const ChatFormat& format) {
  std::string all;
  for (const std::string_view role : roles) all.append(begin_of(format, role)).append(format.close);
  return control_tokens_in(all);
}

/// In place of escaped quotation marks and other escapes of a template's texts.
constexpr char single_quote = '\1', double_quote = '\2', other_escape = '\3';

/// A template with its escapes resolved and with texts that are added joined: 'a' + '\n' becomes 'a', a line
/// feed and '.
std::string plain_jinja(std::string_view jinja) {
  std::string plain;
  for (size_t i = 0; i < jinja.size(); ++i) {
    const char c = jinja[i];
    if (c == '\\' && i + 1 < jinja.size()) {
      const char next = jinja[++i];
      plain += next == 'n'    ? '\n'
               : next == '\'' ? single_quote
               : next == '"'  ? double_quote
               : next == '\\' ? '\\'
                              : other_escape;
      continue;
    }
    if (c == '\'' || c == '"') {
      size_t at = i + 1;
      const auto skip_spaces = [&] {
        while (at < jinja.size() && (jinja[at] == ' ' || jinja[at] == '\n')) ++at;
      };
      skip_spaces();
      const bool adds = at < jinja.size() && jinja[at] == '+';
      if (adds) ++at, skip_spaces();
      if (adds && at < jinja.size() && jinja[at] == c) {
        i = at;
        continue;
      }
    }
    plain += c;
  }
  return plain;
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }
bool contains_any(std::string_view text, const std::vector<std::string_view>& parts) {
  return std::ranges::any_of(parts, [&](std::string_view part) { return contains(text, part); });
}
/// Whether a template has a text literal with this end.
bool has_literal_end(std::string_view jinja, std::string part) {
  return contains(jinja, part + '\'') || contains(jinja, part + '"');
}

/// Whether a plain template begins a message of the system and goes on with something else than its content,
/// such as tools, whatever the caller says.
bool has_own_system_message(const ChatFormat& format, std::string_view jinja) {
  if (!format.preamble.empty() || contains(jinja, "if tools")) return false;
  const std::string begin = begin_of(format, "system");
  for (const char quote : {'\'', '"'})
    for (const char* end : {"}}", " }}", "-}}", " -}}"})
      if (contains(jinja, begin + quote + end)) return true;
  return false;
}

/// Whether a plain template may write messages of all roles as the format does.
bool is_template_of(const ChatFormat& format, std::string_view jinja) {
  const auto tokens = control_tokens(format);
  const bool every_role = std::ranges::all_of(
      roles, [&](std::string_view role) { return contains(jinja, begin_of(format, role)); });
  return contains(jinja, "add_generation_prompt") && has_literal_end(jinja, begin_of(format, "assistant")) &&
         has_literal_end(jinja, std::string(format.close)) &&
         (every_role || contains_any(jinja, {"message['role'] +", "message[\"role\"] +", "message.role +"})) &&
         std::ranges::all_of(format.has, [&](std::string_view part) { return contains(jinja, part); }) &&
         !contains_any(jinja, format.lacks) && !contains_any(jinja, foreign) &&
         !has_own_system_message(format, jinja) &&
         std::ranges::all_of(control_tokens_in(jinja), [&](const std::string& token) {
           return std::ranges::count(tokens, token) > 0 || std::ranges::count(format.more_tokens, token) > 0;
         });
}

/// What a part of a plain template is.
enum class JinjaPart { text, code, unclear };

/// A part that begins within a text literal: a quotation mark before an operator or the end of an expression
/// ends the literal, one before a letter is of the text.
JinjaPart kind_of(std::string_view part) {
  for (size_t at = part.find_first_of("'\""); at != part.npos; at = part.find_first_of("'\"", at + 1)) {
    const std::string_view after = part.substr(at + 1);
    if (!after.empty() && std::isalnum(static_cast<unsigned char>(after[0]))) continue;
    const std::string_view next = after.substr(std::min(after.find_first_not_of(" \n"), after.size()));
    const bool ends =
        next.starts_with("+") || next.starts_with("~") || next.starts_with("}") || next.starts_with("-}");
    return ends ? JinjaPart::code : JinjaPart::unclear;
  }
  return JinjaPart::text;
}

/// The system message that a plain template has as a text; empty if it has none. Nothing if it has several, or
/// if it is not clear what it has.
std::optional<std::string> system_message_in(std::string_view jinja, const ChatFormat& format) {
  std::string found;
  const std::string begin = begin_of(format, "system");
  for (size_t at = jinja.find(begin); at != jinja.npos; at = jinja.find(begin, at)) {
    at += begin.size();
    const size_t end = jinja.find(format.close, at);
    if (end == jinja.npos) break;
    std::string message(jinja.substr(at, end - at));
    at = end;
    const JinjaPart kind = kind_of(message);
    if (kind == JinjaPart::code) continue;
    std::ranges::replace(message, single_quote, '\'');
    std::ranges::replace(message, double_quote, '"');
    if (message.empty() || kind == JinjaPart::unclear || message.find(other_escape) != message.npos ||
        first_invalid_utf8(message))
      return std::nullopt;
    if (!found.empty() && found != message) return std::nullopt;
    found = std::move(message);
  }
  return found;
}

/// A text as a literal of Jinja.
std::string literal(std::string_view text) {
  std::string result = "'";
  for (const char c : text)
    if (c == '\n')
      result += "\\n";
    else
      result.append(c == '\'' || c == '"' || c == '\\' ? "\\" : "").append(1, c);
  return result + "'";
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

std::span<const ChatFormat> chat_formats() { return formats; }

const ChatFormat* chat_format_named(std::string_view name) {
  const auto found = std::ranges::find(formats, name, &ChatFormat::name);
  return found == std::end(formats) ? nullptr : found;
}

std::optional<RecognisedChat> recognise_chat(std::string_view jinja) {
  const std::string plain = plain_jinja(jinja);
  for (const ChatFormat& format : formats) {
    if (!is_template_of(format, plain)) continue;
    std::optional<std::string> system = system_message_in(plain, format);
    if (!system) return std::nullopt;
    return RecognisedChat{.format = &format,
                          .system = *std::move(system),
                          .starts = contains(plain, "bos_token"),
                          .names_today = contains(plain, "strftime")};
  }
  return std::nullopt;
}

std::string chat_template_of(const ChatFormat& format, const std::string& system, bool starts) {
  const auto begin = [&](std::string_view role) { return literal(begin_of(format, role)); };
  const std::string trim = format.trims ? " | trim" : "", close = literal(format.close);
  std::string jinja = starts ? "{{ bos_token }}" : "";
  if (!format.preamble.empty())
    jinja += fmt::format(
        "{{% if messages[0]['role'] == 'system' %}}{{% set first = messages[0]['content'] | trim %}}"
        "{{% set messages = messages[1:] %}}{{% else %}}{{% set first = {} %}}{{% endif %}}"
        "{{{{ {} + {} + first + {} }}}}",
        literal(system), begin("system"), literal(format.preamble), close);
  jinja += "{% for message in messages %}";
  if (format.preamble.empty() && !system.empty())
    jinja += fmt::format("{{% if loop.first and message['role'] != 'system' %}}{{{{ {} }}}}{{% endif %}}",
                         literal(begin_of(format, "system") + system + std::string(format.close)));
  jinja += fmt::format("{{% set content = message['content']{} %}}", trim);
  if (format.drops_thoughts)
    jinja +=
        "{% if message['role'] == 'assistant' and '</think>' in content %}"
        "{% set content = content.split('</think>')[-1].lstrip('\\n') %}{% endif %}";
  jinja += fmt::format("{{{{ {} + message['role'] + {} + content + {} }}}}{{% endfor %}}", literal(format.open),
                       literal(format.middle), close);
  return jinja + fmt::format("{{% if add_generation_prompt %}}{{{{ {} }}}}{{% endif %}}", begin("assistant"));
}

ChatText chat_text(const ChatFormat& format, const std::string& system, std::span<const ChatMessage> messages) {
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
    require(std::ranges::count(roles, message.role) > 0,
            "message {}: its role is '{}'; it must be system, user or assistant", i + 1, message.role);
    const std::string content = content_of(format, message);
    require(message.role != "system" || !content.empty(), "message {}: a system message is empty; leave it out",
            i + 1);
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
  for (const std::string& token : control_tokens(format)) {
    const std::vector<int32_t> ids = tokenizer.encode_with_special_tokens(token);
    if (ids.size() != 1 || tokenizer.token_text(ids[0]) != token)
      return fmt::format("its vocabulary has no special token '{}'", token);
    const TextRange whole{0, token.size()};
    if (tokenizer.encode_with_special_tokens(token, {&whole, 1}) == ids)
      return fmt::format("its token '{}' is not special, so that any text can contain it", token);
  }
  return {};
}

int32_t end_of_message(const ChatFormat& format, const Tokenizer& tokenizer) {
  return tokenizer.encode_with_special_tokens(control_tokens_in(format.close).at(0)).at(0);
}

}  // namespace sixfold
