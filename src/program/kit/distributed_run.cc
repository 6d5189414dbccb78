#include "program/kit/distributed_run.h"

#include <chrono>
#include <exception>
#include <iostream>
#include <new>
#include <set>
#include <sstream>
#include <thread>

#include "base/error.h"
#include "base/join.h"
#include "base/log.h"
#include "base/plural.h"
#include "program/kit/interrupt.h"
#include "train/agreement.h"
#include "train/distributed/launcher.h"

namespace sixfold::cli {
namespace {

constexpr int failure = 1, usage = 2;

/// Ends all processes because this one has failed.
int end_with(Processes& processes, const std::string& what, int status) {
  if (processes.report(what, status))
    error_line((processes.is_root() ? "" : processes.name(processes.rank()) + ": ") + what);
  processes.close();
  return status;
}

/// On the root, logs the warnings that only other processes had.
void log_warnings_of_others(Processes& processes) {
  const std::vector<std::string> own_warnings = kept_warnings();
  std::set<std::string> logged(own_warnings.begin(), own_warnings.end());
  const std::vector<std::string> all = processes.gather(join(own_warnings, "\n"));
  for (size_t rank = 1; rank < all.size(); ++rank) {
    std::istringstream lines(all[rank]);
    for (std::string line; std::getline(lines, line);)
      if (logged.insert(line).second) log_warning("{}: {}", processes.name(static_cast<int>(rank)), line);
  }
}

int end_by_signal(Processes& processes) {
  log_info("stopped by a signal; run the same command to continue (train with --resume)");
  if (processes.report("it was stopped by a signal", interrupt_status()) && !processes.is_root())
    std::cerr << processes.name(processes.rank()) << " was stopped by a signal" << std::endl;
  processes.close();
  return interrupt_status();
}

int run(Processes& processes, const std::string& command, const std::function<int(Processes&)>& work) {
  try {
    check_agreement(processes, {{"command", command}});
    const int status = work(processes);
    log_warnings_of_others(processes);
    processes.close();
    return status;
  } catch (const Cancelled&) {
    return end_by_signal(processes);
  } catch (const ProcessFailure& error) {
    if (note_interrupts() != 0)
      return end_by_signal(processes);  // like the other processes, to which the launcher passes signals
    if (error.rank() == processes.rank()) return end_with(processes, error.what(), failure);
    processes.close();  // the process that failed prints the reason
    return error.status();
  } catch (const Error& error) {
    return end_with(processes, error.what(), error.fault() == Fault::input ? usage : failure);
  } catch (const std::bad_alloc&) {
    return end_with(processes, "out of memory; choose smaller batches (data.batch_tokens) or sizes", failure);
  } catch (const std::exception& error) {
    return end_with(processes, std::string(error.what()) + "; this should not happen, please report it",
                    failure);
  }
}

}  // namespace

int on_all_processes(const std::string& command, const std::function<int(Processes&)>& work) {
  if (launched_processes() == 1) return work(Processes::one());
  Processes processes(open_transport());
  if (!processes.is_root()) silence_log();
  keep_warnings();
  return run(processes, command, work);
}

void require_one_process(const std::string& command) {
  require(launched_processes() == 1,
          "{} were started together, but {} is done by one process: start it without the launcher (train and "
          "translate share their work)",
          counted(launched_processes(), "process", "processes"), command);
}

bool prints_for_all() { return launched_processes() == 1 || launched_rank() <= 0; }

std::string error_prefix_after_root() {
  if (prints_for_all()) return "";
  std::this_thread::sleep_for(std::chrono::seconds(15));
  return fmt::format("process {}: ", launched_rank());
}

}  // namespace sixfold::cli
