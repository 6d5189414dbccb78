// Models in int8: what is rounded, how it is stored, what is refused.
#include "model/int8.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <functional>

#include "base/file.h"
#include "error_message.h"
#include "formats/safetensors.h"
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

class Int8Model : public testing::Test {
 protected:
  Int8Model() {
    ModelConfig config;
    config.d_model = 32, config.d_ff = 48, config.heads = 2;
    config.encoder_layers = 1, config.decoder_layers = 2;
    config.source_vocab = config.target_vocab = 40;
    config.positions = Positions::learned;
    config.max_positions = 20;
    std::filesystem::create_directory(folder_ / "full");
    save_model(Transformer(config, backend_, DType::f32, 3), folder_ / "full");
    write_file_atomically(folder_ / "full/tokenizer.vocab", "a");
    quantize_model(folder_ / "full", path_);
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
  const std::string path_ = folder_ / "int8";
  std::shared_ptr<Backend> backend_ = make_backend();
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
  const auto full = logits(*load_model(folder_ / "full", backend_)), small = logits(*load());
  double error = 0, size = 0;
  for (size_t i = 0; i < full.size(); ++i) {
    error += (full[i] - small[i]) * (full[i] - small[i]);
    size += full[i] * full[i];
  }
  EXPECT_LT(error, 0.02 * 0.02 * size);
  EXPECT_GT(error, 0);
}

TEST_F(Int8Model, RoundedWhileReadItIsTheSame) {
  EXPECT_EQ(logits(*load_model(folder_ / "full", backend_, DType::f32, WeightType::int8)), logits(*load()));
  EXPECT_EQ(logits(*load(WeightType::int8)), logits(*load()));
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

}  // namespace
}  // namespace sixfold
