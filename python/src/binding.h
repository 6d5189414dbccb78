#pragma once
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <unistd.h>

#include <condition_variable>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/options.h"
#include "model_folder/provenance.h"
#include "runtime/model_runtime.h"
#include "runtime/predictor.h"

// What all parts of sixfold.core share. Functions need the GIL, except where they say otherwise.

namespace sixfold::python {

namespace py = pybind11;

void add_predictors(py::module_& m);
void add_training(py::module_& m);
void add_metrics(py::module_& m);
void add_study(py::module_& m);
void add_ctranslate2(py::module_& m);

/// A value of Python as that of a config: None, bool, numbers (numpy's too), str, a path, a list or tuple, or a
/// dict with keys that are str. `where` begins messages. Throws an input error for anything else.
OptionNode node_of(py::handle value, const std::string& where);
/// Reads keyword arguments as fields of some structs; None is none given. Throws as `read_options`.
void read_keywords(const py::dict& keywords, const std::string& where,
                   std::vector<OptionVisitor::AnyOptions> options);
/// A str; what is not valid UTF-8, such as a token that is a part of a character, has U+FFFD in its place.
py::str text_of(std::string_view text);
/// A str in UTF-8, and those of a list or tuple. They throw TypeError for anything else.
std::string utf8_of(py::handle text);
std::vector<std::string> texts_of(const py::sequence& list);

/// An array that owns the elements, which are not copied. The product of `shape` is their number.
template <class T>
py::array_t<T> array_of(std::vector<T> values, std::vector<py::ssize_t> shape) {
  auto kept = std::make_unique<std::vector<T>>(std::move(values));
  T* const data = kept->data();
  const py::capsule owner(kept.release(), [](void* all) { delete static_cast<std::vector<T>*>(all); });
  return py::array_t<T>(std::move(shape), data, owner);
}

/// A list as a tuple, each element made by `make`.
template <class List, class Make>
py::tuple tuple_of(const List& list, const Make& make) {
  py::tuple all(list.size());
  size_t i = 0;
  for (const auto& element : list) all[i++] = make(element);
  return all;
}
inline py::tuple tuple_of(const std::vector<std::string>& texts) {
  return tuple_of(texts, [](const std::string& text) { return text_of(text); });
}

/// The module sixfold.results, and an object of a class of it.
py::handle results();
template <class... Fields>
py::object result(const char* type, Fields&&... fields) {
  return results().attr(type)(std::forward<Fields>(fields)...);
}
/// Work without the GIL. Meanwhile the thread that called from Python hands what was logged to `logging`, and
/// lets Python handle signals. If a signal's handler, or what the work has asked, raises an exception, the work
/// is told to stop, and the exception is raised when it has ended.
class Call {
 public:
  /// Has another thread do the work, and returns its result. Exceptions of the work are rethrown.
  template <class Work>
  static auto run(const Work& work) {
    return result_of(&Call::wait_for, work);
  }
  /// The same for work that polls (runtime/poll.h) and asks nothing, which the calling thread does: a change of
  /// threads takes long beside a short sentence.
  template <class Work>
  static auto predict(const Work& work) {
    return result_of(&Call::work_here, work);
  }

  /// For the thread that works, without the GIL: when stop is requested, the work is to end soon.
  std::stop_token token() const { return stop_.get_token(); }
  /// The same: has the thread that waits call `ask`, with the GIL, and returns when it has. One thread at a
  /// time.
  void ask(const std::function<void()>& ask);

 private:
  using Work = std::function<void(Call&)>;

  template <class W>
  static auto result_of(void (Call::*done)(const Work&), const W& work) {
    using Result = decltype(work(std::declval<Call&>()));
    Call call;
    if constexpr (std::is_void_v<Result>) {
      (call.*done)([&](Call& own) { work(own); });
    } else {
      std::optional<Result> result;
      (call.*done)([&](Call& own) { result.emplace(work(own)); });
      return std::move(*result);
    }
  }
  void wait_for(const Work& work);
  void work_here(const Work& work);
  void serve_python(const std::function<void()>* asked);
  void rethrow() const;

  std::stop_source stop_;
  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void()>* asked_ = nullptr;
  bool ended_ = false;
  std::optional<pybind11::error_already_set> raised_;  // in Python
  std::exception_ptr failure_;                         // of the work
};

/// A model that was opened from a folder, and a predictor of it. A process that was forked has none of the
/// threads of its parent: there the model is opened again when it is first used.
template <class P>
class Opened {
 public:
  Opened(std::string folder, const RuntimeOptions& options) : folder_(std::move(folder)), options_(options) {
    open();
  }
  ~Opened() { close({std::move(predictor_), std::move(runtime_)}, process_); }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

  /// Whether the model is one of another program.
  bool imported() const { return imported_; }
  std::shared_ptr<const P> get() { return at_hand(), predictor_; }
  std::shared_ptr<ModelRuntime> runtime() { return at_hand(), runtime_; }

 private:
  void at_hand() {
    if (process_ != getpid()) open();
  }
  void open() {
    auto opened = Call::run([this](Call&) {
      imported_ = is_imported(folder_);
      auto model = open_model(folder_, options_);
      return std::pair(std::make_shared<const P>(model), model);
    });
    // Another thread may have opened it meanwhile, and may use what it opened.
    const pid_t process = std::exchange(process_, getpid());
    std::swap(predictor_, opened.first);
    std::swap(runtime_, opened.second);
    close(std::move(opened), process);
  }
  using Model = std::pair<std::shared_ptr<const P>, std::shared_ptr<ModelRuntime>>;
  static void close(Model model, pid_t process) {
    if (!model.second) return;
    if (process != getpid()) {
      new Model(std::move(model));  // its threads, which would be waited for, are those of the parent
      return;
    }
    const py::gil_scoped_release free;  // threads that end may log
    model = {};
  }

  std::string folder_;
  RuntimeOptions options_;
  pid_t process_ = 0;
  bool imported_ = false;
  std::shared_ptr<ModelRuntime> runtime_;
  std::shared_ptr<const P> predictor_;
};

}  // namespace sixfold::python
