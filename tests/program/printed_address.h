#pragma once
#include <string>

#include "reliability/training.h"

namespace sixfold {

/// The address of a server, "http://127.0.0.1:PORT", when it has printed it to its log; empty if it ended or
/// takes more than 20 seconds.
inline std::string printed_address(Process& server, const std::string& log) {
  for (int i = 0; i < 4000 && !server.ended(); ++i) {
    const std::string said = read_file(log);
    const size_t begin = said.find("http://"), end = said.find_first_of("; \n", begin);
    if (begin != said.npos && end != said.npos) return said.substr(begin, end - begin);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return {};
}

/// The port of such an address.
inline int port_of(const std::string& address) {
  return std::stoi("0" + address.substr(address.rfind(':') + 1));
}

}  // namespace sixfold
