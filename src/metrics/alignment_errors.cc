#include "metrics/alignment_errors.h"

#include <algorithm>
#include <set>

namespace sixfold {
namespace {

/// 1 if there is nothing to share.
double share(int64_t part, int64_t all) {
  return all == 0 ? 1 : static_cast<double>(part) / static_cast<double>(all);
}

}  // namespace

void AlignmentErrors::add(const WordLinks& found, const GoldLinks& gold) {
  const std::set links(found.begin(), found.end());
  const auto count = [&](const WordLinks& gold_links) {
    return std::ranges::count_if(gold_links, [&](const auto& link) { return links.contains(link); });
  };
  const int64_t sure = count(gold.sure);
  found_ += std::ssize(links);
  sure_ += std::ssize(gold.sure);
  found_sure_ += sure;
  found_possible_ += sure + count(gold.possible);
}

double AlignmentErrors::rate() const { return 1 - share(found_sure_ + found_possible_, found_ + sure_); }
double AlignmentErrors::precision() const { return share(found_possible_, found_); }
double AlignmentErrors::recall() const { return share(found_sure_, sure_); }

}  // namespace sixfold
