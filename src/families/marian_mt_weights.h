#pragma once
#include <optional>
#include <string>
#include <vector>

#include "families/name_rules.h"

namespace sixfold {

/// The formula that gives a table of positions, of those that are computed here; nothing for another table.
std::optional<Positions> formula_of(const Matrix& table);

/// The weights of a model of the paper as MarianMTModel has them, where its positions, norms and start token
/// are other ones: features of d_model in another order, states of another scale, a padding token. The model
/// must outlive this.
class MarianMTWeights {
 public:
  /// `positions` is the number of rows of a table of positions.
  MarianMTWeights(const Transformer& model, int positions);

  /// The table of positions to write, unless MarianMTModel computes the same positions itself.
  const std::optional<Matrix>& positions() const { return table_; }

  /// The values of a weight of the model there.
  std::vector<float> values(const Parameter& weight) const;

 private:
  double growth() const;
  double factor_of(const std::string& name) const;
  Matrix columns_in_order(const Matrix& matrix) const;
  Matrix in_order(const std::string& name, Matrix matrix) const;
  std::optional<Matrix> make_table(int rows) const;

  const Transformer& model_;
  const ModelConfig& c_;
  std::optional<Matrix> table_;
  std::vector<int64_t> order_;  ///< of the features of d_model
};

}  // namespace sixfold
