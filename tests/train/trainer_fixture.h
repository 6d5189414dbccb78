#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "error_message.h"
#include "parallel_text.h"
#include "tasks/translation/task.h"
#include "temporary_folder.h"
#include "train/trainer.h"

namespace sixfold {

/// Lines to learn from, of single letters.
inline void write_text(const std::string& source, const std::string& target, int lines, uint64_t seed) {
  const auto letter = [](uint32_t i) { return std::string(1, static_cast<char>('a' + i)); };
  write_parallel_text(source, target, lines, seed, {.word = letter});
}

inline TrainOutcome train(const TranslationOptions& options, const TrainRequest& request) {
  return train(TranslationConfig(options), request);
}

/// A clock by which `step` seconds pass from one reading to the next, on any machine.
inline std::function<double()> counting_clock(double step) {
  return [step, time = 0.0]() mutable { return time += step; };
}

class TrainerTest : public testing::Test {
 protected:
  TrainerTest() {
    write_text(folder_ / "train.a", folder_ / "train.b", 200, 1);
    write_text(folder_ / "valid.a", folder_ / "valid.b", 20, 2);
    options_.model.d_model = 16;
    options_.model.d_ff = 32;
    options_.model.heads = 2;
    options_.model.encoder_layers = options_.model.decoder_layers = 1;
    options_.generation.length_offset = 4;
    options_.tokenizer.kind = TokenizerKind::whitespace;
    options_.tokenizer.vocab_size = 0;
    options_.data.train = {folder_ / "train.a", folder_ / "train.b"};
    options_.data.valid = {folder_ / "valid.a", folder_ / "valid.b"};
    options_.data.batch_tokens = 300;
    options_.train.updates = 23;
    options_.train.threads = 1;
    options_.train.precision = Precision::fp32;
    options_.train.ema_decay = 0.9f;
    options_.train.clip_norm = 1;
    options_.schedule.kind = ScheduleKind::linear;
    options_.schedule.learning_rate = 5e-3;
    options_.schedule.warmup = 5;
    options_.checkpoint.every_updates = 7;
    options_.checkpoint.keep_last = 10;
    options_.validation.every_updates = 5;
    options_.validation.metrics.chosen = {"loss", "bleu"};
    options_.log.every_updates = 4;
  }

  std::string run(const std::string& name) const { return folder_ / name; }
  /// Adds pairs to the end of the training text on which the loss rises, and has spikes of the loss noticed.
  void add_a_spike() {
    std::string a = read_file(folder_ / "train.a"), b = read_file(folder_ / "train.b");
    for (int i = 0; i < 40; ++i) {
      a += "a b\n";
      b += fmt::format("u{} v{} w{} x{} y{}\n", i, i, i, i, i);
    }
    write_file_atomically(folder_ / "train.a", a);
    write_file_atomically(folder_ / "train.b", b);
    options_.data.shuffle = false;
    options_.train.spike_factor = 1.2;
    options_.train.updates = 40;
    options_.checkpoint.every_updates = 5;
  }
  std::string last_checkpoint(const std::string& name) const {
    return run(name) + "/checkpoints/update-000000023";
  }

  /// The log without what the clock says.
  std::vector<nlohmann::json> log(const std::string& name) const {
    std::vector<nlohmann::json> lines;
    std::istringstream text(read_file(run(name) + "/train.jsonl"));
    for (std::string line; std::getline(text, line);) {
      lines.push_back(nlohmann::json::parse(line));
      lines.back().erase("seconds");
      lines.back().erase("tokens_per_second");
      lines.back().erase("seconds_waited");
      lines.back().erase("seconds_left");
      lines.back().erase("memory_mb");
    }
    return lines;
  }

  void expect_same_run(const std::string& a, const std::string& b) const {
    for (const char* file :
         {"/model.safetensors", "/optimizer.safetensors", "/tokenizer.vocab", "/config.json"})
      EXPECT_TRUE(read_file(last_checkpoint(a) + file) == read_file(last_checkpoint(b) + file)) << file;
    EXPECT_TRUE(read_file(run(a) + "/model/model.safetensors") ==
                read_file(run(b) + "/model/model.safetensors"));
    EXPECT_EQ(log(a), log(b));
  }

  /// A run that is resumed from any of its checkpoints is the run "whole", which was never stopped.
  void expect_resumes_as_whole(const TrainRequest& how = {}) {
    namespace fs = std::filesystem;
    for (const int kept : {7, 14, 21}) {
      TrainRequest request = how;
      const std::string name = "from" + std::to_string(kept);
      request.run = run(name);
      request.resume = true;
      fs::copy(run("whole"), request.run, fs::copy_options::recursive);
      fs::remove_all(request.run + "/model");
      for (const auto& entry : fs::directory_iterator(request.run + "/checkpoints"))
        if (entry.path().filename().string() > fmt::format("update-{:09}", kept)) fs::remove_all(entry.path());
      train(options_, request);
      expect_same_run("whole", name);
    }
  }

  /// The names of the checkpoints that are kept, oldest first.
  std::vector<std::string> checkpoints(const std::string& name) const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(run(name) + "/checkpoints"))
      names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }
  nlohmann::json state_of(const std::string& checkpoint) const {
    return nlohmann::json::parse(read_file(checkpoint + "/state.json"));
  }
  /// What is said while `action` runs.
  template <class Action>
  static std::string said_in(const Action& action) {
    testing::internal::CaptureStderr();
    action();
    return testing::internal::GetCapturedStderr();
  }

  TemporaryFolder folder_;
  TranslationOptions options_;
};

}  // namespace sixfold
