#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace sixfold {

/// Carries bytes between the processes that a launcher such as mpirun has started together. Messages from one
/// process to another arrive in the order in which they were sent, for each channel. For one thread at a time;
/// no call waits, except `close`.
class Transport {
 public:
  virtual ~Transport() = default;

  /// The number of this process, from 0, and of all processes.
  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Messages of one channel are not mixed with those of the other.
  enum class Channel { data, control };
  using Operation = int64_t;
  /// Start to send, or to receive a message of at most so many bytes. The bytes must live until `done`.
  virtual Operation send(int to, Channel channel, std::span<const std::byte> bytes) = 0;
  virtual Operation receive(int from, Channel channel, std::span<std::byte> bytes) = 0;
  /// Returns the number of bytes of the message if the operation is complete. It must not be called again for
  /// this operation then.
  virtual std::optional<size_t> done(Operation operation) = 0;

  /// Ends the communication. All processes call it; it waits for them.
  virtual void close() = 0;
  /// Asks the launcher to end all processes at once, and ends this one.
  virtual void abort(int status) = 0;
};

}  // namespace sixfold
