#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "autograd/tape.h"
#include "tensor/ragged.h"

namespace sixfold {

/// The rows of a packed batch: what each row is the token of. Dropout is keyed by it, positions are looked up
/// by it.
struct TokenRows {
  Ragged ragged;
  Tensor sentence;  ///< [1, rows] i32: a number of the sentence that is the same in every packing
  Tensor position;  ///< [1, rows] i32: place in its sentence, from 0
  int longest = 0;  ///< one more than the largest position
};

/// Dropout that is still to be applied: the next op does it while it has the elements in hand.
struct Dropped {
  Tensor x;
  Dropout dropout;
};

/// One run of a model over one batch: where it computes, where its buffers live, whether it records backward,
/// and the randomness of dropout. A context that records trains; nothing else differs between training and
/// decoding. For one thread at a time. Backward refers to it: it outlives `Tape::backward`.
class Context {
 public:
  /// Identifies the random bits of a training context.
  struct Seeds {
    uint32_t seed = 0, update = 0;
  };

  /// Without gradients or dropout.
  Context(std::shared_ptr<Backend> backend, std::shared_ptr<Arena> arena)
      : backend_(std::move(backend)), arena_(std::move(arena)) {}
  /// One that records on `tape`.
  Context(std::shared_ptr<Backend> backend, std::shared_ptr<Arena> arena, Tape& tape, Seeds seeds)
      : backend_(std::move(backend)), arena_(std::move(arena)), tape_(&tape), seeds_(seeds) {}

  Backend& backend() const { return *backend_; }
  bool recording() const { return tape_ != nullptr; }

  Tensor tensor(int64_t rows, int64_t cols, DType dtype) const { return {arena_, rows, cols, dtype}; }
  /// [1, n] i32; lives as long as the context.
  Tensor indices(std::span<const int32_t> values);
  /// The rows of `ragged`, its sequence i being sentence `sentences[i]`, or i where none are given.
  TokenRows token_rows(const Ragged& ragged, std::span<const int32_t> sentences = {});

  /// Dropout with this probability for rows as in `rows`: nothing outside training. Each call is a module of
  /// its own.
  Dropout dropout(double probability, const TokenRows& rows);

  /// Records an op's backward, unless the context doesn't record or `output` needs no gradient.
  void record(const char* op, const Tensor& output, std::function<void()> backward) const;
  /// Marks `output` as one that gradients flow to where they flow to any of `inputs`. Returns whether they do.
  bool track(Tensor output, std::initializer_list<Tensor> inputs) const;
  /// Where an op puts its share of x's gradient: fresh memory, or what is there already, to be added to.
  struct Slot {
    View view;
    bool accumulate;
  };
  Slot gradient_of(const Tensor& x) const;

  /// While it lives, ops belong to the module `name` within the current one.
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
  std::shared_ptr<Backend> backend_;
  std::shared_ptr<Arena> arena_;
  Tape* tape_ = nullptr;
  Seeds seeds_;
  uint32_t dropouts_ = 0;
  std::vector<Tensor> indices_;
  std::string module_;
};

/// Where a kernel that writes gradients, and can't add to them, puts x's share: x's gradient itself where
/// nothing has reached it yet, else memory of its own. So x may have several readers, or need no gradient while
/// its neighbours do.
class WrittenGradient {
 public:
  WrittenGradient(const Context& context, const Tensor& x);
  View view() const { return view_; }
  /// After the kernel: adds what lies in memory of its own.
  void add() const;

 private:
  const Context& context_;
  View view_;
  Tensor x_, own_;
};

}  // namespace sixfold
