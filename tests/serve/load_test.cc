// Many clients at once, some hostile: nothing is lost, nothing is wrong.
#include "serve/load.h"

#include <gtest/gtest.h>

#include "program/small_model.h"
#include "serve/api/served_tasks.h"
#include "serve/http/http_server.h"
#include "serve/service.h"
#include "tasks/translation/translator.h"
#include "temporary_folder.h"

namespace sixfold::serve {
namespace {

TEST(Load, EveryProperRequestHasTheRightAnswer) {
  TemporaryFolder folder;
  const std::string model = folder / "model";
  write_small_model(model, 11);
  LoadText text;
  for (const char* line : {"a", "a b", "h g f e", "c c c c c c", "d e f g h a b c", "b d f h", "e"})
    text.lines.push_back(line);
  const Translator translator(model, {.threads = 1});
  for (const std::string& line : text.lines) text.expected.push_back(translator.translate(line));

  Service service({ModelSpec("en-de=" + model)}, EngineSettings{.threads = 2}, {}, builtin_served_tasks());
  const Router router(service, all_routes(service));
  HttpServer server({.port = 0}, [&](const HttpRequest& request) { return router.answer(request); });
  std::jthread serving([&] { server.run(); });
  const LoadResult result = run_load(text, {.port = server.port(),
                                            .clients = 16,
                                            .requests = 800,
                                            .hostile = 0.3,
                                            .slow = std::chrono::milliseconds(200)});
  server.stop(std::chrono::milliseconds(5000));
  EXPECT_EQ(result.wrong, 0) << result.first_wrong;
  EXPECT_EQ(result.lost, 0);
  EXPECT_EQ(result.refused, 0);
  EXPECT_GT(result.answered, 500);
  const auto only = [&](const char* kind, int status) {
    const auto& statuses = result.hostile.at(kind);
    EXPECT_EQ(statuses.size(), 1u) << kind;
    EXPECT_TRUE(statuses.contains(status)) << kind << ": " << statuses.begin()->first;
  };
  only("huge body", 413);
  only("huge text", 413);
  only("wrong type", 400);
  only("invalid UTF-8", 400);
  only("deep JSON", 400);
  for (const char* kind : {"pipelined", "slow", "slowloris", "cut off", "hung up"})
    EXPECT_TRUE(result.hostile.contains(kind)) << kind;
}

}  // namespace
}  // namespace sixfold::serve
