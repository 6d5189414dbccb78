#include "text/chat_templates.h"

#include <algorithm>

#include "base/error.h"
#include "text/jinja_shape.h"
#include "text/utf8.h"

namespace sixfold {
namespace {

/// A placeholder in known shapes for a default system message.
constexpr std::string_view any_message = "\uFFFC";

// The variants of templates. The names in capitals are replaced by texts of the format.
constexpr std::string_view prompt = "{{ OPEN + 'assistant' + MIDDLE }}";
constexpr std::string_view message_loop =
    "{% for message in messages %}{{ OPEN + message.role + MIDDLE + CONTENT + CLOSE }}{% endfor %}";
/// As SmolLM2 and Qwen2.
constexpr std::string_view loop_with_default =
    "{% for message in messages %}{% if loop.first and messages[0].role != 'system' %}{{ SYSTEM }}{% endif %}"
    "{{ OPEN + message.role + MIDDLE + CONTENT + CLOSE }}{% endfor %}";
/// As Qwen2.5.
constexpr std::string_view loop_after_system =
    "{% if messages[0].role == 'system' %}{{ OPEN + 'system' + MIDDLE + messages[0].content + CLOSE }}"
    "{% else %}{{ SYSTEM }}{% endif %}{% for message in messages %}"
    "{% if (message.role == 'user') or (message.role == 'system' and not loop.first) or "
    "(message.role == 'assistant' and not message.tool_calls) %}"
    "{{ OPEN + message.role + MIDDLE + CONTENT + CLOSE }}{% elif message.role == 'assistant' %}"
    "{{ OPEN + message.role }}{% if message.content %}{{ MIDDLE + CONTENT }}{% endif %}{{ CLOSE }}{% endif %}"
    "{% endfor %}";
/// As Phi-4 and, where only a system message with a content is written, as Phi-3.5.
constexpr std::string_view role_by_role =
    "{% for message in messages %}{% if message.role == 'system' %}"
    "{{ OPEN + 'system' + MIDDLE + CONTENT + CLOSE }}{% elif message.role == 'user' %}"
    "{{ OPEN + 'user' + MIDDLE + CONTENT + CLOSE }}{% elif message.role == 'assistant' %}"
    "{{ OPEN + 'assistant' + MIDDLE + CONTENT + CLOSE }}{% endif %}{% endfor %}";
constexpr std::string_view role_by_role_with_content =
    "{% for message in messages %}{% if message.role == 'system' and message.content %}"
    "{{ OPEN + 'system' + MIDDLE + CONTENT + CLOSE }}{% elif message.role == 'user' %}"
    "{{ OPEN + 'user' + MIDDLE + CONTENT + CLOSE }}{% elif message.role == 'assistant' %}"
    "{{ OPEN + 'assistant' + MIDDLE + CONTENT + CLOSE }}{% endif %}{% endfor %}";
/// As Llama 3, with the start token before the first message.
constexpr std::string_view started_loop =
    "{% set loop_messages = messages %}{% for message in loop_messages %}"
    "{% set content = OPEN + message.role + MIDDLE + CONTENT + CLOSE %}"
    "{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}{{ content }}{% endfor %}";
/// As Llama 3.1 and 3.2, whose DATE differs.
constexpr std::string_view dated_loop =
    "DATE{% if messages[0].role == 'system' %}"
    "{% set system_message = messages[0].content | trim %}{% set messages = messages[1:] %}"
    "{% else %}{% set system_message = '' %}{% endif %}"
    "{{ OPEN + 'system' + MIDDLE + 'Cutting Knowledge Date: December 2023\\nToday Date: ' + date_string + "
    "'\\n\\n' + "
    "system_message + CLOSE }}{% for message in messages %}{{ OPEN + message.role + MIDDLE + CONTENT + CLOSE }}"
    "{% endfor %}";
constexpr std::string_view fixed_date = "{% set date_string = '26 Jul 2024' %}";
constexpr std::string_view todays_date =
    "{% if strftime_now is defined %}{% set date_string = strftime_now('%d %b %Y') %}{% else %}"
    "{% set date_string = '26 Jul 2024' %}{% endif %}";
/// As Qwen3, whose templates differ in QUERY, BEGIN and THOUGHTS.
constexpr std::string_view thinking_loop =
    "{% if messages[0].role == 'system' %}{{ OPEN + 'system' + MIDDLE + messages[0].content + CLOSE }}{% endif "
    "%}"
    "{% set ns = namespace(multi_step_tool=true, last_query_index=messages|length - 1) %}"
    "{% for message in messages[::-1] %}{% set index = (messages|length - 1) - loop.index0 %}"
    "{% if ns.multi_step_tool and message.role == 'user' and QUERYnot(message.content.startswith("
    "'<tool_response>') and message.content.endswith('</tool_response>')) %}"
    "{% set ns.multi_step_tool = false %}{% set ns.last_query_index = index %}{% endif %}{% endfor %}"
    "{% for message in messages %}BEGIN{% if (message.role == 'user') or (message.role == 'system' and not "
    "loop.first) %}{{ OPEN + message.role + MIDDLE + CONTENT + CLOSE }}{% elif message.role == 'assistant' %}"
    "THOUGHTS{% if loop.index0 > ns.last_query_index %}"
    "{% if loop.last or (not loop.last and reasoning_content) %}"
    "{{ OPEN + message.role + MIDDLE + '<think>\\n' + reasoning_content.strip('\\n') + '\\n</think>\\n\\n' + "
    "content.lstrip('\\n') }}{% else %}{{ OPEN + message.role + MIDDLE + content }}{% endif %}"
    "{% else %}{{ OPEN + message.role + MIDDLE + content }}{% endif %}{{ CLOSE }}{% endif %}{% endfor %}";
constexpr std::string_view thoughts_of_message =
    "{% set content = message.content %}{% set reasoning_content = '' %}{% if '</think>' in message.content %}"
    "{% set content = message.content.split('</think>')[-1].lstrip('\\n') %}{% set reasoning_content = "
    "message.content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}{% endif %}";
constexpr std::string_view thoughts_of_content =
    "{% set reasoning_content = '' %}{% if '</think>' in content %}{% set reasoning_content = "
    "content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}"
    "{% set content = content.split('</think>')[-1].lstrip('\\n') %}{% endif %}";

void replace_all(std::string& text, std::string_view from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size())
    text.replace(at, from.size(), to);
}

/// The shape of a template in which the names in capitals are replaced by texts of the format.
JinjaShape shape_of(const ChatFormat& format, std::string jinja) {
  const std::string begin_system = fmt::format("{}system{}", format.open, format.middle);
  replace_all(jinja, "OPEN", jinja_literal(format.open));
  replace_all(jinja, "MIDDLE", jinja_literal(format.middle));
  replace_all(jinja, "CLOSE", jinja_literal(format.close));
  replace_all(jinja, "CONTENT", format.trims ? "message.content | trim" : "message.content");
  replace_all(jinja, "SYSTEM", jinja_literal(fmt::format("{}{}{}", begin_system, any_message, format.close)));
  return jinja_shape(jinja).value_or(JinjaShape());
}

/// The variants of Qwen3's templates.
std::vector<std::string> thinking_variants() {
  const auto variant = [](std::string_view query, std::string_view begin, std::string_view thoughts) {
    std::string all(thinking_loop);
    replace_all(all, "QUERY", std::string(query));
    replace_all(all, "BEGIN", std::string(begin));
    replace_all(all, "THOUGHTS", std::string(thoughts));
    if (!begin.empty()) replace_all(all, "CONTENT", "content");
    return all;
  };
  return {
      variant("", "", thoughts_of_message),
      variant("message.content is string and ", "{% set content = message.content %}", thoughts_of_content)};
}

struct KnownShape {
  const ChatFormat* format;
  JinjaShape shape;
};

std::vector<KnownShape> make_known_shapes() {
  std::vector<KnownShape> known;
  for (const ChatFormat& format : chat_formats()) {
    std::vector<std::string> variants;
    if (format.drops_thoughts)
      variants = thinking_variants();
    else if (!format.preamble.empty())
      for (const std::string_view date : {fixed_date, todays_date})
        replace_all(variants.emplace_back(dated_loop), "DATE", std::string(date));
    else
      for (const auto& variant : {message_loop, loop_with_default, loop_after_system, role_by_role,
                                  role_by_role_with_content, started_loop})
        variants.emplace_back(variant);
    for (std::string& variant : variants) variant += prompt;
    for (const std::string& system : {std::string(), std::string(any_message)})
      variants.push_back(chat_template_of(format, system, false));
    for (const std::string& variant : variants) known.push_back({&format, shape_of(format, variant)});
  }
  return known;
}

/// The default system message of a template whose shape equals a known one in all other parts; nothing if the
/// shapes differ.
std::optional<std::string> default_message(std::string_view shape, std::string_view known) {
  const size_t place = known.find(any_message);
  if (place == known.npos) return shape == known ? std::optional(std::string()) : std::nullopt;
  const std::string_view before = known.substr(0, place), after = known.substr(place + any_message.size());
  if (shape.size() <= before.size() + after.size() || !shape.starts_with(before) || !shape.ends_with(after))
    return {};
  std::string message(shape.substr(place, shape.size() - before.size() - after.size()));
  if (message.find(text_mark) != message.npos || !control_tokens_in(message).empty() ||
      first_invalid_utf8(message))
    return {};
  return message;
}

}  // namespace

std::optional<RecognizedChat> recognize_chat(std::string_view jinja) {
  static const std::vector<KnownShape> known_shapes = make_known_shapes();
  const std::optional<JinjaShape> shape = jinja_shape(jinja);
  if (!shape) return {};
  for (const KnownShape& known : known_shapes) {
    std::optional<std::string> system = default_message(shape->text, known.shape.text);
    const bool starts = known.shape.text.find("bos_token") != std::string::npos;
    if (!system || (starts && shape->starts)) continue;
    return RecognizedChat{.format = known.format,
                          .system = *std::move(system),
                          .starts = starts || shape->starts,
                          .inserts_date = known.shape.text.find("strftime") != std::string::npos};
  }
  return {};
}

}  // namespace sixfold
