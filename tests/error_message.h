#pragma once
#include <gtest/gtest.h>

#include <string>

#include "base/error.h"

namespace sixfold {

/// The message of the `Error` that `action` throws; a failure of the test when it throws none.
template <class Action>
std::string error_message(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "no error was thrown";
  return "";
}

/// Checks that a text, such as the message of an error, contains a part.
inline void expect_holds(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

}  // namespace sixfold
