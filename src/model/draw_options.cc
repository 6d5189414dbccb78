#include "model/draw_options.h"

#include <string>

#include "base/options.h"

namespace sixfold {
namespace {

/// Visits the fields of `DrawOptions` or `DrawChoice`. `otherwise` is appended to each description: the default
/// of an option that is not given.
template <class Options>
void visit_choice(OptionVisitor& v, Options& o, const std::string& otherwise) {
  v.field("temperature", o.temperature, "divide logits by this before drawing; 0: greedy search" + otherwise,
          at_least(0));
  v.field("top_k", o.top_k, "draw among this many likeliest tokens; 0: all" + otherwise, at_least(0));
  v.field("top_p", o.top_p, "draw among the fewest likeliest tokens with this probability; 1: all" + otherwise,
          {.low = 0, .high = 1, .excludes_low = true});
  v.field("min_p", o.min_p, "draw among tokens with this share of the probability of the likeliest" + otherwise,
          from_to_below(0, 1));
}

template <class Options>
void visit_drawing(OptionVisitor& v, Options& o, const std::string& otherwise) {
  visit_choice(v, o, otherwise);
  v.field("repetition_penalty", o.repetition_penalty,
          "make tokens that occur before less likely by this factor of their logits; 1: off" + otherwise,
          above(0));
}

}  // namespace

void visit(OptionVisitor& v, DrawOptions& o) { visit_drawing(v, o, ""); }
void visit_choice(OptionVisitor& v, DrawOptions& o) { visit_choice(v, o, ""); }
void visit(OptionVisitor& v, DrawChoice& o) { visit_drawing(v, o, " [as stored with the model]"); }

}  // namespace sixfold
