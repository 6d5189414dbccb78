// The projection to the vocabulary: loss, log-probabilities and the likeliest ids, in chunks of rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "close.h"
#include "ops/run_op.h"

namespace sixfold {
namespace {

/// States, weights and targets, and a pass without gradients over them.
struct Output {
  Machine machine;
  std::shared_ptr<Arena> arena;
  Context context;
  Tensor states;
  ops::OutputWeights weights;
  std::vector<int32_t> ids;  ///< the targets
  Tensor targets;

  Output(const Machine& m, int64_t rows, int64_t d_model, int64_t vocab)
      : machine(m),
        arena(std::make_shared<Arena>(m.backend)),
        context(m.backend, arena),
        states(random(rows, d_model, 1)),
        weights{random(vocab, d_model, 2), random(1, vocab, 3)} {
    RandomStream stream(4, 0);
    for (int64_t i = 0; i < rows; ++i)
      ids.push_back(static_cast<int32_t>(stream.below(static_cast<uint32_t>(vocab))));
    targets = context.indices(ids);
  }
  Tensor random(int64_t rows, int64_t cols, uint64_t seed) const {
    return tensor_of(HostMatrix::normal(rows, cols, seed), *machine.backend, arena, machine.dtype);
  }
  HostMatrix host(const Tensor& tensor) const { return host_copy(tensor, *machine.backend); }

  /// log(sum exp) of each row of logits.
  static std::vector<double> logsumexps(const HostMatrix& logits) {
    std::vector<double> sums;
    for (int64_t r = 0; r < logits.rows; ++r) {
      double sum = 0;
      for (int64_t c = 0; c < logits.cols; ++c)
        sum += std::exp(logits.values[static_cast<size_t>(r * logits.cols + c)]);
      sums.push_back(std::log(sum));
    }
    return sums;
  }
};

std::vector<Machine> output_machines() { return {reference_f64(), cpu(1), cpu(2)}; }

TEST(LogProbability, AgreesWithLogitsOverManyChunks) {
  for (const Machine& machine : output_machines()) {
    Output o(machine, 2500, 3, 5);
    const HostMatrix logits = o.host(ops::logits(o.context, o.states, o.weights)),
                     actual = o.host(ops::log_probability(o.context, o.states, o.weights, o.targets));
    const auto logsumexps = Output::logsumexps(logits);
    HostMatrix expected{2500, 1, {}};
    for (int64_t r = 0; r < 2500; ++r)
      expected.values.push_back(logits.values[static_cast<size_t>(r * 5 + o.ids[static_cast<size_t>(r)])] -
                                logsumexps[static_cast<size_t>(r)]);
    expect_close(actual, expected, 1e-6, machine.name);
  }
}

TEST(CrossEntropy, IsMinusLogProbabilityWhereNothingIsSmoothed) {
  for (const Machine& machine : output_machines()) {
    Output o(machine, 2500, 3, 5);
    const auto log_probs = o.host(ops::log_probability(o.context, o.states, o.weights, o.targets)).values;
    const double sum = std::accumulate(log_probs.begin(), log_probs.end(), 0.0);
    const Tensor loss = ops::cross_entropy(o.context, o.states, o.weights, o.targets, {});
    EXPECT_NEAR(loss.item(*machine.backend), -sum, 1e-6 * -sum) << machine.name;
  }
}

TEST(CrossEntropy, GivesTheSameGradientsInChunksAsRowByRow) {
  for (const Machine& machine : output_machines()) {
    Output o(machine, 1500, 3, 7);
    const auto gradients = [&](int64_t piece) {
      const auto fresh = [&](const Tensor& tensor) {
        Tensor copy = tensor_of(o.host(tensor), *machine.backend, o.arena, machine.dtype);
        copy.set_requires_grad(true);
        return copy;
      };
      const ops::OutputWeights weights{fresh(o.weights.weight), fresh(o.weights.bias)};
      const HostMatrix states = o.host(o.states);
      double loss = 0;
      for (int64_t begin = 0; begin < 1500; begin += piece) {
        Tape tape;
        Context context(machine.backend, o.arena, tape, {});
        const Tensor rows =
            tensor_of(states.slice_rows(begin, piece), *machine.backend, o.arena, machine.dtype);
        const Tensor targets = context.indices(std::span(o.ids).subspan(begin, piece));
        loss += ops::cross_entropy(context, rows, weights, targets, {.label_smoothing = 0.1, .scale = 0.01})
                    .item(*machine.backend);
      }
      return std::tuple(o.host(weights.weight.gradient()), o.host(weights.bias.gradient()), loss);
    };
    const auto [weight, bias, loss] = gradients(1500);
    const auto [weight_of_rows, bias_of_rows, loss_of_rows] = gradients(1);
    EXPECT_TRUE(weight == weight_of_rows) << machine.name;
    EXPECT_TRUE(bias == bias_of_rows) << machine.name;
    EXPECT_NEAR(loss, loss_of_rows, 1e-12 * loss) << machine.name;
  }
}

/// Two equal passes do not diverge: the loss is twice that of one, and so are the gradients. Exchanging the
/// passes exchanges their gradients.
TEST(RDrop, IsTwiceTheLossWherePassesAreEqual) {
  for (const Machine& machine : output_machines()) {
    Output o(machine, 1500, 3, 7);
    struct Result {
      double loss;
      HostMatrix first, second, weight;
    };
    const auto run = [&](const Tensor& first, const Tensor& second, double alpha) {
      const auto fresh = [&](const Tensor& tensor) {
        Tensor copy = tensor_of(o.host(tensor), *machine.backend, o.arena, machine.dtype);
        copy.set_requires_grad(true);
        return copy;
      };
      Tape tape;
      Context context(machine.backend, o.arena, tape, {});
      const Tensor a = fresh(first), b = second ? fresh(second) : Tensor(), weight = fresh(o.weights.weight);
      const Tensor loss = ops::cross_entropy(context, a, {weight, {}}, o.targets,
                                             {.label_smoothing = 0.1, .r_drop = alpha, .second = b});
      return Result{loss.item(*machine.backend), o.host(a.gradient()), b ? o.host(b.gradient()) : HostMatrix(),
                    o.host(weight.gradient())};
    };
    const Result one = run(o.states, {}, 0), equal = run(o.states, o.states, 50);
    EXPECT_NEAR(equal.loss, 2 * one.loss, 1e-6 * one.loss) << machine.name;
    expect_close(equal.first, one.first, 1e-5, machine.name);
    expect_close(equal.second, one.first, 1e-5, machine.name);
    HostMatrix twice = one.weight;
    for (double& value : twice.values) value *= 2;
    expect_close(equal.weight, twice, 1e-5, machine.name);
    HostMatrix moved = o.host(o.states);
    for (double& value : moved.values) value = 1.5 * value + 0.25;
    const Tensor other = tensor_of(moved, *machine.backend, o.arena, machine.dtype);
    const Result there = run(o.states, other, 3), back = run(other, o.states, 3);
    EXPECT_GT(there.loss, run(o.states, other, 0).loss + 1) << machine.name;
    EXPECT_NEAR(there.loss, back.loss, 1e-6 * there.loss) << machine.name;
    expect_close(there.first, back.second, 1e-5, machine.name);
    expect_close(there.second, back.first, 1e-5, machine.name);
  }
}

TEST(CrossEntropy, OfNoRowsHasNoGradient) {
  for (const Machine& machine : output_machines()) {
    Output o(machine, 0, 3, 7);
    Tape tape;
    Context context(machine.backend, o.arena, tape, {});
    o.weights.weight.set_requires_grad(true);
    const Tensor loss = ops::cross_entropy(context, o.states, o.weights, o.targets, {.label_smoothing = 0.1});
    EXPECT_EQ(loss.item(*machine.backend), 0);
    EXPECT_EQ(norm_of(o.host(o.weights.weight.gradient())), 0) << machine.name;
  }
}

/// The ids of a row of logits from the best to the worst, the banned ones last.
std::vector<int32_t> sorted_ids(const double* row, int vocab, const std::vector<int32_t>& banned) {
  std::vector<int32_t> ids(static_cast<size_t>(vocab));
  std::iota(ids.begin(), ids.end(), 0);
  const auto is_banned = [&](int32_t id) { return std::count(banned.begin(), banned.end(), id) > 0; };
  std::stable_sort(ids.begin(), ids.end(), [&](int32_t a, int32_t b) {
    if (is_banned(a) || is_banned(b)) return !is_banned(a) && is_banned(b);
    return row[a] > row[b];
  });
  return ids;
}

TEST(TopK, IsTheBeginningOfASort) {
  for (const Machine& machine : output_machines())
    for (const int vocab : {1, 7, 16, 33, 517})
      for (const int k : {1, 3, 8, 16}) {
        if (k > vocab) continue;
        Output o(machine, 40, 6, vocab);
        const HostMatrix logits = o.host(ops::logits(o.context, o.states, o.weights));
        const auto logsumexps = Output::logsumexps(logits);
        for (const std::vector<int32_t>& banned :
             {std::vector<int32_t>{}, std::vector<int32_t>{0, vocab / 2}}) {
          const auto best =
              ops::top_k(o.context, o.states, o.weights, k, Tensor::of_ids(*machine.backend, o.arena, banned));
          ASSERT_EQ(best.ids.size(), static_cast<size_t>(40 * k));
          for (int r = 0; r < 40; ++r) {
            const double* row = logits.values.data() + r * vocab;
            const auto expected = sorted_ids(row, vocab, banned);
            for (int i = 0; i < k; ++i) {
              const auto place = static_cast<size_t>(r * k + i);
              const int32_t id = expected[static_cast<size_t>(i)];
              ASSERT_EQ(best.ids[place], id) << machine.name << ", " << k << " of " << vocab;
              if (std::count(banned.begin(), banned.end(), id))
                EXPECT_EQ(best.log_probs[place], -std::numeric_limits<float>::infinity());
              else
                EXPECT_NEAR(best.log_probs[place], row[id] - logsumexps[static_cast<size_t>(r)], 1e-5);
            }
          }
        }
      }
}

/// A weight in int8 with scales of 1/64.
ops::OutputWeights int8_output(const Machine& machine, int64_t vocab, int64_t d_model) {
  RandomStream random(5, 0);
  std::vector<int8_t> elements(static_cast<size_t>(vocab * d_model));
  for (int8_t& element : elements) element = static_cast<int8_t>(static_cast<int>(random.below(255)) - 127);
  const auto memory = lasting_memory(machine.backend);
  Tensor numbers(memory, vocab, d_model, DType::i8), scales(memory, 1, vocab, DType::f32);
  machine.backend->upload(numbers.view().data, std::as_bytes(std::span(elements)));
  machine.backend->run(kernel::Fill{scales.view(), 1.0 / 64});
  Tensor weight = Tensor::of_int8(numbers, scales);
  weight.set_packed(machine.backend->pack(weight.view(), /*transpose_b=*/true));
  return {weight, tensor_of(HostMatrix::normal(1, vocab, 3), *machine.backend, memory, DType::f32)};
}

/// Candidates among lists are those of an output layer of these tokens, to the bit, in many chunks.
TEST(TopK, OfListsIsThatOfTheirTokens) {
  for (const Machine& machine : {reference_f32(), cpu(1), cpu(2), discrete(DType::f32)}) {
    const auto arena = std::make_shared<Arena>(machine.backend);
    Context context(machine.backend, arena);
    const int vocab = machine.name.find("cpu") == 0 ? 40'000 : 50, d_model = 5, k = 3;
    const ops::OutputWeights output = int8_output(machine, vocab, d_model);
    // The first list has two tokens, fewer than k; the others have 0.8 of all, from an id on.
    std::vector<std::vector<int32_t>> ids(40), banned(40);
    std::vector<ops::ListedRows> lists;
    for (size_t i = 0; i < ids.size(); ++i) {
      for (int32_t id = static_cast<int32_t>(i); id < vocab; ++id)
        if (i == 0 ? id % (vocab / 2) == 0 : id % 5 != static_cast<int>(i) % 5) ids[i].push_back(id);
      if (i % 3 == 1) banned[i] = {0, 2};
      lists.push_back({.rows = static_cast<int64_t>((i + 1) % 4), .ids = ids[i], .banned = banned[i]});
    }
    int64_t rows = 0;
    for (const auto& list : lists) rows += list.rows;
    const Tensor states = tensor_of(HostMatrix::normal(rows, d_model, 1), *machine.backend, arena, DType::f32);
    const auto best = ops::top_k_listed(context, states, output, k, lists);
    int64_t row = 0;
    for (const auto& list : lists) {
      const int some = static_cast<int>(std::min<size_t>(k, list.ids.size()));
      const auto expected = ops::top_k(context, states.slice_rows(row, list.rows),
                                       ops::select_outputs(machine.backend, output, list.ids), some,
                                       list.banned.empty() ? Tensor() : context.indices(list.banned));
      for (int64_t r = 0; r < list.rows; ++r, ++row)
        for (int64_t i = 0; i < some; ++i) {
          const auto at = static_cast<size_t>(row * k + i), place = static_cast<size_t>(r * some + i);
          EXPECT_EQ(best.ids[at], expected.ids[place]) << machine.name << ", row " << row;
          EXPECT_EQ(best.log_probs[at], expected.log_probs[place]) << machine.name << ", row " << row;
        }
    }
    EXPECT_EQ(row, rows);
  }
}

TEST(TopK, TakesTheLowerIdOfEquals) {
  for (const Machine& machine : output_machines()) {
    const auto arena = std::make_shared<Arena>(machine.backend);
    Context context(machine.backend, arena);
    const auto tensor = [&](const HostMatrix& m) {
      return tensor_of(m, *machine.backend, arena, machine.dtype);
    };
    HostMatrix weight{40, 1, std::vector<double>(40, 1.0)};
    weight.values[30] = weight.values[37] = 2;
    const auto best = ops::top_k(context, tensor({1, 1, {1}}), {tensor(weight), {}}, 4, {});
    EXPECT_EQ(best.ids, (std::vector<int32_t>{30, 37, 0, 1})) << machine.name;
  }
}

// A model gone wrong must not send search out of bounds.
TEST(TopK, OfWhatIsNoNumberStillGivesIds) {
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::infinity()})
    for (const Machine& machine : output_machines()) {
      const auto arena = std::make_shared<Arena>(machine.backend);
      Context context(machine.backend, arena);
      const auto tensor = [&](const HostMatrix& m) {
        return tensor_of(m, *machine.backend, arena, machine.dtype);
      };
      const HostMatrix weight{20, 1, std::vector<double>(20, bad)};
      auto ids = ops::top_k(context, tensor({1, 1, {1}}), {tensor(weight), {}}, 4, {}).ids;
      std::sort(ids.begin(), ids.end());
      EXPECT_EQ(std::unique(ids.begin(), ids.end()), ids.end()) << machine.name;
      for (const int32_t id : ids) EXPECT_TRUE(id >= 0 && id < 20) << machine.name << ": " << id;
    }
}

// Prepared weights are for products without gradients.
TEST(Logits, OfPreparedWeightsAreTheSameBits) {
  for (const Machine& machine : output_machines()) {
    Output o(machine, 37, 70, 133);
    const HostMatrix expected = o.host(ops::logits(o.context, o.states, o.weights));
    o.weights.weight.set_packed(machine.backend->pack(o.weights.weight.view(), /*transpose_b=*/true));
    EXPECT_TRUE(o.host(ops::logits(o.context, o.states, o.weights)) == expected) << machine.name;
    // A pass that records takes the weight as it is now, not as it was packed.
    machine.backend->run(kernel::Fill{o.weights.weight.view(), 0});
    Tape tape;
    Context training(machine.backend, o.arena, tape, {});
    EXPECT_FALSE(o.host(ops::linear(training, o.states, o.weights.weight, o.weights.bias)) == expected);
  }
}

}  // namespace
}  // namespace sixfold
