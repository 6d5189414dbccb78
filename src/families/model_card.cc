#include "families/model_card.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/join.h"
#include "model/transformer.h"
#include "model_folder/provenance.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// The language code at the end of a file name, "en" in "train.en.gz", or an empty text if there is none.
std::string language_of_name(fs::path name) {
  if (name.extension() == ".gz") name.replace_extension();
  std::string ending = name.extension().string();
  if (!ending.empty()) ending.erase(0, 1);
  const bool code = (ending.size() == 2 || ending.size() == 3) && ending != "txt" && ending != "tsv" &&
                    std::all_of(ending.begin(), ending.end(), [](char c) { return c >= 'a' && c <= 'z'; });
  return code ? ending : "";
}

/// Source and target language by the names of the training text, or none if the names have no codes.
std::vector<std::string> languages_of_text(const std::string& model_folder) {
  std::vector<std::string> languages;
  for (const std::string& line : read_provenance(model_folder)) {
    const json step = json::parse(line);
    if (step["step"] != "train" || !step.contains("text") || !step["text"].is_array() ||
        step["text"].size() < 2)
      continue;
    languages.clear();
    for (size_t side = 0; side < 2; ++side) {
      const json& file = step["text"][side];
      if (!file.is_object() || !file.contains("path") || !file["path"].is_string()) continue;
      const std::string language = language_of_name(file["path"].get<std::string>());
      if (!language.empty()) languages.push_back(language);
    }
    if (languages.size() != 2 || languages[0] == languages[1]) languages.clear();
  }
  return languages;
}

std::string front_matter(const std::vector<std::string>& languages) {
  std::string text = "---\nlibrary_name: transformers\npipeline_tag: translation\n";
  if (!languages.empty()) text += "language:\n";
  for (const std::string& language : languages) text += "- " + language + "\n";
  return text + "tags:\n- translation\n- marian\n---\n";
}

/// A row of a table.
template <class T>
std::string row(std::string_view name, const T& value) {
  return fmt::format("| {} | {} |\n", name, value);
}

/// A size of both stacks.
std::string in_stacks(int encoder, int decoder) {
  return encoder == decoder ? fmt::to_string(encoder) : fmt::format("{} (decoder {})", encoder, decoder);
}

std::string sizes(const ModelConfig& c, const Tokenizers& tokenizers) {
  return "| | |\n|---|---|\n" + row("parameters", fmt::format("{:.1f} million", parameter_count(c) / 1e6)) +
         row("layers",
             fmt::format("{} in the encoder, {} in the decoder", c.encoder_layers, c.decoder_layers)) +
         row("d_model, d_ff", fmt::format("{}, {}", c.d_model, in_stacks(c.d_ff, c.of_decoder().d_ff))) +
         row("attention heads", in_stacks(c.heads, c.of_decoder().heads)) +
         row("activation", name_of_enum(c.activation)) +
         row("vocabulary", fmt::format("{} SentencePiece tokens, {}", c.target_vocab,
                                       tokenizers.joint ? "shared by both languages" : "for each language"));
}

std::string provenance(const std::string& model_folder) {
  const std::vector<std::string> steps = describe_provenance(model_folder);
  if (steps.empty()) return "It is not known how the model was made.\n";
  std::string text;
  for (const std::string& step : steps) text += "- " + step + "\n";
  return text;
}

/// `prefix` begins each source. CTranslate2 has no list of suppressed tokens, but an option to suppress the
/// unknown token.
std::string usage(const std::string& prefix, bool bans_unknown) {
  return fmt::format(R"(With transformers, where FOLDER is the place of these files:

```python
from transformers import MarianMTModel, MarianTokenizer

tokenizer = MarianTokenizer.from_pretrained("FOLDER")
model = MarianMTModel.from_pretrained("FOLDER")
batch = tokenizer(["{}A line of the source language."], return_tensors="pt", padding=True)
print(tokenizer.batch_decode(model.generate(**batch), skip_special_tokens=True))
```

With CTranslate2:

```
ct2-transformers-converter --model FOLDER --output_dir CT2
```

```python
import ctranslate2

translator = ctranslate2.Translator("CT2")
source = tokenizer.convert_ids_to_tokens(tokenizer("{}A line of the source language.").input_ids)
best = translator.translate_batch([source]{})[0].hypotheses[0]
print(tokenizer.decode(tokenizer.convert_tokens_to_ids(best), skip_special_tokens=True))
```

With Sixfold: `sixfold import hf FOLDER --output MODEL`, then `sixfold translate MODEL`.
)",
                     prefix, prefix, bans_unknown ? ", disable_unk=True" : "");
}

std::string search_text(const GenerationConfig& rules) {
  std::string text = fmt::format("generation_config.json sets a beam size of {}.", rules.beam_size);
  if (rules.normalization == ScoreNormalization::gnmt)
    text += fmt::format(
        " The model was made for scores divided by ((5 + n) / 6)^{0}, but `generate` divides by n^{0}. Beam "
        "search may therefore give other translations than Sixfold. Greedy search gives the same.",
        rules.length_penalty);
  if (rules.finished_keeps_slot)
    text +=
        " The model was made for a beam that shrinks as hypotheses finish, but that of `generate` keeps its "
        "width.";
  return text + "\n";
}

}  // namespace

std::string model_card(const ModelConfig& config, const Tokenizers& tokenizers,
                       const std::string& model_folder) {
  const std::vector<std::string> languages = languages_of_text(model_folder),
                                 targets = tokenizers.source->language_tokens();
  const std::vector<int32_t> banned = tokens_never_generated(config, config.generation);
  const bool bans_unknown = std::count(banned.begin(), banned.end(), config.unk) > 0;
  std::string text = front_matter(languages);
  text += languages.empty()
              ? "\n# A translation model\n"
              : fmt::format("\n# A translation model from {} to {}\n", languages[0], languages[1]);
  text += "\nAn encoder-decoder Transformer, exported by Sixfold " SIXFOLD_VERSION
          " as a MarianMTModel. It translates one sentence at a time.\n";
  if (!languages.empty()) text += "The languages were taken from the file names of the training text.\n";
  if (!targets.empty())
    text += fmt::format("The first token of a source selects the target language: {}.\n", join(targets, " "));
  text += "\n## Sizes\n\n" + sizes(config, tokenizers);
  text += "\n## How it was made\n\n" + provenance(model_folder);
  text += "\n## Use\n\n" + usage(targets.empty() ? "" : targets.front() + " ", bans_unknown);
  return text + "\n## Search\n\n" + search_text(config.generation);
}

std::string language_model_card(const ModelConfig& c, std::string_view class_name,
                                const std::string& model_folder) {
  std::string text =
      "---\nlibrary_name: transformers\npipeline_tag: text-generation\n---\n\n# A language model\n\n";
  text += fmt::format("A Transformer decoder, exported by Sixfold " SIXFOLD_VERSION " as a {}.\n", class_name);
  text += "\n## Sizes\n\n| | |\n|---|---|\n" + row("layers", c.decoder_layers) +
          row("d_model, d_ff", fmt::format("{}, {}", c.d_model, c.d_ff)) + row("attention heads", c.heads) +
          row("vocabulary", c.target_vocab) + row("longest text", fmt::format("{} tokens", c.context_tokens));
  text += "\n## How it was made\n\n" + provenance(model_folder);
  return text +
         fmt::format(R"(
## Use

With transformers, where FOLDER is the place of these files:

```python
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("FOLDER")
model = AutoModelForCausalLM.from_pretrained("FOLDER")
```

{} With Sixfold: `sixfold import hf FOLDER --output MODEL`, then `sixfold
generate MODEL`.
)",
                     c.generation.start_before_text
                         ? "Texts begin with the start token (bos_token), which the tokenizer adds."
                         : "Texts do not begin with a start token; bos_token is for a generation without a "
                           "prompt.");
}

std::string encoder_card(const ModelConfig& c, std::string_view class_name, std::string_view processor,
                         const std::string& model_folder) {
  std::string text = "---\nlibrary_name: transformers\n---\n\n# An encoder\n\n";
  text +=
      fmt::format("A Transformer encoder for the task {}, exported by Sixfold " SIXFOLD_VERSION " as a {}.\n",
                  c.task, class_name);
  text += "\n## Sizes\n\n| | |\n|---|---|\n" + row("layers", c.encoder_layers) +
          row("d_model, d_ff", fmt::format("{}, {}", c.d_model, c.d_ff)) + row("attention heads", c.heads) +
          (c.source_is_tokens() ? row("vocabulary", c.source_vocab)
                                : row("images", fmt::format("{} x {} pixels", c.image.height, c.image.width)));
  text += "\n## How it was made\n\n" + provenance(model_folder);
  return text + fmt::format(R"(
## Use

With transformers, where FOLDER is the place of these files:

```python
from transformers import {0}, {1}

processor = {0}.from_pretrained("FOLDER")
model = {1}.from_pretrained("FOLDER")
```

With Sixfold: `sixfold import hf FOLDER --output MODEL`.
)",
                            processor, class_name);
}

}  // namespace sixfold
