// A task that is not Sixfold's own: a row in each table gives it training, prediction, a command, a route, a
// manual page and completion.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "error_message.h"
#include "program/program.h"
#include "runtime/model_runtime.h"
#include "serve/http/json_text.h"
#include "serve/service.h"
#include "tasks/tasks.h"
#include "tasks/translation/translator.h"
#include "temporary_folder.h"
#include "train/copying.h"

namespace sixfold {
namespace {

constexpr std::string_view task_name = "copying";

/// A run of the task whose options name it, as those of all tasks in a table do.
struct NamedCopyingOptions : CopyingOptions {
  static constexpr std::string_view task_name = sixfold::task_name;
  std::string task = std::string(task_name);
};
void visit(OptionVisitor& v, NamedCopyingOptions& o) {
  v.field("task", o.task, "what is trained: copying");
  visit(v, static_cast<CopyingOptions&>(o));
}

NamedCopyingOptions copying_options_of(const OptionNode& root, const std::string&) {
  NamedCopyingOptions options;
  read_options(root, options);
  return options;
}

class NamedCopying : public Copying {
 public:
  explicit NamedCopying(const CopyingOptions& options) : Copying(options), config_(Copying::model_config()) {
    config_.task = task_name;
  }
  const ModelConfig& model_config() const override { return config_; }

 private:
  ModelConfig config_;
};

class NamedCopyingConfig : public CopyingConfig {
 public:
  explicit NamedCopyingConfig(const NamedCopyingOptions& options) : CopyingConfig(options), options_(options) {}
  std::string_view task() const override { return task_name; }
  OptionNode options() const override { return write_options(options_); }
  OptionNode read_stored(OptionNode stored) const override {
    return write_options(copying_options_of(stored, ""));
  }
  std::unique_ptr<Task> open(const TaskStart&) const override {
    return std::make_unique<NamedCopying>(options_);
  }

 private:
  NamedCopyingOptions options_;
};

/// Copies digits with a model folder.
class Copier final : public Predictor {
 public:
  explicit Copier(std::shared_ptr<ModelRuntime> opened) : Predictor(std::move(opened)) {
    require_task(config(), {.task = task_name, .decoder = false}, model().folder());
  }
  std::string copy(const std::string& digits) const {
    BatchBuilder builder;
    std::vector<int32_t> ids;
    for (const char c : digits) ids.push_back(c - '0');
    builder.sample(0).source(ids).label_source(ids);
    const Batch batch = builder.take();
    const auto workspace = model().borrow();
    Context context(workspace->backend, workspace->arena);
    const Tensor states = workspace->model.states(batch, context);
    const auto logits = ops::logits(context, states, workspace->model.output()).to_floats(*workspace->backend);
    std::string copied;
    for (auto row = logits.begin(); row != logits.end(); row += 10)
      copied += static_cast<char>('0' + (std::max_element(row, row + 10) - row));
    return copied;
  }
};

void add_copy(CLI::App& app) {
  const auto arguments = std::make_shared<std::pair<std::string, std::string>>();
  CLI::App& command = *app.add_subcommand("copy", "Copy digits");
  command.add_option("model", arguments->first, "model folder")->type_name("MODEL")->required();
  command.add_option("digits", arguments->second, "to be copied")->type_name("DIGITS")->required();
  command.footer("Example:\n  sixfold copy run/model 123");
  command.callback([arguments] {
    std::cout << Copier(open_model(arguments->first)).copy(arguments->second) << "\n" << std::flush;
  });
}

struct ServedCopier final : serve::ServedModel {
  static constexpr std::string_view task = task_name;
  Copier copier;
  explicit ServedCopier(const serve::ModelSpec& spec) : copier(open_model(spec.folder)) { name = "copier"; }
  const Predictor& predictor() const override { return copier; }
};

std::vector<serve::Route> copy_routes(serve::Service& service) {
  return {{"POST", "/v1/copy",
           [&service](const serve::HttpRequest& request, const std::string&) {
             const auto model = service.models().all_of<ServedCopier>().at(0);
             const std::string text = serve::Fields(request).required_text("digits");
             return serve::HttpAnswer{
                 .body = serve::json_text(nlohmann::ordered_json{{"copy", model->copier.copy(text)}})};
           },
           serve::openai_error_body}};
}

/// The tables of Sixfold with a row more in each.
struct ToyTables {
  std::vector<TaskEntry> tasks;
  std::vector<cli::TaskProgram> programs;
  std::vector<serve::ServedTask> served;

  ToyTables() {
    const cli::ProgramTables own = cli::builtin_tables();
    tasks.assign(own.tasks.begin(), own.tasks.end());
    programs.assign(own.programs.begin(), own.programs.end());
    served.assign(own.served.begin(), own.served.end());
    tasks.push_back(task_entry<NamedCopyingConfig, copying_options_of>(
        "copies digits", "copy", [](const ModelConfig& model, const InfoLine& line) {
          line("copies", std::to_string(model.target_vocab) + " digits");
        }));
    programs.push_back({.name = task_name, .add_commands = [](cli::Commands& commands) {
                          commands.add(cli::Commands::use, {add_copy});
                        }});
    served.push_back({.task = task_name,
                      .load = [](const serve::ModelSpec& spec, const ModelConfig&,
                                 const serve::EngineSettings&) -> std::unique_ptr<serve::ServedModel> {
                        return std::make_unique<ServedCopier>(spec);
                      },
                      .routes = copy_routes});
  }
};

/// What a command of the program with the toy task prints.
std::string printed(std::vector<std::string> words) {
  static const ToyTables tables;
  words.insert(words.begin(), "sixfold");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  testing::internal::CaptureStdout();
  const int status = cli::run(static_cast<int>(arguments.size()), arguments.data(),
                              {.tasks = tables.tasks, .programs = tables.programs, .served = tables.served});
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_EQ(status, 0) << text;
  return text;
}

TEST(ToyTask, IsARowInEachTable) {
  const TemporaryFolder folder;
  const std::string config = folder / "copying.yaml", run = folder / "run", model = folder / "run/model";
  write_file_atomically(config, R"(
task: copying
rows: 100
model: {d_model: 16, d_ff: 32, heads: 2, encoder_layers: 1, decoder_layers: 0, dropout: 0}
data: {batch_tokens: 64}
train: {updates: 300, threads: 1, precision: fp32, label_smoothing: 0}
schedule: {kind: constant, learning_rate: 0.01, warmup: 10}
)");
  printed({"train", config, "--output", run});
  expect_holds(printed({"info", model}), "task         copying: copies digits, for 'sixfold copy'");
  expect_holds(printed({"info", model}), "copies       10 digits");
  EXPECT_EQ(printed({"copy", model, "0123"}), "0123\n");
  EXPECT_EQ(error_message([&] { Translator translator(model); }),
            model + ": is a model for the task 'copying', not 'translation'; 'sixfold info " + model +
                "' says what it can do");
  printed({"man", folder / "man"});
  expect_holds(read_regular_file(folder / "man/sixfold-copy.1"), "Copy digits");
  expect_holds(read_regular_file(folder / "man/sixfold-train.1"), "copying");
  expect_holds(printed({"completion", "bash"}), "'copy')");

  const ToyTables tables;
  serve::Service service({serve::ModelSpec(model)}, {.threads = 1}, {}, tables.served);
  const serve::Router router(service, serve::all_routes(service));
  serve::HttpRequest request;
  request.method = "POST", request.path = "/v1/copy", request.body = R"({"digits": "456"})";
  request.headers = {{"content-type", "application/json"}};
  EXPECT_EQ(router.answer(request).body, R"({"copy":"456"})");
}

}  // namespace
}  // namespace sixfold
