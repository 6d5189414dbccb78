// Buffers, such as the running averages of batch norms, are saved with the weights and are no weights.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "error_message.h"
#include "formats/safetensors.h"
#include "model/parameter_formula.h"
#include "model_folder/derived.h"
#include "model_folder/model_folder.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

ModelConfig batch_norm_config() {
  ModelConfig config;
  config.d_model = 8, config.d_ff = 12, config.heads = 2;
  config.encoder_layers = 1, config.decoder_layers = 2;
  config.source_vocab = config.target_vocab = 11;
  config.norm = Norm::batch;
  config.postprocess_top = {ProcessStep::norm};
  return config;
}

using Values = std::vector<std::vector<float>>;

Values values_of(std::span<const Parameter> tensors, Backend& backend) {
  Values values;
  for (const Parameter& parameter : tensors) values.push_back(parameter.tensor.to_floats(backend));
  return values;
}

class Buffers : public testing::Test {
 protected:
  /// A model whose buffers hold `value` and, behind the first element, numbers that rise by 1.
  std::unique_ptr<Transformer> filled(float value) const {
    auto model = std::make_unique<Transformer>(batch_norm_config(), backend_, DType::f32, 1);
    for (const Parameter& buffer : model->buffers()) {
      Tensor tensor = buffer.tensor;
      std::vector<float> values(static_cast<size_t>(tensor.size()));
      for (size_t i = 0; i < values.size(); ++i) values[i] = value + static_cast<float>(i);
      tensor.copy_from(*backend_, values);
    }
    return model;
  }
  std::string save(const std::string& name, float value) const {
    std::filesystem::create_directory(folder_ / name);
    save_model(*filled(value), folder_ / name);
    return folder_ / name;
  }

  TemporaryFolder folder_;
  std::shared_ptr<Backend> backend_ = make_backend({.device = "reference"});
};

TEST_F(Buffers, BeginAsMeanZeroAndVarianceOne) {
  const Transformer model(batch_norm_config(), backend_, DType::f32, 1);
  int64_t count = 0, weights = 0;
  for (const Parameter& buffer : model.buffers()) {
    const float expected = buffer.name.ends_with(".running_var") ? 1 : 0;
    EXPECT_TRUE(buffer.name.ends_with(".running_var") || buffer.name.ends_with(".running_mean")) << buffer.name;
    EXPECT_FALSE(buffer.tensor.requires_grad());
    for (const float value : buffer.tensor.to_floats(*backend_)) EXPECT_EQ(value, expected);
    count += buffer.tensor.size();
  }
  for (const Parameter& parameter : model.parameters()) weights += parameter.tensor.size();
  EXPECT_GT(count, 0);
  EXPECT_EQ(count, buffer_count(batch_norm_config()));
  EXPECT_EQ(weights, parameter_count(batch_norm_config()));
  EXPECT_EQ(weights, parameters_by_formula(batch_norm_config()));
  EXPECT_EQ(model.stored().size(), model.parameters().size() + model.buffers().size());
  ModelConfig without = batch_norm_config();
  without.norm = Norm::layer;
  EXPECT_EQ(buffer_count(without), 0);
}

/// The random numbers of the weights are those of a model without buffers.
TEST_F(Buffers, DoNotCountInTheOrderOfTheWeights) {
  ModelConfig config = batch_norm_config();
  const Transformer with(config, backend_, DType::f32, 1);
  config.norm = Norm::layer;
  const Transformer without(config, backend_, DType::f32, 1);
  EXPECT_EQ(values_of(with.parameters(), *backend_), values_of(without.parameters(), *backend_));
}

TEST_F(Buffers, AreSavedAndLoaded) {
  const auto model = filled(3);
  const std::string path = save("model", 3);
  const SafetensorsFile file = SafetensorsFile::open(path + "/model.safetensors");
  EXPECT_EQ(file.at("decoder.layers.1.encoder_attn_layer_norm.running_mean").shape, std::vector<int64_t>{8});
  EXPECT_EQ(file.at("encoder.layer_norm.running_var").shape, std::vector<int64_t>{8});
  for (const WeightType type : {WeightType::fp32, WeightType::int8}) {
    const auto loaded = load_model(path, backend_, DType::f32, type);
    EXPECT_EQ(values_of(loaded->buffers(), *backend_), values_of(model->buffers(), *backend_));
  }
  Transformer other(batch_norm_config(), backend_, DType::f32, 2);
  load_weights(path + "/model.safetensors", other);
  EXPECT_EQ(values_of(other.stored(), *backend_), values_of(model->stored(), *backend_));
}

TEST_F(Buffers, AreNeededByTheModelThatHasThem) {
  const std::string path = save("model", 3);
  std::vector<Parameter> tensors = filled(3)->stored();
  const std::string missing = tensors.back().name;
  tensors.pop_back();
  write_parameters(path + "/model.safetensors", tensors, *backend_);
  const std::string message = error_message([&] { load_model(path, backend_); });
  EXPECT_NE(message.find(missing), std::string::npos) << message;
}

TEST_F(Buffers, AreAveragedWithTheWeights) {
  average_models({save("a", 1), save("b", 4)}, folder_ / "mean");
  const auto mean = load_model(folder_ / "mean", backend_);
  EXPECT_EQ(values_of(mean->buffers(), *backend_), values_of(filled(2.5)->buffers(), *backend_));
}

TEST_F(Buffers, StayInFp32WhereTheMatricesAreQuantized) {
  const std::string path = save("model", 3);
  quantize_model(path, folder_ / "int8");
  const SafetensorsFile file = SafetensorsFile::open(folder_ / "int8/model.safetensors");
  EXPECT_EQ(file.at("encoder.layers.0.fc1.weight").dtype, DType::i8);
  EXPECT_EQ(file.at("encoder.layers.0.final_layer_norm.running_var").dtype, DType::f32);
  const auto loaded = load_model(folder_ / "int8", backend_, DType::f32, WeightType::int8);
  EXPECT_EQ(values_of(loaded->buffers(), *backend_), values_of(filled(3)->buffers(), *backend_));
}

}  // namespace
}  // namespace sixfold
