// Training adapters of low rank (start.lora_rank), and the model folders that come of it.
#include <cmath>

#include "backend/backend.h"
#include "formats/safetensors.h"
#include "model_folder/derived.h"
#include "model_folder/model_folder.h"
#include "train/trainer_fixture.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;

using NamedValues = std::map<std::string, std::vector<float>>;

NamedValues values_of(const std::string& path) {
  const auto file = SafetensorsFile::open(path);
  NamedValues values;
  for (const std::string& name : file.names()) values[name] = to_floats(file.at(name));
  return values;
}

/// The weights of a folder as commands read it.
NamedValues opened(const std::string& folder, WeightType type = WeightType::stored) {
  const auto backend = make_backend({.device = "reference"});
  const auto model = load_model(folder, backend, DType::f32, type);
  NamedValues values;
  for (const Parameter& parameter : model->stored())
    values[parameter.name] = parameter.tensor.to_floats(*backend);
  return values;
}

bool is_adapter(const std::string& name) { return name.find(".lora_") != name.npos; }

/// A run that begins with the model of the run "base".
class Adapters : public TrainerTest {
 protected:
  Adapters() {
    options_.train.ema_decay = 0;
    options_.checkpoint.keep_best = false;
    train(options_, {.run = run("base")});
    options_.start.model = run("base") + "/model";
    options_.start.lora_rank = 3;
    options_.schedule.learning_rate = 0.02;
  }

  std::string weights(const std::string& name) const { return run(name) + "/model/model.safetensors"; }
  std::string adapted(const std::string& name) const {
    train(options_, {.run = run(name)});
    return run(name) + "/model";
  }
};

TEST_F(Adapters, AreTrainedWhileAllWeightsStay) {
  adapted("run");
  const NamedValues before = values_of(weights("base")),
                    after = values_of(last_checkpoint("run") + "/model.safetensors");
  size_t maps = 0;
  for (const auto& [name, values] : after) {
    if (!is_adapter(name)) {
      EXPECT_EQ(values, before.at(name)) << name;
    } else {
      ++maps;
      EXPECT_TRUE(std::ranges::any_of(values, [](float value) { return value != 0; })) << name;
    }
  }
  // Both matrices of four projections of three attentions, and of the two layers of two feed-forward networks.
  EXPECT_EQ(maps, 2u * (3 * 4 + 2 * 2));
  const auto optimizer = SafetensorsFile::open(last_checkpoint("run") + "/optimizer.safetensors");
  for (const std::string& name : optimizer.names()) EXPECT_TRUE(is_adapter(name)) << name;
}

/// Before the first update `up` is zero.
TEST_F(Adapters, BeginAsTheirBase) {
  options_.train.label_smoothing = 0;
  options_.model.dropout = options_.model.attention_dropout = options_.model.activation_dropout = 0;
  options_.log.every_updates = 1;
  adapted("run");
  options_.start.lora_rank = 0;
  train(options_, {.run = run("all")});
  const auto losses = [&](const std::string& name) {
    std::vector<double> values;
    for (const auto& line : log(name))
      if (line.contains("loss")) values.push_back(line.at("loss").get<double>());
    return values;
  };
  EXPECT_EQ(losses("run").front(), losses("all").front());
  EXPECT_NE(losses("run").back(), losses("all").back());
}

TEST_F(Adapters, AreMergedIntoTheWeightsThatTheyChange) {
  options_.start.lora_alpha = 6;
  options_.start.lora_projections = {"v_proj", "self_attn.q_proj", "fc2"};
  const std::string model = adapted("run");
  const NamedValues before = values_of(weights("base")), after = values_of(weights("run")),
                    apart = values_of(last_checkpoint("run") + "/model.safetensors");
  EXPECT_EQ(load_adapters(model).rank, 0);
  EXPECT_EQ(load_adapters(last_checkpoint("run")).rank, 3);
  for (const auto& [name, values] : after) {
    const std::string map = name.substr(0, name.rfind('.'));
    const bool adapts = map.ends_with("v_proj") || map.ends_with("self_attn.q_proj") || map.ends_with("fc2");
    ASSERT_EQ(apart.contains(map + ".lora_A.weight"), adapts) << name;
    if (!adapts || !name.ends_with(".weight")) {
      EXPECT_EQ(values, before.at(name)) << name;
      continue;
    }
    const auto &down = apart.at(map + ".lora_A.weight"), &up = apart.at(map + ".lora_B.weight");
    const size_t in = down.size() / 3;
    for (size_t i = 0; i < values.size(); ++i) {
      double change = 0;
      for (size_t r = 0; r < 3; ++r) change += 2.0 * up[i / in * 3 + r] * down[r * in + i % in];
      ASSERT_NEAR(values[i], before.at(name)[i] + change, 1e-6) << name;
    }
  }
  EXPECT_EQ(opened(last_checkpoint("run")), after);
}

/// The network with adapters is that with merged weights.
TEST_F(Adapters, ComputeWhatTheMergedModelComputes) {
  const std::string model = adapted("run");
  const auto backend = make_backend({.device = "reference"});
  ModelConfig config = load_model_config(model);
  config.adapters = {.rank = 3, .alpha = 3, .projections = {}};
  Transformer with(config, backend, DType::f64, 1);
  load_weights(last_checkpoint("run") + "/model.safetensors", with);
  const auto merged = load_model(model, backend, DType::f64);
  const auto base = load_model(run("base") + "/model", backend, DType::f64);
  BatchBuilder builder;
  builder.source(std::vector<int32_t>{5, 6, 7, 2})
      .teacher_forced(std::vector<int32_t>{4, 5, 6}, config.target_ends());
  const Batch batch = builder.take();
  const auto states = [&](const Transformer& of) {
    Context context(backend, std::make_shared<Arena>(backend));
    return of.states(batch, context).to_doubles(*backend);
  };
  const auto a = states(with), b = states(*merged), c = states(*base);
  double most = 0, change = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    most = std::max(most, std::abs(a[i] - b[i]));
    change = std::max(change, std::abs(a[i] - c[i]));
  }
  EXPECT_LT(most, 1e-5);
  EXPECT_GT(change, 1e-2);
}

TEST_F(Adapters, CanBeKeptApart) {
  const std::string merged = adapted("merged");
  options_.start.lora_merge = false;
  const std::string apart = adapted("apart");
  for (const auto& [name, values] : values_of(weights("apart"))) EXPECT_TRUE(is_adapter(name)) << name;
  EXPECT_EQ(load_adapters(apart).base, fs::canonical(run("base") + "/model").string());
  const NamedValues all = values_of(merged + "/model.safetensors");
  EXPECT_EQ(opened(apart), all);
  EXPECT_EQ(opened(apart, WeightType::int8), opened(merged, WeightType::int8));
  average_models({apart}, run("averaged"));
  EXPECT_EQ(values_of(run("averaged") + "/model.safetensors"), all);
  EXPECT_EQ(load_adapters(run("averaged")).rank, 0);
  quantize_model(apart, run("int8"));
  quantize_model(merged, run("int8 of merged"));
  EXPECT_EQ(read_file(run("int8") + "/model.safetensors"),
            read_file(run("int8 of merged") + "/model.safetensors"));
  // A run can begin with it, and its own adapters can be kept apart again.
  options_.start.model = apart;
  const std::string second = adapted("second");
  EXPECT_EQ(load_adapters(second).base, fs::canonical(apart).string());
  const NamedValues chain = opened(second);
  EXPECT_NE(chain, all);
  options_.start.model = merged;
  options_.start.lora_merge = true;
  EXPECT_EQ(opened(adapted("second merged")), chain);
}

TEST_F(Adapters, KeptApartNeedTheirBase) {
  options_.start.lora_merge = false;
  const std::string apart = adapted("apart");
  fs::rename(run("base"), run("moved"));
  const auto error = [&] { return error_message([&] { opened(apart); }); };
  EXPECT_NE(error().find("/config.json: adapters.base: there is no folder " + run("base") + "/model"),
            std::string::npos)
      << error();
  options_.start = {};
  options_.train.seed = 2;
  train(options_, {.run = run("base")});
  EXPECT_NE(error().find("is not the model that the adapters were trained for"), std::string::npos) << error();
  fs::remove_all(run("base"));
  fs::rename(run("moved"), run("base"));
  EXPECT_NO_THROW(opened(apart));
}

/// What the adapters change is what the model was when their training began, wherever it is later.
TEST_F(Adapters, TheirBaseIsThatOfTheBeginning) {
  options_.start.lora_merge = false;
  const std::string apart = adapted("apart");
  const NamedValues all = opened(apart);
  const auto resume = [&] {
    fs::remove_all(apart);
    train(options_, {.run = run("apart"), .resume = true});
  };
  TranslationOptions other = options_;
  other.start = {};
  other.train.seed = 2;
  train(other, {.run = run("other")});
  options_.start.model = run("other") + "/model";
  EXPECT_NE(error_message(resume).find("is not the model for which the adapters are trained"),
            std::string::npos);
  fs::copy(run("base"), run("moved"), fs::copy_options::recursive);
  options_.start.model = run("moved") + "/model";
  resume();
  EXPECT_EQ(load_adapters(apart).base, fs::canonical(run("moved") + "/model").string());
  EXPECT_NE(read_file(run("apart") + "/config.json").find(run("moved")), std::string::npos);
  EXPECT_EQ(opened(apart), all);
}

TEST_F(Adapters, ABaseWithoutAChecksumHasOne) {
  const std::string path = weights("base");
  std::string bytes = read_file(path);
  const size_t key = bytes.find("xxh3");
  ASSERT_NE(key, bytes.npos);
  bytes.replace(key, 4, "none");
  write_file_atomically(path, bytes);
  ASSERT_EQ(SafetensorsFile::open(path).checksum(), "");
  options_.start.lora_merge = false;
  const std::string apart = adapted("apart");
  EXPECT_NO_THROW(opened(apart));
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write_file_atomically(path, bytes);
  EXPECT_NE(error_message([&] { opened(apart); }).find("is not the model that the adapters were trained for"),
            std::string::npos);
}

TEST_F(Adapters, NoCommandReplacesTheirBase) {
  options_.start.lora_merge = false;
  const std::string apart = adapted("apart"), base = fs::canonical(run("base") + "/model");
  fs::copy(base, run("copy"));
  options_.start.model = run("copy");
  const std::string of_copy = adapted("of copy");
  for (const std::string& error : {error_message([&] { average_models({of_copy}, run("copy")); }),
                                   error_message([&] { quantize_model(of_copy, run("copy")); })})
    EXPECT_NE(error.find("is an input of the command"), std::string::npos) << error;
  EXPECT_NO_THROW(opened(of_copy));
}

TEST_F(Adapters, AChainThatCouldNotBeOpenedIsNotBegun) {
  options_.start.lora_merge = false;
  options_.train.updates = 1;
  options_.checkpoint.every_updates = 0;
  options_.validation.every_updates = 0;
  for (int i = 0; i < 8; ++i) options_.start.model = adapted(fmt::format("chain{}", i));
  const std::string error = error_message([&] { adapted("chain8"); });
  EXPECT_NE(error.find("a chain of more than 8 folders"), std::string::npos) << error;
  EXPECT_NO_THROW(opened(options_.start.model));
  EXPECT_FALSE(fs::exists(run("chain8") + "/model"));
}

TEST_F(Adapters, DamagedOnesAreRefused) {
  adapted("run");
  const std::string checkpoint = last_checkpoint("run");
  const std::string config = read_file(checkpoint + "/config.json");
  const auto error_with = [&](const std::string& from, const std::string& to) {
    std::string other = config;
    other.replace(other.find(from), from.size(), to);
    write_file_atomically(checkpoint + "/config.json", other);
    return error_message([&] { opened(checkpoint); });
  };
  EXPECT_NE(error_with("\"rank\": 3", "\"rank\": 2").find("the adapter of '"), std::string::npos);
  EXPECT_NE(error_with("\"rank\": 3", "\"rank\": 0").find("does not belong to this model"), std::string::npos);
  EXPECT_NE(
      error_with("\"base\": \"\"", "\"base\": \"" + checkpoint + "\"").find("a chain of more than 8 folders"),
      std::string::npos);
}

TEST_F(Adapters, OptionsThatDoNotFitAreRefused) {
  const auto error = [&] { return error_message([&] { train(options_, {.run = run("refused")}); }); };
  options_.start.lora_projections = {"query"};
  EXPECT_NE(
      error().find("start.lora_projections: 'query' is not a linear map of the model's layers; there are fc1, "
                   "fc2, k_proj, out_proj, q_proj, v_proj"),
      std::string::npos)
      << error();
  options_.start.lora_projections = {};
  options_.start.freeze = {ModelPart::encoder};
  EXPECT_NE(error().find("leave start.freeze empty"), std::string::npos);
  options_.start.freeze = {};
  options_.start.model.clear();
  EXPECT_NE(error().find("start.lora_rank: needs start.model"), std::string::npos);
}

}  // namespace
}  // namespace sixfold
