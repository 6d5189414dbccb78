#include "train/distributed/launcher.h"

#include <dlfcn.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "base/error.h"
#include "base/plural.h"
#include "train/distributed/mpi_module.h"
#include "train/distributed/watchdog.h"

namespace sixfold {
namespace {

/// The environment variables of launchers: Open MPI's mpirun, PMI (MPICH's mpiexec, srun) and Slurm's srun.
struct Launcher {
  const char *rank, *size;
};
constexpr Launcher launchers[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                  {"PMI_RANK", "PMI_SIZE"},
                                  {"SLURM_PROCID", "SLURM_NTASKS"}};

int number_in(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  int number = 0;
  if (!text) return otherwise;
  const char* end = text + std::strlen(text);
  const auto read = std::from_chars(text, end, number);
  return read.ec == std::errc() && read.ptr == end && number >= 0 ? number : otherwise;
}

/// Whether the environment is that of the launcher. SLURM_PROCID is set in a step of srun, but also in a batch
/// script and an interactive shell of Slurm, which are single processes without a launcher. The numbers of
/// their steps do not fit into an int.
bool launched_by(const Launcher& launcher) {
  if (!std::getenv(launcher.rank) || number_in(launcher.size, 1) < 1) return false;
  const char* step = std::getenv("SLURM_STEP_ID");
  return std::string_view(launcher.rank) != "SLURM_PROCID" || (step && number_in("SLURM_STEP_ID", -1) >= 0);
}

std::filesystem::path module_path() {
  std::error_code failure;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", failure);
  const auto folder = program.parent_path();
  const auto installed = folder.parent_path() / SIXFOLD_MODULE_DIR / "sixfold_mpi.so";
  return std::filesystem::exists(installed, failure) ? installed : folder / "sixfold_mpi.so";
}

template <class Function>
Function symbol(void* module, const char* name) {
  return reinterpret_cast<Function>(::dlsym(module, name));
}

}  // namespace

int launched_rank() {
  for (const Launcher& launcher : launchers)
    if (launched_by(launcher)) return number_in(launcher.rank, -1);
  return -1;
}

int launched_processes() {
  for (const Launcher& launcher : launchers)
    if (launched_by(launcher)) return number_in(launcher.size, 1);
  return 1;
}

Transport& open_transport() {
  const auto path = module_path();
  void* module = nullptr;
  std::string reason = "it is not there";
  if (std::filesystem::exists(path)) {
    // MPI loads further modules, which need its symbols to be global.
    module = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (!module) reason = ::dlerror();
  }
  if (!module)
    throw_environment_error(
        "{} were started together, but the module for MPI can't be loaded: {}: {}. Install Open MPI (Debian: "
        "openmpi-bin), and Sixfold built with it (libopenmpi-dev)",
        counted(launched_processes(), "process", "processes"), path.string(), reason);
  const auto version = symbol<decltype(&sixfold_mpi_version)>(module, "sixfold_mpi_version");
  const auto open = symbol<decltype(&sixfold_open_mpi)>(module, "sixfold_open_mpi");
  if (!version || !open || std::string_view(version()) != SIXFOLD_VERSION)
    throw_environment_error("{} does not belong to this program; install both from one build", path.string());
  const char* problem = "";
  Transport* transport = nullptr;
  {
    constexpr double seconds_to_begin = 120;
    const Watchdog watchdog(
        seconds_to_begin,
        fmt::format(
            "process {} has waited for {:g} seconds for all {} processes to begin: one has been stopped or "
            "ended, or the network is down",
            launched_rank(), seconds_to_begin, launched_processes()));
    transport = open(&problem);
  }
  if (!transport) throw_environment_error("MPI can't be used: {}", problem);
  if (transport->size() != launched_processes())
    throw_environment_error(
        "{} were started together, but MPI knows of {}: their launcher is not one of the Open MPI that {} "
        "uses. "
        "Start them with its mpirun, or with srun --mpi=pmix",
        counted(launched_processes(), "process", "processes"), transport->size(), path.string());
  return *transport;
}

}  // namespace sixfold
