#include "layers/mixer.h"

#include "layers/attention.h"

namespace sixfold {

std::unique_ptr<const Mixer> make_mixer(ParameterBuilder make, const Architecture& a, MixerPlace) {
  return std::make_unique<SelfAttention>(make, a);
}

}  // namespace sixfold
