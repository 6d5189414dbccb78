#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/join.h"
#include "base/log.h"
#include "families/families.h"
#include "families/hugging_face.h"
#include "model_folder/binding.h"
#include "model_folder/config_file.h"
#include "model_folder/model_folder.h"
#include "model_folder/ownership.h"
#include "model_folder/shortlist.h"
#include "text/sentence_piece.h"
#include "text/tokenizer_json.h"

namespace sixfold {
namespace {

/// The config without settings that have no effect on the model. Values that stand for others, such as 0, are
/// replaced by the values that they mean, and the settings of parts that the model does not have by their
/// defaults.
ModelConfig without_unused_settings(ModelConfig c) {
  const Architecture defaults;
  set_decoder_sizes(c, c.of_decoder().heads, c.of_decoder().d_ff);
  // Where the stacks differ in heads, `need_even_heads` has seen that these are 0.
  if (!c.decoder_heads) c.d_k = c.key_width(), c.d_v = c.value_width(), c.kv_heads = c.key_value_heads();
  if (c.positions != Positions::learned)
    c.max_positions = defaults.max_positions, c.beyond_positions = defaults.beyond_positions;
  if (c.positions != Positions::rotary) c.rotary_base = defaults.rotary_base;
  if (c.positions != Positions::t5)
    c.position_buckets = defaults.position_buckets, c.position_distance = defaults.position_distance;
  if (c.continues_text()) c.encoder_mixer = defaults.encoder_mixer;
  if (c.encoder_mixer == MixerKind::attention && c.decoder_mixer == MixerKind::attention)
    c.attention_window = defaults.attention_window, c.kernel_size = defaults.kernel_size;
  if (c.norm != Norm::batch) c.batch_norm_momentum = defaults.batch_norm_momentum;
  c.drop_fitted_settings();
  // `directions` only requires that sources begin with the token of a language, which other programs do not
  // check.
  std::erase_if(c.settings.children, [](const auto& child) { return child.first == "directions"; });
  // The files differ, and the tokenizers themselves are compared.
  c.source_tokenizer_hash = c.target_tokenizer_hash = "";
  return c;
}

/// The part of a tokenizer's file that determines how text is split.
std::string splitting_of(const Tokenizer& tokenizer, TextSide side) {
  if (tokenizer.kind() == TokenizerKind::sentencepiece) return plain_model(tokenizer.serialized(), side);
  if (tokenizer.kind() != TokenizerKind::tokenizer_json) return tokenizer.serialized();
  auto json = nlohmann::json::parse(tokenizer_json_of(tokenizer.serialized()));
  json.erase("post_processor");  // it says how texts begin, which is a setting of the model
  return json.dump();
}

/// Compares the model that is exported with the model that was read back.
class ReadBack {
 public:
  ReadBack(const std::string& folder, const Exported& exported, const Imported& back)
      : folder_(folder), exported_(exported), back_(back) {}

  void check(const Tokenizers& own) const {
    config();
    const bool language_model = back_.model->config().continues_text();
    weights();
    if (!own.source) return;
    tokenizer("source", *own.source, *back_.tokenizers.source, exported_.source_pieces,
              language_model ? TextSide::exact : TextSide::source);
    tokenizer("target", *own.target, *back_.tokenizers.target, exported_.target_pieces,
              language_model ? TextSide::exact : TextSide::target);
  }

 private:
  void need(bool same, const std::string& difference) const {
    require(same, "{}: was not exported, since the model that was written is another when it is read back: {}",
            folder_, difference);
  }

  void config() const {
    const auto keys = differing_keys(config_tree(without_unused_settings(exported_.config)),
                                     config_tree(without_unused_settings(back_.model->config())));
    need(keys.empty(), "its config differs in " + join(keys));
  }

  void tokenizer(const char* side, const Tokenizer& own, const Tokenizer& back,
                 const std::vector<std::string>& pieces, TextSide text_side) const {
    need(own.kind() == back.kind() && splitting_of(own, text_side) == splitting_of(back, text_side) &&
             (text_side != TextSide::exact || own.encodes_whole_texts() == back.encodes_whole_texts()),
         fmt::format("its {} tokenizer splits text otherwise", side));
    need(back.vocab_size() == std::ssize(pieces),
         fmt::format("its {} vocabulary has {} tokens instead of {}", side, back.vocab_size(), pieces.size()));
    for (int32_t id = 0; id < back.vocab_size(); ++id)
      need(back.token_text(id) == pieces[static_cast<size_t>(id)],
           fmt::format("token {} of its {} vocabulary is '{}' instead of '{}'", id, side, back.token_text(id),
                       pieces[static_cast<size_t>(id)]));
  }

  /// Compares one weight at a time. Models of equal configs have weights with the same names and shapes.
  void weights() const {
    for (const Parameter& weight : back_.model->stored()) {
      const std::vector<float> was = exported_.values(weight),
                               is = weight.tensor.to_floats(*back_.model->backend());
      const auto same = [&](float a, float b) {
        if (exported_.precision == 0) return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
        return std::abs(a - b) <= exported_.precision * std::max(1.0f, std::abs(a));
      };
      const auto place = std::ranges::mismatch(was, is, same).in1 - was.begin();
      need(was.size() == is.size() && place == std::ssize(was),
           fmt::format("element {} of the weights of {} differs", place, weight.name));
    }
  }

  const std::string& folder_;
  const Exported& exported_;
  const Imported& back_;
};

/// The first of these families that takes a model. Throws an input error if none does.
const Family& family_for(const ModelConfig& config, const std::string& folder,
                         const std::vector<const Family*>& families) {
  std::vector<std::string> known;
  for (const Family* family : families) {
    if (!family->takes) continue;
    if (family->takes(config)) return *family;
    known.push_back(fmt::format("{} ({})", family->exports, family->class_name));
  }
  throw_input_error(
      "{}: can't be exported for {}: it is for the task '{}', and its positions are '{}'; what can be: {}",
      folder, families.front()->program->title, config.task, name_of_enum(config.positions), join(known));
}

Imported read_back(const Family& family, const std::string& written, const std::string& model_folder) {
  try {
    return family.read({.program = std::string(family.program->name), .path = written});
  } catch (const Error& error) {
    throw Error(error.fault(),
                fmt::format("{}: was not exported, since what was written can't be read back: {}", model_folder,
                            error.what()));
  }
}

}  // namespace

void ExportSource::need(bool supported, std::string_view class_name, const std::string& difference) const {
  require(supported, "{}: can't be exported as a {}: {}", folder, class_name, difference);
}

void export_model(const std::string& model_folder, std::string_view program, const std::string& output,
                  Families families) {
  require_new(output, {model_folder});
  const Family& family =
      family_for(load_model_config(model_folder), model_folder, families_of(program, families));
  const auto model =
      load_model(model_folder, make_backend({.device = "reference"}), DType::f32, WeightType::fp32);
  const Tokenizers tokenizers = load_bound_tokenizers(model_folder, model->config());
  require(tokenizers.source != nullptr || !model->config().has_tokens(),
          "{}: has no tokenizer, without which it can't be exported", model_folder);
  AtomicDirectory folder(output);
  const Exported exported = family.write({model_folder, *model, tokenizers}, folder.path());
  ReadBack(model_folder, exported, read_back(family, folder.path(), model_folder)).check(tokenizers);
  folder.commit();
  if (const OptionNode* fitted = model->config().settings.find_path("confidence");
      fitted && !fitted->children.empty())
    log_info("{}: the confidence of its translations is not exported", output);
  if (!shortlist_of_folder(model_folder).empty())
    log_info("{}: the shortlist of {} is not exported; without it all tokens are allowed", output,
             model_folder);
}

void export_hugging_face(const std::string& model_folder, const std::string& output) {
  export_model(model_folder, "hf", output);
}

}  // namespace sixfold
