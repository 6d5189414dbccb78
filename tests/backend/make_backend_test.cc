#include <gtest/gtest.h>

#include "backend/backend.h"
#include "error_message.h"

namespace sixfold {
namespace {

TEST(MakeBackend, MakesWhatItIsAskedFor) {
  EXPECT_EQ(make_backend({.device = "reference"})->name(), "reference");
  EXPECT_EQ(make_backend()->name().substr(0, 3), "cpu");
  const std::string message = error_message([] { make_backend({.device = "abacus"}); });
  EXPECT_NE(message.find("'abacus'"), std::string::npos) << message;
}

}  // namespace
}  // namespace sixfold
