// A training step that has seen its batch before takes no new memory: all its tensors come from one arena.
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>

#include "model/transformer.h"
#include "train/optimizer.h"

namespace sixfold {
namespace {

#if !defined(__has_feature)
#define __has_feature(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || __has_feature(address_sanitizer)
constexpr bool sanitized = true;  // their own memory grows
#else
constexpr bool sanitized = false;
#endif

/// Pages of memory that the process has been given so far.
int64_t pages() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

/// Memory that is allocated now.
size_t allocated() {
  const auto info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

Batch batch_of(int sentences, int length, int vocab, std::vector<int32_t>& wanted) {
  Batch batch;
  for (int i = 0; i < sentences; ++i) {
    std::vector<int32_t> ids;
    for (int j = 0; j < length + i % 7; ++j) ids.push_back(3 + (i * 31 + j * 7) % (vocab - 3));
    batch.source.add(ids);
    batch.target.add(ids);
    wanted.insert(wanted.end(), ids.begin(), ids.end());
  }
  return batch;
}

TEST(TrainingStep, TakesNoNewMemoryOnceWarm) {
  if (sanitized) GTEST_SKIP() << "sanitizers keep memory of their own";
  ModelConfig config;
  config.task = "translation";
  config.d_model = 64, config.d_ff = 128, config.heads = 4;
  config.encoder_layers = config.decoder_layers = 2;
  config.source_vocab = config.target_vocab = 4000;  // several chunks of the output's rows
  const std::shared_ptr<Backend> backend = make_backend();
  const Transformer model(config, backend, DType::f32, 1);
  Optimizer optimizer(backend, {model.parameters().begin(), model.parameters().end()}, {}, 0.99);
  const auto arena = std::make_shared<Arena>(backend);
  std::vector<int32_t> wanted;
  const Batch batch = batch_of(60, 20, config.target_vocab, wanted);
  uint32_t update = 0;
  const auto step = [&] {
    optimizer.clear_gradients();
    Tape tape;
    Context context(backend, arena, tape, {1, update});
    ops::cross_entropy(context, model.states(batch, context), model.output(), context.indices(wanted), {});
    tape.backward();
    optimizer.update(++update, 1e-4, 1);
  };
  for (int i = 0; i < 4; ++i) step();
  const int64_t pages_before = pages();
  const size_t reserved_before = arena->reserved(), allocated_before = allocated();
  for (int i = 0; i < 10; ++i) step();
  EXPECT_EQ(arena->reserved(), reserved_before);
  EXPECT_LT(allocated(), allocated_before + (64 << 10));
  EXPECT_LT(pages() - pages_before, 20);  // a step's tensors take some thousand
}

}  // namespace
}  // namespace sixfold
