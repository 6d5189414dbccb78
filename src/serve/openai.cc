#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "serve/json_text.h"
#include "serve/service.h"
#include "text/utf8.h"

namespace sixfold::serve {
namespace {

using Json = nlohmann::ordered_json;

std::string error_body(int status, const std::string& message) {
  const char* type = status == 401 || status == 403 ? "authentication_error"
                     : status == 429                ? "rate_limit_error"
                     : status >= 500                ? "server_error"
                                                    : "invalid_request_error";
  return json_text({{"error", {{"message", message}, {"type", type}, {"param", nullptr}, {"code", nullptr}}}});
}

const char* reason_of(FinishReason reason) {
  return reason == FinishReason::end_token || reason == FinishReason::stop_string ? "stop" : "length";
}

/// A request to /v1/completions.
struct Wanted {
  ModelPointer model;
  std::vector<std::string> prompts;
  GenerateOptions options;
  bool stream = false, echo = false;
};

constexpr int64_t most_log_probs = 5;  // as OpenAI's

/// Refuses what would silently change nothing.
void refuse_unsupported(const Fields& fields) {
  for (const char* name : {"suffix", "logit_bias"})
    if (fields.has(name)) throw HttpError(400, fmt::format("\"{}\" is not supported.", name));
  for (const char* name : {"presence_penalty", "frequency_penalty"})
    if (fields.number(name, -2, 2).value_or(0) != 0)
      throw HttpError(400, fmt::format("\"{}\" is not supported; \"repetition_penalty\" is.", name));
}

Wanted wanted_of(Service& service, const HttpRequest& request) {
  const Fields fields(request);
  refuse_unsupported(fields);
  Wanted wanted;
  const std::string name = fields.required_text("model");
  wanted.model = service.models().named(name);
  if (!wanted.model) throw HttpError(404, fmt::format("There is no model named {}.", name));
  if (!wanted.model->generator)
    throw HttpError(400, fmt::format("The model {} translates; it does not continue texts.", name));
  wanted.prompts = fields.texts("prompt", service.options().most_texts);
  if (!fields.has("prompt")) wanted.prompts = {""};
  size_t bytes = 0;
  for (const std::string& prompt : wanted.prompts) bytes += prompt.size();
  if (bytes > service.options().most_characters)
    throw HttpError(413, fmt::format("The prompts have {} bytes; at most {} are allowed.", bytes,
                                     service.options().most_characters));
  GenerateOptions& options = wanted.options;
  options.max_tokens =
      static_cast<int>(fields.whole("max_tokens", 1, service.options().most_new_tokens).value_or(16));
  options.samples = static_cast<int>(fields.whole("n", 1, service.options().most_samples).value_or(1));
  options.draw.temperature = static_cast<float>(fields.number("temperature", 0, 2).value_or(1));
  options.draw.top_p = static_cast<float>(fields.number("top_p", 0, 1).value_or(1));
  options.draw.top_k = static_cast<int>(fields.whole("top_k", 0, 1 << 20).value_or(0));
  options.draw.min_p = static_cast<float>(fields.number("min_p", 0, 1).value_or(0));
  options.draw.repetition_penalty =
      static_cast<float>(fields.number("repetition_penalty", 0.01, 100).value_or(1));
  options.stop = fields.texts("stop", 16);
  // Without a seed, clients expect another text each time.
  options.seed = static_cast<uint64_t>(fields.whole("seed", 0, int64_t{1} << 53).value_or(service.next_seed()));
  options.cancel = request.cancel;
  wanted.stream = fields.truth("stream").value_or(false);
  wanted.echo = fields.truth("echo").value_or(false);
  if (const auto count = fields.whole("logprobs", 0, most_log_probs)) {
    if (wanted.echo) throw HttpError(400, "\"logprobs\" is not supported together with \"echo\".");
    options.likeliest = static_cast<int>(*count);
  }
  return wanted;
}

/// The tokens of a text; null if they were not wanted.
Json log_probs_of(std::span<const ChosenToken> chosen, const Wanted& wanted) {
  if (!wanted.options.likeliest) return nullptr;
  Json tokens = Json::array(), own = Json::array(), all_best = Json::array(), offsets = Json::array();
  for (const ChosenToken& token : chosen) {
    tokens.push_back(token.text);
    own.push_back(token.log_probability);
    offsets.push_back(token.offset);
    Json best = Json::object();
    for (const auto& [text, log_probability] : token.likeliest)
      if (!best.contains(text)) best[text] = log_probability;  // of tokens with the same text the likeliest
    all_best.push_back(std::move(best));
  }
  if (*wanted.options.likeliest == 0) all_best = nullptr;
  return {{"tokens", tokens}, {"token_logprobs", own}, {"top_logprobs", all_best}, {"text_offset", offsets}};
}

Json choice(size_t index, const std::string& text, const Json& reason, const Json& log_probs = nullptr) {
  return {{"text", text}, {"index", index}, {"logprobs", log_probs}, {"finish_reason", reason}};
}

Json completion(const Wanted& wanted, const std::string& id, Json choices) {
  return {{"id", id},
          {"object", "text_completion"},
          {"created", std::time(nullptr)},
          {"model", wanted.model->name},
          {"choices", std::move(choices)}};
}

std::vector<GeneratedTexts> generate(const Wanted& wanted, const TextReceiver& receive) {
  std::vector<GeneratedTexts> all = wanted.model->generator->generate(wanted.prompts, wanted.options, receive);
  for (const GeneratedTexts& texts : all)
    if (texts.error) throw HttpError(400, fmt::format("Prompt {}: {}.", texts.index + 1, *texts.error));
  return all;
}

HttpAnswer complete(const Wanted& wanted, const std::string& id) {
  Json choices = Json::array();
  size_t prompt_tokens = 0, tokens = 0;
  for (const GeneratedTexts& texts : generate(wanted, {})) {
    prompt_tokens += texts.prompt_tokens;
    for (const GeneratedText& text : texts.texts) {
      const std::string& prompt = wanted.prompts[texts.index];
      choices.push_back(choice(choices.size(), wanted.echo ? prompt + text.text : text.text,
                               reason_of(text.reason), log_probs_of(text.chosen, wanted)));
      tokens += text.tokens;
    }
  }
  Json body = completion(wanted, id, std::move(choices));
  body["usage"] = {{"prompt_tokens", prompt_tokens},
                   {"completion_tokens", tokens},
                   {"total_tokens", prompt_tokens + tokens}};
  return {.body = json_text(body)};
}

/// Pieces of texts on their way from the threads that decode to the one that writes to the client: those never
/// wait for a client.
class Pieces {
 public:
  struct Piece {
    size_t choice;
    std::string text;
    std::vector<ChosenToken> chosen;
  };
  void put(Piece piece) {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(piece));
    changed_.notify_one();
  }
  void end() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_one();
  }
  /// Waits for the next pieces; none at the end.
  std::deque<Piece> take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ended_ || !waiting_.empty(); });
    return std::exchange(waiting_, {});
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Piece> waiting_;
  bool ended_ = false;
};

std::string event(const Json& data) { return "data: " + json_text(data) + "\n\n"; }

/// Generates in a thread of its own, and writes the pieces as they come.
void stream(const Wanted& wanted, const std::string& id, const WritePart& write) {
  Pieces pieces;
  std::stop_source gone;
  const std::stop_callback from_server(wanted.options.cancel, [&] { gone.request_stop(); });
  Wanted own = wanted;
  own.options.cancel = gone.get_token();
  const auto samples = static_cast<size_t>(wanted.options.samples);
  std::vector<GeneratedTexts> results;
  std::string error;
  std::jthread decoding([&] {
    try {
      results = generate(own, [&](const TextPiece& piece) {
        pieces.put({piece.prompt * samples + piece.sample,
                    std::string(piece.text),
                    {piece.chosen.begin(), piece.chosen.end()}});
      });
    } catch (const std::exception& failure) {
      error = failure.what();
    }
    pieces.end();
  });
  bool open = true;
  if (wanted.echo)
    for (size_t i = 0; i < wanted.prompts.size() * samples; ++i)
      open =
          open &&
          write(event(completion(wanted, id, Json::array({choice(i, wanted.prompts[i / samples], nullptr)}))));
  for (auto some = pieces.take(); !some.empty(); some = pieces.take())
    for (const Pieces::Piece& piece : some) {
      open = open && write(event(completion(wanted, id,
                                            Json::array({choice(piece.choice, piece.text, nullptr,
                                                                log_probs_of(piece.chosen, wanted))}))));
      if (!open) gone.request_stop();
    }
  decoding.join();
  if (!error.empty()) return void(write("data: " + error_body(500, error) + "\n\n"));
  for (const GeneratedTexts& texts : results)
    for (size_t sample = 0; sample < texts.texts.size(); ++sample) {
      const GeneratedText& text = texts.texts[sample];
      open =
          open &&
          write(event(completion(
              wanted, id, Json::array({choice(texts.index * samples + sample, "", reason_of(text.reason))}))));
    }
  write("data: [DONE]\n\n");
}

HttpAnswer completions(Service& service, const HttpRequest& request) {
  const Wanted wanted = wanted_of(service, request);
  const std::string id = fmt::format("cmpl-{}", service.next_number());
  if (!wanted.stream) return complete(wanted, id);
  return {.content_type = "text/event-stream",
          .headers = {{"Cache-Control", "no-cache"}},
          .parts = [wanted, id](const WritePart& write) { stream(wanted, id, write); }};
}

}  // namespace

std::vector<Route> openai_routes(Service& service) {
  Service* const s = &service;
  return {{"POST", "/v1/completions",
           [s](const HttpRequest& request, const std::string&) { return completions(*s, request); },
           error_body}};
}

}  // namespace sixfold::serve
