#pragma once
#include "backend/sequence_kernels.h"
#include "backend/view.h"

// The kernels over logits: the loss, probabilities, and the most probable tokens. See kernels.h.

namespace sixfold::kernel {

/// For each row of logits [rows, vocab]: loss = (1 - smoothing) * -log p(target) + smoothing * mean of -log p
/// over the vocabulary (section 5.4), written to losses [1, rows]. If `gradient` is set, the logits are
/// overwritten by d(loss * scale) / d(logits). The loss of a row is multiplied by its weight if there are
/// weights.
struct CrossEntropy {
  static constexpr const char* name = "cross_entropy";
  View logits;
  DeviceSpan<const int32_t> targets;
  View losses;
  double smoothing = 0, scale = 1;
  bool gradient = false;
  DeviceSpan<const float> weights = {};  ///< [rows], or empty

  void operands(auto&& visit) {
    visit("logits", logits), visit("targets", targets), visit("losses", losses), visit("weights", weights);
  }
};

/// R-Drop (Liang et al. 2021, equation 3) for two rows of logits [rows, vocab] of each target: loss = the
/// losses of `CrossEntropy` of both + alpha / 2 * (KL(p || q) + KL(q || p)), where p and q are their softmaxes,
/// written to losses [1, rows]. If `gradient` is set, both logits are overwritten by the gradients of loss *
/// scale. The loss of a row is multiplied by its weight if there are weights.
struct RDrop {
  static constexpr const char* name = "r_drop";
  View first, second;
  DeviceSpan<const int32_t> targets;
  View losses;
  double alpha = 0, smoothing = 0, scale = 1;
  bool gradient = false;
  DeviceSpan<const float> weights = {};  ///< [rows], or empty

  void operands(auto&& visit) {
    visit("first", first), visit("second", second), visit("targets", targets), visit("losses", losses),
        visit("weights", weights);
  }
};

/// The loss of rows of logits [rows, vocab] that should follow those of a teacher (Hinton et al. 2015,
/// "Distilling the Knowledge in a Neural Network"; for each token Kim and Rush 2016, section 3.1): factor *
/// KL(p || q), where p and q are the softmaxes of `teacher` and of `logits`, written to losses [1, rows]. If
/// `gradient` is set, `teacher` is overwritten by the gradients of loss * scale for `logits`. The loss of a row
/// is multiplied by its weight if there are weights.
struct Distillation {
  static constexpr const char* name = "distillation";
  View logits, teacher, losses;
  double factor = 1, scale = 1;
  bool gradient = false;
  DeviceSpan<const float> weights = {};  ///< [rows], or empty

  void operands(auto&& visit) {
    visit("logits", logits), visit("teacher", teacher), visit("losses", losses), visit("weights", weights);
  }
};

/// The loss of guided alignment: attention weights should follow the links of a word alignment (Garg et al.
/// 2019, "Jointly Learning to Align and Translate with Transformer Models", equation 5). For each query it is
/// the cross entropy of the mean of the heads' weights against its row of `target_weights`, times `factor`,
/// written to losses [1, queries]. `gradient`, unless it is empty, is overwritten by the gradients of loss *
/// scale for the weights. A mean below 1e-9 counts as 1e-9.
struct LinkLoss {
  static constexpr const char* name = "link_loss";
  View weights;         ///< [queries, heads * keys]: the keys of a head beside each other
  View target_weights;  ///< [queries, keys]
  View losses, gradient = {};
  double factor = 1, scale = 1;

  void operands(auto&& visit) {
    visit("weights", weights), visit("target_weights", target_weights);
    visit("losses", losses), visit("gradient", gradient);
  }
};

/// Logits of listed tokens alone, of a weight of 8 bits. Row r of x, [., d], of a span of queries has element
/// out[r][j] for the span's key place j: the logit of token ids[key place]. The elements are those that a
/// Matmul with the packed weight [vocab, d] computes. Those of `out`, [., longest list], behind a list are not
/// written.
struct ListedLogits {
  static constexpr const char* name = "listed_logits";
  View out, x;
  View weight, bias;                             ///< int8; [1, vocab], or empty
  std::span<const AttentionSpan> spans;          ///< in host memory, for the size of a launch
  DeviceSpan<const AttentionSpan> device_spans;  ///< the same spans in the backend's memory, for the kernel
  DeviceSpan<const int32_t> ids;

  void operands(auto&& visit) {
    visit("out", out), visit("x", x), visit("weight", weight), visit("bias", bias);
    visit("device_spans", device_spans), visit("ids", ids);
  }
};

/// out [1, rows] = log-probability of targets[r] under the softmax of row r of logits [rows, vocab].
struct LogProbability {
  static constexpr const char* name = "log_probability";
  View out, logits;
  DeviceSpan<const int32_t> targets;

  void operands(auto&& visit) { visit("out", out), visit("logits", logits), visit("targets", targets); }
};

/// The k largest logits of each row of logits [rows, vocab], best first, with their log-probabilities. Ties are
/// broken by the lower id.
struct TopK {
  static constexpr const char* name = "top_k";
  View logits;
  int k = 1;
  View ids;        ///< [rows, k] i32
  View log_probs;  ///< [rows, k] f32
  /// Ids that are not chosen. They keep their share of the probability. If there are fewer than k other ids,
  /// banned ids follow with -infinity.
  DeviceSpan<const int32_t> banned;

  void operands(auto&& visit) {
    visit("logits", logits), visit("ids", ids), visit("log_probs", log_probs), visit("banned", banned);
  }
};

}  // namespace sixfold::kernel
