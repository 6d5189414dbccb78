#include "tasks/language_model/settings.h"

#include "base/join.h"
#include "text/chat_format.h"

namespace sixfold {

void validate(const LanguageModelSettings& settings) {
  std::vector<std::string> names;
  for (const ChatFormat& format : chat_formats()) names.emplace_back(format.name);
  require(settings.chat.format.empty() || chat_format_named(settings.chat.format),
          "chat.format is '{}'; it must be empty or one of: {}", settings.chat.format, join(names));
}

}  // namespace sixfold
