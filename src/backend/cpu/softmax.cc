#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/softmax.cc"
#include <hwy/foreach_target.h>

#include <cmath>
#include <limits>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/exponential.h"

HWY_BEFORE_NAMESPACE();
namespace sixfold::HWY_NAMESPACE {

/// The largest value of a row, and the sum of exp(x - largest).
struct RowSum {
  float largest, sum;
  float log() const { return largest + std::log(sum); }
};

HWY_INLINE RowSum sum_row(const float* x, int64_t n) {
  const float largest = largest_of(x, n);
  return {largest, sum_of_exponentials(x, n, largest)};
}

/// The cross entropy of a row, with its target and label smoothing.
HWY_INLINE float smoothed_loss(const float* x, int64_t n, const RowSum& sum, int32_t target, float smoothing) {
  const Floats d;
  auto total = hn::Zero(d);
  over_vectors(n,
               [&](int64_t i, const auto& load, const auto&) HWY_ATTR { total = hn::Add(total, load(x + i)); });
  const float mean = sum_lanes(total) / static_cast<float>(n);
  return sum.log() - (1 - smoothing) * x[target] - smoothing * mean;
}

void cross_entropy_rows(const kernel::CrossEntropy& p, int64_t begin, int64_t end) {
  const Floats d;
  const int64_t n = p.logits.cols;
  const float smoothing = static_cast<float>(p.smoothing);
  for (int64_t r = begin; r < end; ++r) {
    const float weight = p.weights ? p.weights.data[r] : 1, scale = static_cast<float>(p.scale) * weight;
    float* x = p.logits.row<float>(r);
    const int32_t target = p.targets.data[r];
    const auto sum = sum_row(x, n);
    p.losses.as<float>()[r] = weight * smoothed_loss(x, n, sum, target, smoothing);
    if (!p.gradient) continue;
    const auto factor = hn::Set(d, scale / sum.sum),
               uniform = hn::Set(d, scale * smoothing / static_cast<float>(n));
    const auto largest = hn::Set(d, sum.largest);
    over_vectors(n, [&](int64_t i, const auto& load, const auto& store) HWY_ATTR {
      store(hn::MulSub(exponential(hn::Sub(load(x + i), largest)), factor, uniform), x + i);
    });
    x[target] -= scale * (1 - smoothing);
  }
}

/// A row of logits, with the sums from which its softmax is computed.
struct SoftmaxRow {
  SoftmaxRow(float* row, int64_t n) : x(row), sum(sum_row(row, n)), log(sum.log()) {}
  HWY_INLINE Vector probability(Vector values) const {
    const Floats d;
    return hn::Mul(exponential(hn::Sub(values, hn::Set(d, sum.largest))), hn::Set(d, 1 / sum.sum));
  }
  HWY_INLINE Vector log_probability(Vector values) const { return hn::Sub(values, hn::Set(Floats(), log)); }

  float* x;
  RowSum sum;
  float log;
};

/// Returns KL(a || b).
HWY_INLINE float divergence(const SoftmaxRow& a, const SoftmaxRow& b, int64_t n) {
  const Floats d;
  const auto term = [&](Vector x, Vector y) HWY_ATTR {
    return hn::Mul(a.probability(x), hn::Sub(a.log_probability(x), b.log_probability(y)));
  };
  auto sum = hn::Zero(d);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) sum = hn::Add(sum, term(hn::LoadU(d, a.x + i), hn::LoadU(d, b.x + i)));
  if (i < n) {
    const auto mask = hn::FirstN(d, static_cast<size_t>(n - i));
    sum = hn::Add(sum, hn::IfThenElseZero(mask, term(load_first(a.x + i, n - i), load_first(b.x + i, n - i))));
  }
  return sum_lanes(sum);
}

void r_drop_rows(const kernel::RDrop& k, int64_t begin, int64_t end) {
  const Floats d;
  const int64_t n = k.first.cols;
  const float smoothing = static_cast<float>(k.smoothing), half = static_cast<float>(k.alpha / 2);
  for (int64_t r = begin; r < end; ++r) {
    const float weight = k.weights ? k.weights.data[r] : 1, scale = static_cast<float>(k.scale) * weight;
    const int32_t target = k.targets.data[r];
    const SoftmaxRow a(k.first.row<float>(r), n), b(k.second.row<float>(r), n);
    const float from_a = divergence(a, b, n), from_b = divergence(b, a, n);
    k.losses.as<float>()[r] =
        weight * (smoothed_loss(a.x, n, a.sum, target, smoothing) +
                  smoothed_loss(b.x, n, b.sum, target, smoothing) + half * (from_a + from_b));
    if (!k.gradient) continue;
    const auto uniform = hn::Set(d, smoothing / static_cast<float>(n)), factor = hn::Set(d, scale),
               share = hn::Set(d, half), kl_a = hn::Set(d, from_a), kl_b = hn::Set(d, from_b);
    over_vectors(n, [&](int64_t i, const auto& load, const auto& store) HWY_ATTR {
      const auto x = load(a.x + i), y = load(b.x + i);
      const auto p = a.probability(x), q = b.probability(y), excess = hn::Sub(p, q),
                 difference = hn::Sub(a.log_probability(x), b.log_probability(y));
      const auto of_a = hn::MulAdd(p, hn::Sub(difference, kl_a), excess),
                 of_b = hn::NegMulAdd(q, hn::Add(difference, kl_b), hn::Neg(excess));
      store(hn::Mul(factor, hn::MulAdd(share, of_a, hn::Sub(p, uniform))), a.x + i);
      store(hn::Mul(factor, hn::MulAdd(share, of_b, hn::Sub(q, uniform))), b.x + i);
    });
    for (float* x : {a.x, b.x}) x[target] -= scale * (1 - smoothing);
  }
}

void distillation_rows(const kernel::Distillation& k, int64_t begin, int64_t end) {
  const int64_t n = k.logits.cols;
  for (int64_t r = begin; r < end; ++r) {
    const float factor = static_cast<float>(k.factor) * (k.weights ? k.weights.data[r] : 1);
    const SoftmaxRow teacher(k.teacher.row<float>(r), n), student(k.logits.row<float>(r), n);
    k.losses.as<float>()[r] = factor * divergence(teacher, student, n);
    if (!k.gradient) continue;
    const auto gradient_factor = hn::Set(Floats(), factor * static_cast<float>(k.scale));
    over_vectors(n, [&](int64_t i, const auto& load, const auto& store) HWY_ATTR {
      const auto p = teacher.probability(load(teacher.x + i)), q = student.probability(load(student.x + i));
      store(hn::Mul(gradient_factor, hn::Sub(q, p)), teacher.x + i);
    });
  }
}

void log_probability_rows(const kernel::LogProbability& p, int64_t begin, int64_t end) {
  for (int64_t r = begin; r < end; ++r) {
    const float* x = p.logits.row<float>(r);
    p.out.as<float>()[r] = x[p.targets.data[r]] - sum_row(x, p.logits.cols).log();
  }
}

/// Finds the k largest logits by insertion into the sorted list of the best ones so far. The lanes of a vector
/// are examined one by one only if one of them is better than the worst logit of the list. A NaN makes all
/// log-probabilities NaN.
void top_k_rows(const kernel::TopK& p, int64_t begin, int64_t end) {
  const Floats d;
  const int64_t n = p.logits.cols;
  for (int64_t r = begin; r < end; ++r) {
    const float* x = p.logits.row<float>(r);
    int32_t* ids = p.ids.row<int32_t>(r);
    float* best = p.log_probs.row<float>(r);
    std::fill_n(ids, p.k, -1);
    std::fill_n(best, p.k, -std::numeric_limits<float>::infinity());
    const auto offer = [&](int64_t id) {
      if (!(x[id] > best[p.k - 1])) return;
      for (int64_t b = 0; b < p.banned.size; ++b)
        if (p.banned.data[b] == id) return;
      int place = p.k - 1;
      for (; place > 0 && x[id] > best[place - 1]; --place) {
        best[place] = best[place - 1];
        ids[place] = ids[place - 1];
      }
      best[place] = x[id];
      ids[place] = static_cast<int32_t>(id);
    };
    const auto is_better = [&](Vector values)
                               HWY_ATTR { return !hn::AllFalse(d, hn::Gt(values, hn::Set(d, best[p.k - 1]))); };
    const auto offer_vector = [&](int64_t from) HWY_ATTR {
      if (is_better(hn::LoadU(d, x + from)))
        for (int64_t j = from; j < from + lanes; ++j) offer(j);
    };
    int64_t i = 0;
    for (; i + 4 * lanes <= n; i += 4 * lanes) {
      const auto load = [&](int j) HWY_ATTR { return hn::LoadU(d, x + i + j * lanes); };
      if (is_better(hn::Max(hn::Max(load(0), load(1)), hn::Max(load(2), load(3)))))
        for (int j = 0; j < 4; ++j) offer_vector(i + j * lanes);
    }
    for (; i + lanes <= n; i += lanes) offer_vector(i);
    for (; i < n; ++i) offer(i);
    // If fewer than k ids are allowed, banned ids follow.
    for (int32_t id = 0; ids[p.k - 1] < 0; ++id)
      if (int32_t* free = std::find(ids, ids + p.k, -1); std::find(ids, free, id) == free) *free = id;
    float largest = best[0];  // unless it is banned
    for (int64_t b = 0; b < p.banned.size; ++b) largest = std::max(largest, x[p.banned.data[b]]);
    const float logsumexp = RowSum{largest, sum_of_exponentials(x, n, largest)}.log();
    for (int j = 0; j < p.k; ++j) best[j] -= logsumexp;
  }
}

}  // namespace sixfold::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sixfold {
namespace {

HWY_EXPORT(cross_entropy_rows);
HWY_EXPORT(r_drop_rows);
HWY_EXPORT(distillation_rows);
HWY_EXPORT(log_probability_rows);
HWY_EXPORT(top_k_rows);

}  // namespace

void CpuBackend::compute(const kernel::CrossEntropy& p) {
  split(p.logits.rows, p.logits.cols * 4, [&](int64_t begin, int64_t end, int) {
    HWY_DYNAMIC_DISPATCH(cross_entropy_rows)(p, begin, end);
  });
}

void CpuBackend::compute(const kernel::RDrop& k) {
  split(k.first.rows, k.first.cols * 8, [&](int64_t begin, int64_t end, int) {
    HWY_DYNAMIC_DISPATCH(r_drop_rows)(k, begin, end);
  });
}

void CpuBackend::compute(const kernel::Distillation& k) {
  split(k.logits.rows, k.logits.cols * 8, [&](int64_t begin, int64_t end, int) {
    HWY_DYNAMIC_DISPATCH(distillation_rows)(k, begin, end);
  });
}

void CpuBackend::compute(const kernel::LogProbability& p) {
  split(p.logits.rows, p.logits.cols * 4, [&](int64_t begin, int64_t end, int) {
    HWY_DYNAMIC_DISPATCH(log_probability_rows)(p, begin, end);
  });
}

void CpuBackend::compute(const kernel::TopK& p) {
  split(p.logits.rows, p.logits.cols * 4, [&](int64_t begin, int64_t end, int) {
    HWY_DYNAMIC_DISPATCH(top_k_rows)(p, begin, end);
  });
}

}  // namespace sixfold
#endif
