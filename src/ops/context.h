#pragma once
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ops/ragged.h"
#include "ops/tape.h"

namespace sixfold {

/// The token that each row of a packed batch stands for. The random bits of dropout and the position encoding
/// depend on it.
struct TokenRows {
  Ragged ragged;
  Tensor sentence;  ///< [1, rows] i32: number of the sentence, the same in every packing
  Tensor position;  ///< [1, rows] i32: position in the sentence, from 0
  int longest = 0;  ///< largest position plus 1
};

/// A tensor to which dropout must still be applied. The next op does so while it processes the elements.
struct PendingDropout {
  Tensor x;
  Dropout dropout;
};

/// A deferred change of a buffer, such as a running average, which is made together with the update of the
/// weights: buffer = (1 - momentum) * buffer + momentum * factor * statistic.
struct BufferUpdate {
  Tensor buffer;     ///< [1, n]
  Tensor statistic;  ///< [1, n], of this batch
  double momentum = 0, factor = 1;
};

/// One run of a model over one batch: the backend that computes, the arena for temporary tensors, the tape if
/// gradients are needed, and the random bits of dropout. The tape is the only difference between training and
/// decoding. For one thread at a time. The context must outlive `Tape::backward`, which refers to it.
class Context {
 public:
  /// The seeds of the random bits of dropout, and the probability with which LayerDrop drops a layer.
  struct Seeds {
    uint32_t seed = 0, update = 0;
    double layer_drop = 0;
  };

  /// A context without gradients and dropout.
  Context(std::shared_ptr<Backend> backend, std::shared_ptr<Arena> arena)
      : backend_(std::move(backend)), arena_(std::move(arena)) {}
  /// A context that records on `tape`.
  Context(std::shared_ptr<Backend> backend, std::shared_ptr<Arena> arena, Tape& tape, Seeds seeds)
      : backend_(std::move(backend)), arena_(std::move(arena)), tape_(&tape), seeds_(seeds) {}

  Backend& backend() const { return *backend_; }
  bool recording() const { return tape_ != nullptr; }

  /// Allocates a tensor; its elements are not initialized.
  Tensor tensor(int64_t rows, int64_t cols, DType dtype) const { return {arena_, rows, cols, dtype}; }
  /// Allocates a tensor of zeros.
  Tensor zeros(int64_t rows, int64_t cols, DType dtype) const;
  /// Uploads host values as [1, n] i32. The context keeps the tensor alive.
  Tensor indices(std::span<const int32_t> values);
  /// The same as [1, n] f32.
  Tensor numbers(std::span<const float> values);
  /// Uploads a matrix of host values, row by row, as f32 or f64. The context keeps the tensor alive.
  Tensor matrix(const std::vector<float>& values, int64_t rows, int64_t cols, DType dtype);
  /// Creates the rows of `ragged`. Sequence i is sentence `sentences[i]`, or i if `sentences` is empty. Throws
  /// an input error if the numbers of sequences and sentences differ.
  TokenRows token_rows(const Ragged& ragged, std::span<const int32_t> sentences = {});

  /// Returns dropout with this probability for `rows`, or, if the context does not record, dropout that does
  /// nothing. Each call gets the number of another module, and so other random bits.
  Dropout dropout(double probability, const TokenRows& rows);

  /// Whether LayerDrop drops a layer of a stack in this update (Fan et al. 2019, "Reducing Transformer Depth on
  /// Demand with Structured Dropout"). It does so only if the context records. The answer is the same for all
  /// micro-batches and passes of an update.
  bool drops_layer(uint32_t stack, uint32_t layer) const;

  /// Defers the change of a buffer. The buffer itself stays as it is, so that a memory forecast, a replay, or a
  /// step that is not applied changes nothing; `Replica::update` applies the changes.
  void defer(BufferUpdate update) { deferred_.push_back(std::move(update)); }
  /// Returns the deferred changes, in their order, and clears their list.
  std::vector<BufferUpdate> take_deferred() { return std::exchange(deferred_, {}); }

  /// Records the backward function of an op, unless the context does not record or `output` needs no gradient.
  /// `reads`: the tensors whose elements the backward function reads, and not only their shapes or gradients.
  /// They are marked, so that no other op overwrites them (`overwrite`). Empty tensors are ignored.
  void record(const char* op, const Tensor& output, std::initializer_list<Tensor> reads,
              std::function<void()> backward) const;
  /// Returns a tensor of the shape of x for the result of an op after which x is no longer needed. It takes
  /// over the memory of x, unless a backward function reads x; then its memory is new. Its elements are not
  /// initialized. Reading x afterwards is an error.
  Tensor overwrite(const Tensor& x) const;
  /// Marks `output` as needing a gradient if the context records and any of `inputs` needs one. Returns whether
  /// it does.
  bool track(Tensor output, std::initializer_list<Tensor> inputs) const;
  /// The memory for an op's contribution to the gradient of a tensor. If `accumulate` is set, it already holds
  /// contributions of other ops, to which the op must add. The view is empty if the tensor needs no gradient.
  struct Slot {
    View view;
    bool accumulate;
  };
  Slot gradient_of(const Tensor& x) const;
  /// The same for a kernel that always adds to a gradient: the memory is set to zero if no op has contributed
  /// yet.
  View summed_gradient_of(const Tensor& x) const;

  /// As long as a scope exists, recorded ops belong to the module `name` within the current module.
  class Scope {
   public:
    Scope(Context& context, const std::string& name) : context_(context), length_(context.module_.size()) {
      context.module_ += (length_ ? "." : "") + name;
    }
    ~Scope() { context_.module_.resize(length_); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Context& context_;
    size_t length_;
  };

 private:
  Tensor upload(DType dtype, size_t count, std::span<const std::byte> values);

  std::shared_ptr<Backend> backend_;
  std::shared_ptr<Arena> arena_;
  Tape* tape_ = nullptr;
  Seeds seeds_;
  uint32_t dropout_modules_ = 0;
  std::vector<Tensor> uploaded_;
  std::vector<BufferUpdate> deferred_;
  std::string module_;
};

/// The memory for the gradient of x, for a kernel that can write a gradient but cannot add to one. It is the
/// gradient itself if no op has added to it yet, and otherwise a buffer. The view is valid even if x needs no
/// gradient, for kernels that write the gradients of several operands; it is empty if x is.
class OverwritableGradient {
 public:
  OverwritableGradient(const Context& context, const Tensor& x);
  View view() const { return view_; }
  /// Must be called after the kernel. Adds the buffer, if there is one, to the gradient.
  void accumulate() const;

 private:
  const Context& context_;
  View view_;
  Tensor x_, buffer_;
};

}  // namespace sixfold
