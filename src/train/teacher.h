#pragma once
#include <memory>
#include <optional>

#include "data/dataset.h"
#include "model/transformer.h"
#include "train/config.h"

namespace sixfold {

/// Throws an input error that names a sample if it is longer than the teacher's maximum length.
void require_teacher_reads(const TeacherOptions& options, const Dataset& data);

/// The finished model that a run's model learns from besides its data (`TeacherOptions`). For one thread at a
/// time.
class TeacherModel {
 public:
  /// Returns the teacher of a run, or nothing if it has none. Throws an input error if it does not predict what
  /// the `student` predicts, or reads other tokens.
  static std::optional<TeacherModel> load(const TeacherOptions& options, const ModelConfig& student,
                                          const std::shared_ptr<Backend>& backend, DType dtype);
  /// The same with a model without weights, on a backend that only counts memory.
  static std::optional<TeacherModel> without_weights(const TeacherOptions& options, const ModelConfig& student,
                                                     const std::shared_ptr<Backend>& backend);

  /// The teacher's predictions for a part of a batch. `context` must not record, and must outlive the result.
  ops::Teacher of(const Batch& part, Context& context) const;

 private:
  TeacherModel(const TeacherOptions& options, std::unique_ptr<Transformer> model);

  double weight_, temperature_;
  std::unique_ptr<Transformer> model_;
};

}  // namespace sixfold
