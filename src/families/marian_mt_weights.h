#pragma once
#include <optional>
#include <string>
#include <vector>

#include "families/name_rules.h"

namespace sixfold {

/// The kind of sinusoidal positions that a table contains; nothing if it is another table.
std::optional<Positions> formula_of(const Matrix& table);

/// Converts the weights of a model to those of a MarianMTModel, whose positions, norms and start token differ:
/// it permutes the features of d_model, rescales states, and adds a padding token. The model must outlive this
/// object.
class MarianMTWeights {
 public:
  /// `positions` is the number of rows of a table of positions.
  MarianMTWeights(const Transformer& model, int positions);

  /// The table of positions to write; nothing if MarianMTModel computes the same positions.
  const std::optional<Matrix>& positions() const { return table_; }

  /// The converted values of a weight of the MarianMTModel.
  std::vector<float> values(const Parameter& weight) const;

 private:
  double state_scale() const;
  double factor_of(const std::string& name) const;
  Matrix columns_in_order(const Matrix& matrix) const;
  Matrix in_order(const std::string& name, Matrix matrix) const;
  std::optional<Matrix> make_table(int rows) const;

  const Transformer& model_;
  const ModelConfig& c_;
  std::optional<Matrix> table_;
  std::vector<int64_t> order_;  ///< the permutation of the features of d_model
};

}  // namespace sixfold
