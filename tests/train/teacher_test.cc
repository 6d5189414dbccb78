#include "train/teacher.h"

#include "backend/backend.h"
#include "model_folder/model_folder.h"
#include "train/forecast.h"
#include "train/trainer_fixture.h"

namespace sixfold {
namespace {

/// Runs with the model of the run "teacher".
class Teachers : public TrainerTest {
 protected:
  Teachers() {
    options_.train.ema_decay = 0;
    options_.model.dropout = options_.model.attention_dropout = options_.model.activation_dropout = 0;
    options_.train.updates = 120;
    options_.checkpoint.every_updates = 0;
    train(options_, {.run = run("teacher")});
    teacher_ = run("teacher") + "/model";
  }

  /// The mean divergence of a model's predictions from those of the teacher, on the validation text.
  double distance_of(const std::string& name) const {
    const auto backend = make_backend({.device = "reference"});
    const auto model = load_model(run(name) + "/model", backend), teacher = load_model(teacher_, backend);
    TranslationOptions options = options_;
    options.start.model = teacher_;
    options.data.train = options.data.valid;
    std::filesystem::create_directories(run("distance"));
    const auto task = TranslationConfig(options).open({.run = run("distance"), .model = teacher_});
    BatchBuilder builder;
    for (int64_t i = 0; i < 10; ++i) task->training_data().add(i, 0, builder);
    const Batch batch = builder.take();
    Context context(backend, std::make_shared<Arena>(backend));
    const auto loss = [&](double weight) {
      ops::LossOptions how;
      how.teacher = {teacher->head_input(batch, context), teacher->output(), weight, 1};
      return model->loss(batch, how, context).item(*backend);
    };
    return (loss(1) - loss(0)) / batch.loss_weight();
  }

  std::string teacher_;
};

/// A model does not diverge from itself, and so its loss has nothing to add, whatever the temperature.
TEST_F(Teachers, AddNothingToTheLossOfTheirEquals) {
  options_.train.updates = 1;
  options_.start.model = teacher_;
  train(options_, {.run = run("alone")});
  options_.teacher = {.model = teacher_, .weight = 10, .temperature = 3};
  train(options_, {.run = run("taught")});
  EXPECT_NEAR(log("taught")[0].at("loss").get<double>(), log("alone")[0].at("loss").get<double>(), 1e-5);
}

TEST_F(Teachers, AreFollowed) {
  options_.train.seed = 7;
  train(options_, {.run = run("alone")});
  options_.teacher = {.model = teacher_, .weight = 3};
  train(options_, {.run = run("taught")});
  EXPECT_LT(distance_of("taught"), 0.8 * distance_of("alone"));
  EXPECT_NEAR(distance_of("teacher"), 0, 1e-6);
}

TEST_F(Teachers, GiveTheirTokenizersToTheirStudents) {
  options_.teacher.model = teacher_;
  write_text(folder_ / "train.a", folder_ / "train.b", 20, 9);  // which has fewer words
  options_.train.updates = 1;
  train(options_, {.run = run("student")});
  EXPECT_EQ(read_file(run("student") + "/model/tokenizer.vocab"), read_file(teacher_ + "/tokenizer.vocab"));
  EXPECT_EQ(load_model_config(run("student") + "/model").target_vocab,
            load_model_config(teacher_).target_vocab);
}

TEST_F(Teachers, OfOtherTokensAreRefused) {
  write_text(folder_ / "train.a", folder_ / "train.b", 20, 9);
  options_.train.updates = 1;
  train(options_, {.run = run("other")});
  options_.teacher.model = teacher_;
  options_.start.model = run("other") + "/model";
  const auto error = [&] { return error_message([&] { train(options_, {.run = run("refused")}); }); };
  EXPECT_NE(error().find("teacher.model: " + teacher_ + " has the source tokenizer "), std::string::npos)
      << error();
  options_.start = {};
  options_.teacher.model = folder_ / "nowhere";
  EXPECT_NE(error().find("nowhere"), std::string::npos) << error();
}

TEST_F(Teachers, NeedPositionsForAllTexts) {
  options_.model.positions = Positions::learned;
  options_.model.max_positions = 12;
  options_.model.beyond_positions = BeyondPositions::error;
  options_.teacher = {};
  train(options_, {.run = run("short")});
  std::string source = read_file(folder_ / "train.a"), target = read_file(folder_ / "train.b");
  for (int i = 0; i < 20; ++i) source += "a ";
  write_file_atomically(folder_ / "train.a", source + "\n");
  write_file_atomically(folder_ / "train.b", target + "b\n");
  options_.model.positions = Positions::sinusoidal;
  options_.model.beyond_positions = BeyondPositions::last;
  options_.teacher.model = run("short") + "/model";
  const std::string error = error_message([&] { train(options_, {.run = run("refused")}); });
  EXPECT_NE(error.find("has 12 positions, but pair 201 of the training data has 21 tokens"), std::string::npos)
      << error;
}

/// A segmentation that is drawn has more tokens than the usual one.
TEST_F(Teachers, HavePositionsForAllSegmentations) {
  options_.model.positions = Positions::learned;
  options_.model.max_positions = 12;
  options_.model.beyond_positions = BeyondPositions::error;
  options_.teacher = {};
  options_.data.max_length = 11;
  options_.tokenizer.kind = TokenizerKind::sentencepiece;
  options_.tokenizer.vocab_size = 30;
  train(options_, {.run = run("short")});
  options_.model.positions = Positions::sinusoidal;
  options_.model.beyond_positions = BeyondPositions::last;
  options_.data.max_length = 11;
  options_.data.subword_sampling = 0.5;
  options_.teacher.model = run("short") + "/model";
  std::filesystem::create_directories(run("drawn"));
  const auto task = TranslationConfig(options_).open({.run = run("drawn")});
  for (int64_t pair = 0; pair < task->training_data().size(); ++pair) {
    BatchBuilder builder;
    task->training_data().add(pair, 1, builder);
    EXPECT_LE(builder.batch().source.rows.length(0), 12);
    EXPECT_LE(builder.batch().target.rows.length(0), 12);
  }
}

TEST_F(Teachers, HaveTheSameTokensAroundTexts) {
  std::string config = read_file(teacher_ + "/config.json");
  const size_t at = config.find("\"source_start\": []");
  ASSERT_NE(at, config.npos) << config;
  config.replace(at, 18, "\"source_start\": [3]");
  write_file_atomically(teacher_ + "/config.json", config);
  options_.teacher.model = teacher_;
  const std::string error = error_message([&] { train(options_, {.run = run("refused")}); });
  EXPECT_NE(error.find("has other source_start than the model that is trained"), std::string::npos) << error;
}

/// The part of the loss that follows the teacher is not one that a model that guesses evenly would have.
TEST_F(Teachers, AreNoDivergence) {
  options_.train.seed = 7;
  options_.train.updates = 20;
  options_.log.every_updates = 5;
  options_.teacher = {.model = teacher_, .weight = 200};
  EXPECT_NO_THROW(train(options_, {.run = run("heavy")}));
}

TEST_F(Teachers, CountInTheForecast) {
  const auto forecast = [&] {
    const TranslationConfig config(options_);
    std::filesystem::create_directories(run("forecast"));
    const auto task = config.open({.run = run("forecast")});
    return forecast_memory(*task, config.training(), 0);
  };
  const MemoryForecast alone = forecast();
  options_.teacher.model = teacher_;
  const MemoryForecast taught = forecast();
  EXPECT_GT(taught.weights, alone.weights);
  EXPECT_GT(taught.activations, alone.activations);
}

TEST_F(Teachers, MayBeRenamedWhenARunGoesOn) {
  options_.train.updates = 12;
  options_.checkpoint.every_updates = 5;
  options_.teacher.model = teacher_;
  train(options_, {.run = run("whole")});
  for (const char* later : {"/checkpoints/update-000000010", "/checkpoints/update-000000012", "/model"})
    std::filesystem::remove_all(run("whole") + later);
  const std::string weights = read_file(run("whole") + "/checkpoints/update-000000005/model.safetensors");
  std::filesystem::rename(run("teacher"), run("renamed"));
  options_.teacher.model = run("renamed") + "/model";
  train(options_, {.run = run("whole"), .resume = true});
  EXPECT_NE(read_file(run("whole") + "/model/model.safetensors"), weights);
  const auto state =
      nlohmann::json::parse(read_file(run("whole") + "/checkpoints/update-000000012/state.json"));
  EXPECT_EQ(state.at("changes").at(0).at("what"), "teacher.model");
}

}  // namespace
}  // namespace sixfold
