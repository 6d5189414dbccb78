#include "tasks/language_model/settings.h"

#include "base/join.h"
#include "text/chat_format.h"

namespace sixfold {

DrawOptions stored_draw(const ModelConfig& config) {
  DrawOptions draw = settings_of<LanguageModelSettings>(config).draw;
  if (draw.repetition_penalty == 1) draw.repetition_penalty = config.generation.repetition_penalty;
  return draw;
}

void validate(const LanguageModelSettings& settings) {
  std::vector<std::string> names;
  for (const ChatFormat& format : chat_formats()) names.emplace_back(format.name);
  require(settings.chat.format.empty() || chat_format_named(settings.chat.format),
          "chat.format is '{}'; it must be empty or one of: {}", settings.chat.format, join(names));
}

}  // namespace sixfold
