#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "serve/raw_client.h"

/// Many clients at once, some of them hostile: for tests and for bench_serve.
namespace sixfold::serve {

/// Lines and their translations. The clients ask for parts of them.
struct LoadText {
  std::vector<std::string> lines, expected;
};

struct LoadOptions {
  int port = 0;
  int clients = 64;
  int requests = 10'000;  ///< of all clients together
  double hostile = 0.1;   ///< share of the requests
  int lines = 0;          ///< of each request; 0: 1 to 16, mostly few
  double rate = 0;  ///< requests/s, at random moments; 0: each client asks again as soon as it has its answer
  uint64_t seed = 1;
  std::chrono::milliseconds slow{1000};  ///< how long a slow client takes to send a request
  std::string source = "en", target = "de";
};

struct LoadResult {
  int64_t answered = 0, lines = 0;                    ///< requests with the right answer, and their lines
  int64_t refused = 0;                                ///< requests with status 503
  int64_t wrong = 0, lost = 0;                        ///< requests with another answer, or with none
  std::string first_wrong;                            ///< request and answer
  std::map<std::string, std::map<int, int>> hostile;  ///< kind, status (0: no answer), count
  std::map<int64_t, std::vector<double>> latencies;   ///< of those answered, in seconds, by their lines
  double seconds = 0;

  std::vector<double> all_latencies() const {
    std::vector<double> all;
    for (const auto& [count, some] : latencies) all.insert(all.end(), some.begin(), some.end());
    return all;
  }
};

/// The latency that this share of the requests does not exceed.
inline double percentile(std::vector<double> latencies, double share) {
  if (latencies.empty()) return 0;
  std::ranges::sort(latencies);
  return latencies[static_cast<size_t>(share * static_cast<double>(latencies.size() - 1))];
}

struct LoadAnswer {
  int status = 0;  ///< 0: none came
  std::string body;
};

/// A connection that stays open for several requests.
class LoadConnection {
 public:
  explicit LoadConnection(int port) : port_(port) {}

  LoadAnswer ask(const std::string& request) {
    for (int attempt = 0; attempt < 2; ++attempt) {  // the server may have closed a connection that was idle
      const bool fresh = !client_;
      if (fresh) client_ = std::make_unique<RawClient>(port_), received_.clear();
      if (client_->send(request))
        if (LoadAnswer answer = next_answer(); answer.status) return answer;
      client_.reset();
      if (fresh) break;
    }
    return {};
  }
  /// Sends without waiting. The answers come from next_answer().
  bool send(const std::string& bytes) {
    if (!client_) client_ = std::make_unique<RawClient>(port_), received_.clear();
    return client_->send(bytes);
  }
  LoadAnswer next_answer() {
    size_t end;
    while ((end = received_.find("\r\n\r\n")) == received_.npos)
      if (!receive()) return {};
    const std::string head = received_.substr(0, end);
    const size_t length_place = head.find("Content-Length: ");
    const size_t length = length_place == head.npos ? 0 : std::stoul(head.substr(length_place + 16));
    while (received_.size() < end + 4 + length)
      if (!receive()) return {};
    LoadAnswer answer{std::stoi(head.substr(head.find(' ') + 1)), received_.substr(end + 4, length)};
    received_.erase(0, end + 4 + length);
    if (head.find("Connection: close") != head.npos) client_.reset();
    return answer;
  }
  void hang_up() { client_.reset(); }

 private:
  bool receive() {
    if (!client_) return false;
    const std::string some = client_->receive_some(120'000);
    received_ += some;
    return !some.empty();
  }

  int port_;
  std::unique_ptr<RawClient> client_;
  std::string received_;
};

inline std::string post_request(const std::string& path, const std::string& body,
                                const std::string& type = "application/json") {
  return "POST " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: " + type +
         "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

/// One client: its random choices are a function of its number and the seed.
class LoadClient {
 public:
  LoadClient(const LoadText& text, const LoadOptions& options, int number)
      : text_(text),
        options_(options),
        random_(options.seed, static_cast<uint64_t>(number)),
        connection_(options.port) {}

  LoadResult run(int requests) {
    const double own_rate = options_.rate / options_.clients;
    auto due = std::chrono::steady_clock::now();
    for (int i = 0; i < requests; ++i) {
      if (own_rate > 0) {
        const double pause = -std::log(1 - random_.uniform()) / own_rate;
        due += std::chrono::duration_cast<std::chrono::steady_clock::duration>(
            std::chrono::duration<double>(pause));
        std::this_thread::sleep_until(due);
      } else {
        due = std::chrono::steady_clock::now();
      }
      if (random_.uniform() < options_.hostile)
        be_hostile();
      else
        ask(due);
    }
    return std::move(result_);
  }

 private:
  struct Question {
    std::string request, answer;
    int64_t lines = 0;
  };

  Question draw_question() {
    constexpr std::array<int, 8> counts{1, 1, 1, 1, 2, 2, 4, 16};
    Question question{.lines = options_.lines > 0 ? options_.lines : counts[random_.below(counts.size())]};
    nlohmann::ordered_json body{{"q", nlohmann::ordered_json::array()}},
        answer = nlohmann::ordered_json::array();
    for (int64_t i = 0; i < question.lines; ++i) {
      const size_t line = random_.below(static_cast<uint32_t>(text_.lines.size()));
      body["q"].push_back(text_.lines[line]);
      answer.push_back(text_.expected[line]);
    }
    body["source"] = options_.source, body["target"] = options_.target;
    question.request = post_request("/translate", body.dump());
    question.answer = answer.dump();
    return question;
  }

  /// Counts the answer to a question.
  void count(const Question& question, const LoadAnswer& answer) {
    if (answer.status == 0) {
      ++result_.lost;
    } else if (answer.status == 503) {
      ++result_.refused;
    } else if (const auto json = nlohmann::json::parse(answer.body, nullptr, false);
               answer.status != 200 || !json.is_object() ||
               json.value("translatedText", nlohmann::json()) != nlohmann::json::parse(question.answer)) {
      ++result_.wrong;
      if (result_.first_wrong.empty()) result_.first_wrong = question.request + "\n" + answer.body;
    } else {
      ++result_.answered, result_.lines += question.lines;
    }
  }

  void ask(std::chrono::steady_clock::time_point due) {
    const Question question = draw_question();
    const int64_t before = result_.answered;
    count(question, connection_.ask(question.request));
    if (result_.answered > before)
      result_.latencies[question.lines].push_back(
          std::chrono::duration<double>(std::chrono::steady_clock::now() - due).count());
  }

  /// On a connection of its own. What is a proper request, however it is sent, must have the right answer.
  void be_hostile() {
    LoadConnection connection(options_.port);
    const Question question = draw_question();
    const auto said = [&](const std::string& kind, const std::string& request) {
      ++result_.hostile[kind][connection.ask(request).status];
    };
    switch (random_.below(10)) {
      case 0:
        return said("huge body", "POST /translate HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000\r\n\r\n" +
                                     std::string(100'000, 'a'));
      case 1:
        return said("huge text", post_request("/translate", R"({"source":"en","target":"de","q":")" +
                                                                std::string(1'500'000, 'a') + "\"}"));
      case 2:
        return said("wrong type",
                    post_request("/translate", R"({"source":"en","target":["de"],"q":{"a":17}})"));
      case 3:
        return said("invalid UTF-8",
                    post_request("/translate", "{\"source\":\"en\",\"target\":\"de\",\"q\":\"\xff\xc0\xaf\"}"));
      case 4:
        return said("deep JSON", post_request("/translate", std::string(200'000, '[')));
      case 5: {  // several at once; all must be answered, in order
        const std::vector<Question> questions{question, draw_question(), draw_question()};
        std::string all;
        for (const Question& one : questions) all += one.request;
        connection.send(all);
        for (const Question& one : questions) count(one, connection.next_answer());
        ++result_.hostile["pipelined"][200];
        return;
      }
      case 6:  // slowly, but all of it
        send_slowly(connection, question.request);
        count(question, connection.next_answer());
        ++result_.hostile["slow"][200];
        return;
      case 7:  // a slowloris: slowly, and never all of it
        send_slowly(connection, question.request.substr(0, 60));
        ++result_.hostile["slowloris"][0];
        return;
      case 8:
        connection.send(question.request.substr(0, question.request.size() - 5));
        ++result_.hostile["cut off"][0];
        return;
      default:
        connection.send(question.request);
        ++result_.hostile["hung up"][0];
    }
  }

  void send_slowly(LoadConnection& connection, const std::string& request) const {
    constexpr size_t parts = 20;
    for (size_t i = 0; i < parts; ++i) {
      const size_t begin = request.size() * i / parts, end = request.size() * (i + 1) / parts;
      if (!connection.send(request.substr(begin, end - begin))) return;
      std::this_thread::sleep_for(options_.slow / parts);
    }
  }

  const LoadText& text_;
  const LoadOptions& options_;
  RandomStream random_;
  LoadConnection connection_;
  LoadResult result_;
};

inline LoadResult run_load(const LoadText& text, const LoadOptions& options) {
  LoadResult all;
  std::mutex mutex;
  const auto begin = std::chrono::steady_clock::now();
  {
    std::vector<std::jthread> threads;
    for (int number = 0; number < options.clients; ++number)
      threads.emplace_back([&, number] {
        const int own = options.requests / options.clients + (number < options.requests % options.clients);
        const LoadResult result = LoadClient(text, options, number).run(own);
        const std::lock_guard lock(mutex);
        all.answered += result.answered, all.lines += result.lines;
        all.refused += result.refused, all.wrong += result.wrong, all.lost += result.lost;
        if (all.first_wrong.empty()) all.first_wrong = result.first_wrong;
        for (const auto& [kind, statuses] : result.hostile)
          for (const auto& [status, count] : statuses) all.hostile[kind][status] += count;
        for (const auto& [count, some] : result.latencies)
          all.latencies[count].insert(all.latencies[count].end(), some.begin(), some.end());
      });
  }
  all.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return all;
}

}  // namespace sixfold::serve
