#include "cli/distributed_run.h"

#include <exception>
#include <iostream>
#include <new>

#include "base/error.h"
#include "base/log.h"
#include "cli/interrupt.h"
#include "distributed/launcher.h"

namespace sixfold::cli {
namespace {

constexpr int failure = 1, usage = 2;

/// Ends all processes because of a failure of this one.
int end_with(Processes& processes, const std::string& what, int status) {
  if (processes.report(what))
    std::cerr << "error: " << (processes.is_root() ? "" : processes.name(processes.rank()) + ": ") << what
              << std::endl;
  processes.close();
  return status;
}

int run(Processes& processes, const std::function<int(Processes&)>& work) {
  try {
    const int status = work(processes);
    processes.close();
    return status;
  } catch (const Cancelled&) {
    processes.report("it was stopped by a signal");
    processes.close();
    return interrupt_status();
  } catch (const ProcessFailure& error) {
    if (error.rank() == processes.rank()) return end_with(processes, error.what(), failure);
    processes.close();  // the process that failed says why
    return failure;
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

int on_all_processes(const std::function<int(Processes&)>& work) {
  if (launched_processes() == 1) return work(Processes::one());
  Processes processes(open_transport());
  if (!processes.is_root()) silence_log();
  return run(processes, work);
}

bool speaks_for_all() { return launched_rank() <= 0; }

}  // namespace sixfold::cli
