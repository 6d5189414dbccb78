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

/// A value of a pickle, an item of the stack in the terms of Python's pickletools.
struct PickleValue {
  enum class Kind {
    none,
    boolean,  ///< `integer` is 0 or 1
    integer,
    text,
    list,        ///< a list or tuple: `items`
    dictionary,  ///< `items` are alternately keys and values
    global,      ///< a class or function, which is never called; `text` is its name, "module.name"
    persistent,  ///< a reference to an external object; `items[0]` is its persistent id
    call,        ///< a call, which is never made; `items` are a global and the tuple of its arguments
  };
  Kind kind = Kind::none;
  int64_t integer = 0;
  std::string_view text;  ///< valid during the lifetime of the `Pickle` and its bytes
  std::vector<const PickleValue*> items;
};

/// Reads pickles (Python's pickletools.py describes the format) as data: nothing is imported and no code is
/// run. Only the operations that saved tensors need are supported; every other one is an input error.
class Pickle {
 public:
  /// Reads one pickle from the beginning of `bytes`, which must outlive this object. `where` begins error
  /// messages.
  Pickle(std::span<const std::byte> bytes, const std::string& where);

  const PickleValue& value() const { return *value_; }
  /// The length of the pickle in bytes.
  size_t size() const { return size_; }

 private:
  class Machine;

  std::deque<PickleValue> values_;  ///< owns all values, which may refer to each other in cycles
  std::deque<std::string> names_;   ///< of globals
  const PickleValue* value_ = nullptr;
  size_t size_ = 0;
};

}  // namespace sixfold
