#include "model/layers/mixer.h"

#include "base/error.h"
#include "model/layers/attention.h"
#include "model/layers/convolution.h"
#include "model/layers/linear_recurrence.h"
#include "model/layers/recurrent.h"

namespace sixfold {

std::unique_ptr<const Mixer> make_mixer(ParameterBuilder make, const Architecture& a, MixerPlace place) {
  const bool encoder = place.stack == AttentionKind::encoder;
  const MixerKind kind = encoder ? a.encoder_mixer : a.decoder_mixer;
  switch (kind) {
    case MixerKind::attention:
      return std::make_unique<SelfAttention>(make, a, place, kernel::Attention::everywhere);
    case MixerKind::restricted_attention:
      return std::make_unique<SelfAttention>(make, a, place, a.attention_window);
    case MixerKind::ssru:
      return std::make_unique<SimpleRecurrentUnit>(make, a);
    case MixerKind::average:
      return std::make_unique<AverageAttention>(make, a);
    case MixerKind::convolution:
      return std::make_unique<Convolution>(make, a, place);
    case MixerKind::separable:
      return std::make_unique<SeparableConvolution>(make, a, place);
    case MixerKind::recurrent:
      return std::make_unique<RecurrentMixer>(make, a, place, RecurrentCell::tanh);
    case MixerKind::lstm:
      return std::make_unique<RecurrentMixer>(make, a, place, RecurrentCell::lstm);
    case MixerKind::gru:
      return std::make_unique<RecurrentMixer>(make, a, place, RecurrentCell::gru);
    case MixerKind::bahdanau:
      return std::make_unique<BahdanauMixer>(make, a);
  }
  throw_unknown("kind of mixer", kind);
}

}  // namespace sixfold
