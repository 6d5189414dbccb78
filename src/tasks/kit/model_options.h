#pragma once
#include "model/config.h"

namespace sixfold {

/// An architecture whose defaults are the sizes of a preset: the group `model` of a task's config.
struct ModelOptions : Architecture {
  ModelOptions() : ModelOptions(Preset::base) {}
  explicit ModelOptions(Preset name) : Architecture(sixfold::preset(name)), preset_(name) {}
  /// The preset that gives the defaults.
  Preset preset() const { return preset_; }

 private:
  friend void visit(OptionVisitor& v, ModelOptions& o);
  Preset preset_;
};

inline void visit(OptionVisitor& v, ModelOptions& o) {
  // The preset is read before the single sizes, which therefore override it.
  if (v.field("preset", o.preset_, "default sizes: tiny, small, base or big")) o = ModelOptions(o.preset_);
  visit(v, static_cast<Architecture&>(o));
}

}  // namespace sixfold
