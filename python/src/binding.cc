#include "binding.h"

#include <pthread.h>

#include <thread>

#include "base/error.h"
#include "base/log.h"
#include "data/lines.h"
#include "runtime/poll.h"

namespace sixfold::python {
namespace {

using Kind = OptionNode::Kind;

struct LogLine {
  std::string text;
  bool warning;
};
std::mutex log_mutex;         // guards the lines
std::vector<LogLine> logged;  // the lines that were not passed to `logging` yet

void keep_line(const std::string& text, bool warning) {
  const std::lock_guard lock(log_mutex);
  logged.push_back({text, warning});
}

bool has_log() {
  const std::lock_guard lock(log_mutex);
  return !logged.empty();
}

void deliver_log() {
  std::vector<LogLine> lines;
  {
    const std::lock_guard lock(log_mutex);
    lines.swap(logged);
  }
  if (lines.empty()) return;
  const py::object logger = py::module_::import("logging").attr("getLogger")("sixfold");
  for (const LogLine& line : lines) logger.attr(line.warning ? "warning" : "info")("%s", text_of(line.text));
}

/// `key`: the path from the root, with dots, for messages.
OptionNode node_at(py::handle value, const std::string& where, const std::string& key, int depth) {
  require(depth < 32, "{}: {}: the value is nested deeper than 32 levels", where, key);
  OptionNode node{.where = where};
  const auto set = [&](Kind kind, std::string text) {
    node.kind = kind;
    node.text = std::move(text);
  };
  const auto text_as = [](py::handle object) { return py::str(object).cast<std::string>(); };
  if (value.is_none()) return node;
  if (py::isinstance<py::bool_>(value)) {
    set(Kind::plain, value.cast<bool>() ? "true" : "false");
  } else if (py::isinstance<py::str>(value)) {
    set(Kind::quoted, utf8_of(value));
  } else if (py::isinstance<py::dict>(value)) {
    node.kind = Kind::map;
    for (const auto& [child_key, child] : value.cast<py::dict>()) {
      if (!py::isinstance<py::str>(child_key))
        throw_input_error("{}: {}expected keys that are str, found {}", where, key.empty() ? "" : key + ": ",
                          text_as(child_key));
      const std::string name = utf8_of(child_key);
      node.children.emplace_back(name, node_at(child, where, key.empty() ? name : key + "." + name, depth + 1));
    }
  } else if (py::isinstance<py::list>(value) || py::isinstance<py::tuple>(value)) {
    node.kind = Kind::list;
    for (const py::handle child : value) node.children.emplace_back("", node_at(child, where, key, depth + 1));
  } else if (py::hasattr(value, "tolist")) {  // an array or a number of numpy
    return node_at(value.attr("tolist")(), where, key, depth + 1);
  } else if (py::isinstance<py::sequence>(value) && !py::isinstance<py::bytes>(value)) {
    return node_at(py::list(py::reinterpret_borrow<py::object>(value)), where, key, depth + 1);
  } else if (py::hasattr(value, "__fspath__")) {
    set(Kind::quoted, text_as(value.attr("__fspath__")()));
  } else if (PyIndex_Check(value.ptr())) {
    set(Kind::plain, text_as(value.attr("__index__")()));
  } else if (py::hasattr(value, "__float__")) {
    set(Kind::plain, text_as(value.attr("__float__")()));
  } else {
    throw_input_error("{}: {}: a value of type {} can't be that of an option", where, key,
                      text_as(py::type::handle_of(value).attr("__name__")));
  }
  return node;
}

/// The fields of several structs, visited as those of one struct.
struct Keywords {
  std::vector<OptionVisitor::AnyOptions> parts;
};
void visit(OptionVisitor& v, Keywords& all) {
  for (const OptionVisitor::AnyOptions& part : all.parts) part(v);
}

/// When the interpreter exits, it terminates each thread that tries to take the GIL, within the C++ code that
/// does so, which ends the process with an error. To avoid that, all threads except the main thread wait here
/// forever instead of taking the GIL after the exit has begun.
struct PythonExit {
  std::mutex mutex;
  std::condition_variable changed;
  bool has_begun = false;
  int taking_gil = 0;  // number of threads that are about to take the GIL

  /// Python calls it when it exits, before it terminates threads.
  static void begin() {
    PythonExit& end = *of_process;
    const py::gil_scoped_release free;
    std::unique_lock lock(end.mutex);
    end.has_begun = true;
    end.changed.wait(lock, [&] { return end.taking_gil == 0; });
  }
  static PythonExit* of_process;
};
PythonExit* PythonExit::of_process = new PythonExit;

/// The interval after which a thread that works or waits lets Python handle signals and log messages.
constexpr std::chrono::milliseconds service_interval(50);

bool is_main_thread() { return getpid() == gettid(); }

/// As `py::gil_scoped_release`, for any thread.
class ReleasedGil {
 public:
  ReleasedGil() = default;
  ReleasedGil(const ReleasedGil&) = delete;
  ReleasedGil& operator=(const ReleasedGil&) = delete;
  ~ReleasedGil() { take(); }

  /// Does some work with the GIL.
  void take_for(const std::function<void()>& work) {
    take();
    work();
    state_ = PyEval_SaveThread();
  }

 private:
  void take() const {
    PythonExit& end = *PythonExit::of_process;
    {
      std::unique_lock lock(end.mutex);
      end.changed.wait(lock, [&] { return !end.has_begun || is_main_thread(); });
      ++end.taking_gil;
    }
    PyEval_RestoreThread(state_);
    const std::lock_guard lock(end.mutex);
    --end.taking_gil;
    end.changed.notify_all();
  }

  PyThreadState* state_ = PyEval_SaveThread();
};

/// A thread that runs the work of one call after the other: starting a thread for each call would take longer
/// than translating a short sentence.
class Worker {
 public:
  /// Returns an idle worker, or a new one. The calling thread must hold the GIL, also for `give_back`.
  static Worker& take() {
    if (idle.empty()) return *new Worker;
    Worker& worker = *idle.back();
    idle.pop_back();
    return worker;
  }
  /// Waits until the work has ended.
  void give_back() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !work_; });
    idle.push_back(this);
  }
  void start(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    work_ = std::move(work);
    changed_.notify_all();
  }
  /// To be called in a process that was forked, which lacks the threads of its parent.
  static void forget_all() { new auto(std::exchange(idle, {})); }

 private:
  Worker() {
    std::thread([this] { run(); }).detach();
  }
  void run() {
    for (std::unique_lock lock(mutex_);;) {
      changed_.wait(lock, [&] { return static_cast<bool>(work_); });
      lock.unlock();
      work_();
      lock.lock();
      work_ = nullptr;
      changed_.notify_all();
    }
  }

  static std::vector<Worker*> idle;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> work_;
};
std::vector<Worker*> Worker::idle;

}  // namespace

OptionNode node_of(py::handle value, const std::string& where) { return node_at(value, where, "", 0); }

void read_keywords(const py::dict& keywords, const std::string& where,
                   std::vector<OptionVisitor::AnyOptions> options) {
  if (keywords.empty()) return;
  Keywords all{std::move(options)};
  OptionNode values = node_of(keywords, where);
  std::erase_if(values.children, [](const auto& child) { return child.second.kind == Kind::null; });
  read_options(values, all);
}

std::string utf8_of(py::handle text) {
  if (!PyUnicode_Check(text.ptr()))
    throw py::type_error("expected str, found " +
                         py::str(py::type::handle_of(text).attr("__name__")).cast<std::string>());
  Py_ssize_t size = 0;
  const char* const utf8 = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (!utf8) throw py::error_already_set();  // of a lone surrogate
  return {utf8, static_cast<size_t>(size)};
}

std::vector<std::string> texts_of(const py::sequence& list) {
  if (PyUnicode_Check(list.ptr())) throw py::type_error("expected a list of str, found str");
  std::vector<std::string> texts;
  texts.reserve(list.size());
  for (const py::handle text : list) {
    if (!PyUnicode_Check(text.ptr()))
      throw py::type_error(fmt::format("expected a list of str, found {} at place {}",
                                       py::str(py::type::handle_of(text).attr("__name__")).cast<std::string>(),
                                       texts.size()));
    texts.push_back(utf8_of(text));
  }
  return texts;
}

py::str text_of(std::string_view text) {
  PyObject* const decoded = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
  if (!decoded) throw py::error_already_set();
  return py::reinterpret_steal<py::str>(decoded);
}

py::handle results() {
  static const py::handle module = py::module_::import("sixfold.results").release();
  return module;
}

void Call::ask(const std::function<void()>& function) {
  std::unique_lock lock(mutex_);
  asked_ = &function;
  changed_.notify_all();
  changed_.wait(lock, [&] { return !asked_; });
}

/// Calls the function that was passed to `ask`, unless it is null, passes log messages to Python, and lets
/// Python handle signals.
void Call::serve_python(const std::function<void()>* function) {
  try {
    if (function && !raised_) (*function)();
    deliver_log();
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  } catch (py::error_already_set& error) {
    if (!raised_) raised_.emplace(error);
    stop_.request_stop();
  }
}

void Call::rethrow() const {
  if (raised_) throw py::error_already_set(*raised_);
  if (failure_) std::rethrow_exception(failure_);
}

void Call::wait_for(const Work& work) {
  Worker& worker = Worker::take();
  worker.start([&] {
    try {
      work(*this);
    } catch (...) {
      failure_ = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  });
  for (bool ended = false; !ended;) {
    const std::function<void()>* asked = nullptr;
    {
      const ReleasedGil free;
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, service_interval, [&] { return ended_ || asked_; });
      ended = ended_;
      asked = asked_;
    }
    serve_python(asked);
    if (!asked) continue;
    const std::lock_guard lock(mutex_);
    asked_ = nullptr;
    changed_.notify_all();
  }
  worker.give_back();
  rethrow();
}

/// Only the main thread handles signals. Other threads take the GIL only if there are log messages, since that
/// may take long when several threads wait for it.
void Call::run_here(const Work& work) {
  using Clock = std::chrono::steady_clock;
  {
    ReleasedGil free;
    auto next = Clock::now() + service_interval;
    const Poll poll([&] {
      if (Clock::now() < next) return;
      if (is_main_thread() || has_log()) free.take_for([&] { serve_python(nullptr); });
      next = Clock::now() + service_interval;
    });
    try {
      work(*this);
    } catch (...) {
      failure_ = std::current_exception();
    }
  }
  serve_python(nullptr);
  rethrow();
}

}  // namespace sixfold::python

PYBIND11_MODULE(core, m) {
  namespace py = pybind11;
  using namespace sixfold;
  m.doc() = "The part of sixfold that is written in C++.";
  m.attr("__version__") = SIXFOLD_VERSION;
  static const py::handle error = py::object(py::module_::import("sixfold.errors").attr("Error")).release();
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Error& caught) {
      constexpr const char* faults[] = {"input", "environment", "program"};
      const py::object raised =
          error(python::text_of(caught.what()), faults[static_cast<size_t>(caught.fault())]);
      PyErr_SetObject(error.ptr(), raised.ptr());
    }
  });
  send_log_to(python::keep_line);
  py::module_::import("atexit").attr("register")(py::cpp_function(python::PythonExit::begin));
  pthread_atfork([] { python::log_mutex.lock(); }, [] { python::log_mutex.unlock(); },
                 [] {
                   python::log_mutex.unlock();
                   python::Worker::forget_all();
                   python::PythonExit::of_process = new python::PythonExit;
                 });
  python::add_predictors(m);
  python::add_training(m);
  python::add_metrics(m);
  python::add_study(m);
  python::add_ctranslate2(m);
}
