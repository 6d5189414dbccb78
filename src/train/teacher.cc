#include "train/teacher.h"

#include "base/error.h"
#include "base/plural.h"
#include "model/compatible_models.h"
#include "model_folder/model_folder.h"

namespace sixfold {

void require_teacher_reads(const TeacherOptions& options, const Dataset& data) {
  if (options.model.empty()) return;
  const ModelConfig config = load_model_config(options.model);
  if (!config.limits_length()) return;
  for (int64_t i = 0, size = data.size(); i < size; ++i) {
    if (data.tokens(i, 0) <= config.max_positions) continue;
    BatchBuilder builder;
    data.add(i, 0, builder);
    const Batch batch = builder.take();
    for (const Ragged* rows : {&batch.source.rows, &batch.target.rows})
      for (int s = 0; s < rows->sequences(); ++s)
        require(rows->length(s) <= config.max_positions,
                "teacher.model: {} has {} positions, but {} of the training data has {}; drop longer texts "
                "(data.max_length), or choose another teacher",
                options.model, config.max_positions, fmt::format("{} {}", data.describe(i).kind, i + 1),
                counted(rows->length(s), "token"));
  }
}

TeacherModel::TeacherModel(const TeacherOptions& options, std::unique_ptr<Transformer> model)
    : weight_(options.weight), temperature_(options.temperature), model_(std::move(model)) {
  model_->pack();
}

std::optional<TeacherModel> TeacherModel::load(const TeacherOptions& options, const ModelConfig& student,
                                               const std::shared_ptr<Backend>& backend, DType dtype) {
  if (options.model.empty()) return std::nullopt;
  require_compatible_teacher({load_model_config(options.model), options.model}, student);
  return TeacherModel(options, load_model(options.model, backend, dtype));
}

std::optional<TeacherModel> TeacherModel::without_weights(const TeacherOptions& options,
                                                          const ModelConfig& student,
                                                          const std::shared_ptr<Backend>& backend) {
  if (options.model.empty()) return std::nullopt;
  const ModelConfig config = load_model_config(options.model);
  require_compatible_teacher({config, options.model}, student);
  return TeacherModel(options, std::make_unique<Transformer>(config, backend, DType::f32, std::nullopt));
}

ops::Teacher TeacherModel::of(const Batch& part, Context& context) const {
  return {.states = model_->head_input(part, context),
          .output = model_->output(),
          .weight = weight_,
          .temperature = temperature_};
}

}  // namespace sixfold
