#include "formats/pickle.h"

#include <cstring>
#include <unordered_map>

#include "base/error.h"

namespace sixfold {

/// The stack machine that executes a pickle.
class Pickle::Machine {
 public:
  Machine(Pickle& pickle, std::string_view program, const std::string& where)
      : pickle_(pickle), rest_(program), where_(where) {}

  void run() {
    const size_t length = rest_.size();
    while (const PickleValue* result = step()) {
      if (result == &running) continue;
      pickle_.value_ = result;
      pickle_.size_ = length - rest_.size();
      return;
    }
  }

 private:
  using Kind = PickleValue::Kind;
  static inline const PickleValue running{};

  [[noreturn]] void fail(std::string_view what) const { throw_input_error("{}: {}", where_, what); }

  std::string_view take(size_t count) {
    if (count > rest_.size()) fail("the pickle is truncated");
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  /// Reads a little-endian number of `count` bytes.
  uint64_t number(size_t bytes) {
    uint64_t value = 0;
    const std::string_view digits = take(bytes);
    for (size_t i = bytes; i-- > 0;) value = value << 8 | static_cast<unsigned char>(digits[i]);
    return value;
  }
  std::string_view line() {
    const size_t end = rest_.find('\n');
    if (end == rest_.npos) fail("the pickle is truncated");
    const std::string_view text = take(end);
    take(1);
    return text;
  }

  PickleValue& make(Kind kind) { return pickle_.values_.emplace_back(PickleValue{.kind = kind}); }
  void push(PickleValue* value) { stack_.push_back(value); }
  void push_integer(int64_t integer, Kind kind = Kind::integer) {
    PickleValue& value = make(kind);
    value.integer = integer;
    push(&value);
  }
  void push_text(std::string_view text, Kind kind = Kind::text) {
    PickleValue& value = make(kind);
    value.text = text;
    push(&value);
  }
  PickleValue* pop() {
    const size_t bottom = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() <= bottom) fail("the pickle takes a value from an empty stack");
    PickleValue* value = stack_.back();
    stack_.pop_back();
    return value;
  }
  PickleValue* top(Kind kind) {
    PickleValue* value = pop();
    if (value->kind != kind) fail("the pickle adds items to a value that is not a container");
    push(value);
    return value;
  }
  /// Removes and returns the values that were pushed since the last mark.
  std::vector<const PickleValue*> pop_to_mark() {
    if (marks_.empty()) fail("the pickle uses a mark that it never set");
    std::vector<const PickleValue*> items(stack_.begin() + static_cast<ptrdiff_t>(marks_.back()), stack_.end());
    stack_.resize(marks_.back());
    marks_.pop_back();
    return items;
  }
  void push_items(Kind kind, std::vector<const PickleValue*> items) {
    PickleValue& value = make(kind);
    value.items = std::move(items);
    push(&value);
  }
  void push_tuple(size_t count) {
    std::vector<const PickleValue*> items(count);
    for (size_t i = count; i-- > 0;) items[i] = pop();
    push_items(Kind::list, std::move(items));
  }
  void extend(PickleValue* container, const std::vector<const PickleValue*>& items) {
    if (container->kind == Kind::dictionary && items.size() % 2) fail("the pickle has a key without a value");
    container->items.insert(container->items.end(), items.begin(), items.end());
  }

  /// Reads a long integer; torch.save writes the magic number and sys_info in this form.
  void push_long(size_t bytes) {
    const std::string_view digits = take(bytes);
    uint64_t value = bytes > 0 && digits.back() < 0 ? ~uint64_t{0} : 0;
    for (size_t i = bytes; i-- > 0;)
      if (i < 8) value = value << 8 | static_cast<unsigned char>(digits[i]);
    push_integer(static_cast<int64_t>(value));  // longer integers are truncated to 64 bits
  }
  void push_global(std::string_view module, std::string_view name) {
    PickleValue& value = make(Kind::global);
    names_.push_back(fmt::format("{}.{}", module, name));
    value.text = names_.back();
    push(&value);
  }
  void reduce() {
    PickleValue* arguments = pop();
    PickleValue* function = pop();
    if (function->kind != Kind::global || arguments->kind != Kind::list)
      fail("the pickle calls a value that is not a function");
    // An empty OrderedDict is filled later, so it must be a new dictionary.
    if (function->text == "collections.OrderedDict" && arguments->items.empty())
      return push(&make(Kind::dictionary));
    push_items(Kind::call, {function, arguments});
  }
  /// Ignores attributes of a dictionary (the versions of modules).
  void build() {
    pop();
    top(Kind::dictionary);
  }
  void memoize(uint64_t index) {
    PickleValue* value = pop();
    push(value);
    memo_[index] = value;
  }
  void recall(uint64_t index) {
    const auto found = memo_.find(index);
    if (found == memo_.end()) fail("the pickle reads a memo entry that it never wrote");
    push(found->second);
  }

  /// Executes one operation. Returns the value of the pickle at its end, `running` before.
  const PickleValue* step();
  bool step_of_containers(unsigned char code);
  bool step_of_values(unsigned char code);

  Pickle& pickle_;
  std::string_view rest_;
  const std::string& where_;
  std::vector<PickleValue*> stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint64_t, PickleValue*> memo_;
  std::deque<std::string>& names_ = pickle_.names_;
};

bool Pickle::Machine::step_of_values(unsigned char code) {
  switch (code) {
    case 'N':
      push(&make(Kind::none));
      return true;
    case 0x88:
    case 0x89:
      push_integer(code == 0x88, Kind::boolean);
      return true;
    case 'J':
      push_integer(static_cast<int32_t>(number(4)));
      return true;
    case 'K':
      push_integer(static_cast<int64_t>(number(1)));
      return true;
    case 'M':
      push_integer(static_cast<int64_t>(number(2)));
      return true;
    case 0x8A:
      push_long(number(1));
      return true;
    case 'X':
      push_text(take(number(4)));
      return true;
    case 0x8C:
      push_text(take(number(1)));
      return true;
    case 'c': {
      const std::string_view module = line();
      push_global(module, line());
      return true;
    }
    case 0x93: {
      const PickleValue* name = pop();
      const PickleValue* module = pop();
      if (name->kind != Kind::text || module->kind != Kind::text)
        fail("the pickle names a class by a value that is not text");
      push_global(module->text, name->text);
      return true;
    }
    default:
      return false;
  }
}

bool Pickle::Machine::step_of_containers(unsigned char code) {
  switch (code) {
    case '(':
      marks_.push_back(stack_.size());
      return true;
    case ')':
      push_tuple(0);
      return true;
    case 0x85:
    case 0x86:
    case 0x87:
      push_tuple(code - 0x84u);
      return true;
    case 't':
      push_items(Kind::list, pop_to_mark());
      return true;
    case ']':
      push(&make(Kind::list));
      return true;
    case '}':
      push(&make(Kind::dictionary));
      return true;
    case 'a': {
      const PickleValue* item = pop();
      extend(top(Kind::list), {item});
      return true;
    }
    case 'e': {
      const auto items = pop_to_mark();
      extend(top(Kind::list), items);
      return true;
    }
    case 's': {
      const PickleValue* value = pop();
      const PickleValue* key = pop();
      extend(top(Kind::dictionary), {key, value});
      return true;
    }
    case 'u': {
      const auto items = pop_to_mark();
      extend(top(Kind::dictionary), items);
      return true;
    }
    default:
      return false;
  }
}

const PickleValue* Pickle::Machine::step() {
  const auto code = static_cast<unsigned char>(take(1)[0]);
  if (step_of_values(code) || step_of_containers(code)) return &running;
  switch (code) {
    case 0x80: {
      const uint64_t protocol = number(1);
      if (protocol < 2 || protocol > 5)
        fail(fmt::format("version {} of the pickle protocol is not supported", protocol));
      break;
    }
    case 0x95:  // the length of the following frame
      number(8);
      break;
    case 'q':
      memoize(number(1));
      break;
    case 'r':
      memoize(number(4));
      break;
    case 0x94:
      memoize(memo_.size());
      break;
    case 'h':
      recall(number(1));
      break;
    case 'j':
      recall(number(4));
      break;
    case 'Q':
      push_items(Kind::persistent, {pop()});
      break;
    case 'R':
      reduce();
      break;
    case 'b':
      build();
      break;
    case '.':
      return pop();
    default:
      fail(fmt::format(
          "the pickle contains operation 0x{:02X}, which saved tensors do not need; such files are refused",
          code));
  }
  return &running;
}

Pickle::Pickle(std::span<const std::byte> bytes, const std::string& where) {
  Machine(*this, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, where).run();
}

}  // namespace sixfold
