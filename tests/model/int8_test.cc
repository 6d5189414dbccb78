// Models in int8 and in 4 bits: what is rounded, how it is stored, what is refused.
#include "model/int8.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <functional>

#include "base/file.h"
#include "error_message.h"
#include "formats/safetensors.h"
#include "model/decoding_state.h"
#include "model_folder/derived.h"
#include "model_folder/model_folder.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

TEST(RoundToInt8, EachRowByItsLargest) {
  const Int8Matrix matrix = round_to_int8({2, -1, 0.5, 0, 0, 0, -1e-3f, 5e-4f, 1e-3f}, 3);
  EXPECT_EQ(matrix.data, (std::vector<int8_t>{127, -64, 32, 0, 0, 0, -127, 64, 127}));  // halves to even
  EXPECT_EQ(matrix.scales, (std::vector<float>{2 / 127.0f, 0, 1e-3f / 127}));
}

/// What was in int8 with one scale is not rounded again: the second row has no value of 127 steps.
TEST(RoundToInt8, MultiplesOfOneStepStayWhatTheyAre) {
  const float step = 0.037f;
  const Int8Matrix matrix = round_to_int8({127 * step, -3 * step, 0, 5 * step, -40 * step, step}, 3);
  EXPECT_EQ(matrix.data, (std::vector<int8_t>{127, -3, 0, 5, -40, 1}));
  EXPECT_EQ(matrix.scales[0], matrix.scales[1]);
  EXPECT_NEAR(matrix.scales[1], step, 1e-8);
}

// 127 / 3e-37 is more than the largest float.
TEST(RoundToInt8, RowsOfTinyNumbersAreZero) {
  const Int8Matrix matrix = round_to_int8({1e-45f, -1e-45f, 3e-37f, -1e-37f, 1e-30f, -1e-30f}, 2);
  EXPECT_EQ(matrix.data, (std::vector<int8_t>{0, 0, 0, 0, 127, -127}));
  EXPECT_EQ(matrix.scales, (std::vector<float>{0, 0, 1e-30f / 127}));
}

float value_of(const Int8Matrix& matrix, size_t i, size_t cols) {
  const size_t group = i / cols * ((cols + 31) / 32) + i % cols / 32;
  return static_cast<float>(matrix.data[i]) * matrix.scales[2 * group] + matrix.scales[2 * group + 1];
}

/// Groups of GGUF's Q4_1 and Q4_0: 16 numbers from a minimum, and around zero, of which only one end is used.
TEST(RoundToInt4, GroupsOfSixteenNumbersStayWhatTheyAre) {
  std::vector<float> values;
  for (int i = 0; i < 32; ++i) values.push_back(-0.625f + 0.125f * static_cast<float>(i * 7 % 16));
  for (int i = 0; i < 32; ++i) values.push_back(0.25f * static_cast<float>(i * 5 % 11 - 8));
  for (int i = 0; i < 32; ++i) values.push_back(-0.25f * static_cast<float>(i * 5 % 11 - 8));
  const Int8Matrix matrix = round_to_int4(values, 96);
  ASSERT_EQ(matrix.scales.size(), 6u);
  for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(value_of(matrix, i, 96), values[i], 1e-6) << i;
}

TEST(RoundToInt4, NoValueIsFartherThanAStepAndNumbersAreFourBits) {
  std::vector<float> values;
  for (int i = 0; i < 5 * 45; ++i)
    values.push_back(std::sin(static_cast<float>(i * i)) * std::exp2f(static_cast<float>(i / 45)));
  const Int8Matrix matrix = round_to_int4(values, 45);  // a group of 32 and one of 13 in each row
  ASSERT_EQ(matrix.scales.size(), 5u * 2 * 2);
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_GE(matrix.data[i], 0);
    EXPECT_LE(matrix.data[i], 15);
    const float step = matrix.scales[2 * (i / 45 * 2 + i % 45 / 32)];
    EXPECT_NEAR(value_of(matrix, i, 45), values[i], 2.5 * static_cast<double>(step)) << i;
    EXPECT_LT(step, 2.5 * std::exp2f(static_cast<float>(i / 45)) / 15);
  }
}

TEST(RoundToInt4, ExtremesStayFinite) {
  const float huge = std::numeric_limits<float>::max();
  for (const std::vector<float>& values : std::vector<std::vector<float>>{{huge, -huge, 0},
                                                                          {huge, huge, huge},
                                                                          {1e30f, -1e30f, 0},
                                                                          {1e-45f, -1e-45f, 0},
                                                                          {3e-38f, 0, -1e-38f},
                                                                          {0, 0, 0},
                                                                          {5, 5, 5}}) {
    const Int8Matrix matrix = round_to_int4(values, 3);
    const double largest = std::max(std::abs(values[0]), std::abs(values[1]));
    for (const float scale : matrix.scales) EXPECT_TRUE(std::isfinite(scale));
    for (size_t i = 0; i < 3; ++i) {
      const double value = double{matrix.scales[0]} * matrix.data[i] + double{matrix.scales[1]};
      EXPECT_NEAR(value, values[i], largest / 15 + 1e-36) << values[0];
    }
  }
}

TEST(PackHalves, RowsBeginWithNewBytes) {
  const std::vector<int8_t> numbers{1, 2, 3, 4, 5, 15};
  EXPECT_EQ(pack_halves(numbers, 3), (std::vector<uint8_t>{0x21, 0x03, 0x54, 0x0F}));
  EXPECT_EQ(unpack_halves(pack_halves(numbers, 3), 3), numbers);
  EXPECT_EQ(pack_halves(numbers, 2), (std::vector<uint8_t>{0x21, 0x43, 0xF5}));
  EXPECT_EQ(unpack_halves(pack_halves(numbers, 2), 2), numbers);
}

/// A model, and what `quantize_model` makes of it.
class QuantizedModel : public testing::Test {
 protected:
  explicit QuantizedModel(WeightType type) {
    ModelConfig config;
    config.d_model = 32, config.d_ff = 45, config.heads = 2;
    config.encoder_layers = 1, config.decoder_layers = 2;
    config.source_vocab = config.target_vocab = 40;
    config.positions = Positions::learned;
    config.max_positions = 20;
    std::filesystem::create_directory(folder_ / "full");
    save_model(Transformer(config, backend_, DType::f32, 3), folder_ / "full");
    write_file_atomically(folder_ / "full/tokenizer.vocab", "a");
    quantize_model(folder_ / "full", path_, type);
  }

  std::unique_ptr<Transformer> load(WeightType type = WeightType::stored) {
    return load_model(path_, backend_, DType::f32, type);
  }
  std::vector<float> logits(Transformer& model) {
    model.pack();
    Batch batch;
    batch.source.add(std::vector<int32_t>{5, 6, 7, 2});
    batch.target.add(std::vector<int32_t>{1, 9, 30});
    Context context(backend_, std::make_shared<Arena>(backend_));
    return ops::logits(context, model.states(batch, context), model.output()).to_floats(*backend_);
  }
  /// What loading says once the stored tensors were changed.
  std::string message_after(const std::function<void(std::vector<NamedTensor>&)>& change) {
    const SafetensorsFile file = SafetensorsFile::open(path_ + "/model.safetensors");
    std::vector<NamedTensor> tensors;
    for (const std::string& name : file.names())
      tensors.push_back({name, file.at(name).dtype, file.at(name).shape, file.at(name).bytes.data()});
    change(tensors);
    write_safetensors(path_ + "/model.safetensors", tensors);
    return error_message([&] { load(); });
  }

  TemporaryFolder folder_;
  const std::string path_ = folder_ / "quantized";
  std::shared_ptr<Backend> backend_ = make_backend();
};

/// The error of a model in comparison with another one: the root of the mean square, relative to the other's.
double relative_error(const std::vector<float>& actual, const std::vector<float>& expected) {
  double error = 0, size = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    error += std::pow(expected[i] - actual[i], 2);
    size += std::pow(expected[i], 2);
  }
  return std::sqrt(error / size);
}

struct Int8Model : QuantizedModel {
  Int8Model() : QuantizedModel(WeightType::int8) {}
};

struct Int4Model : QuantizedModel {
  Int4Model() : QuantizedModel(WeightType::int4) {}
};

TEST_F(Int8Model, HoldsMatricesInInt8AndTheRestAsItWas) {
  const SafetensorsFile file = SafetensorsFile::open(path_ + "/model.safetensors");
  EXPECT_EQ(file.at("shared.weight").dtype, DType::i8);
  EXPECT_EQ(file.at("shared.weight.scales").shape, std::vector<int64_t>{40});
  EXPECT_EQ(file.at("decoder.layers.1.fc2.weight").dtype, DType::i8);
  EXPECT_EQ(file.at("decoder.layers.1.fc2.bias").dtype, DType::f32);
  EXPECT_EQ(file.at("embed_positions.weight").dtype, DType::f32);
  EXPECT_EQ(read_file(path_ + "/tokenizer.vocab"), "a");
  EXPECT_LT(std::filesystem::file_size(path_ + "/model.safetensors"),
            0.5 * static_cast<double>(std::filesystem::file_size(folder_ / "full/model.safetensors")));
}

TEST_F(Int8Model, IsCloseToTheModelItIsMadeFrom) {
  const double error = relative_error(logits(*load()), logits(*load_model(folder_ / "full", backend_)));
  EXPECT_LT(error, 0.02);
  EXPECT_GT(error, 0);
}

TEST_F(Int8Model, RoundedWhileReadItIsTheSame) {
  EXPECT_EQ(logits(*load_model(folder_ / "full", backend_, DType::f32, WeightType::int8)), logits(*load()));
  EXPECT_EQ(logits(*load(WeightType::int8)), logits(*load()));
}

/// The state of a request whose source is {5, 6, 7, 2}.
std::unique_ptr<DecodingState> entered(const Transformer& model, Context& context) {
  auto state = std::make_unique<DecodingState>(model, model.backend());
  IdBatch source;
  source.add(std::vector<int32_t>{5, 6, 7, 2});
  state->enter(std::vector{0}, source, context);
  return state;
}

/// They change the states of a search by less than the rounding of the weights does.
TEST_F(Int8Model, KeepsKeysAndValuesInBf16) {
  const auto model = load(), full = load_model(folder_ / "full", backend_);
  EXPECT_EQ(model->key_value_dtype(), DType::bf16);
  EXPECT_EQ(full->key_value_dtype(), DType::f32);
  const auto [source, target] = DecodingState::bytes_per_token(*full);
  EXPECT_EQ(DecodingState::bytes_per_token(*model), std::pair(source / 2, target / 2));
  model->pack();
  Context context(backend_, std::make_shared<Arena>(backend_));
  const auto state = entered(*model, context);
  const std::vector<int32_t> ids{1, 9, 30};
  std::vector<float> states;
  for (const int32_t& id : ids) {
    const Extension next{.tokens = {&id, 1}};
    const auto one = state->extend({&next, 1}, context).to_floats(*backend_);
    states.insert(states.end(), one.begin(), one.end());
  }
  for (const RowStore* store : {&state->source(), &state->target().front()})
    for (const Tensor& part : store->parts(1)) EXPECT_EQ(part.dtype(), DType::bf16);
  Batch batch;
  batch.source.add(std::vector<int32_t>{5, 6, 7, 2});
  batch.target.add(ids);
  const double error = relative_error(states, model->states(batch, context).to_floats(*backend_));
  EXPECT_LT(error, 0.01);
  EXPECT_GT(error, 0);
}

/// The state of a recurrence is added to at every token, and stays fp32.
TEST_F(Int8Model, KeepsRecurrentStatesInFp32) {
  ModelConfig config = load()->config();
  config.decoder_mixer = MixerKind::ssru;
  std::filesystem::create_directory(folder_ / "ssru");
  save_model(Transformer(config, backend_, DType::f32, 3), folder_ / "ssru");
  const auto model = load_model(folder_ / "ssru", backend_, DType::f32, WeightType::int8);
  model->pack();
  Context context(backend_, std::make_shared<Arena>(backend_));
  const auto state = entered(*model, context);
  const int32_t id = 1;
  const Extension next{.tokens = {&id, 1}};
  state->extend({&next, 1}, context);
  EXPECT_EQ(state->source().parts(0)[0].dtype(), DType::bf16);
  EXPECT_EQ(state->target().front().parts(0)[0].dtype(), DType::f32);
}

TEST_F(Int8Model, TheReferenceComputesTheSame) {
  const auto expected = logits(*load());
  backend_ = make_backend({.device = "reference"});
  const auto actual = logits(*load());
  for (size_t i = 0; i < actual.size(); ++i)
    EXPECT_NEAR(actual[i], expected[i], 2e-2);  // roundings may tip over
}

TEST_F(Int8Model, IsForDecodingAlone) {
  expect_holds(error_message([&] { load(WeightType::fp32); }), "in int8, which supports only decoding");
  expect_holds(error_message([&] { average_models({path_}, folder_ / "mean"); }), "supports only decoding");
  const auto model = load_model(folder_ / "full", backend_);
  expect_holds(error_message([&] { load_weights(path_ + "/model.safetensors", *model); }),
               "supports only decoding");
}

TEST_F(Int8Model, ScalesMustBelongToIt) {
  const auto scales = [](std::vector<NamedTensor>& tensors) {
    return std::find_if(tensors.begin(), tensors.end(),
                        [](const NamedTensor& tensor) { return tensor.name == "shared.weight.scales"; });
  };
  expect_holds(message_after([&](auto& tensors) { tensors.erase(scales(tensors)); }), "shared.weight.scales");
}

TEST_F(Int8Model, ScalesMustBeNumbersThatScale) {
  static const std::vector<float> broken(40, std::nanf("")), negative(40, -1.0f);
  const auto message_with = [&](const std::vector<float>& values) {
    return message_after([&](auto& tensors) {
      for (NamedTensor& tensor : tensors)
        if (tensor.name == "shared.weight.scales") tensor.data = values.data();
    });
  };
  expect_holds(message_with(broken), "has the value nan");
  expect_holds(message_with(negative), "must have one scale, at least 0, for each of the 40 rows");
}

TEST_F(Int8Model, OfTooFewScales) {
  expect_holds(message_after([&](auto& tensors) {
                 for (NamedTensor& tensor : tensors)
                   if (tensor.name == "shared.weight.scales") tensor.shape = {39};
               }),
               "must have one scale, at least 0, for each of the 40 rows");
}

TEST_F(Int4Model, HoldsLinearMapsInFourBitsAndEmbeddingsInInt8) {
  const SafetensorsFile file = SafetensorsFile::open(path_ + "/model.safetensors");
  EXPECT_EQ(file.at("shared.weight").dtype, DType::i8);
  EXPECT_EQ(file.at("decoder.layers.1.fc2.weight").dtype, DType::u8);
  EXPECT_EQ(file.at("decoder.layers.1.fc2.weight").shape, (std::vector<int64_t>{32, 23}));
  EXPECT_EQ(file.at("decoder.layers.1.fc2.weight.scales").dtype, DType::bf16);
  EXPECT_EQ(file.at("decoder.layers.1.fc2.weight.scales").shape, (std::vector<int64_t>{32, 2, 2}));
  EXPECT_EQ(file.at("decoder.layers.1.fc2.bias").dtype, DType::f32);
}

TEST_F(Int4Model, IsCloseToTheModelItIsMadeFrom) {
  const double error = relative_error(logits(*load()), logits(*load_model(folder_ / "full", backend_)));
  EXPECT_LT(error, 0.15);
  EXPECT_GT(error, 0.02);  // more than in int8
}

TEST_F(Int4Model, RoundedWhileReadItIsTheSame) {
  EXPECT_EQ(logits(*load_model(folder_ / "full", backend_, DType::f32, WeightType::int4)), logits(*load()));
  EXPECT_EQ(logits(*load(WeightType::int4)), logits(*load()));
}

TEST_F(Int4Model, TheReferenceComputesTheSame) {
  const auto expected = logits(*load());
  backend_ = make_backend({.device = "reference"});
  EXPECT_LT(relative_error(logits(*load()), expected), 1e-2);  // roundings may tip over
}

TEST_F(Int4Model, TheElementsGivenUpAfterPackingAreNotMissed) {
  const auto expected = logits(*load());
  for (const WeightType type : {WeightType::stored, WeightType::int4}) {
    const auto model = load_packed_model(type == WeightType::stored ? path_ : folder_ / "full", backend_, type);
    Batch batch;
    batch.source.add(std::vector<int32_t>{5, 6, 7, 2});
    batch.target.add(std::vector<int32_t>{1, 9, 30});
    Context context(backend_, std::make_shared<Arena>(backend_));
    EXPECT_EQ(ops::logits(context, model->states(batch, context), model->output()).to_floats(*backend_),
              expected);
    int released = 0;
    for (const Parameter& parameter : model->stored())
      if (parameter.can_be_int4()) {
        expect_holds(error_message([&] { parameter.tensor.view(); }), "or that was released");
        ++released;
      }
    EXPECT_GT(released, 10);
  }
}

TEST_F(Int4Model, IsForDecodingAlone) {
  expect_holds(error_message([&] { load(WeightType::fp32); }), "supports only decoding");
  expect_holds(error_message([&] { load(WeightType::int8); }),
               "is in 4 bits; use the model that it was made from");
  expect_holds(error_message([&] { average_models({path_}, folder_ / "mean"); }), "supports only decoding");
  expect_holds(error_message([&] { quantize_model(path_, folder_ / "again"); }), "is already quantized");
  const auto model = load_model(folder_ / "full", backend_);
  expect_holds(error_message([&] { load_folder_weights(path_, *model); }), "supports only decoding");
  std::vector<std::string> not_loaded;
  expect_holds(error_message([&] {
                 load_weights_of_same_shape(
                     path_, *model, [](const Parameter&) { return true; }, not_loaded);
               }),
               "supports only decoding");
}

TEST_F(Int8Model, IsNotReadAsInt4) {
  expect_holds(error_message([&] { load(WeightType::int4); }),
               "is in int8; use the model that it was made from");
}

TEST_F(Int4Model, ScalesMustBelongToIt) {
  const auto message_with = [&](std::vector<int64_t> shape, const std::vector<uint16_t>& values) {
    return message_after([&](auto& tensors) {
      for (NamedTensor& tensor : tensors)
        if (tensor.name == "decoder.layers.1.fc2.weight.scales")
          tensor.shape = shape, tensor.data = values.data();
    });
  };
  const std::vector<uint16_t> numbers(128, 0x3C00), infinite(128, 0x7F80);
  expect_holds(message_with({32, 2}, numbers),
               "must be BF16 [32, 2, 2], a scale and an offset for each 32 columns of the 32 rows");
  expect_holds(message_with({32, 2, 2}, infinite), "has the value inf");
  expect_holds(message_after([](auto& tensors) {
                 for (NamedTensor& tensor : tensors)
                   if (tensor.name == "decoder.layers.1.fc2.weight") tensor.shape = {32, 22};
               }),
               "needs [32, 23]");
}

TEST_F(Int4Model, EmbeddingsInFourBitsAreRefused) {
  static const std::vector<uint8_t> bytes(40 * 16);
  expect_holds(message_after([](auto& tensors) {
                 for (NamedTensor& tensor : tensors)
                   if (tensor.name == "shared.weight")
                     tensor.shape = {40, 16}, tensor.dtype = DType::u8, tensor.data = bytes.data();
               }),
               "which is allowed only for matrices of linear maps");
}

}  // namespace
}  // namespace sixfold
