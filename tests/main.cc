// The main function of the test programs.
#include <gtest/gtest.h>

#include <cstdio>
#include <regex>
#include <string>

namespace {

/// Lists the tests as googletest does, without the values of parameters, whose bytes may differ from run to
/// run. A test that has no name but the number of its value keeps it: ctest then calls the test by the value.
int list_tests() {
  testing::internal::CaptureStdout();
  const int status = RUN_ALL_TESTS();
  const std::string list = testing::internal::GetCapturedStdout();
  static const std::regex value(R"((  .*/[^/ ]*[^/ 0-9][^/ ]*)  # GetParam\(\) = .*)");
  std::fputs(std::regex_replace(list, value, "$1").c_str(), stdout);
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return testing::GTEST_FLAG(list_tests) ? list_tests() : RUN_ALL_TESTS();
}
