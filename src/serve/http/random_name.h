#pragma once
#include <string>

namespace sixfold::serve {

/// A name that can't be guessed: 128 bits from the system's source of random numbers, written as a UUID with
/// lower-case hexadecimal digits. Throws an environment error if the system has no such source.
std::string random_name();

/// Whether a text has the form of `random_name`.
bool is_random_name(const std::string& text);

}  // namespace sixfold::serve
