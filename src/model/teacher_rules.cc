#include "model/teacher_rules.h"

#include <algorithm>

#include "base/error.h"
#include "model/config.h"

namespace sixfold {
namespace {

constexpr const char* must = "a teacher must read the same tokens and predict the same choices";

/// A list among the settings of the task, as text: the labels, or tokens around texts. Empty if there is none.
std::string list_at(const OptionNode& settings, const std::string& key) {
  const OptionNode* const node = settings.find_path(key);
  return node && !node->children.empty() ? to_json(*node) : "";
}

}  // namespace

void require_teaches(const NamedConfig& teacher, const ModelConfig& student) {
  const ModelConfig& c = teacher.config;
  const auto require_same = [&](const char* what, const auto& theirs, const auto& ours) {
    require(theirs == ours, "teacher.model: {} has {} {}, and the model that is trained has {}; {}",
            teacher.folder, what, theirs, ours, must);
  };
  require_same("the task", c.task, student.task);
  require_same("a head of kind", name_of_enum(c.head.kind), name_of_enum(student.head.kind));
  require_same("the source tokenizer", c.source_tokenizer_hash, student.source_tokenizer_hash);
  require_same("the target tokenizer", c.target_tokenizer_hash, student.target_tokenizer_hash);
  require_same("a target vocabulary of", c.target_vocab, student.target_vocab);
  require_same("the start token", c.decoder_start_token, student.decoder_start_token);
  require_same("the end token", c.eos, student.eos);
  require_same("forced_first_token", c.generation.forced_first_token, student.generation.forced_first_token);
  require(c.head.kind == HeadKind::vocabulary || c.head.kind == HeadKind::classes,
          "teacher.model: {} predicts neither tokens nor labels", teacher.folder);
  ImageInput theirs = c.image, ours = student.image;
  theirs.mean = ours.mean = {}, theirs.std = ours.std = {};  // each model normalizes by its own
  require(to_json(write_options(theirs)) == to_json(write_options(ours)),
          "teacher.model: {} divides images into other patches than the model that is trained", teacher.folder);
  ModelConfig a = c, b = student;
  a.drop_fitted(), b.drop_fitted();
  const OptionNode *taught = a.settings.find_path("directions"), *wanted = b.settings.find_path("directions");
  for (const auto& child : wanted ? wanted->children : decltype(wanted->children)()) {
    const OptionNode& direction = child.second;
    require(taught && std::ranges::any_of(taught->children,
                                          [&](const auto& one) { return one.second.text == direction.text; }),
            "teacher.model: {} does not translate {}, as the model that is trained is to do", teacher.folder,
            direction.text);
  }
  for (const std::string& key : differing_keys(a.settings, b.settings))
    require(key.starts_with("directions") || list_at(a.settings, key) == list_at(b.settings, key),
            "teacher.model: {} has other {} than the model that is trained; {}", teacher.folder, key, must);
}

}  // namespace sixfold
