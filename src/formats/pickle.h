#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sixfold {

/// A value of a pickle: what Python's pickletools calls the stack's items.
struct PickleValue {
  enum class Kind {
    none,
    boolean,  ///< `integer` is 0 or 1
    integer,
    text,
    list,        ///< also tuples: `items`
    dictionary,  ///< `items` are key and value by turns
    global,      ///< `text` is the name of a class or function, "module.name": named, never called
    persistent,  ///< `items[0]` is what the program that saved it made of an object
    call,        ///< `items` are a global and the tuple it was to be called with: written down, never done
  };
  Kind kind = Kind::none;
  int64_t integer = 0;
  std::string_view text;  ///< lives as long as the `Pickle` and its bytes
  std::vector<const PickleValue*> items;
};

/// Reads pickles (Python's pickletools.py describes the format) as data: nothing is imported, nothing is run.
/// Only what saved tensors need is known; every other operation is refused by its name.
class Pickle {
 public:
  /// Reads one pickle from the beginning of `bytes`, which must outlive it. `where` names it in errors.
  Pickle(std::span<const std::byte> bytes, const std::string& where);

  const PickleValue& value() const { return *value_; }
  /// Its length in bytes.
  size_t size() const { return size_; }

 private:
  class Machine;

  std::deque<PickleValue> values_;  ///< owns all values; they may point to each other in rings
  std::deque<std::string> names_;   ///< of globals
  const PickleValue* value_ = nullptr;
  size_t size_ = 0;
};

}  // namespace sixfold
