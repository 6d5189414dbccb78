#include <unistd.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/join.h"
#include "base/log.h"
#include "base/plural.h"
#include "program/kit/interrupt.h"
#include "program/kit/model_folder.h"
#include "program/kit/task_program.h"
#include "program/kit/text_io.h"
#include "program/kit/value_option.h"
#include "tasks/language_model/conversation.h"
#include "tasks/language_model/generator.h"

namespace sixfold::cli {
namespace {

constexpr std::string_view separator = "--------";
constexpr size_t prompts_per_block = 1024;

struct GenerateSettings {
  std::string model, input, prompt_file, output = "-", system;
  std::vector<std::string> prompts;
  bool json = false;
  GenerateOptions options;
  InvalidUtf8 invalid = InvalidUtf8::error;
  RuntimeOptions runtime;
};

/// Supplies the prompts in blocks: those of the command line, the contents of a file, and the lines of another.
class Prompts {
 public:
  explicit Prompts(const GenerateSettings& settings) : first_(settings.prompts), invalid_(settings.invalid) {
    require(settings.prompt_file != "-" || settings.input != "-",
            "--prompt-file and --input can't both be standard input");
    for (std::string& prompt : first_) {
      const auto fault = fault_of_text(prompt);
      require(!fault || invalid_ != InvalidUtf8::error,
              "--prompt: {}; convert it, or choose --invalid-utf8 replace or skip", fault.value_or(""));
      if (fault) prompt = invalid_ == InvalidUtf8::skip ? "" : replace_faults(prompt);
    }
    if (!settings.prompt_file.empty()) first_.push_back(read_prompt(settings.prompt_file));
    if (!settings.input.empty())
      lines_.emplace(readable_path(settings.input), invalid_);
    else if (first_.empty())
      first_.emplace_back();  // the model generates without a prompt
  }
  /// Whether there is only one prompt, as far as is known without reading the input.
  bool is_single() const { return !lines_ && first_.size() == 1; }
  std::vector<std::string> next() {
    if (!first_.empty() || !lines_) return std::exchange(first_, {});
    return lines_->next(prompts_per_block);
  }

 private:
  /// A whole file as a prompt. The end of its last line does not belong to it.
  std::string read_prompt(const std::string& path) const {
    return join(read_lines(readable_path(path), invalid_), "\n");
  }

  std::vector<std::string> first_;
  InvalidUtf8 invalid_;
  std::optional<LineBlocks> lines_;
};

/// Converts input lines to prompts for the model: the lines themselves, or conversations.
class Conversations {
 public:
  Conversations(const Generator& generator, const GenerateSettings& settings)
      : generator_(generator), is_chat_(settings.options.chat) {
    if (!settings.system.empty()) system_.push_back({.role = "system", .content = settings.system});
  }
  Prompt prompt_of(const std::string& line) const {
    if (!is_chat_) return {line};
    try {
      std::vector<ChatMessage> messages = conversation_of(line);
      if (messages.empty() || messages.front().role != "system")
        messages.insert(messages.begin(), system_.begin(), system_.end());
      return generator_.chat_prompt(messages);
    } catch (const Error& error) {
      return {.text = {}, .fault = error.what()};
    }
  }
  std::vector<Prompt> prompts_of(const std::vector<std::string>& lines) const {
    std::vector<Prompt> prompts;
    for (const std::string& line : lines) prompts.push_back(prompt_of(line));
    return prompts;
  }
  const std::vector<ChatMessage>& system_messages() const { return system_; }

 private:
  const Generator& generator_;
  bool is_chat_;
  std::vector<ChatMessage> system_;
};

class Writer {
 public:
  /// `with_prompt`: whether each text is written after its prompt.
  Writer(TextOutput& output, bool json, bool with_prompt)
      : output_(output), json_(json), with_prompt_(with_prompt) {}

  void write(const std::string& prompt, const GeneratedTexts& texts) {
    if (texts.error) return write_error(prompt, texts);
    for (const GeneratedText& text : texts.texts)
      if (json_)
        write_json(prompt, text);
      else
        write_text(with_prompt_ ? prompt + text.text : text.text);
  }

 private:
  void write_error(const std::string& prompt, const GeneratedTexts& texts) {
    if (json_) output_.write_line(nlohmann::ordered_json{{"prompt", prompt}, {"error", *texts.error}}.dump());
    if (!json_) write_text("");
  }
  void write_json(const std::string& prompt, const GeneratedText& text) {
    const nlohmann::ordered_json json{{"prompt", prompt},
                                      {"text", text.text},
                                      {"finish_reason", name_of(text.reason)},
                                      {"tokens", text.tokens},
                                      {"log_probability", text.log_probability}};
    output_.write_line(json.dump());
  }
  void write_text(const std::string& text) {
    if (begun_) output_.write_line(std::string(separator));
    begun_ = true;
    output_.write(text);
    output_.write("\n");
  }

  TextOutput& output_;
  bool json_, with_prompt_, begun_ = false;
};

void warn_of_unknown_text(size_t tokens) {
  if (tokens > 0)
    log_warning(
        "{} of the prompts {} not in the vocabulary of the model, which can't tell such characters apart",
        counted(tokens, "token"), tokens == 1 ? "is" : "are");
}

/// Generates a single text and writes it, after `before`, as it is generated. Returns the text.
std::string stream(const Generator& generator, const Prompt& prompt, const std::string& before,
                   const GenerateOptions& options, TextOutput& output) {
  bool begun = false;
  const auto begin = [&] {
    if (!std::exchange(begun, true)) output.write(before);
  };
  const auto receive = [&](const TextPiece& piece) {
    begin();
    output.write(piece.text);
    output.flush();
  };
  const auto texts = generator.generate(std::span(&prompt, 1), options, receive);
  require(!texts[0].error, "{}", texts[0].error.value_or(""));
  begin();
  output.write("\n");
  output.flush();
  warn_of_unknown_text(texts[0].unknown_tokens);
  return texts[0].texts[0].text;
}

/// Holds one conversation with the lines of standard input, each of which is a message.
void converse(const Generator& generator, const GenerateSettings& settings, GenerateOptions options,
              std::vector<ChatMessage> messages, TextOutput& output) {
  require(options.samples == 1, "a conversation goes on with one answer; leave out the number of texts");
  Writer writer(output, settings.json, false);
  LineBlocks lines(readable_path("-"), settings.invalid);
  const bool prompts_user = isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
  for (;; ++options.first_prompt) {
    if (prompts_user) fmt::print(stderr, "> ");
    const std::vector<std::string> next = lines.next(1);
    if (next.empty()) break;
    const std::string& line = next[0];
    messages.push_back({.role = "user", .content = line});
    const Prompt prompt = generator.chat_prompt(messages);
    std::string answer;
    if (settings.json) {
      const auto texts = generator.generate(std::span(&prompt, 1), options);
      require(!texts[0].error, "{}", texts[0].error.value_or(""));
      writer.write(line, texts[0]);
      output.flush();
      answer = texts[0].texts[0].text;
    } else {
      answer = stream(generator, prompt, "", options, output);
    }
    messages.push_back({.role = "assistant", .content = std::move(answer)});
  }
  output.close();
}

/// Continues the prompts, one block at a time.
void generate_all(const Generator& generator, const GenerateSettings& settings, GenerateOptions options,
                  const Conversations& conversations, Prompts& prompts, TextOutput& output) {
  Writer writer(output, settings.json, !options.chat);
  size_t failed = 0, unknown = 0;
  for (std::vector<std::string> block; !(block = prompts.next()).empty();) {
    for (const GeneratedTexts& texts : generator.generate(conversations.prompts_of(block), options)) {
      writer.write(block[texts.index], texts);
      unknown += texts.unknown_tokens;
      if (!texts.error) continue;
      log_warning("prompt {}: {}", options.first_prompt + texts.index + 1, *texts.error);
      ++failed;
    }
    output.flush();
    options.first_prompt += block.size();
  }
  output.close();
  warn_of_unknown_text(unknown);
  require(failed == 0, "{} failed; the others are complete", counted(failed, "prompt"));
}

void run(const GenerateSettings& settings) {
  for (const std::string& stop : settings.options.stop)
    if (const auto fault = fault_of_text(stop)) throw_input_error("--stop: {}; no text has it", *fault);
  require(settings.options.chat || settings.system.empty(), "--system needs --chat");
  Prompts prompts(settings);
  const Generator generator(settings.model, settings.runtime);
  if (settings.options.chat) generator.chat_prompt(std::vector<ChatMessage>{{.role = "user", .content = ""}});
  TextOutput output(settings.output, {settings.input, settings.prompt_file, settings.model});
  const StopOnInterrupt interrupt;
  GenerateOptions options = settings.options;
  options.cancel = interrupt.token();
  const Conversations conversations(generator, settings);
  if (options.chat && settings.prompts.empty() && settings.prompt_file.empty() && settings.input.empty())
    return converse(generator, settings, options, conversations.system_messages(), output);
  const bool one = prompts.is_single() && options.samples == 1 && options.beam_size.value_or(0) == 0;
  if (!one || settings.json || settings.output != "-")
    return generate_all(generator, settings, options, conversations, prompts, output);
  const std::string prompt = prompts.next()[0];
  stream(generator, conversations.prompt_of(prompt), options.chat ? "" : prompt, options, output);
  output.close();
}

void add_generate(CLI::App& app) {
  const auto settings = std::make_shared<GenerateSettings>();
  CLI::App& command = *app.add_subcommand("generate", "Continue text with a language model");
  add_model_argument(command, settings->model);
  add_value_option(command, "--prompt", settings->prompts, "text to continue; may be given several times");
  command
      .add_option("--prompt-file", settings->prompt_file,
                  "file whose whole text is a prompt; - is standard input")
      ->type_name("FILE");
  command.add_option("-i,--input", settings->input, "file with a prompt on each line; - is standard input")
      ->type_name("FILE");
  add_text_output_option(command, settings->output);
  add_invalid_utf8_option(command, settings->invalid);
  add_field_options(command, OptionVisitor::AnyOptions(settings->options),
                    {.except = {"likeliest"},
                     .flags = {{"samples", "-n,--samples"}},
                     .ranges = {{"max_tokens", between(1, 1 << 24)}}});
  command.add_flag("--chat", settings->options.chat,
                   "a prompt is a message of a user, or a list of messages as JSON, which the model answers");
  const CLI::Option* system = add_value_option(command, "--system", settings->system,
                                               "with --chat: the system message [the model's, if any]");
  command.add_flag("--json", settings->json, "write a JSON object on a line for each text");
  add_runtime_options(command, settings->runtime);
  command.footer(
      "The output is each prompt with its continuation; texts are separated by a line of dashes. A single text "
      "is\n"
      "shown as it is generated. A text that is longer than the model was trained on goes on from its latter "
      "half.\n"
      "With --chat only the answers are written, and without a prompt each line of standard input is the next "
      "message\n"
      "of one conversation.\n"
      "Example:\n  sixfold generate run/model --prompt 'To be' --max-tokens 200 --temperature 0.8 --seed 1");
  command.callback([settings, system] {
    require(system->count() == 0 || !settings->system.empty(),
            "--system is empty; leave it out for the system message of the model, if it has one");
    run(*settings);
  });
}

}  // namespace

TaskProgram language_model_program() {
  return {.name = "language_model",
          .add_commands = [](Commands& commands) { commands.add(Commands::use, {add_generate}); }};
}

}  // namespace sixfold::cli
