#include "fuzz/http_requests.h"

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "program/small_embedder.h"
#include "program/small_language_model.h"
#include "serve/api/served_tasks.h"
#include "serve/service.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

using serve::HttpAnswer;
using serve::HttpRequest;

/// A server whose limits are so small that a request takes milliseconds.
class SmallServer {
 public:
  SmallServer() {
    write_small_model(folder_ / "en-de", 11);
    write_small_language_model(folder_ / "text", 5);
    write_small_embedder(folder_ / "vectors", 3);
    std::vector<serve::ModelSpec> models;
    for (const std::string& spec : {"en-de=" + (folder_ / "en-de"), folder_ / "text", folder_ / "vectors"})
      models.emplace_back(spec);
    service_ = std::make_unique<serve::Service>(models, serve::EngineSettings{.threads = 1},
                                                serve::ServiceOptions{.max_texts = 4,
                                                                      .max_text_bytes = 200,
                                                                      .max_alternatives = 3,
                                                                      .max_new_tokens = 8,
                                                                      .max_samples = 2},
                                                serve::builtin_served_tasks());
    router_ = std::make_unique<serve::Router>(*service_, serve::all_routes(*service_));
  }
  HttpAnswer answer(const HttpRequest& request) const { return router_->answer(request); }

 private:
  TemporaryFolder folder_;
  std::unique_ptr<serve::Service> service_;
  std::unique_ptr<serve::Router> router_;
};

/// Takes the text before the first `end`, and `end`, from `text`.
std::string take(std::string_view& text, char end) {
  const size_t size = std::min(text.find(end), text.size());
  const std::string taken(text.substr(0, size));
  text.remove_prefix(std::min(size + 1, text.size()));
  return taken;
}

HttpRequest request_of(std::string_view bytes) {
  const std::string first = take(bytes, '\n');
  std::string_view rest = first;
  HttpRequest request;
  request.method = take(rest, ' ');
  const std::string target = take(rest, ' ');
  std::string_view path = target;
  request.path = take(path, '?');
  request.query = serve::parse_form(path);
  request.headers = {{"content-type", std::string(rest)}, {"host", "localhost"}};
  if (request.content_type() != "multipart/form-data") {
    request.body = bytes;
    return request;
  }
  request.form = serve::parse_form(take(bytes, '\n'));
  for (const char* name : {"a.srt", "a.vtt", "a.xlf", "a.md", "a.html", "a.po", "a.txt"})
    if (request.files.empty() && bytes.size() % 4 == static_cast<size_t>(name[2] % 4))
      request.files.push_back({"file", name, "", std::string(bytes)});
  return request;
}

}  // namespace

void http_requests(std::span<const uint8_t> bytes) try {
  static const SmallServer server;
  const HttpAnswer answer =
      server.answer(request_of({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
  if (answer.parts) answer.parts([](std::string_view) { return true; });
  const bool json = answer.content_type == "application/json" && !answer.body.empty();
  if (answer.status >= 500 || (json && !nlohmann::json::accept(answer.body))) std::abort();
} catch (const serve::HttpError&) {  // a form that is refused before any route sees it
}

}  // namespace sixfold
