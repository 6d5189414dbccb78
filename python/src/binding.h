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

// Declarations that all parts of the module sixfold.core share. Functions need the GIL, unless their comment
// says otherwise.

namespace sixfold::python {

namespace py = pybind11;

void add_predictors(py::module_& m);
void add_training(py::module_& m);
void add_metrics(py::module_& m);
void add_study(py::module_& m);
void add_ctranslate2(py::module_& m);

/// Converts a value of Python to that of a config: None, bool, a number (also of numpy), str, a path, a list or
/// tuple, or a dict with keys that are str. Throws an input error, which begins with `where`, for anything
/// else.
OptionNode node_of(py::handle value, const std::string& where);
/// Reads keyword arguments as fields of several structs. An argument that is None counts as not given. Throws
/// as `read_options`.
void read_keywords(const py::dict& keywords, const std::string& where,
                   std::vector<OptionVisitor::AnyOptions> options);
/// Converts text to a str. Bytes that are not valid UTF-8, such as a token that is a part of a character,
/// become U+FFFD.
py::str text_of(std::string_view text);
/// Convert a str to UTF-8, or those of a list or tuple. They throw TypeError for anything else.
std::string utf8_of(py::handle text);
std::vector<std::string> texts_of(const py::sequence& list);

/// Returns an array that owns the elements, which are not copied. Their number is the product of `shape`.
template <class T>
py::array_t<T> array_of(std::vector<T> values, std::vector<py::ssize_t> shape) {
  auto kept = std::make_unique<std::vector<T>>(std::move(values));
  T* const data = kept->data();
  const py::capsule owner(kept.release(), [](void* all) { delete static_cast<std::vector<T>*>(all); });
  return py::array_t<T>(std::move(shape), data, owner);
}

/// Returns a tuple of the results of `make` for the elements of a list.
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

/// The module sixfold.results; `result` makes an object of one of its classes.
py::handle results();
template <class... Fields>
py::object result(const char* type, Fields&&... fields) {
  return results().attr(type)(std::forward<Fields>(fields)...);
}
/// Runs work without the GIL. Meanwhile the thread that called from Python passes log messages to `logging`,
/// and lets Python handle signals. If the handler of a signal, or a function that was passed to `ask`, raises
/// an exception, stop is requested of the work, and the exception is raised when the work has ended.
class Call {
 public:
  /// Runs the work in another thread, and returns its result. Exceptions of the work are rethrown.
  template <class Work>
  static auto run(const Work& work) {
    return result_of(&Call::wait_for, work);
  }
  /// Runs the work in the calling thread. It must call `Poll::now` regularly (runtime/poll.h), and must not
  /// call `ask`. For predictions: a switch of threads would take long compared with a short sentence.
  template <class Work>
  static auto predict(const Work& work) {
    return result_of(&Call::run_here, work);
  }

  /// For the thread that runs the work, without the GIL: when stop is requested, the work should end soon.
  std::stop_token token() const { return stop_.get_token(); }
  /// For the same thread: lets the thread that called from Python call `function`, with the GIL, and returns
  /// when that is done. For one thread at a time.
  void ask(const std::function<void()>& function);

 private:
  using Work = std::function<void(Call&)>;

  template <class W>
  static auto result_of(void (Call::*run)(const Work&), const W& work) {
    using Result = decltype(work(std::declval<Call&>()));
    Call call;
    if constexpr (std::is_void_v<Result>) {
      (call.*run)([&](Call& current) { work(current); });
    } else {
      std::optional<Result> result;
      (call.*run)([&](Call& current) { result.emplace(work(current)); });
      return std::move(*result);
    }
  }
  void wait_for(const Work& work);
  void run_here(const Work& work);
  void serve_python(const std::function<void()>* function);
  void rethrow() const;

  std::stop_source stop_;
  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void()>* asked_ = nullptr;  // argument of the running call of `ask`
  bool ended_ = false;
  std::optional<pybind11::error_already_set> raised_;  // the exception that was raised in Python
  std::exception_ptr failure_;                         // the exception of the work
};

/// A model that was opened from a folder, and a predictor of it. In a process that was forked, which lacks the
/// threads of its parent, the model is opened again when it is first used.
template <class P>
class Opened {
 public:
  Opened(std::string folder, const RuntimeOptions& options) : folder_(std::move(folder)), options_(options) {
    open();
  }
  ~Opened() { close({std::move(predictor_), std::move(runtime_)}, process_); }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

  std::shared_ptr<const P> get() { return ensure_open(), predictor_; }
  std::shared_ptr<ModelRuntime> runtime() { return ensure_open(), runtime_; }

 private:
  void ensure_open() {
    if (process_ != getpid()) open();
  }
  void open() {
    auto opened = Call::run([this](Call&) {
      auto model = open_model(folder_, options_);
      return std::pair(std::make_shared<const P>(model), model);
    });
    // Another thread may have opened the model meanwhile, and may use it.
    const pid_t process = std::exchange(process_, getpid());
    std::swap(predictor_, opened.first);
    std::swap(runtime_, opened.second);
    close(std::move(opened), process);
  }
  using Model = std::pair<std::shared_ptr<const P>, std::shared_ptr<ModelRuntime>>;
  static void close(Model model, pid_t process) {
    if (!model.second) return;
    if (process != getpid()) {
      new Model(
          std::move(model));  // never deleted: its destructor would wait for threads of the parent process
      return;
    }
    const py::gil_scoped_release free;  // threads that end may write log messages
    model = {};
  }

  std::string folder_;
  RuntimeOptions options_;
  pid_t process_ = 0;
  std::shared_ptr<ModelRuntime> runtime_;
  std::shared_ptr<const P> predictor_;
};

}  // namespace sixfold::python
