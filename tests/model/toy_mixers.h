#pragma once
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "model/layers/attention.h"
#include "model/layers/mixer.h"

// Mixers that keep other states than attention does. Without gradients.

namespace sixfold {

/// A recurrent cell: h_t = W x_t + h_{t-1} / 2, of which the last is kept.
class LeakySum final : public Mixer {
 public:
  LeakySum(ParameterBuilder make, const Architecture& a) : in_(make.in("leaky_sum"), a.d_model, a.d_model) {}
  StateShape state() const override { return {.widths = {width_}, .retain = 1}; }
  Reach reach() const override { return {.left = Reach::all, .right = 0, .sequential = true}; }

  Tensor operator()(const Tensor& x, LayerContext& c) const override {
    const Tensor input = in_(x, c.context);
    const StateRows before = c.state.before(c.layer);
    const Tensor states = c.context.tensor(x.rows(), width_, x.dtype());
    for (const AttentionSpan& span : before.pattern->spans) {
      Tensor last = c.context.tensor(1, width_, x.dtype());
      if (span.key_count == 0)
        c.context.backend().run(kernel::Fill{last.view(), 0});
      else
        c.context.backend().run(
            kernel::GatherRows{last.view(), before.parts[0].view(),
                               before.pattern->key_rows.ids().subspan(span.key_begin + span.key_count - 1, 1)});
      for (int row = span.query_begin; row < span.query_begin + span.query_count; ++row) {
        const View state = states.slice_rows(row, 1).view();
        c.context.backend().run(kernel::Scale{state, last.view(), 0.5});
        c.context.backend().run(kernel::Add{state, state, input.slice_rows(row, 1).view()});
        last = states.slice_rows(row, 1);
      }
    }
    c.state.append(c.layer, {&states, 1});
    return states;
  }

 private:
  static constexpr int64_t width_ = 16;
  Linear in_;
};

/// A convolution of kernel 3: y_t = x_t + x_{t-1} / 2 + x_{t-2} / 4, of which two tokens are kept.
class Window final : public Mixer {
 public:
  StateShape state() const override { return {.widths = {16}, .retain = 2}; }
  Reach reach() const override { return {.left = 2, .right = 0}; }

  Tensor operator()(const Tensor& x, LayerContext& c) const override {
    const StateRows seen = c.state.append(c.layer, {&x, 1});
    Backend& backend = c.context.backend();
    const Tensor out = c.context.tensor(x.rows(), x.cols(), x.dtype());
    const Tensor other = c.context.tensor(1, x.cols(), x.dtype());
    for (const AttentionSpan& span : seen.pattern->spans)
      for (int i = 0; i < span.query_count; ++i) {
        const View sum = out.slice_rows(span.query_begin + i, 1).view();
        const int own = span.key_count - span.query_count + i;
        backend.run(kernel::Scale{sum, x.slice_rows(span.query_begin + i, 1).view(), 1});
        for (const auto& [back, factor] : {std::pair(1, 0.5), std::pair(2, 0.25)}) {
          if (own < back) continue;
          const auto place = span.key_begin + own - back;
          if (seen.pattern->key_rows)
            backend.run(kernel::GatherRows{other.view(), seen.parts[0].view(),
                                           seen.pattern->key_rows.ids().subspan(place, 1)});
          else
            backend.run(kernel::Scale{other.view(), seen.parts[0].slice_rows(place, 1).view(), 1});
          backend.run(kernel::Scale{other.view(), other.view(), factor});
          backend.run(kernel::Add{sum, sum, other.view()});
        }
      }
    return out;
  }
};

/// Layers of the decoder by turns: a recurrent cell, self-attention, a convolution.
inline std::unique_ptr<const Mixer> toy_mixers(ParameterBuilder make, const Architecture& a, MixerPlace place) {
  if (place.stack == AttentionKind::decoder && place.layer % 3 == 0) return std::make_unique<LeakySum>(make, a);
  if (place.stack == AttentionKind::decoder && place.layer % 3 == 2) return std::make_unique<Window>();
  return make_mixer(make, a, place);
}

}  // namespace sixfold
