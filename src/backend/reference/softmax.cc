#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "backend/reference/kernels.h"

namespace sixfold::reference {

void compute(const kernel::CrossEntropy& e) {
  const int64_t vocabulary = e.logits.cols;
  // the target probability that smoothing gives each id
  const double uniform = e.smoothing / static_cast<double>(vocabulary);
  with_type(e.logits.dtype, [&]<class T>(T) {
    for (int64_t r = 0; r < e.logits.rows; ++r) {
      T* logits = e.logits.row<T>(r);
      const double logsumexp = log_sum_exp(logits, vocabulary);
      const double weight = e.weights ? static_cast<double>(e.weights.data[r]) : 1;
      double loss = 0;
      for (int64_t id = 0; id < vocabulary; ++id) {
        const double target_probability = uniform + (id == e.targets.data[r] ? 1 - e.smoothing : 0);
        const double log_probability = logits[id] - logsumexp;
        if (target_probability > 0) loss -= target_probability * log_probability;  // 0 * infinity would be NaN
        if (e.gradient)
          logits[id] = static_cast<T>((std::exp(log_probability) - target_probability) * e.scale * weight);
      }
      e.losses.as<T>()[r] = static_cast<T>(loss * weight);
    }
  });
}

void compute(const kernel::RDrop& k) {
  const int64_t vocabulary = k.first.cols;
  const double uniform = k.smoothing / static_cast<double>(vocabulary);
  with_type(k.first.dtype, [&]<class T>(T) {
    for (int64_t r = 0; r < k.first.rows; ++r) {
      T* rows[] = {k.first.row<T>(r), k.second.row<T>(r)};
      const double logsumexps[] = {log_sum_exp(rows[0], vocabulary), log_sum_exp(rows[1], vocabulary)};
      const double weight = k.weights ? static_cast<double>(k.weights.data[r]) : 1;
      // The log-probability of an id by a row of logits, and its difference from that by the other row.
      const auto log_probability = [&](int row, int64_t id) { return rows[row][id] - logsumexps[row]; };
      const auto difference = [&](int row, int64_t id) {
        return log_probability(row, id) - log_probability(1 - row, id);
      };
      double loss = 0, divergences[] = {0, 0};  // KL(row || other row)
      for (int64_t id = 0; id < vocabulary; ++id) {
        const double target_probability = uniform + (id == k.targets.data[r] ? 1 - k.smoothing : 0);
        for (const int row : {0, 1}) {
          loss -= target_probability * log_probability(row, id);
          divergences[row] += std::exp(log_probability(row, id)) * difference(row, id);
        }
      }
      loss += k.alpha / 2 * (divergences[0] + divergences[1]);
      k.losses.as<T>()[r] = static_cast<T>(loss * weight);
      for (int64_t id = 0; k.gradient && id < vocabulary; ++id) {
        const double target_probability = uniform + (id == k.targets.data[r] ? 1 - k.smoothing : 0);
        double gradients[2];
        for (const int row : {0, 1}) {
          const double p = std::exp(log_probability(row, id)), q = std::exp(log_probability(1 - row, id));
          gradients[row] =
              p - target_probability + k.alpha / 2 * (p * (difference(row, id) - divergences[row]) + p - q);
        }
        for (const int row : {0, 1}) rows[row][id] = static_cast<T>(gradients[row] * k.scale * weight);
      }
    }
  });
}

void compute(const kernel::Distillation& k) {
  const int64_t vocabulary = k.logits.cols;
  with_type(k.logits.dtype, [&]<class T>(T) {
    for (int64_t r = 0; r < k.logits.rows; ++r) {
      const T* student = k.logits.row<T>(r);
      T* teacher = k.teacher.row<T>(r);
      const double of_student = log_sum_exp(student, vocabulary), of_teacher = log_sum_exp(teacher, vocabulary);
      const double factor = k.factor * (k.weights ? static_cast<double>(k.weights.data[r]) : 1);
      double divergence = 0;
      for (int64_t id = 0; id < vocabulary; ++id) {
        const double log_p = teacher[id] - of_teacher, log_q = student[id] - of_student;
        divergence += std::exp(log_p) * (log_p - log_q);
        if (k.gradient) teacher[id] = static_cast<T>((std::exp(log_q) - std::exp(log_p)) * factor * k.scale);
      }
      k.losses.as<T>()[r] = static_cast<T>(factor * divergence);
    }
  });
}

void compute(const kernel::LinkLoss& k) {
  constexpr double min_mean = 1e-9;
  const int64_t keys = k.target_weights.cols, heads = keys > 0 ? k.weights.cols / keys : 0;
  with_type(k.weights.dtype, [&]<class T>(T) {
    for (int64_t r = 0; r < k.weights.rows; ++r) {
      double loss = 0;
      for (int64_t key = 0; key < keys; ++key) {
        const auto target_weight = static_cast<double>(k.target_weights.row<T>(r)[key]);
        double mean = 0;
        for (int64_t h = 0; target_weight != 0 && h < heads; ++h) mean += k.weights.row<T>(r)[h * keys + key];
        mean = std::max(mean / static_cast<double>(heads), min_mean);
        if (target_weight != 0) loss -= target_weight * std::log(mean);
        const double slope = -k.factor * k.scale * target_weight / mean / static_cast<double>(heads);
        for (int64_t h = 0; k.gradient && h < heads; ++h)
          k.gradient.row<T>(r)[h * keys + key] = static_cast<T>(slope);
      }
      k.losses.as<T>()[r] = static_cast<T>(k.factor * loss);
    }
  });
}

void compute(const kernel::LogProbability& k) {
  with_type(k.logits.dtype, [&]<class T>(T) {
    for (int64_t r = 0; r < k.logits.rows; ++r) {
      const T* row = k.logits.row<T>(r);
      k.out.as<T>()[r] = static_cast<T>(row[k.targets.data[r]] - log_sum_exp(row, k.logits.cols));
    }
  });
}

void compute(const kernel::TopK& top) {
  const int64_t vocabulary = top.logits.cols;
  with_type(top.logits.dtype, [&]<class T>(T) {
    std::vector<T> logits(vocabulary);
    std::vector<int32_t> ids(vocabulary);
    for (int64_t r = 0; r < top.logits.rows; ++r) {
      std::copy_n(top.logits.row<T>(r), vocabulary, logits.begin());
      const double logsumexp = log_sum_exp(logits.data(), vocabulary);
      for (int64_t i = 0; i < top.banned.size; ++i)
        logits[top.banned.data[i]] = -std::numeric_limits<T>::infinity();

      std::iota(ids.begin(), ids.end(), 0);
      std::partial_sort(ids.begin(), ids.begin() + top.k, ids.end(), [&](int32_t a, int32_t b) {
        return logits[a] > logits[b] || (logits[a] == logits[b] && a < b);
      });
      for (int64_t i = 0; i < top.k; ++i) {
        top.ids.row<int32_t>(r)[i] = ids[i];
        top.log_probs.row<float>(r)[i] = static_cast<float>(logits[ids[i]] - logsumexp);
      }
    }
  });
}

}  // namespace sixfold::reference
