// What a mixer declares to read (Reach): the columns of table 1 that follow from it, and that it is true.
#include "program/bench/path_length.h"

#include <gtest/gtest.h>

#include <array>

#include "base/random.h"
#include "error_message.h"
#include "model/layers/architecture.h"

namespace sixfold {
namespace {

TEST(PathLength, FollowsWhatALayerReads) {
  for (const int64_t n : {2, 3, 10, 1000}) {
    EXPECT_EQ(path_length({}, n), 1) << "self-attention";
    EXPECT_EQ(path_length({.left = Reach::all, .right = 0}, n), 1) << "self-attention of a decoder";
    EXPECT_EQ(path_length({.sequential = true}, n), n) << "a recurrent network";
    EXPECT_EQ(path_length({.left = Reach::all, .right = 0, .sequential = true}, n), n);
    for (const int64_t k : {2, 3, 7, 2000}) {
      const int64_t layers = (n - 1 + k - 2) / (k - 1);
      EXPECT_EQ(path_length({.left = k - 1, .right = 0}, n), layers) << "a convolution of a decoder";
      EXPECT_EQ(path_length({.left = k - 1, .right = k - 1}, n), layers) << "restricted attention";
    }
  }
}

TEST(PathLength, TheSlowerDirectionCounts) {
  EXPECT_EQ(path_length({.left = 4, .right = 1}, 9), 8);
  EXPECT_EQ(path_length({.left = 1, .right = 4}, 9), 8);
  EXPECT_EQ(path_length({.left = 1, .right = Reach::all}, 9), 8);
}

TEST(PathLength, NothingConnectsTokensThatReadOnlyThemselves) {
  EXPECT_EQ(path_length({.left = 0, .right = 0}, 5), std::nullopt);
  EXPECT_NE(error_message([] { path_length({}, 1); }), "");
}

TEST(PathLength, OnlyRecurrentStepsFollowOneAnother) {
  EXPECT_EQ(sequential_operations({.sequential = true}, 100), 100);
  EXPECT_EQ(sequential_operations({.left = 3, .right = 3}, 100), 1);
}

struct Declaration {
  MixerKind kind;
  AttentionKind stack;
};

std::vector<Declaration> declarations() {
  std::vector<Declaration> all;
  for (const auto& [kind, name] : EnumNames<MixerKind>::names)
    for (const AttentionKind stack : {AttentionKind::encoder, AttentionKind::decoder})
      if (stack == AttentionKind::decoder ||
          (kind != MixerKind::ssru && kind != MixerKind::average && kind != MixerKind::bahdanau))
        all.push_back({kind, stack});
  return all;
}

class DeclaredReach : public testing::TestWithParam<Declaration> {
 protected:
  DeclaredReach() {
    a_.d_model = 16;
    a_.heads = 2;
    a_.positions = Positions::none;
    a_.dropout = 0;
    a_.attention_window = 2;
    for (const int length : {7, 9}) rows_.add(length);
  }

  void make(int kernel_size) {
    a_.kernel_size = kernel_size;
    (GetParam().stack == AttentionKind::encoder ? a_.encoder_mixer : a_.decoder_mixer) = GetParam().kind;
    validate(a_);
    const ParameterBuilder builder(backend_, DType::f64, /*seed=*/3);
    mixer_ = make_mixer(builder.in("layer"), a_, {.stack = GetParam().stack, .layer = 0});
  }

  static std::vector<double> random_values(int64_t count, uint64_t seed) {
    RandomStream random(seed, 0);
    std::vector<double> values;
    while (std::ssize(values) < count) values.push_back(random.bits() / 2147483648.0 - 1);
    return values;
  }

  Tensor tensor_of(const std::vector<double>& values) const {
    Tensor tensor(lasting_memory(backend_), std::ssize(values) / a_.d_model, a_.d_model, DType::f64);
    tensor.copy_from(*backend_, values);
    return tensor;
  }

  /// The outputs for these inputs.
  std::vector<double> outputs(const std::vector<double>& x) const {
    Context context(backend_, std::make_shared<Arena>(backend_));
    const TokenRows rows = context.token_rows(rows_);
    WholeSequences state(rows.ragged, GetParam().stack == AttentionKind::decoder, context);
    std::array<KeyValues, 1> memory;
    if (mixer_->reads_memory()) {
      Ragged sources;
      for (const int length : {3, 5}) sources.add(length);
      memory[0] = mixer_->project_memory(tensor_of(random_values(sources.tokens() * a_.d_model, 5)), context);
      memory[0].pattern = ops::attention_pattern(context, rows_, sources, /*causal=*/false);
    }
    LayerContext layer{
        .context = context, .rows = rows, .state = state, .memory = memory, .kind = GetParam().stack};
    return (*mixer_)(tensor_of(x), layer).to_doubles(*backend_);
  }

  int sequence_of(int row) const { return row >= rows_.begin(1) ? 1 : 0; }
  bool declared(int output, int input) const {
    const Reach reach = mixer_->reach();
    const int64_t distance = output - input;  // positive: to the left
    return sequence_of(output) == sequence_of(input) && distance <= reach.left && -distance <= reach.right;
  }

  /// Changes each input in turn, and compares the outputs that change with those that are declared.
  void expect_declared_is_true() const {
    const auto width = static_cast<size_t>(a_.d_model);
    const std::vector<double> x = random_values(rows_.tokens() * a_.d_model, 1), before = outputs(x);
    for (int input = 0; input < rows_.tokens(); ++input) {
      std::vector<double> moved = x;
      for (size_t i = 0; i < width; ++i) moved[static_cast<size_t>(input) * width + i] += 0.5;
      const std::vector<double> after = outputs(moved);
      for (int output = 0; output < rows_.tokens(); ++output) {
        const auto begin = static_cast<ptrdiff_t>(static_cast<size_t>(output) * width);
        const bool same =
            std::equal(before.begin() + begin, before.begin() + begin + static_cast<ptrdiff_t>(width),
                       after.begin() + begin);
        EXPECT_EQ(!same, declared(output, input)) << "output " << output << ", input " << input;
      }
    }
  }

  Architecture a_;
  Ragged rows_;
  std::shared_ptr<Backend> backend_ = make_backend({.device = "reference"});
  std::unique_ptr<const Mixer> mixer_;
};

INSTANTIATE_TEST_SUITE_P(, DeclaredReach, testing::ValuesIn(declarations()), [](const auto& test) {
  return std::string(name_of_enum(test.param.stack)) + "_" + std::string(name_of_enum(test.param.kind));
});

TEST_P(DeclaredReach, AnOutputChangesWithTheInputsThatItReadsAndNoOthers) {
  for (const int kernel_size : {1, 3, 4}) {
    SCOPED_TRACE(kernel_size);
    make(kernel_size);
    expect_declared_is_true();
  }
}

/// The state that is kept for decoding holds as many rows as the reach to the left asks for.
TEST_P(DeclaredReach, TheStateHoldsWhatIsRead) {
  make(4);
  const Reach reach = mixer_->reach();
  if (GetParam().stack == AttentionKind::encoder) return;
  const int retained = mixer_->state().retain;
  if (reach.left == Reach::all)
    EXPECT_TRUE(retained == StateShape::all || retained == 1);
  else
    EXPECT_GE(retained, reach.left);
}

}  // namespace
}  // namespace sixfold
