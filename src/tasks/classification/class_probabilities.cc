#include "tasks/classification/class_probabilities.h"

#include <algorithm>
#include <cmath>

#include "model/transformer.h"

namespace sixfold {

std::vector<ClassProbabilities> class_probabilities(const Transformer& model, const Batch& batch,
                                                    Context& context) {
  const std::vector<double> logits =
      ops::logits(context, model.head_input(batch, context), model.output()).to_doubles(context.backend());
  const auto classes = static_cast<size_t>(model.config().head.classes);
  std::vector<ClassProbabilities> all;
  for (size_t begin = 0; begin < logits.size(); begin += classes) {
    const auto row = std::span(logits).subspan(begin, classes);
    const double largest = *std::ranges::max_element(row);
    ClassProbabilities& probabilities = all.emplace_back();
    double sum = 0;
    for (const double logit : row) sum += probabilities.emplace_back(std::exp(logit - largest));
    for (double& probability : probabilities) probability /= sum;
  }
  return all;
}

size_t likeliest(const ClassProbabilities& probabilities) {
  return static_cast<size_t>(std::ranges::max_element(probabilities) - probabilities.begin());
}

}  // namespace sixfold
