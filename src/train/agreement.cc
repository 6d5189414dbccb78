#include "train/agreement.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"

namespace sixfold {
namespace {

/// Describes the first line in which two texts differ.
std::string difference(std::string_view a, std::string_view b) {
  const auto differ = std::ranges::mismatch(a, b);
  const auto line = [&](std::string_view text, size_t at) {
    const size_t begin = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
    const std::string_view one = text.substr(begin, text.find('\n', at) - begin);
    return std::string(one.substr(0, 200));
  };
  const auto at = static_cast<size_t>(differ.in1 - a.begin());
  return fmt::format("'{}' there, '{}' here", line(a, at), line(b, at));
}

}  // namespace

void check_agreement(Processes& processes, std::initializer_list<std::pair<const char*, std::string>> facts) {
  for (const auto& [what, value] : facts) {
    const std::vector<std::string> all = processes.all_gather(value);
    for (int rank = 1; rank < processes.size(); ++rank) {
      const std::string& other = all[static_cast<size_t>(rank)];
      require(other == all[0], "the {} of {} is not that of {}: {}", what, processes.name(rank),
              processes.name(0), difference(other, all[0]));
    }
  }
}

std::string hash_of_program() {
  const MappedFile program("/proc/self/exe");
  return hash_hex({reinterpret_cast<const char*>(program.data()), program.size()});
}

std::string hash_of_folder(const std::string& folder) {
  std::map<std::string, std::string> hashes;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    const MappedFile file(entry.path().string());
    hashes[entry.path().filename().string()] =
        hash_hex({reinterpret_cast<const char*>(file.data()), file.size()});
  }
  std::string all;
  for (const auto& [name, hash] : hashes) all += name + " " + hash + "\n";
  return hash_hex(all);
}

std::string hash_of_weights(Transformer& model) {
  std::string all;
  const auto add = [&](const Parameter& parameter) {
    const View view = parameter.tensor.view();
    all += hash_hex({static_cast<const char*>(view.data), parameter.tensor.bytes()});
  };
  for (const Parameter& parameter : model.parameters()) add(parameter);
  for (const Parameter& buffer : model.buffers()) add(buffer);
  return hash_hex(all);
}

}  // namespace sixfold
