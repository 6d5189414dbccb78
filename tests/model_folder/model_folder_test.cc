#include "model_folder/model_folder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/file.h"
#include "base/hash.h"
#include "error_message.h"
#include "formats/safetensors.h"
#include "model_folder/derived.h"
#include "model_folder/provenance.h"
#include "model_folder/shortlist.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

ModelConfig folder_config() {
  ModelConfig config;
  config.d_model = 8, config.d_ff = 12, config.heads = 2;
  config.encoder_layers = 1, config.decoder_layers = 2;
  config.source_vocab = config.target_vocab = 11;
  config.source_tokenizer_hash = config.target_tokenizer_hash = "00ff";
  return config;
}

using Weights = std::vector<std::vector<float>>;

Weights weights_of(const Transformer& model) {
  Weights weights;
  for (const Parameter& parameter : model.parameters())
    weights.push_back(parameter.tensor.to_floats(*model.backend()));
  return weights;
}

class ModelDir : public testing::Test {
 protected:
  Transformer fresh(const ModelConfig& config, uint64_t seed) { return {config, backend_, DType::f32, seed}; }

  /// Saves a fresh model under that name.
  std::string save(const std::string& name, uint64_t seed, const ModelConfig& config = folder_config()) {
    std::filesystem::create_directory(folder_ / name);
    save_model(fresh(config, seed), folder_ / name);
    return folder_ / name;
  }

  std::unique_ptr<Transformer> load(const std::string& path) { return load_model(path, backend_); }

  /// What loading says once the saved tensors were changed.
  std::string message_after(const std::function<void(std::vector<NamedTensor>&)>& change) {
    const std::string path = save("changed", 1);
    std::vector<NamedTensor> tensors;
    {
      const SafetensorsFile file = SafetensorsFile::open(path + "/model.safetensors");
      for (const std::string& name : file.names())
        tensors.push_back({name, DType::f32, file.at(name).shape, file.at(name).bytes.data()});
      change(tensors);
      write_safetensors(path + "/model.safetensors", tensors);
    }
    return error_message([&] { load(path); });
  }

  TemporaryFolder folder_;
  std::shared_ptr<Backend> backend_ = make_backend({.device = "reference"});
};

TEST_F(ModelDir, ComesBackToTheBit) {
  for (const TiedEmbeddings tied : {TiedEmbeddings::all, TiedEmbeddings::decoder, TiedEmbeddings::none}) {
    ModelConfig config = folder_config();
    config.tied_embeddings = tied;
    config.output_bias = tied == TiedEmbeddings::none;
    config.d_k = 3, config.d_v = 5;
    const auto model = load(save("model", 7, config));
    EXPECT_EQ(weights_of(*model), weights_of(fresh(config, 7)));
    EXPECT_EQ(to_json(write_options(model->config())), to_json(write_options(config)));
  }
}

/// The memory of this process that shows pages of the file, in bytes.
int64_t mapped_bytes(const std::string& path) {
  std::istringstream maps(read_file("/proc/self/smaps"));
  int64_t kilobytes = 0;
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    if (line.find('-') < line.find(' ')) inside = line.ends_with(path);  // begins with its addresses
    if (inside && line.starts_with("Rss:")) kilobytes += std::stol(line.substr(4));
  }
  return 1024 * kilobytes;
}

TEST_F(ModelDir, PackedWeightsLieInMemoryOnce) {
  ModelConfig config = folder_config();
  config.d_model = 256, config.d_ff = 1024;
  const std::string path = save("model", 7, config), weights = path + "/model.safetensors";
  const auto bytes = static_cast<int64_t>(std::filesystem::file_size(weights));
  const auto plain = load_model(path, make_backend());
  EXPECT_GT(mapped_bytes(weights), bytes / 2);  // where they are used in place
  const int64_t before = mapped_bytes(weights);
  const auto packed = load_packed_model(path, make_backend(), WeightType::fp32);
  EXPECT_LT(mapped_bytes(weights) - before, bytes / 10);
  EXPECT_EQ(weights_of(*packed), weights_of(*plain));
}

TEST_F(ModelDir, HasTheEcosystemsNamesAndShapes) {
  const SafetensorsFile file = SafetensorsFile::open(save("model", 1) + "/model.safetensors");
  EXPECT_EQ(file.at("shared.weight").shape, (std::vector<int64_t>{11, 8}));
  EXPECT_EQ(file.at("encoder.layers.0.fc1.weight").shape, (std::vector<int64_t>{12, 8}));
  EXPECT_EQ(file.at("encoder.layers.0.fc1.bias").shape, std::vector<int64_t>{12});
  EXPECT_EQ(file.at("decoder.layers.1.self_attn_layer_norm.weight").shape, std::vector<int64_t>{8});
  int64_t count = 0;
  for (const std::string& name : file.names()) count += static_cast<int64_t>(file.at(name).bytes.size() / 4);
  EXPECT_EQ(count, parameter_count(folder_config()));
}

TEST_F(ModelDir, ReadsIntoFp64AndFromBf16) {
  const std::string path = save("model", 3);
  const auto wide = load_model(path, backend_, DType::f64);
  EXPECT_EQ(weights_of(*wide), weights_of(fresh(folder_config(), 3)));

  std::vector<std::vector<uint16_t>> halves;
  std::vector<NamedTensor> tensors;
  const auto& parameters = wide->parameters();
  for (const Parameter& parameter : parameters) {
    halves.emplace_back(parameter.tensor.size(), 0x3fc0);  // 1.5
    tensors.push_back({parameter.name, DType::bf16, parameter.shape, halves.back().data()});
  }
  write_safetensors(path + "/model.safetensors", tensors);
  for (const auto& values : weights_of(*load(path)))
    for (const float value : values) ASSERT_EQ(value, 1.5f);
}

TEST_F(ModelDir, RefusesWhatIsNoModel) {
  expect_holds(error_message([&] { load(folder_ / "nowhere"); }),
               "nowhere: there is no file or folder of that name");
  const std::string path = save("model", 1);
  std::filesystem::resize_file(path + "/model.safetensors", 1000);
  expect_holds(error_message([&] { load(path); }), "model.safetensors: ");
  std::filesystem::remove(path + "/model.safetensors");
  expect_holds(error_message([&] { load(path); }), "model.safetensors");
}

TEST_F(ModelDir, NamesAMissingTensor) {
  const std::string message = message_after([](auto& tensors) {
    std::erase_if(tensors, [](auto& tensor) { return tensor.name == "encoder.layers.0.fc1.bias"; });
  });
  expect_holds(message, "no tensor 'encoder.layers.0.fc1.bias'");
}

TEST_F(ModelDir, NamesATensorTooMany) {
  const float value = 1;
  const std::string message = message_after([&](auto& tensors) {
    tensors.push_back({"encoder.layers.9.extra", DType::f32, {1}, &value});
  });
  expect_holds(message, "tensor 'encoder.layers.9.extra' does not belong to this model");
}

TEST_F(ModelDir, NamesAWrongShape) {
  const std::string message = message_after([](auto& tensors) {
    for (auto& tensor : tensors)
      if (tensor.name == "encoder.layers.0.fc1.weight") tensor.shape = {8, 12};
  });
  expect_holds(message, "tensor 'encoder.layers.0.fc1.weight' has the shape [8, 12]");
  expect_holds(message, "needs [12, 8]");
}

TEST_F(ModelDir, RefusesNumbersThatAreNone) {
  for (const float bad : {std::nanf(""), INFINITY, -INFINITY}) {
    std::vector<float> values(8, 1.0f);
    values[5] = bad;
    const std::string message = message_after([&](auto& tensors) {
      for (auto& tensor : tensors)
        if (tensor.name == "encoder.layers.0.fc2.bias") tensor.data = values.data();
    });
    expect_holds(message, "tensor 'encoder.layers.0.fc2.bias' has the value ");
    expect_holds(message, "at index 5");
  }
}

TEST_F(ModelDir, RefusesWholeNumbers) {
  const std::vector<int32_t> ids(8);
  const std::string message = message_after([&](auto& tensors) {
    for (auto& tensor : tensors)
      if (tensor.name == "encoder.layers.0.fc2.bias") tensor = {tensor.name, DType::i32, {8}, ids.data()};
  });
  expect_holds(message, "is of type I32");
}

TEST_F(ModelDir, AveragesWeights) {
  ModelConfig other = folder_config();
  other.dropout = 0.3f;
  const std::string a = save("a", 1), b = save("b", 2, other);
  write_file_atomically(a + "/tokenizer.vocab", "of the first");
  write_file_atomically(b + "/tokenizer.vocab", "of the second");
  average_models({a, b}, folder_ / "mean");

  const Weights left = weights_of(*load(a)), right = weights_of(*load(b)),
                mean = weights_of(*load(folder_ / "mean"));
  for (size_t i = 0; i < mean.size(); ++i)
    for (size_t j = 0; j < mean[i].size(); ++j)
      ASSERT_EQ(mean[i][j], static_cast<float>((double{left[i][j]} + right[i][j]) / 2));
  EXPECT_EQ(read_file(folder_ / "mean/tokenizer.vocab"), "of the first");
  EXPECT_EQ(read_file(folder_ / "mean/config.json"), read_file(a + "/config.json"));
  const auto step = nlohmann::json::parse(read_provenance(folder_ / "mean").back());
  EXPECT_EQ(step.at("weights").at(0), hash_hex(read_file(a + "/model.safetensors")));
  EXPECT_EQ(step.at("weights").at(1), hash_hex(read_file(b + "/model.safetensors")));
}

TEST_F(ModelDir, AverageOfOneIsThatOne) {
  const std::string a = save("a", 1);
  average_models({a, a, a}, folder_ / "mean");
  EXPECT_EQ(weights_of(*load(folder_ / "mean")), weights_of(fresh(folder_config(), 1)));
  expect_holds(error_message([&] { average_models({a}, a); }), "is an input of the command");
}

/// Zeros in the middle of a file are finite numbers; the checksum tells them from the model's.
TEST_F(ModelDir, RefusesDamagedWeights) {
  const std::string a = save("a", 1), path = a + "/model.safetensors";
  std::string bytes = read_file(path);
  std::fill(bytes.end() - 400, bytes.end() - 300, '\0');
  write_file_atomically(path, bytes);
  expect_holds(error_message([&] { load(a); }), "is damaged: the checksum of its tensors");
  expect_holds(error_message([&] { verify_parameters(path); }), "is damaged");
}

TEST_F(ModelDir, AveragesModelsThatSayTheSameSizesInTwoWays) {
  ModelConfig config = folder_config();
  config.decoder_heads = config.heads, config.decoder_d_ff = config.d_ff;
  average_models({save("a", 1), save("explicit", 2, config)}, folder_ / "mean");
  config.decoder_d_ff = 2 * config.d_ff;
  const std::string wider = save("wider", 3, config);
  expect_holds(error_message([&] {
                 average_models({folder_ / "a", wider}, folder_ / "mean");
               }),
               "decoder_d_ff");
}

/// A list that was chosen for one model need not suit the average.
TEST_F(ModelDir, AnAverageHasTheShortlistThatAllHave) {
  const std::string a = save("a", 1), b = save("b", 2), list = "/shortlist.safetensors";
  const ModelConfig config = load_model_config(a);
  const std::vector<std::vector<int32_t>> by_source(static_cast<size_t>(config.source_vocab));
  save_shortlist(a + list, Shortlist({0, 1}, by_source), config);
  average_models({a, b}, folder_ / "mean");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "mean" + list));
  save_shortlist(b + list, Shortlist({0, 1}, by_source), config);
  average_models({a, b}, folder_ / "mean");
  EXPECT_EQ(read_file(folder_ / "mean" + list), read_file(a + list));
}

TEST_F(ModelDir, ADamagedShortlistIsNotCopied) {
  const std::string a = save("a", 1), list = a + "/shortlist.safetensors";
  const auto refuses = [&](const std::string& reason) {
    expect_holds(error_message([&] { average_models({a, a}, folder_ / "mean"); }), reason);
    expect_holds(error_message([&] { quantize_model(a, folder_ / "int8", WeightType::int8); }), reason);
    EXPECT_EQ(folder_.entries(), 1);
  };
  write_file_atomically(list, "words");
  refuses(list);
  std::filesystem::remove(list);
  std::filesystem::create_symlink("nowhere", list);
  refuses(list);
  std::filesystem::remove(list);
  std::filesystem::create_directory(list);
  refuses(list);
}

TEST_F(ModelDir, AveragesOnlyWhatIsAlike) {
  const std::string a = save("a", 1);
  ModelConfig config = folder_config();
  config.decoder_layers = 1;
  const std::string shallow = save("shallow", 2, config);
  expect_holds(error_message([&] {
                 average_models({a, shallow}, folder_ / "mean");
               }),
               "can't be averaged: decoder_layers is 2 in the first and 1 in the second");
  config = folder_config();
  config.target_tokenizer_hash = "1234";
  const std::string foreign = save("foreign", 2, config);
  expect_holds(error_message([&] { average_models({a, foreign}, folder_ / "mean"); }), "target_tokenizer_hash");
  expect_holds(error_message([&] { average_models({}, folder_ / "mean"); }), "nothing to average");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "mean"));
  EXPECT_EQ(folder_.entries(), 3);
}

}  // namespace
}  // namespace sixfold
