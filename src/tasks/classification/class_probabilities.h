#pragma once
#include <cstddef>
#include <vector>

namespace sixfold {

class Context;
class Transformer;
struct Batch;

/// The probabilities of the classes of one sequence, in the order of `ModelConfig::labels`.
using ClassProbabilities = std::vector<double>;

/// Returns the probabilities of each sequence of a batch under a classifier.
std::vector<ClassProbabilities> class_probabilities(const Transformer& model, const Batch& batch,
                                                    Context& context);

/// The index of the largest probability; the first of several.
size_t likeliest(const ClassProbabilities& probabilities);

}  // namespace sixfold
