#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/text_unit.h"
#include "model/config.h"
#include "model/draw_options.h"

namespace sixfold {

/// The chat format of a model.
struct ChatSettings {
  std::string format;  ///< the name of a `ChatFormat`; empty: the model has none
  std::string system;  ///< the system message of conversations without one; empty: none
};

inline void visit(OptionVisitor& v, ChatSettings& o) {
  v.field("format", o.format, "name of the chat format; empty: none");
  v.field("system", o.system, "system message of conversations that have none");
}

/// The settings in config.json of a language model, besides those of its network.
struct LanguageModelSettings {
  static constexpr std::string_view task = "language_model";
  static constexpr TaskNetwork network{.task = task, .encoder = false};
  TextUnit text_unit = TextUnit::stream;  ///< what is one text in the training data
  std::vector<int> more_ends;             ///< ids of tokens that end a text, besides `ModelConfig::eos`
  /// Maximum number of tokens of a prompt and the text after it, including the start token. Applies if neither
  /// a call nor `GenerationConfig::max_new_tokens` sets a maximum. 0: no limit.
  int max_length = 0;
  int beam_size = 0;  ///< default of calls that set no option of sampling; 0: sample
  DrawOptions draw;   ///< defaults of calls
  ChatSettings chat;
};

inline void visit(OptionVisitor& v, LanguageModelSettings& o) {
  v.field("text_unit", o.text_unit, "what the model was trained on: stream, file, paragraph or line");
  v.field("more_ends", o.more_ends, "ids of tokens besides eos that end a text", at_least(0));
  v.field("max_length", o.max_length,
          "maximum number of tokens of a prompt and the text after it, unless a number of tokens is set; 0: no "
          "limit",
          at_least(0));
  v.field("beam_size", o.beam_size, "search for the likeliest text with this many hypotheses; 0: draw",
          between(0, 1000));
  v.group("draw", o.draw, "how tokens are drawn");
  v.group("chat", o.chat, "how conversations are read");
}

/// How tokens are drawn if a call does not say. The repetition penalty, which holds for beam search too, is
/// that of the settings or, where that is 1, of `GenerationConfig`, in which a training has it.
DrawOptions stored_draw(const ModelConfig& config);

/// Throws an input error if the chat format is not known.
void validate(const LanguageModelSettings& settings);

}  // namespace sixfold
