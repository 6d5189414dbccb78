#include "text/tokenizer.h"

#include "base/hash.h"

namespace sixfold {

std::string Tokenizer::hash() const { return hash_hex(serialized()); }

}  // namespace sixfold
