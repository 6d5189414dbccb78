#include "model/compatible_models.h"

#include <algorithm>

#include "base/error.h"
#include "model/config.h"

namespace sixfold {
namespace {

bool translates(const ModelConfig& config) {
  return config.has_encoder() && config.has_decoder() && !config.reads_images();
}

constexpr const char* teacher_requirement = "a teacher must read the same tokens and predict the same choices";

/// A list among the settings of the task, as text: the labels, or tokens around texts. Empty if there is none.
std::string list_at(const OptionNode& settings, const std::string& key) {
  const OptionNode* const node = settings.find_path(key);
  return node && !node->children.empty() ? to_json(*node) : "";
}

}  // namespace

void require_compatible_ensemble(const NamedConfig& first, const NamedConfig& other) {
  for (const NamedConfig& one : {first, other})
    require(translates(one.config), "{}: an ensemble is of models that translate; leave it out", one.folder);
  const ModelConfig &a = first.config, &b = other.config;
  const auto require_that = [&](bool compatible, std::string_view difference) {
    require(compatible, "{} and {} can't translate together: {}", first.folder, other.folder, difference);
  };
  require_that(
      a.source_tokenizer_hash == b.source_tokenizer_hash &&
          a.target_tokenizer_hash == b.target_tokenizer_hash && a.source_vocab == b.source_vocab &&
          a.target_vocab == b.target_vocab,
      "their tokenizers differ; train them with the same ones (tokenizer.source and tokenizer.target)");
  require_that(a.eos == b.eos && a.unk == b.unk && a.decoder_start_token == b.decoder_start_token,
               "their start, end or unknown tokens differ");
  require_that(a.generation.forced_first_token == b.generation.forced_first_token,
               "their forced_first_token differs");
  for (const char* key : {"source_start", "source_end", "target_start"})
    require_that(list_at(a.settings, key) == list_at(b.settings, key), fmt::format("their {} differs", key));
  const auto are_known = [&](const OptionNode* one, const OptionNode* two) {
    return one && two && !one->text.empty() && !two->text.empty();
  };
  for (const char* key : {"source_language", "target_language"}) {
    const OptionNode *const one = a.settings.find_path(key), *const two = b.settings.find_path(key);
    require_that(!are_known(one, two) || one->text == two->text, fmt::format("their {} differs", key));
  }
  require_that(list_at(a.settings, "directions") == list_at(b.settings, "directions"),
               "they are for other pairs of languages");
  require_that(!b.limits_length() || (a.limits_length() && a.max_positions <= b.max_positions),
               "the second has fewer positions; give it first");
}

void require_compatible_teacher(const NamedConfig& teacher, const ModelConfig& student) {
  const ModelConfig& c = teacher.config;
  const auto require_same = [&](const char* what, const auto& of_teacher, const auto& of_student) {
    require(of_teacher == of_student, "teacher.model: {} has {} {}, and the model that is trained has {}; {}",
            teacher.folder, what, of_teacher, of_student, teacher_requirement);
  };
  require_same("the task", c.task, student.task);
  require_same("a head of kind", name_of_enum(c.head.kind), name_of_enum(student.head.kind));
  require_same("the source tokenizer", c.source_tokenizer_hash, student.source_tokenizer_hash);
  require_same("the target tokenizer", c.target_tokenizer_hash, student.target_tokenizer_hash);
  require_same("a target vocabulary of", c.target_vocab, student.target_vocab);
  require_same("the start token", c.decoder_start_token, student.decoder_start_token);
  require_same("the end token", c.eos, student.eos);
  require_same("forced_first_token", c.generation.forced_first_token, student.generation.forced_first_token);
  require(c.head.kind == OutputHead::vocabulary || c.head.kind == OutputHead::classes,
          "teacher.model: {} predicts neither tokens nor labels", teacher.folder);
  ImageInput teacher_image = c.image, student_image = student.image;
  teacher_image.mean = student_image.mean = {};  // each model normalizes by its own mean and deviation
  teacher_image.std = student_image.std = {};
  require(to_json(write_options(teacher_image)) == to_json(write_options(student_image)),
          "teacher.model: {} divides images into other patches than the model that is trained", teacher.folder);
  ModelConfig a = c, b = student;
  a.drop_fitted_settings(), b.drop_fitted_settings();
  const OptionNode *teacher_directions = a.settings.find_path("directions"),
                   *student_directions = b.settings.find_path("directions");
  for (const auto& child :
       student_directions ? student_directions->children : decltype(student_directions->children)()) {
    const OptionNode& direction = child.second;
    require(teacher_directions &&
                std::ranges::any_of(teacher_directions->children,
                                    [&](const auto& one) { return one.second.text == direction.text; }),
            "teacher.model: {} does not translate {}, as the model that is trained is to do", teacher.folder,
            direction.text);
  }
  for (const std::string& key : differing_keys(a.settings, b.settings))
    require(key.starts_with("directions") || list_at(a.settings, key) == list_at(b.settings, key),
            "teacher.model: {} has other {} than the model that is trained; {}", teacher.folder, key,
            teacher_requirement);
}

}  // namespace sixfold
