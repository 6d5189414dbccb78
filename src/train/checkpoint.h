#pragma once
#include <functional>
#include <string>
#include <vector>

#include "model/transformer.h"
#include "text/tokenizers.h"
#include "train/optimizer.h"
#include "train/state.h"

namespace sixfold {

/// The checkpoints of a run: RUN/checkpoints/update-000001000, each a model folder with the optimizer's and the
/// run's state beside.
class Checkpoints {
 public:
  Checkpoints(const std::string& run, int keep_last) : folder_(run + "/checkpoints"), keep_last_(keep_last) {}

  /// `add` puts what else belongs to a model into the folder.
  void save(const Transformer& model, const Tokenizers& tokenizers, const Optimizer& optimizer,
            const TrainingState& state, const std::function<void(const std::string& folder)>& add) const;
  /// Puts weights and optimizer back as they were saved.
  static void load(const std::string& checkpoint, Transformer& model, Optimizer& optimizer);
  static TrainingState read_state(const std::string& checkpoint);
  /// Throws an input error where a file of weights or of the optimizer's state is missing or damaged.
  static void verify(const std::string& checkpoint);
  static bool is_checkpoint_name(const std::string& name);
  /// Oldest first.
  std::vector<std::string> list() const;

 private:
  std::string folder_;
  int keep_last_;
};

}  // namespace sixfold
