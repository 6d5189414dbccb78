#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "serve/api/openai.h"
#include "serve/http/json_text.h"

namespace sixfold::serve {
namespace {

using Json = nlohmann::ordered_json;

/// A queue of pieces of texts from the threads that decode to the one that writes to the client. It is
/// unbounded, so that the decoding threads never wait for a client.
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
  /// Waits until there are pieces, or until `end`. Returns whether there are any.
  bool wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ended_ || !waiting_.empty(); });
    return !waiting_.empty();
  }
  /// Waits for the next pieces and removes them from the queue; none at the end.
  std::deque<Piece> take() {
    wait();
    const std::lock_guard lock(mutex_);
    return std::exchange(waiting_, {});
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Piece> waiting_;
  bool ended_ = false;
};

std::string event(const Json& data) { return "data: " + json_text(data) + "\n\n"; }

/// A completion that is generated in a separate thread. For one thread.
class Stream {
 public:
  explicit Stream(const Completion& completion)
      : completion_(completion),
        on_server_cancel_(completion.options.cancel, [this] { stop_.request_stop(); }) {
    completion_.options.cancel = stop_.get_token();
    decoding_ = std::jthread([this] { decode(); });
  }
  ~Stream() { stop_.request_stop(); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  /// Waits for the first piece. Rethrows an error that ended the generation before it.
  void begin() {
    if (pieces_.wait()) return;
    decoding_.join();
    if (failure_) std::rethrow_exception(failure_);
  }

  void write(const WritePart& write) {
    write_ = write;
    if (completion_.options.chat)
      for (size_t i = 0; i < completion_.prompts.size() * samples(); ++i) send_choice(role(i));
    if (completion_.echo)
      for (size_t i = 0; i < completion_.prompts.size() * samples(); ++i)
        send_choice(i, completion_.prompts[i / samples()].text, nullptr, nullptr);
    for (auto pieces = pieces_.take(); !pieces.empty(); pieces = pieces_.take())
      for (const Pieces::Piece& piece : pieces) {
        send_choice(piece.choice, piece.text, log_probs_of(piece.chosen, completion_), nullptr);
        if (!client_is_there_) stop_.request_stop();
      }
    if (decoding_.joinable()) decoding_.join();
    if (failure_) return send_failure();
    for (const GeneratedTexts& texts : results_)
      for (size_t sample = 0; sample < texts.texts.size(); ++sample)
        send_choice(texts.index * samples() + sample, "", nullptr, openai_reason(texts.texts[sample].reason));
    if (completion_.usage) {
      Json last = completion_json(completion_, Json::array());
      last["usage"] = usage_of(results_);
      send(event(last));
    }
    send("data: [DONE]\n\n");
  }

 private:
  size_t samples() const { return static_cast<size_t>(completion_.options.samples); }

  void decode() {
    try {
      results_ = completion_.model->predictor().generate(
          completion_.prompts, completion_.options, [this](const TextPiece& piece) {
            pieces_.put({piece.prompt * samples() + piece.sample,
                         std::string(piece.text),
                         {piece.chosen.begin(), piece.chosen.end()}});
          });
    } catch (...) {
      failure_ = std::current_exception();
    }
    pieces_.end();
  }

  void send(const std::string& part) { client_is_there_ = client_is_there_ && write_(part); }

  /// The choice with which a message begins.
  Json role(size_t index) const {
    Json choice = choice_json(completion_, index, "", nullptr, nullptr);
    choice["delta"] = {{"role", "assistant"}, {"content", ""}};
    return choice;
  }

  void send_choice(size_t index, const std::string& text, const Json& log_probs, const Json& reason) {
    send_choice(choice_json(completion_, index, text, log_probs, reason));
  }

  void send_choice(const Json& choice) {
    Json part = completion_json(completion_, Json::array({choice}));
    if (completion_.usage) part["usage"] = nullptr;  // as OpenAI does, which sends it with the last part
    send(event(part));
  }

  /// Sends the error as an event, because the status has been sent already.
  void send_failure() {
    std::string message = "The server failed.";
    try {
      std::rethrow_exception(failure_);
    } catch (const Cancelled&) {
      message = cancelled_message;
    } catch (const std::exception& error) {
      message = error.what();
    }
    send("data: " + openai_error_body(503, message) + "\n\n");
  }

  Completion completion_;
  Pieces pieces_;
  std::vector<GeneratedTexts> results_;
  std::exception_ptr failure_;
  WritePart write_;
  bool client_is_there_ = true;
  std::stop_source stop_;
  const std::stop_callback<std::function<void()>> on_server_cancel_;
  std::jthread decoding_;  // last: it uses the members above
};

}  // namespace

HttpAnswer stream_completion(const Completion& completion) {
  const auto stream = std::make_shared<Stream>(completion);
  stream->begin();
  return {.content_type = "text/event-stream",
          .headers = {{"Cache-Control", "no-cache"}},
          .parts = [stream](const WritePart& write) { stream->write(write); }};
}

}  // namespace sixfold::serve
