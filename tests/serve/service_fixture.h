#pragma once
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "program/small_language_model.h"
#include "serve/api/served_tasks.h"
#include "serve/service.h"
#include "tasks/language_model/routes/served.h"
#include "tasks/translation/routes/texts.h"
#include "temporary_folder.h"

namespace sixfold::serve {

/// A server of a translation model en-de, another de-en, and a language model, all of a few weights.
class ServiceFixture : public testing::Test {
 protected:
  using Json = nlohmann::json;

  ServiceFixture() {
    write_small_model(en_de_, 11);  // its translations are different, and not empty
    write_small_model(de_en_, 5);
    write_small_language_model(folder_ / "text", 5);
    start();
  }
  void start(const ServiceOptions& options = {}, const std::vector<std::string>& more = {}) {
    router_.reset();
    service_.reset();
    service_ =
        std::make_unique<Service>(specs(more), EngineSettings{.threads = 2}, options, builtin_served_tasks());
    router_ = std::make_unique<Router>(*service_, all_routes(*service_));
  }

  std::vector<ModelSpec> specs(const std::vector<std::string>& more = {}) const {
    std::vector<ModelSpec> models;
    for (const std::string& spec : {"en-de=" + en_de_, "de-en=" + de_en_, folder_ / "text"})
      models.emplace_back(spec);
    for (const std::string& spec : more) models.emplace_back(spec);
    return models;
  }
  void reload() { service_->reload(specs(), EngineSettings{.threads = 2}, service_->options()); }

  HttpAnswer ask(HttpRequest request) const { return router_->answer(request); }
  HttpAnswer get(const std::string& path) const { return ask({.method = "GET", .path = path}); }
  HttpAnswer post(const std::string& path, const Json& body) const { return post_text(path, body.dump()); }
  HttpAnswer post_text(const std::string& path, const std::string& body,
                       const std::string& type = "application/json") const {
    return ask({.method = "POST", .path = path, .headers = {{"content-type", type}}, .body = body});
  }
  static Json json(const HttpAnswer& answer) {
    EXPECT_EQ(answer.status, 200) << answer.body;
    return Json::parse(answer.body);
  }
  static void expect_refused(const HttpAnswer& answer, int status, const std::string& part) {
    EXPECT_EQ(answer.status, status) << answer.body;
    EXPECT_NE(answer.body.find(part), std::string::npos) << answer.body;
  }
  std::string translated(const std::string& text) const {
    return required_pair(*service_, "en", "de").model->predictor().translate(text);
  }

  TemporaryFolder folder_;
  const std::string en_de_ = folder_ / "en-de", de_en_ = folder_ / "de-en";
  std::unique_ptr<Service> service_;
  std::unique_ptr<Router> router_;
};

}  // namespace sixfold::serve
