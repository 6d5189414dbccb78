#include "train/score_names.h"

namespace sixfold {

std::span<const ScoreName> score_names() {
  static constexpr ScoreName names[] = {{"bleu", "BLEU"},
                                        {"chrf", "chrF2"},
                                        {"accuracy", "accuracy"},
                                        {"macro_f1", "macro F1"},
                                        {"squad_exact_match", "exact match"},
                                        {"squad_f1", "F1"},
                                        {"exact_match", "exact match"}};
  return names;
}

}  // namespace sixfold
