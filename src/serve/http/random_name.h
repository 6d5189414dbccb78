#pragma once
#include <string>

namespace sixfold::serve {

/// 128 bits from the system's source of random numbers, which nobody can guess, as 32 lower-case hexadecimal
/// digits in the groups of a UUID. Throws an environment error if the system has none.
std::string random_name();

/// Whether a text has the form of `random_name`.
bool is_random_name(const std::string& text);

}  // namespace sixfold::serve
