// The transport over MPI: a module that the program loads only if a launcher has started it
// (train/distributed/launcher.h), so that it runs where there is no MPI.
#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <vector>

#include "train/distributed/mpi_module.h"

namespace sixfold {
namespace {

class MpiTransport final : public Transport {
 public:
  MpiTransport() {
    int provided = 0;
    // MPI is called by one thread at a time, but not always by the thread that initializes it.
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
    serialized_ = provided >= MPI_THREAD_SERIALIZED;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    MPI_Comm_dup(MPI_COMM_WORLD, &data_);
    MPI_Comm_dup(MPI_COMM_WORLD, &control_);
  }

  bool serialized() const { return serialized_; }
  int rank() const override { return rank_; }
  int size() const override { return size_; }

  Operation send(int to, Channel channel, std::span<const std::byte> bytes) override {
    return start(channel, bytes.size(), [&](size_t begin, int count, MPI_Request& request) {
      MPI_Isend(bytes.data() + begin, count, MPI_BYTE, to, 0, communicator(channel), &request);
    });
  }

  Operation receive(int from, Channel channel, std::span<std::byte> bytes) override {
    return start(channel, bytes.size(), [&](size_t begin, int count, MPI_Request& request) {
      MPI_Irecv(bytes.data() + begin, count, MPI_BYTE, from, 0, communicator(channel), &request);
    });
  }

  std::optional<size_t> done(Operation operation) override {
    const auto found = active_.find(operation);
    Active& active = found->second;
    while (!active.requests.empty()) {
      int finished = 0;
      MPI_Status status;
      MPI_Test(&active.requests.back(), &finished, &status);
      if (!finished) return std::nullopt;
      int bytes = 0;
      MPI_Get_count(&status, MPI_BYTE, &bytes);
      active.bytes += static_cast<size_t>(std::max(bytes, 0));
      active.requests.pop_back();
    }
    const size_t bytes = active.bytes;
    active_.erase(found);
    return bytes;
  }

  void close() override {
    for (auto& [number, active] : active_)
      for (MPI_Request& request : active.requests) {
        MPI_Cancel(&request);
        MPI_Request_free(&request);
      }
    MPI_Comm_free(&data_);
    MPI_Comm_free(&control_);
    MPI_Finalize();
  }

  void abort(int status) override {
    MPI_Abort(MPI_COMM_WORLD, status);
    std::_Exit(status);
  }

 private:
  struct Active {
    std::vector<MPI_Request> requests;
    size_t bytes = 0;
  };

  MPI_Comm communicator(Channel channel) const { return channel == Channel::data ? data_ : control_; }

  /// MPI counts bytes with an int, so that a long message is sent as several. Only a message that fits into one
  /// MPI message may be shorter than the receiver expects.
  template <class Start>
  Operation start(Channel, size_t bytes, const Start& start_one) {
    constexpr size_t max_count = size_t{1} << 30;
    Active& active = active_[next_];
    size_t begin = 0;
    do {
      const size_t count = std::min(max_count, bytes - begin);
      start_one(begin, static_cast<int>(count), active.requests.emplace_back());
      begin += count;
    } while (begin < bytes);
    return next_++;
  }

  bool serialized_ = false;
  int rank_ = 0, size_ = 1;
  MPI_Comm data_ = MPI_COMM_NULL, control_ = MPI_COMM_NULL;
  std::map<Operation, Active> active_;
  Operation next_ = 0;
};

}  // namespace
}  // namespace sixfold

sixfold::Transport* sixfold_open_mpi(const char** problem) {
  auto transport = new sixfold::MpiTransport;
  if (transport->serialized()) return transport;
  *problem = "the MPI library can't be used from a thread of its own (MPI_THREAD_SERIALIZED)";
  return nullptr;
}

const char* sixfold_mpi_version() { return SIXFOLD_VERSION; }
