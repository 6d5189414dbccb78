#include "ops/context.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/random.h"

namespace sixfold {

Tensor Context::zeros(int64_t rows, int64_t cols, DType dtype) const {
  Tensor t = tensor(rows, cols, dtype);
  backend_->run(kernel::Fill{t.view(), 0});
  return t;
}

Tensor Context::indices(std::span<const int32_t> values) {
  return upload(DType::i32, values.size(), std::as_bytes(values));
}

Tensor Context::numbers(std::span<const float> values) {
  return upload(DType::f32, values.size(), std::as_bytes(values));
}

Tensor Context::upload(DType dtype, size_t count, std::span<const std::byte> values) {
  Tensor t = tensor(1, static_cast<int64_t>(count), dtype);
  backend_->upload(t.view().data, values);
  uploaded_.push_back(t);
  return t;
}

Tensor Context::matrix(const std::vector<float>& values, int64_t rows, int64_t cols, DType dtype) {
  Tensor t = tensor(rows, cols, dtype);
  t.copy_from(*backend_, values);
  uploaded_.push_back(t);
  return t;
}

TokenRows Context::token_rows(const Ragged& ragged, std::span<const int32_t> sentences) {
  require(sentences.empty() || static_cast<int>(sentences.size()) == ragged.sequences(),
          "{} sentence numbers for a batch of {} sequences", sentences.size(), ragged.sequences());
  std::vector<int32_t> sentence, position;
  int longest = 0;
  for (int i = 0; i < ragged.sequences(); ++i) {
    longest = std::max(longest, ragged.length(i));
    for (int p = 0; p < ragged.length(i); ++p) {
      sentence.push_back(sentences.empty() ? i : sentences[static_cast<size_t>(i)]);
      position.push_back(p);
    }
  }
  return {ragged, indices(sentence), indices(position), longest};
}

Dropout Context::dropout(double probability, const TokenRows& rows) {
  if (!recording() || probability == 0) return {};
  Dropout dropout;
  dropout.sentence = rows.sentence.ids();
  dropout.position = rows.position.ids();
  dropout.seed = seeds_.seed;
  dropout.update = seeds_.update;
  dropout.module = dropout_modules_++;
  dropout.threshold = static_cast<uint32_t>(std::lround(probability * 65536));
  return dropout;
}

bool Context::drops_layer(uint32_t stack, uint32_t layer) const {
  if (!recording() || seeds_.layer_drop == 0) return false;
  constexpr uint32_t layer_drop_module = 0xffffffff;  // no module of dropout has this number
  return Philox::bits({layer, stack, 0, layer_drop_module}, seeds_.seed, seeds_.update)[0] * 0x1p-32 <
         seeds_.layer_drop;
}

void Context::record(const char* op, const Tensor& output, std::initializer_list<Tensor> reads,
                     std::function<void()> backward) const {
  if (!recording() || !output.requires_grad()) return;
  for (const Tensor& read : reads)
    if (read) read.set_kept();
  tape_->record({module_, op, output, std::move(backward)});
}

Tensor Context::overwrite(const Tensor& x) const {
  return x.kept() ? tensor(x.rows(), x.cols(), x.dtype()) : x.take();
}

bool Context::track(Tensor output, std::initializer_list<Tensor> inputs) const {
  const bool needs_gradient = recording() && std::any_of(inputs.begin(), inputs.end(),
                                                         [](const Tensor& t) { return t.requires_grad(); });
  output.set_requires_grad(needs_gradient);
  return needs_gradient;
}

Context::Slot Context::gradient_of(const Tensor& x) const {
  if (!x.requires_grad()) return {{}, false};
  if (x.gradient()) return {x.gradient().view(), true};
  x.set_gradient(tensor(x.rows(), x.cols(), x.dtype()));
  return {x.gradient().view(), false};
}

View Context::summed_gradient_of(const Tensor& x) const {
  const Slot slot = gradient_of(x);
  if (slot.view && !slot.accumulate) backend_->run(kernel::Fill{slot.view, 0});
  return slot.view;
}

OverwritableGradient::OverwritableGradient(const Context& context, const Tensor& x) : context_(context), x_(x) {
  if (!x) return;
  const Context::Slot slot = context.gradient_of(x);
  if (!slot.view || slot.accumulate) buffer_ = context.tensor(x.rows(), x.cols(), x.dtype());
  view_ = buffer_ ? buffer_.view() : slot.view;
}

void OverwritableGradient::accumulate() const {
  if (!buffer_ || !x_.requires_grad()) return;
  const View sum = x_.gradient().view();
  context_.backend().run(kernel::Add{sum, sum, view_});
}

}  // namespace sixfold
